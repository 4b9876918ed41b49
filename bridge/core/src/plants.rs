//! Defects that can be planted in the core, to see whether scenarios and explorer find them.
//!
//! Each names a guard of ours that is taken out. Without the feature `plants` no configuration has
//! one, and the questions cost nothing.

use std::borrow::Cow;

use drawbridge_sim::{JobId, SlurmNode};

use crate::{
    config::Config,
    effect::Effect,
    input::{SlurmFault, SlurmReply},
    jobs::Jobs,
    mapping::Mapping,
    names::{KubeNode, ObjectKey},
    slurm::ObservedState,
    store::Store,
    view::PodView,
};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Slurm's jobs aren't looked through for one that stands for a workload already, nor for a
    /// second one.
    AdoptsNothing,
    /// A second job of a workload is left alone.
    KeepsSurplus,
    /// A job with a mark of any cluster is taken for ours.
    TrustsAnyMark,
    /// A job is ended by its number, without a look at whose it is by now.
    CancelsUnread,
    /// Groups of one name in several namespaces are one group.
    MergesNamespaces,
    /// A reply of the API server that never comes is waited for.
    WaitsForever,
    /// While one workload waits in Slurm's queue, no other is submitted.
    BlocksTheLine,
    /// A binding doesn't say which pod of its name is meant.
    BindsByName,
    /// Pods are bound where their job was when it started, whatever became of it since.
    BindsLate,
    /// Slurm's names of nodes are taken for Kubernetes' names.
    MapsByName,
    /// Some states in which jobs are over are taken for running.
    FinishedIsLive,
    /// That a job is over isn't noticed between two lists of all jobs.
    OverlooksEnds,
    /// A job that Slurm doesn't know any more is taken for what it was.
    IgnoresLoss,
    /// A job is ended while its pods still terminate.
    EndsEarly,
    /// Only pods that run are removed with their job, not those that are about to.
    SparesStarting,
    /// Pods that ended while no bridge ran keep the finalizer.
    ForgetsFinalizers,
    /// Whatever is drained while its node isn't cordoned is undrained.
    UndrainsAnything,
    /// What we drained is undrained, also while its node is cordoned.
    UndrainsAtOnce,
}

impl Plant {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::AdoptsNothing,
        Self::KeepsSurplus,
        Self::TrustsAnyMark,
        Self::CancelsUnread,
        Self::MergesNamespaces,
        Self::WaitsForever,
        Self::BlocksTheLine,
        Self::BindsByName,
        Self::BindsLate,
        Self::MapsByName,
        Self::FinishedIsLive,
        Self::OverlooksEnds,
        Self::IgnoresLoss,
        Self::EndsEarly,
        Self::SparesStarting,
        Self::ForgetsFinalizers,
        Self::UndrainsAnything,
        Self::UndrainsAtOnce,
    ];
}

impl Config {
    /// The same configuration for a bridge that has this defect.
    #[cfg(feature = "plants")]
    #[must_use]
    pub fn with_plant(mut self, plant: Plant) -> Self {
        self.plant = Some(plant);
        self
    }

    /// Whether the bridge has this defect.
    pub(crate) fn has(&self, plant: Plant) -> bool {
        cfg!(feature = "plants") && self.plant == Some(plant)
    }
}

/// The cluster whose mark is ours: with [`Plant::TrustsAnyMark`] whichever it is.
pub(crate) fn cluster_of<'a>(config: &'a Config, admin_comment: &str) -> Cow<'a, str> {
    let named = || {
        let value: serde_json::Value = serde_json::from_str(admin_comment).ok()?;
        value.get("cluster")?.as_str().map(str::to_owned)
    };
    let planted = config.has(Plant::TrustsAnyMark).then(named).flatten();
    planted.map_or(Cow::Borrowed(config.cluster_id.as_str()), Cow::Owned)
}

/// The same, for the job that was read before it is told to end.
pub(crate) fn cluster_asked_for<'a>(
    config: &'a Config,
    outcome: &Result<SlurmReply, SlurmFault>,
) -> Cow<'a, str> {
    match outcome {
        Ok(SlurmReply::Job(Some(job))) => cluster_of(config, &job.admin_comment),
        Ok(_) | Err(_) => Cow::Borrowed(config.cluster_id.as_str()),
    }
}

/// The group that a bridge with [`Plant::MergesNamespaces`] takes for this one.
pub(crate) fn namesake(config: &Config, store: &Store, group: &ObjectKey) -> ObjectKey {
    let namesake = || store.group_keys().into_iter().find(|it| it.name() == group.name());
    let found = config.has(Plant::MergesNamespaces).then(namesake).flatten();
    found.unwrap_or_else(|| group.clone())
}

/// What a bridge with [`Plant::BindsByName`] sends.
pub(crate) fn spoil(config: &Config, effects: &mut [Effect]) {
    if !config.has(Plant::BindsByName) {
        return;
    }
    for effect in effects {
        if let Effect::Kube { request, .. } = effect
            && request.path.ends_with("/binding")
            && let Some(metadata) = request.body.as_mut().and_then(|it| it["metadata"].as_object_mut())
        {
            metadata.remove("uid");
        }
    }
}

/// What a bridge with [`Plant::FinishedIsLive`] reads.
pub(crate) fn misread(config: &Config, outcome: &mut Result<SlurmReply, SlurmFault>) {
    use ObservedState as S;
    if !config.has(Plant::FinishedIsLive) {
        return;
    }
    let misread = |state: &mut S| {
        if matches!(state, S::NodeFail | S::Timeout | S::Failed | S::Preempted) {
            *state = S::Running;
        }
    };
    match outcome {
        Ok(SlurmReply::States(states)) => states.iter_mut().for_each(|(_, state)| misread(state)),
        Ok(SlurmReply::Jobs(jobs)) => jobs.iter_mut().for_each(|job| misread(&mut job.state)),
        Ok(SlurmReply::Job(Some(job))) => misread(&mut job.state),
        Ok(_) | Err(_) => {}
    }
}

/// What a bridge with [`Plant::OverlooksEnds`] makes of the states of all jobs: its own are as before.
pub(crate) fn overlook(config: &Config, jobs: &Jobs, states: &mut Vec<(JobId, ObservedState)>) {
    if config.has(Plant::OverlooksEnds) {
        let known = jobs.iter().filter_map(|(id, job)| Some((id, job.seen()?.state.clone())));
        *states = known.collect();
    }
}

/// The node that a bridge with [`Plant::MapsByName`] takes a Slurm node for.
pub(crate) fn mapped(config: &Config, mapping: &Mapping, slurm: &SlurmNode) -> Option<KubeNode> {
    match config.has(Plant::MapsByName) {
        true => Some(slurm.as_str().into()),
        false => mapping.kube(slurm).cloned(),
    }
}

/// Whether a bridge with [`Plant::SparesStarting`] lets a pod stay without its job.
pub(crate) fn is_spared(config: &Config, pod: &PodView) -> bool {
    config.has(Plant::SparesStarting) && pod.status.phase != "Running"
}
