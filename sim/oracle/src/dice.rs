//! Choices, drawn from one stream of a seed.

use drawbridge_sim::Seed;
use rand_chacha::{ChaCha8Rng, rand_core::Rng};

/// Where choices come from.
#[derive(Clone, Debug)]
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: Seed, purpose: &str) -> Self {
        Self(seed.stream(purpose))
    }

    /// A number below `end`; 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let draw = self.0.next_u64() >> 32;
        let end = u64::try_from(end).unwrap_or(u64::MAX).min(u64::from(u32::MAX));
        usize::try_from((draw * end) >> 32).unwrap_or(0)
    }

    /// A number from `first` to `last`.
    pub(crate) fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last.saturating_sub(first) + 1)
    }

    /// True so many times in a hundred.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of these.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// One of these.
    pub(crate) fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
