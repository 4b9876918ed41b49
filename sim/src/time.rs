//! Time as two types: a point and a distance, both in whole milliseconds.
//!
//! ```text
//!   Time ──+ Span──▶ Time        Time − Time ──▶ Span
//! ```
//!
//! Production uses the same types as the twin: whoever calls a pure crate says what time it is.

use std::{fmt, ops};

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the run (or the process) began.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

/// A distance between two points in time.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// The point this many milliseconds after the beginning.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the beginning.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Whole seconds since the beginning, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// The distance from `earlier`, or nothing if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The next whole multiple of `step`, or this point if it is one.
    pub const fn round_up(self, step: Span) -> Self {
        match step.0 {
            0 => self,
            step => Self(self.0.div_ceil(step).saturating_mul(step)),
        }
    }
}

impl Span {
    /// No distance at all.
    pub const ZERO: Self = Self(0);
    /// Longer than anything that lasts.
    pub const MAX: Self = Self(u64::MAX);

    /// So many milliseconds.
    pub const fn ms(ms: u64) -> Self {
        Self(ms)
    }

    /// So many seconds.
    pub const fn secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// So many minutes.
    pub const fn mins(mins: u64) -> Self {
        Self::secs(mins.saturating_mul(60))
    }

    /// So many hours.
    pub const fn hours(hours: u64) -> Self {
        Self::mins(hours.saturating_mul(60))
    }

    /// The distance in milliseconds.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// The distance in whole seconds, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// So many thousandths of this distance.
    pub const fn permille(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n) / 1000)
    }

    /// This distance, so many times.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl ops::Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl ops::Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl ops::Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// `HH:MM:SS.mmm`, with days in front where there are any.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        clock(f, self.0)
    }
}

/// `HH:MM:SS.mmm`, with days in front where there are any.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        clock(f, self.0)
    }
}

fn clock(f: &mut fmt::Formatter<'_>, ms: u64) -> fmt::Result {
    let (secs, ms) = (ms / 1000, ms % 1000);
    let (mins, secs) = (secs / 60, secs % 60);
    let (hours, mins) = (mins / 60, mins % 60);
    let (days, hours) = (hours / 24, hours % 24);
    if days > 0 {
        write!(f, "{days}-")?;
    }
    write!(f, "{hours:02}:{mins:02}:{secs:02}.{ms:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_as_a_clock_with_milliseconds() {
        assert_eq!(Time::from_ms(3_723_004).to_string(), "01:02:03.004");
        assert_eq!(Span::hours(49).to_string(), "2-01:00:00.000");
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Time::MAX + Span::secs(1), Time::MAX);
        assert_eq!(Time::ZERO - Time::from_ms(5), Span::ZERO);
    }

    #[test]
    fn rounding_up_keeps_whole_multiples() {
        assert_eq!(Time::from_ms(60_000).round_up(Span::mins(1)), Time::from_ms(60_000));
        assert_eq!(Time::from_ms(60_001).round_up(Span::mins(1)), Time::from_ms(120_000));
    }
}
