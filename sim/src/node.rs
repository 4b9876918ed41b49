//! One node: what it has, what is held of it, and whether it takes jobs.

mod state;
mod update;
mod usage;

use std::{collections::BTreeSet, sync::Arc};

pub use state::{NodeBase, NodeFlags, NodeState};
pub use update::NodeUpdate;
pub use usage::Usage;

use crate::{IndexSet, JobId, NodeShare, PartitionName, SlurmNode, Time, conf::NodeSpec};

/// A node as slurmctld knows it.
#[derive(Clone, Debug)]
pub struct Node {
    /// What slurm.conf says of it, and what operators changed since.
    pub spec: Arc<NodeSpec>,
    /// Partitions that it belongs to.
    pub partitions: Arc<[PartitionName]>,
    /// What is held of it.
    pub usage: Usage,
    /// Jobs that hold something of it.
    pub jobs: BTreeSet<JobId>,
    /// Why it is drained or down, or was until lately.
    pub reason: Option<NodeReason>,
    /// Free text.
    pub comment: String,
    /// Free text of whoever runs the machine.
    pub extra: String,
    pub(crate) service: Service,
    /// All flags but COMPLETING, which the jobs say.
    pub(crate) flags: NodeFlags,
    /// What of `usage` jobs hold that are completing.
    pub(crate) completing: Completing,
    /// When its slurmd was last heard of, pings aside.
    pub(crate) heard: Time,
    /// Its slurmd doesn't answer.
    pub(crate) silent: bool,
    /// Its weight in slurm.conf: updates change the one in `spec`.
    pub(crate) planned_weight: u32,
}

/// What of a node completing jobs hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Completing {
    /// How many they are.
    pub(crate) jobs: usize,
    /// Their cores: nobody gets them yet, though sinfo counts them as free.
    pub(crate) cores: usize,
}

/// Whether a node is there at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The controller has just started and not heard of it.
    Unknown,
    Down,
    Up,
    Future,
    /// A dynamic node that was deleted. Its place in the order waits for the next one.
    Deleted,
}

/// Why a node is drained or down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReason {
    /// What was given.
    pub text: String,
    /// Who gave it.
    pub by: String,
    /// When.
    pub at: Time,
}

impl Node {
    pub(crate) fn new(spec: Arc<NodeSpec>, partitions: Arc<[PartitionName]>) -> Self {
        let (service, flags) = spec.initial_state.service_and_flags();
        let by = "slurm".into();
        let planned_weight = spec.weight;
        let reason = spec.reason.clone().map(|text| NodeReason { text, by, at: Time::ZERO });
        Self {
            spec,
            partitions,
            usage: Usage::default(),
            jobs: BTreeSet::new(),
            reason,
            comment: String::new(),
            extra: String::new(),
            service,
            flags,
            completing: Completing::default(),
            heard: Time::ZERO,
            silent: false,
            planned_weight,
        }
    }

    /// Its name.
    pub fn name(&self) -> &SlurmNode {
        &self.spec.name
    }

    /// Whether new jobs may start on it.
    pub const fn takes_jobs(&self) -> bool {
        const OUT: NodeFlags = NodeFlags::DRAIN
            .with(NodeFlags::FAIL)
            .with(NodeFlags::NOT_RESPONDING)
            .with(NodeFlags::INVALID_REG)
            .with(NodeFlags::POWER_DOWN)
            .with(NodeFlags::POWERED_DOWN)
            .with(NodeFlags::POWERING_DOWN);
        matches!(self.service, Service::Up) && !self.flags.has_any(OUT)
    }

    /// Whether it is out of service.
    pub const fn is_down(&self) -> bool {
        matches!(self.service, Service::Down)
    }

    /// Whether it is drained or draining.
    pub const fn is_drained(&self) -> bool {
        self.flags.has(NodeFlags::DRAIN)
    }

