//! What stands behind the servers: a cluster alone, a Slurm alone, or a world that has both.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
};

use drawbridge_fakes::{Cluster, Elsewhere, Webhooks, slurmrestd::Slurm};
use drawbridge_sim::Time;
use tokio::sync::Notify;

use crate::{
    clock::Clock,
    tape::{Outside, Tape},
};

/// Something to be done to a cluster.
pub type ClusterVisit<'a> = dyn FnMut(&mut Cluster, &mut dyn Webhooks) + 'a;

/// Whoever has a Kubernetes cluster.
pub trait KubeHost: Send {
    /// The cluster, to read from.
    fn cluster(&self) -> &Cluster;
    /// Does something to the cluster, after all that is due before.
    fn visit(&mut self, now: Time, change: &mut ClusterVisit<'_>);
    /// Does all that is due.
    fn wake(&mut self, now: Time);
    /// When [`Self::wake`] has something to do.
    fn next_wake(&self) -> Option<Time>;
}

/// Whoever has a Slurm.
pub trait SlurmHost: Send + Debug {
    /// Does something to the Slurm, after all that is due before.
    fn visit(&mut self, now: Time, change: &mut dyn FnMut(&mut Slurm));
    /// Does all that is due.
    fn wake(&mut self, now: Time);
    /// When [`Self::wake`] has something to do.
    fn next_wake(&self) -> Option<Time>;
}

/// A host, its clock, and how it is told that something may be due earlier than it was.
///
/// Servers over parts of one host have the same clock and one of them drives it.
#[derive(Debug)]
pub struct Hosted<H: ?Sized> {
    pub(crate) host: Arc<Mutex<H>>,
    pub(crate) clock: Clock,
    pub(crate) poke: Arc<Notify>,
    pub(crate) tape: Option<SharedTape>,
}

/// A tape that all servers over one host share.
pub type SharedTape = Arc<Mutex<dyn Tape>>;

impl<H: ?Sized> Hosted<H> {
    /// A host on its clock; `host` may be kept to be shown to another server.
    pub fn new(host: Arc<Mutex<H>>, clock: Clock, poke: Arc<Notify>) -> Self {
        Self { host, clock, poke, tape: None }
    }

    /// The same, with whatever comes from outside kept on a tape.
    #[must_use]
    pub fn taped(mut self, tape: Option<SharedTape>) -> Self {
        self.tape = tape;
        self
    }

    /// Keeps this; the host is locked.
    pub(crate) fn keep(&self, at: Time, what: impl FnOnce() -> Option<Outside>) {
        if let Some(tape) = &self.tape
            && let Some(what) = what()
        {
            tape.lock().unwrap_or_else(PoisonError::into_inner).keep(at, &what);
        }
    }
}

impl KubeHost for Cluster {
    fn cluster(&self) -> &Cluster {
        self
    }

    fn visit(&mut self, now: Time, change: &mut ClusterVisit<'_>) {
        KubeHost::wake(self, now);
        change(self, &mut Elsewhere);
        self.api_mut().take_changes();
    }

    /// Everything happens at its own time, however late somebody looks.
    fn wake(&mut self, now: Time) {
        while let Some(at) = self.next_wake().filter(|at| *at <= now) {
            self.wake(at, &mut Elsewhere);
        }
        self.api_mut().take_changes();
    }

    fn next_wake(&self) -> Option<Time> {
        self.next_wake()
    }
}

impl SlurmHost for Slurm {
    fn visit(&mut self, now: Time, change: &mut dyn FnMut(&mut Slurm)) {
        SlurmHost::wake(self, now);
        change(self);
    }

    /// Everything happens at its own time, however late somebody looks.
    fn wake(&mut self, now: Time) {
        while let Some(at) = self.next_wake().filter(|at| *at <= now) {
            self.wake(at);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.next_wake()
    }
}
