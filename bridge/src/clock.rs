//! The only place of the shell that reads a clock.
//!
//! The core's time is milliseconds since the process began. It follows the system's steady clock, so it
//! never jumps; what the calendar says is fixed once, at the start.

use std::{
    pin::Pin,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use drawbridge_sim::{Epoch, Span, Time};

/// Keeps time for the shell: the system does, or a world in which time is virtual.
pub trait Clock: Send + Sync + 'static {
    /// What time it is.
    fn now(&self) -> Time;

    /// Waits until then; for ever, if there is no then.
    fn sleep_until(&self, at: Option<Time>) -> impl Future<Output = ()> + Send;

    /// Waits until nobody wants a reply any more. The core gives up by itself, so this may be for ever.
    fn give_up_at(&self, at: Time) -> Waiting;
}

/// Waiting, to be done elsewhere.
pub type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The system's clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    began: Instant,
}

impl SystemClock {
    /// A clock whose zero is the last whole second, and which moment that is.
    pub fn start() -> (Self, Epoch) {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let passed = Duration::from_nanos(u64::from(unix.subsec_nanos()));
        let now = Instant::now();
        let began = now.checked_sub(passed).unwrap_or(now);
        (Self { began }, Epoch::from_unix(unix.as_secs()))
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let passed = self.began.elapsed().as_millis();
        Time::from_ms(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    async fn sleep_until(&self, at: Option<Time>) {
        match at {
            Some(at) => tokio::time::sleep(duration(at.since(self.now()))).await,
            None => std::future::pending().await,
        }
    }

    fn give_up_at(&self, at: Time) -> Waiting {
        Box::pin(tokio::time::sleep(duration(at.since(self.now()))))
    }
}

/// What the calendar says, for certificates.
pub(crate) fn system_time() -> SystemTime {
    SystemTime::now()
}

/// A span as the system counts it.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_ms())
}
