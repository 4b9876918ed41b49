//! Where a run's time lies in the calendar.
//!
//! Inside, time starts at zero. Kubernetes writes RFC 3339 and Slurm writes seconds since 1970, so
//! a run says once which moment its zero was.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Time;

/// The moment at which [`Time::ZERO`] was, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(u64);

impl Epoch {
    /// The moment that scenarios start at unless they say otherwise: 2026-01-01T00:00:00Z.
    pub const DEFAULT: Self = Self(1_767_225_600);

    /// The moment so many seconds after 1970 began.
    pub const fn from_unix(secs: u64) -> Self {
        Self(secs)
    }

    /// Reads `2026-01-01T00:00:00Z`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let at: Timestamp = text.parse().map_err(|err: jiff::Error| err.to_string())?;
        u64::try_from(at.as_second()).map(Self).map_err(|_| format!("`{text}` is before 1970"))
    }

    /// `now` in whole seconds since 1970.
    pub const fn unix(self, now: Time) -> u64 {
        self.0 + now.as_secs()
    }

    /// `now` as Kubernetes writes it, to the second.
    pub fn rfc3339(self, now: Time) -> String {
        let secs = i64::try_from(self.unix(now)).unwrap_or(i64::MAX);
        Timestamp::from_second(secs).unwrap_or(Timestamp::MAX).to_string()
    }

    /// `now` as Kubernetes writes a `MicroTime`.
    pub fn rfc3339_micro(self, now: Time) -> String {
        let second = self.rfc3339(now);
        format!("{}.{:03}000Z", second.trim_end_matches('Z'), now.as_ms() % 1000)
    }

    /// The point in the run that lies so many seconds after 1970; zero if that was before it began.
    pub const fn time_of_unix(self, secs: u64) -> Time {
        Time::from_ms(secs.saturating_sub(self.0).saturating_mul(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_epoch_is_new_year_2026() {
        assert_eq!(Epoch::parse("2026-01-01T00:00:00Z"), Ok(Epoch::DEFAULT));
        assert_eq!(Epoch::DEFAULT.rfc3339(Time::from_ms(61_999)), "2026-01-01T00:01:01Z");
        assert_eq!(
            Epoch::DEFAULT.rfc3339_micro(Time::from_ms(61_999)),
            "2026-01-01T00:01:01.999000Z"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Epoch::parse("yesterday").is_err());
        assert!(Epoch::parse("1969-12-31T23:59:59Z").is_err());
    }
}
