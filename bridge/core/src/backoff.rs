//! How long to wait before trying again.

use drawbridge_sim::Span;

/// Doubles from `first` with every failure, up to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    first: Span,
    most: Span,
}

impl Backoff {
    /// For requests that failed: 1 s to 1 min.
    pub(crate) const REQUEST: Self = Self { first: Span::secs(1), most: Span::mins(1) };
    /// For servers that are out of reach, one after the other: 1 s to 15 s.
    pub(crate) const LINK: Self = Self { first: Span::secs(1), most: Span::secs(15) };
    /// For conflicts, which a fresh read settles: 100 ms to 10 s.
    pub(crate) const CONFLICT: Self = Self { first: Span::ms(100), most: Span::secs(10) };
    /// For jobs that Slurm says can never run: 1 min to 30 min.
    pub(crate) const REFUSAL: Self = Self { first: Span::mins(1), most: Span::mins(30) };

    /// The pause after so many failures in a row, of which there was at least one.
    pub(crate) fn after(self, failures: u32) -> Span {
        let doublings = failures.saturating_sub(1).min(20);
        self.first.times(1 << doublings).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_most() {
        let pauses: Vec<_> = (1..=7).map(|n| Backoff::REFUSAL.after(n).as_secs() / 60).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(Backoff::REQUEST.after(u32::MAX), Span::mins(1));
    }
}
