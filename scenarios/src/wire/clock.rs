//! The world's time, as a shell sees it.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use drawbridge_bridge::clock::{Clock, Waiting};
use drawbridge_sim::Time;
use tokio::sync::Notify;

/// The time, shared by everybody.
#[derive(Clone, Debug, Default)]
pub(super) struct TwinClock(Arc<AtomicU64>);

impl TwinClock {
    pub(super) fn set(&self, now: Time) {
        self.0.store(now.as_ms(), Ordering::Relaxed);
    }
}

/// One shell's clock: the world wakes it.
#[derive(Clone, Debug)]
pub(super) struct ShellClock {
    pub(super) time: TwinClock,
    pub(super) alarm: Arc<Notify>,
}

impl Clock for ShellClock {
    fn now(&self) -> Time {
        Time::from_ms(self.time.0.load(Ordering::Relaxed))
    }

    /// The world has heard from the journal when to wake it.
    async fn sleep_until(&self, _at: Option<Time>) {
        self.alarm.notified().await;
    }

    /// The core gives up by itself.
    fn give_up_at(&self, _at: Time) -> Waiting {
        Box::pin(pending())
    }
}
