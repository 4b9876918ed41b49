//! Which controller looks at what, as data: one row for each in [`Controller::decide`].
//!
//! A controller decides from what it sees, never from what changed. What it may see is a
//! [`Sight`]: the store, the lookups and the time, read only.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    autoscaler::{self, Metrics},
    budget,
    claim::{self, Provisioner},
    cron_job, daemon_set, deployment, device_claim, ephemeral,
    index::Index,
    job, job_set, leader_worker_set,
    memo::Memo,
    object::{Moment, controller, text, uid},
    plan::Plan,
    pod::Pod,
    replica_set, stateful_set, volume,
};
use crate::KubeApi;

/// A controller, by the kind of object that it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Controller {
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
    JobSet,
    LeaderWorkerSet,
    Autoscaler,
    Budget,
    Claim,
    Volume,
    DeviceClaim,
    /// Pods, as far as claims are made for them.
    PodClaims,
    /// Of pods, as far as they have volumes of their own.
    Ephemeral,
}

/// What a controller sees.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) at: Moment,
    pub(crate) api: &'a KubeApi,
    pub(crate) index: &'a Index,
    /// The time zone of schedules that name none.
    pub(crate) zone: &'a str,
    /// How provisioners work that don't work as usual.
    pub(crate) provisioners: &'a BTreeMap<String, Provisioner>,
    /// What metrics read.
    pub(crate) metrics: &'a Metrics,
    /// What was said when this couldn't be done the last time.
    pub(crate) failed: Option<&'a str>,
    /// What the controller remembers of the object.
    pub(crate) memo: Option<&'a Memo>,
}

type Decide = fn(Sight<'_>, &Value) -> Plan;

impl Controller {
    const ALL: [Self; 15] = [
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
        Self::JobSet,
        Self::LeaderWorkerSet,
        Self::Autoscaler,
        Self::Budget,
        Self::Claim,
        Self::Volume,
        Self::DeviceClaim,
        Self::PodClaims,
        Self::Ephemeral,
    ];

    /// The resource whose objects it looks at.
    pub(crate) const fn resource(self) -> &'static str {
        match self {
            Self::Deployment => "deployments.apps",
            Self::ReplicaSet => "replicasets.apps",
            Self::StatefulSet => "statefulsets.apps",
            Self::DaemonSet => "daemonsets.apps",
            Self::Job => "jobs.batch",
            Self::CronJob => "cronjobs.batch",
            Self::JobSet => "jobsets.jobset.x-k8s.io",
            Self::LeaderWorkerSet => leader_worker_set::RESOURCE,
            Self::Autoscaler => autoscaler::RESOURCE,
            Self::Volume => "persistentvolumes",
            Self::Ephemeral => "pods",
            Self::Claim => claim::RESOURCE,
            Self::Budget => budget::RESOURCE,
            Self::DeviceClaim => device_claim::RESOURCE,
            Self::PodClaims => "pods",
        }
    }

    /// Its kind, as owner references name it.
    const fn kind(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
            Self::JobSet => "JobSet",
            Self::LeaderWorkerSet => "LeaderWorkerSet",
            Self::Autoscaler => "HorizontalPodAutoscaler",
            Self::Volume => "PersistentVolume",
            Self::Ephemeral => "Pod",
            Self::Claim => "PersistentVolumeClaim",
            Self::Budget => "PodDisruptionBudget",
            Self::DeviceClaim => "ResourceClaim",
            Self::PodClaims => "Pod",
        }
    }

    /// The controller of objects of this resource.
    pub(crate) fn of_resource(resource: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.resource() == resource)
    }

    /// The controller that an owner reference leads to.
    pub(crate) fn of_owner(owner: &Value) -> Option<Self> {
        let kind = text(&owner["kind"]);
        Self::ALL.into_iter().find(|it| it.kind() == kind)
    }

    /// The controller of a kind, however its letters are written.
    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.kind().eq_ignore_ascii_case(kind))
    }

    /// The kinds that have one.
    pub(crate) fn kinds() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::kind)
    }

    /// How it decides.
    pub(crate) fn decide(self) -> Decide {
        match self {
            Self::Deployment => deployment::decide,
            Self::ReplicaSet => replica_set::decide,
            Self::StatefulSet => stateful_set::decide,
            Self::DaemonSet => daemon_set::decide,
            Self::Job => job::decide,
            Self::CronJob => cron_job::decide,
            Self::JobSet => job_set::decide,
            Self::LeaderWorkerSet => leader_worker_set::decide,
            Self::Autoscaler => autoscaler::decide,
            Self::Volume => volume::decide,
            Self::Ephemeral => ephemeral::decide,
            Self::Claim => claim::decide,
            Self::Budget => budget::decide,
            Self::DeviceClaim => device_claim::decide,
            Self::PodClaims => device_claim::decide_pod,
        }
    }
}

impl<'a> Sight<'a> {
    /// The pods that an object controls, by name.
    pub(crate) fn pods_of(self, object: &Value) -> Vec<Arc<Pod>> {
        self.index.owned(uid(object))
    }

    /// The objects of a resource that an object controls, by name.
    pub(crate) fn owned(
        self,
        owner: &Value,
        resource: &'static str,
    ) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        let owner = uid(owner).to_owned();
        self.api
            .dependents(&owner)
            .filter(move |(key, _)| key.resource == resource)
            .map(|(_, object)| object)
            .filter(move |object| controller(object).is_some_and(|by| by["uid"] == owner.as_str()))
    }
}
