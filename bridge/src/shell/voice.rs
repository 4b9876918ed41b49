//! What the shell tells others of its core: to be written down, logged, shown.

use std::collections::BTreeMap;

use drawbridge_core::{Bridge, BridgeFact, Effect, Input, Role, link::LinkStatus};
use drawbridge_sim::Time;

use super::Sides;
use crate::{journal::Began, kube::KubeMetrics, slurm::client::Metrics};

/// Whoever hears what goes on. Everything is told before it takes effect.
pub trait Voice {
    /// A life begins.
    fn began(&mut self, now: Time, began: &Began);
    /// The core is about to be told this.
    fn input(&mut self, now: Time, input: &Input);
    /// This is about to be done.
    fn effect(&mut self, now: Time, effect: &Effect);
    /// The core did, or came to know, this.
    fn facts(&mut self, now: Time, facts: Vec<BridgeFact>);
    /// The loop has gone round.
    fn status(&mut self, status: impl FnOnce() -> Status);
}

impl<V: Voice> Voice for &mut V {
    fn began(&mut self, now: Time, began: &Began) {
        (**self).began(now, began);
    }

    fn input(&mut self, now: Time, input: &Input) {
        (**self).input(now, input);
    }

    fn effect(&mut self, now: Time, effect: &Effect) {
        (**self).effect(now, effect);
    }

    fn facts(&mut self, now: Time, facts: Vec<BridgeFact>) {
        (**self).facts(now, facts);
    }

    fn status(&mut self, status: impl FnOnce() -> Status) {
        (**self).status(status);
    }
}

/// A bridge as it is when its loop has gone round.
#[derive(Clone, Debug)]
pub struct Status {
    /// What it is among its replicas.
    pub role: Role,
    /// Who leads, where there is an election.
    pub leader: Option<String>,
    /// Both sides have said once what there is.
    pub is_synced: bool,
    /// The core's counters.
    pub counters: BTreeMap<&'static str, u64>,
    /// The way to Slurm.
    pub link: LinkStatus,
    /// Why Kubernetes can't be worked with, if it can't.
    pub kube_trouble: Option<String>,
    /// Requests to slurmrestd.
    pub slurm: Metrics,
    /// Requests to the Kubernetes API server.
    pub kube: KubeMetrics,
}

impl Status {
    pub(super) fn of(core: &Bridge, sides: &Sides) -> Self {
        Self {
            role: core.role(),
            leader: core.leader().map(str::to_owned),
            is_synced: core.is_synced_up(),
            counters: core.metrics().clone(),
            link: core.slurm_status(),
            kube_trouble: core.kube_trouble(),
            slurm: sides.slurm.metrics(),
            kube: sides.kube.metrics(),
        }
    }
}
