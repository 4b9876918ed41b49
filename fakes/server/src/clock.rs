//! The only place that reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use drawbridge_sim::{Span, Time};

/// Real time, maybe sped up, as the cluster's time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    began_unix: u64,
    speed: f64,
    /// What had passed when it was started.
    ahead: Duration,
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start(speed: f64) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The cluster's zero lies on a whole second: what is left of this one has passed already.
        let began = Instant::now()
            .checked_sub(Duration::from_millis(u64::from(unix.subsec_millis())))
            .unwrap_or_else(Instant::now);
        Self { began, began_unix: unix.as_secs(), speed, ahead: Duration::ZERO }
    }

    /// A clock that goes on: zero was then, and so much has passed since. At speed 1 the calendar stays
    /// true, whatever has passed while nobody looked; at another it goes on where it stood.
    pub fn resume(speed: f64, began_unix: u64, passed: Time) -> Self {
        let passed = Duration::from_millis(passed.as_ms());
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let truly = unix.saturating_sub(Duration::from_secs(began_unix));
        #[expect(clippy::float_cmp, reason = "exactly this one is the calendar's")]
        let ahead = if speed == 1.0 { truly.max(passed) } else { passed };
        Self { began: Instant::now(), began_unix, speed, ahead }
    }

    /// Zero, in seconds since 1970.
    pub const fn began_unix(&self) -> u64 {
        self.began_unix
    }

    /// What time it is in the cluster.
    pub(crate) fn now(&self) -> Time {
        let passed = self.ahead + self.began.elapsed().mul_f64(self.speed);
        Time::from_ms(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    /// How long to wait, really, until a time of the cluster.
    pub(crate) fn until(&self, time: Time) -> Duration {
        let left: Span = time.since(self.now());
        Duration::from_millis(left.as_ms()).div_f64(self.speed) + Duration::from_millis(1)
    }
}

/// The real time, in seconds since 1970.
pub(crate) fn unix() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
