//! The cluster that all connections share, and what keeps its time going.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_fakes::{Answer, Cluster, Frames, HttpRequest, NoWebhooks, Stream};
use tokio::sync::{Notify, watch as signal};

use crate::clock::Clock;

/// The longest that the driver sleeps when nothing is due.
const IDLE: Duration = Duration::from_secs(60);

/// The cluster and who waits for news of it.
pub(crate) struct Shared {
    cluster: Mutex<Cluster>,
    clock: Clock,
    /// Something may be due earlier than it was.
    poke: Notify,
    version: signal::Sender<u64>,
    stopped: signal::Receiver<bool>,
}

impl Shared {
    pub(crate) fn new(cluster: Cluster, clock: Clock, stopped: signal::Receiver<bool>) -> Self {
        let (version, _) = signal::channel(cluster.api().resource_version());
        Self { cluster: Mutex::new(cluster), clock, poke: Notify::new(), version, stopped }
    }

    /// The cluster. A request that panicked has changed it wholly or not at all in what matters.
    fn lock(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request.
    pub(crate) fn answer(&self, request: &HttpRequest) -> Answer {
        let mut cluster = self.lock();
        let answer = cluster.answer(self.clock.now(), request, &mut NoWebhooks);
        self.publish(&mut cluster);
        drop(cluster);
        self.poke.notify_one();
        answer
    }

    /// What a watch has to say.
    pub(crate) fn frames(&self, stream: &mut Stream) -> Frames {
        let cluster = self.lock();
        stream.frames(cluster.api(), self.clock.now())
    }

    /// The last words of a watch, or what it says when nothing has happened for long.
    pub(crate) fn bookmark(&self, stream: &mut Stream) -> Vec<u8> {
        let cluster = self.lock();
        stream.farewell(cluster.api(), self.clock.now())
    }

    /// News of writes.
    pub(crate) fn versions(&self) -> signal::Receiver<u64> {
        self.version.subscribe()
    }

    /// News of the end.
    pub(crate) fn stopped(&self) -> signal::Receiver<bool> {
        self.stopped.clone()
    }

    /// Tells watches of what was written.
    fn publish(&self, cluster: &mut Cluster) {
        cluster.api_mut().take_changes();
        let version = cluster.api().resource_version();
        self.version.send_if_modified(|last| std::mem::replace(last, version) != version);
    }

    /// Lets the cluster do what is due, until the server stops.
    pub(crate) async fn drive(self: std::sync::Arc<Self>) {
        let mut stopped = self.stopped();
        while !*stopped.borrow() {
            let wait = self.wake();
            tokio::select! {
                biased;
                _ = stopped.changed() => {}
                () = self.poke.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Wakes the cluster; how long nothing will be due then.
    fn wake(&self) -> Duration {
        let mut cluster = self.lock();
        let now = self.clock.now();
        cluster.wake(now, &mut NoWebhooks);
        self.publish(&mut cluster);
        let next = cluster.next_wake();
        next.map_or(IDLE, |at| self.clock.until(at)).min(IDLE)
    }
}
