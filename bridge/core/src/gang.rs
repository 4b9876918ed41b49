//! Pods that stand for one job together: what binds them, and how it is called.
//!
//! ```text
//!  label scheduling.x-k8s.io/pod-group ─▶ PodGroup, at least minMember
//!  spec.schedulingGroup ────────────────▶ PodGroup of scheduling.k8s.io, at least gang.minCount
//!  owners ([`Roster`]) ─────────────────▶ LeaderWorkerSet group, JobSet, Job, MPIJob …, all of them
//!  none of these ───────────────────────▶ the pod is alone
//! ```
//!
//! A gang is known by a uid that another generation of it doesn't have: its group's, its leader pod's, its
//! JobSet's with the attempt. The job's mark names it, so that a new process finds the pods' home before it has
//! read any owner.

mod roster;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    names::{ObjectKey, Uid},
    store::Store,
    view::{PodGroupView, PodView},
};
pub(crate) use roster::Roster;

/// Label on pods of a JobSet: its uid.
const JOB_SET_UID: &str = "jobset.sigs.k8s.io/jobset-uid";
/// Label on pods of a JobSet: how often it was started again.
const ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";
/// Label on pods of a JobSet: the replicated job.
const REPLICATED_JOB: &str = "jobset.sigs.k8s.io/replicatedjob-name";
/// Annotation on workers of a LeaderWorkerSet: their leader.
const LEADER: &str = "leaderworkerset.sigs.k8s.io/leader-name";

/// What binds pods together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Bond {
    /// A PodGroup of `scheduling.x-k8s.io`.
    PodGroup,
    /// A PodGroup of `scheduling.k8s.io`.
    SchedulingGroup,
    /// A group of a LeaderWorkerSet.
    LeaderWorkerSet,
    /// A JobSet, or one of its replicated jobs.
    JobSet,
    /// An Indexed Job.
    Job,
    /// An owner of another kind whose pods were asked to be one.
    Owner,
}

/// A gang, by what binds it and the name to print.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Gang {
    pub(crate) bond: Bond,
    /// `namespace/name` of the group, or of the owner with the part of it: `a/train-workers`.
    pub(crate) key: ObjectKey,
}

impl Gang {
    /// The group that the pod itself names.
    pub(crate) fn named_by(pod: &PodView) -> Option<Self> {
        let here = |name: &str| ObjectKey::new(&pod.metadata.namespace, name);
        let scheduling = pod.spec.scheduling_group.as_ref().and_then(|it| it.name());
        if let Some(name) = scheduling {
            return Some(Self { bond: Bond::SchedulingGroup, key: here(name) });
        }
        pod.group().map(|key| Self { bond: Bond::PodGroup, key })
    }

    /// Its group, where it has one.
    pub(crate) fn group<'a>(&self, store: &'a Store) -> Option<&'a PodGroupView> {
        match self.bond {
            Bond::PodGroup | Bond::SchedulingGroup => store.group(self).map(AsRef::as_ref),
            Bond::LeaderWorkerSet | Bond::JobSet | Bond::Job | Bond::Owner => None,
        }
    }

    /// Whether it is bound by a group, which may not exist yet.
    pub(crate) fn needs_a_group(&self) -> bool {
        matches!(self.bond, Bond::PodGroup | Bond::SchedulingGroup)
    }
}

impl fmt::Display for Gang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.bond {
            Bond::PodGroup | Bond::SchedulingGroup => "PodGroup",
            Bond::LeaderWorkerSet => "LeaderWorkerSet group",
            Bond::JobSet => "JobSet",
            Bond::Job => "Job",
            Bond::Owner => "the gang",
        };
        write!(f, "{kind} {}", self.key)
    }
}

/// The ids that a gang of this pod may have, as far as the pod itself tells: by them its job is found
/// before its owners have been read.
pub(crate) fn claims(pod: &PodView, store: &Store) -> Vec<Uid> {
    let meta = &pod.metadata;
    let label = |key: &str| meta.labels.get(key).map(String::as_str);
    let mut claims = Vec::new();
    if let (Some(set), Some(attempt)) = (label(JOB_SET_UID), label(ATTEMPT)) {
        claims.push(job_set_id(set, attempt, None));
        claims.extend(label(REPLICATED_JOB).map(|part| job_set_id(set, attempt, Some(part))));
    }
    let leader = meta.annotations.get(LEADER).map(|name| ObjectKey::new(&meta.namespace, name));
    claims.extend(leader.and_then(|leader| store.uid_of(&leader)).cloned());
    claims.extend(meta.controller().map(|owner| owner.uid.clone()));
    claims
}

/// The id of a JobSet's gang: another attempt is another gang.
fn job_set_id(set: &str, attempt: &str, part: Option<&str>) -> Uid {
    match part {
        Some(part) => format!("{set}/{attempt}/{part}").into(),
        None => format!("{set}/{attempt}").into(),
    }
}
