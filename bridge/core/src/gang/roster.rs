//! Gangs that owners make: which one a pod belongs to, and how many pods it has.
//!
//! | owner | gang | unless |
//! |---|---|---|
//! | LeaderWorkerSet | each group, known by its leader | `drawbridge.dev/gang: "false"` |
//! | JobSet | all its pods; those of one replicated job where jobs start one after the other | the same |
//! | Job | its pods, if Indexed with as many completions as parallelism | only if asked for |
//! | MPIJob, PyTorchJob, RayCluster … | all their replicas | only if asked for |
//!
//! The annotation counts on the pod or any of its owners, the nearest to the pod first.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ATTEMPT, Bond, Gang, LEADER, REPLICATED_JOB, job_set_id};
use crate::{
    config::GangConfig,
    names::{ObjectKey, Uid},
    owners::{OwnerView, ReplicatedJob},
    view::PodView,
};

const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const SET_NAME: &str = "leaderworkerset.sigs.k8s.io/name";

/// A gang that owners make.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roster {
    pub(crate) id: Uid,
    pub(crate) gang: Gang,
    /// So many pods have to be there before it is submitted.
    pub(crate) needed: usize,
    /// All of its pods in rank order, as they will be: those that come later have their place in the job
    /// from its beginning. Empty where all are needed at once.
    pub(crate) booked: Vec<PodView>,
}

impl Roster {
    /// The gang that the pod's owners, the topmost first, make of it. `wanted` is what annotations say.
    pub(crate) fn of(
        config: &GangConfig,
        pod: &PodView,
        owners: &[Arc<OwnerView>],
        wanted: Option<bool>,
    ) -> Option<Self> {
        if wanted == Some(false) {
            return None;
        }
        let find = |kind: &str| owners.iter().find(|owner| owner.kind == kind);
        if let Some(set) = find("LeaderWorkerSet") {
            return leader_worker_set(pod, owners, set);
        }
        if let Some(set) = find("JobSet") {
            return job_set(pod, set);
        }
        let asked = wanted == Some(true);
        let by_role = || owners.iter().filter(|_| asked).find_map(|owner| replicas(owner));
        let job = || find("Job").filter(|_| asked || config.indexed_jobs).map(Arc::as_ref);
        by_role().or_else(|| job().and_then(indexed_job))
    }
}

/// One group of a set. Under `LeaderReady` the workers exist only once the leader runs, so the leader
/// alone brings the job, with a place in it for everybody.
fn leader_worker_set(pod: &PodView, owners: &[Arc<OwnerView>], set: &OwnerView) -> Option<Roster> {
    let meta = &pod.metadata;
    let name = meta.labels.get(SET_NAME)?;
    let index = meta.labels.get(GROUP_INDEX)?;
    let size = set.spec.leader_worker_template.size.unwrap_or(1).max(1);
    let leader = ObjectKey::new(&meta.namespace, &format!("{name}-{index}"));
    let id = match meta.annotations.get(LEADER) {
        None => meta.uid.clone(),
        Some(leader) => {
            let is_leader =
                |owner: &&Arc<OwnerView>| owner.kind == "Pod" && owner.metadata.name == *leader;
            owners.iter().find(is_leader)?.metadata.uid.clone()
        }
    };
    let late = set.spec.startup_policy.as_str() == Some("LeaderReady");
    let booked = if late { workers(&leader, pod, set, size) } else { Vec::new() };
    let needed = if booked.is_empty() { size as usize } else { 1 };
    let gang = Gang { bond: Bond::LeaderWorkerSet, key: leader };
    Some(Roster { id, gang, needed, booked })
}

/// The group's pods as the set will make them, the leader as it is.
fn workers(leader: &ObjectKey, pod: &PodView, set: &OwnerView, size: u32) -> Vec<PodView> {
    let template = &set.spec.leader_worker_template.worker_template;
    let worker = |index: u32| {
        let name = format!("{}-{index}", leader.name());
        let mut metadata = json!({ "name": name, "namespace": leader.namespace(), "uid": "" });
        for part in ["labels", "annotations"] {
            if let given @ Value::Object(_) = &template["metadata"][part] {
                metadata[part] = given.clone();
            }
        }
        PodView::deserialize(json!({ "metadata": metadata, "spec": template["spec"] })).ok()
    };
    let is_leader = pod.key() == *leader;
    let leader = is_leader.then(|| pod.clone()).or_else(|| worker(0).map(|it| named(it, leader)));
    leader.into_iter().chain((1..size).filter_map(worker)).collect()
}

