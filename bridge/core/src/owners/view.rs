//! Owners as far as we read them: how long their pods may run, and how many there are.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::view::Meta;

/// What we read of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct OwnerView {
    #[serde(default)]
    pub(crate) kind: String,
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: OwnerSpec,
    #[serde(default)]
    pub(crate) status: OwnerStatus,
}

/// What an owner wants of its pods, whatever its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerSpec {
    pub(crate) active_deadline_seconds: Option<u64>,
    /// Of a Job.
    pub(crate) parallelism: Option<u32>,
    pub(crate) completions: Option<u32>,
    pub(crate) completion_mode: Option<String>,
    /// Of a JobSet.
    pub(crate) replicated_jobs: Vec<ReplicatedJob>,
    /// A word in a LeaderWorkerSet, an object in a JobSet.
    pub(crate) startup_policy: Value,
    /// Of a LeaderWorkerSet.
    pub(crate) leader_worker_template: LeaderWorkerTemplate,
    /// Of an MPIJob.
    pub(crate) mpi_replica_specs: BTreeMap<String, Role>,
    pub(crate) launcher_creation_policy: Option<String>,
    /// Of a PyTorchJob.
    pub(crate) pytorch_replica_specs: BTreeMap<String, Role>,
    /// Of a RayCluster.
    pub(crate) worker_group_specs: Vec<Role>,
}

/// Several pods of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Role {
    pub(crate) replicas: Option<u32>,
}

/// A kind of Job in a JobSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicatedJob {
    pub(crate) name: String,
    pub(crate) replicas: Option<u32>,
    pub(crate) depends_on: Vec<Value>,
    pub(crate) template: JobTemplate,
}

/// The Jobs that a JobSet makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct JobTemplate {
    pub(crate) spec: Completions,
}

/// How many pods a Job has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Completions {
    pub(crate) parallelism: Option<u32>,
    pub(crate) completions: Option<u32>,
}

/// The groups that a LeaderWorkerSet makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaderWorkerTemplate {
    pub(crate) size: Option<u32>,
    pub(crate) worker_template: Value,
}

/// How far an owner is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerStatus {
    /// Of a Job: pods that are done.
    #[serde(deserialize_with = "count")]
    pub(crate) succeeded: u32,
    /// Of a JobSet.
    pub(crate) replicated_jobs_status: Vec<ReplicatedJobStatus>,
}

/// How far a kind of Job in a JobSet is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ReplicatedJobStatus {
    pub(crate) name: String,
    /// Jobs that are done.
    pub(crate) succeeded: u32,
}

/// A number, or none where another kind has something else by that name.
fn count<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(value.as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0))
}
