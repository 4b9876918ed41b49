//! The Slurm that all connections share, and what keeps its time going.

use std::{
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_fakes::slurmrestd::{RestRequest, RestResponse, Slurm, token::Key};
use drawbridge_sim::Time;
use tokio::sync::watch as signal;

use crate::{
    clock,
    host::{Hosted, SlurmHost},
    tape::{Outside, SlurmAsked},
};

/// The longest that the driver sleeps when nothing is due.
const IDLE: Duration = Duration::from_secs(60);

/// The host of a Slurm.
#[derive(Debug)]
pub(super) struct Shared {
    hosted: Hosted<dyn SlurmHost>,
    key: Key,
    stopped: signal::Receiver<bool>,
}

impl Shared {
    pub(super) fn new(
        hosted: Hosted<dyn SlurmHost>,
        key: Key,
        stopped: signal::Receiver<bool>,
    ) -> Self {
        Self { hosted, key, stopped }
    }

    /// The host. A request that panicked has changed it wholly or not at all in what matters.
    fn lock(&self) -> MutexGuard<'_, dyn SlurmHost + 'static> {
        self.hosted.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to it.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Slurm, Time) -> T) -> T {
        self.visit(|| None, change)
    }

    fn visit<T>(
        &self,
        what: impl FnOnce() -> Option<Outside>,
        change: impl FnOnce(&mut Slurm, Time) -> T,
    ) -> T {
        let (mut change, mut done) = (Some(change), None);
        let mut host = self.lock();
        let now = self.hosted.clock.now();
        self.hosted.keep(now, what);
        host.visit(now, &mut |slurm| done = change.take().map(|change| change(slurm, now)));
        drop(host);
        self.hosted.poke.notify_one();
        done.expect("a host that is visited lets its visitor in")
    }

    /// Answers a request. Tokens are judged by the real time, however fast the cluster's runs.
    pub(super) fn answer(&self, request: &RestRequest) -> RestResponse {
        let unix = clock::unix();
        let what = || SlurmAsked::of(request, request.user(&self.key, unix)).map(Outside::Slurm);
        self.visit(what, |slurm, now| slurm.answer(now, unix, &self.key, request))
    }

    /// Lets the cluster do what is due, until the server stops.
    pub(super) async fn drive(self: std::sync::Arc<Self>) {
        let mut stopped = self.stopped.clone();
        while !*stopped.borrow() {
            let wait = self.wake();
            tokio::select! {
                biased;
                _ = stopped.changed() => {}
                () = self.hosted.poke.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Wakes the cluster; how long nothing will be due then.
    fn wake(&self) -> Duration {
        let (mut host, clock) = (self.lock(), self.hosted.clock);
        host.wake(clock.now());
        host.next_wake().map_or(IDLE, |at| clock.until(at)).min(IDLE)
    }
}