fn named(mut pod: PodView, key: &ObjectKey) -> PodView {
    pod.metadata.name = key.name().into();
    pod
}

/// All pods of a JobSet, or those of the pod's replicated job where one starts after the other: to wait for
/// all would be to wait for ever.
fn job_set(pod: &PodView, set: &OwnerView) -> Option<Roster> {
    let label = |key: &str| pod.metadata.labels.get(key).map(String::as_str);
    let part = label(REPLICATED_JOB)?;
    let attempt = label(ATTEMPT).unwrap_or("0");
    let jobs = &set.spec.replicated_jobs;
    let in_order = set.spec.startup_policy["startupPolicyOrder"] == "InOrder";
    let one_by_one = in_order || jobs.iter().any(|job| !job.depends_on.is_empty());
    let part = one_by_one.then_some(part);
    let ours = jobs.iter().filter(|job| part.is_none_or(|part| job.name == part));
    let needed = ours.map(|job| left(job, set)).sum();
    let key = set.metadata.key();
    let key = part.map_or(key.clone(), |part| {
        ObjectKey::new(key.namespace(), &format!("{}-{part}", key.name()))
    });
    let id = job_set_id(set.metadata.uid.as_str(), attempt, part);
    let gang = Gang { bond: Bond::JobSet, key };
    (needed > 1).then_some(Roster { id, gang, needed, booked: Vec::new() })
}

/// How many pods of a replicated job have yet to succeed.
fn left(job: &ReplicatedJob, set: &OwnerView) -> usize {
    let spec = &job.template.spec;
    let parallelism = spec.parallelism.unwrap_or(1);
    let pods = spec.completions.map_or(parallelism, |completions| parallelism.min(completions));
    let done = set.status.replicated_jobs_status.iter().find(|status| status.name == job.name);
    let done = done.map_or(0, |status| status.succeeded);
    (job.replicas.unwrap_or(1).saturating_sub(done) as usize) * pods as usize
}

/// The pods of a Job that runs all of its indexes at once.
fn indexed_job(job: &OwnerView) -> Option<Roster> {
    let (parallelism, completions) = (job.spec.parallelism?, job.spec.completions?);
    let indexed = job.spec.completion_mode.as_deref() == Some("Indexed");
    if !indexed || parallelism != completions || completions < 2 {
        return None;
    }
    let gang = Gang { bond: Bond::Job, key: job.metadata.key() };
    let needed = completions.saturating_sub(job.status.succeeded).max(1) as usize;
    Some(Roster { id: job.metadata.uid.clone(), gang, needed, booked: Vec::new() })
}

/// The pods of an owner that counts them by role.
fn replicas(owner: &OwnerView) -> Option<Roster> {
    let spec = &owner.spec;
    // A launcher that is made once the workers are ready can't be waited for.
    let late = spec.launcher_creation_policy.as_deref() == Some("WaitForWorkersReady");
    let mpi = spec.mpi_replica_specs.iter().filter(|(role, _)| !late || *role != "Launcher");
    let roles = mpi.map(|(_, role)| role).chain(spec.pytorch_replica_specs.values());
    let counted: u32 = roles.map(|role| role.replicas.unwrap_or(1)).sum();
    let workers: u32 = spec.worker_group_specs.iter().map(|it| it.replicas.unwrap_or(0)).sum();
    // A RayCluster has one head, which no number speaks of.
    let head = u32::from(owner.kind == "RayCluster");
    let needed = (counted + workers + head) as usize;
    let gang = Gang { bond: Bond::Owner, key: owner.metadata.key() };
    (needed > 1).then(|| Roster {
        id: owner.metadata.uid.clone(),
        gang,
        needed,
        booked: Vec::new(),
    })
}
