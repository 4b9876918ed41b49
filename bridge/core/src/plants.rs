//! Defects that can be planted in the core, to see whether scenarios and explorer find them.
//!
//! Each names a guard of ours that is taken out. Without the feature `plants` no configuration has
//! one, and the questions cost nothing.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use drawbridge_sim::{JobId, SlurmNode};

use crate::{
    candidates::{Around, Choice, Company, Demands, Field, Hold, When, fits},
    config::Config,
    effect::Effect,
    gang::Gang,
    input::{SlurmFault, SlurmReply},
    jobs::Jobs,
    mapping::Mapping,
    names::KubeNode,
    slurm::{Base, NodeInfo, ObservedJob, ObservedState, Submission},
    states::{Standing, standing},
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
    /// That a job is over isn't noticed between two lists of all jobs.
    OverlooksEnds,
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
    /// An external node that is drained to be removed is resumed, because it should serve otherwise.
    UndrainsWhatItRemoves,
    /// The size of an external node is compared with another than the one that it was made with.
    ComparesAnotherSize,
    /// Every change of a Kubernetes node is a reason to ask Slurm for its nodes.
    AsksForEveryNode,
    /// What somebody drains in Slurm isn't shown in Kubernetes.
    HidesDrains,
    /// A node that Slurm no longer lists is taken to be there still.
    RemembersNodes,
    /// Where a NodeSet's worker pod runs is no evidence.
    IgnoresWorkers,
    /// A job has only ended if it is COMPLETED or CANCELLED.
    TakesEndedForLive,
    /// That Slurm doesn't know a job is no answer.
    BelievesNoAbsence,
    /// The nodes that a job may use are required, instead of leaving out the others.
    RequiresCandidates,
    /// Whole nodes are taken, whatever is asked for.
    TakesWholeNodes,
    /// No job is submitted while Kubernetes has no room for the pod.
    NeedsRoomToQueue,
    /// Where Slurm wants a pod, it is bound.
    TrustsAllocations,
    /// Pods are bound whether or not their claims are.
    BindsBeforeVolumes,
    /// What a kubelet refused is sent to it again.
    ForgetsRefusals,
}

impl Plant {
    /// All of them.
    pub const ALL: [Self; 30] = [
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
        Self::OverlooksEnds,
        Self::EndsEarly,
        Self::SparesStarting,
        Self::ForgetsFinalizers,
        Self::UndrainsAnything,
        Self::UndrainsAtOnce,
        Self::UndrainsWhatItRemoves,
        Self::ComparesAnotherSize,
        Self::AsksForEveryNode,
        Self::HidesDrains,
        Self::RemembersNodes,
        Self::IgnoresWorkers,
        Self::TakesEndedForLive,
        Self::BelievesNoAbsence,
        Self::RequiresCandidates,
        Self::TakesWholeNodes,
        Self::NeedsRoomToQueue,
        Self::TrustsAllocations,
        Self::BindsBeforeVolumes,
        Self::ForgetsRefusals,
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
pub(crate) fn namesake(config: &Config, store: &Store, group: &Gang) -> Gang {
    let namesake = || store.groups().find(|it| it.key.name() == group.key.name()).cloned();
    let found = config.has(Plant::MergesNamespaces).then(namesake).flatten();
    found.unwrap_or_else(|| group.clone())
}

/// The evidence that a bridge with [`Plant::IgnoresWorkers`] has.
pub(crate) fn evidence<'a>(config: &Config, store: &'a Store) -> Cow<'a, Store> {
    if !config.has(Plant::IgnoresWorkers) {
        return Cow::Borrowed(store);
    }
    let mut store = store.clone();
    for worker in store.worker_uids() {
        store.drop_worker(&worker);
    }
    Cow::Owned(store)
}

/// What a bridge with a defect makes of what Slurm said.
pub(crate) fn heard(
    config: &Config,
    known: &BTreeMap<SlurmNode, NodeInfo>,
    outcome: Result<SlurmReply, SlurmFault>,
) -> Result<SlurmReply, SlurmFault> {
    let revive = |mut job: ObservedJob| {
        job.state = revived(job.state);
        job
    };
    match outcome? {
        SlurmReply::Job(Some(job)) if config.has(Plant::TakesEndedForLive) => {
            Ok(SlurmReply::Job(Some(Box::new(revive(*job)))))
        }
        SlurmReply::Jobs(jobs) if config.has(Plant::TakesEndedForLive) => {
            Ok(SlurmReply::Jobs(jobs.into_iter().map(revive).collect()))
        }
        SlurmReply::States(states) if config.has(Plant::TakesEndedForLive) => {
            let states = states.into_iter().map(|(job, state)| (job, revived(state)));
            Ok(SlurmReply::States(states.collect()))
        }
        SlurmReply::Job(None) if config.has(Plant::BelievesNoAbsence) => {
            Err(SlurmFault::Refused { number: 2017, text: "Invalid job id specified".into() })
        }
        SlurmReply::Nodes(mut nodes) if config.has(Plant::RemembersNodes) => {
            let gone = |info: &&NodeInfo| !nodes.iter().any(|node| node.name == info.name);
            let gone: Vec<_> = known.values().filter(gone).cloned().collect();
            nodes.extend(gone);
            Ok(SlurmReply::Nodes(nodes))
        }
        reply @ (SlurmReply::Submitted { .. }
        | SlurmReply::States(_)
        | SlurmReply::Job(_)
        | SlurmReply::Jobs(_)
        | SlurmReply::Nodes(_)
        | SlurmReply::Reservations(_)
        | SlurmReply::Done) => Ok(reply),
    }
}

fn revived(state: ObservedState) -> ObservedState {
    let known = [Base::Completed, Base::Cancelled].contains(state.base());
    if standing(&state) == Standing::Ended && !known { ObservedState::RUNNING } else { state }
}

/// What a bridge with [`Plant::BindsByName`] sends.
pub(crate) fn spoil(config: &Config, effects: &mut [Effect]) {
    if !config.has(Plant::BindsByName) {
        return;
    }
    for effect in effects {
        if let Effect::Kube { request, .. } = effect
            && request.path.ends_with("/binding")
            && let Some(metadata) =
                request.body.as_mut().and_then(|it| it["metadata"].as_object_mut())
        {
            metadata.remove("uid");
        }
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

/// With [`Plant::NeedsRoomToQueue`], a draft waits while no node has room now.
pub(crate) fn wait_for_room(
    config: &Config,
    field: Field<'_>,
    pods: &[&PodView],
    choice: &mut Choice,
) {
    if !config.has(Plant::NeedsRoomToQueue) {
        return;
    }
    let nobody = BTreeSet::new();
    let around = field.drafting(&nobody, pods);
    let company = Company { when: When::Allocated, ..around.company };
    let around = Around { company, ..around };
    let demands: Vec<_> = pods.iter().map(|pod| Demands::of(around, pod)).collect();
    let has_room =
        |pod: &Demands<'_>| field.store.nodes().any(|node| fits(pod, node, around).is_ok());
    if !demands.iter().all(has_room) {
        choice.hold = Some(Hold::Wait("waiting for room".into()));
    }
}

/// With [`Plant::RequiresCandidates`], names the nodes that are left instead of the others.
pub(crate) fn require_candidates(config: &Config, field: Field<'_>, job: &mut Submission) {
    if config.has(Plant::RequiresCandidates) {
        let excluded = std::mem::take(&mut job.excluded_nodes);
        let left = field.slurm.keys().filter(|node| !excluded.contains(node));
        job.required_nodes = left.cloned().collect();
    }
}