    /// Whether it has no slurmd: only external jobs are placed there.
    pub const fn is_external(&self) -> bool {
        self.flags.has(NodeFlags::EXTERNAL)
    }

    /// Whether sinfo shows it: not before it is there, not after it was deleted.
    pub const fn is_shown(&self) -> bool {
        !matches!(self.service, Service::Future | Service::Deleted)
    }

    /// Whether it was a dynamic node that is no more.
    pub(crate) const fn is_deleted(&self) -> bool {
        matches!(self.service, Service::Deleted)
    }

    /// The state with all its flags.
    pub fn state(&self) -> NodeState {
        let completing = 0 < self.completing.jobs && !self.is_down();
        let flags = self.flags.set(NodeFlags::COMPLETING, completing);
        NodeState { base: self.base(), flags }
    }

    /// The state as the REST API lists it: base state, then flags.
    pub fn state_flags(&self) -> Vec<&'static str> {
        self.state().rest()
    }

    /// The state as `sinfo -o %t` prints it.
    pub fn sinfo_state(&self) -> NodeState {
        self.state()
    }

    /// Slurm counts what completing jobs hold as free, though nobody gets it yet.
    fn base(&self) -> NodeBase {
        let held = self.usage.cores.len().saturating_sub(self.completing.cores);
        match self.service {
            Service::Unknown => NodeBase::Unknown,
            Service::Down => NodeBase::Down,
            Service::Future | Service::Deleted => NodeBase::Future,
            Service::Up if self.jobs.len() <= self.completing.jobs => NodeBase::Idle,
            Service::Up if self.spec.usable_cores() <= held => NodeBase::Allocated,
            Service::Up => NodeBase::Mixed,
        }
    }

    /// Whether a job runs there: Slurm's own ALLOCATED.
    pub(crate) fn has_running_jobs(&self) -> bool {
        self.completing.jobs < self.jobs.len()
    }

    /// A job on it ended and isn't gone yet.
    pub(crate) fn begin_completing(&mut self, share: &NodeShare) {
        self.completing.jobs += 1;
        self.completing.cores += share.cores.len();
    }

    /// A completing job on it is gone.
    pub(crate) fn end_completing(&mut self, share: &NodeShare) {
        self.completing.jobs = self.completing.jobs.saturating_sub(1);
        self.completing.cores = self.completing.cores.saturating_sub(share.cores.len());
    }

    /// Configured resources as Slurm prints them: `gpu:a100:4`; empty if there are none.
    pub fn gres(&self) -> String {
        let words: Vec<_> = self.spec.gres.iter().map(ToString::to_string).collect();
        words.join(",")
    }

    /// Held resources in the same form: `gpu:1`. Where devices are told apart, with their type and
    /// which they are: `gpu:a100:1(IDX:0)`, `gpu:(null):2(IDX:0-1)`.
    pub fn gres_used(&self) -> String {
        let mut words: Vec<String> = vec![];
        for gres in &self.spec.gres {
            let groups = self.spec.devices.iter().filter(|group| group.name == gres.name);
            let told_apart = groups.clone().any(|group| group.told_apart);
            let mut held = self.usage.gres.get(&gres.name).cloned().unwrap_or_default();
            let kind = groups.clone().find(|group| group.kind == gres.kind || !told_apart);
            let kind = kind.or(groups.clone().next()).and_then(|group| group.kind.clone());
            let mine: IndexSet = groups
                .filter(|group| group.kind == kind)
                .flat_map(|group| group.first..group.first + group.count)
                .collect();
            held.keep(&mine);
            words.push(match (told_apart, held.len()) {
                (false, count) => gres.with_count(count),
                (true, count) => {
                    let which = if count == 0 { "N/A".into() } else { held.to_string() };
                    let kind = kind.as_deref().unwrap_or("(null)");
                    format!("{}:{kind}:{count}(IDX:{which})", gres.name)
                }
            });
        }
        words.join(",")
    }
}
