//! The world at one moment, as plain data for whoever draws, prints or judges it.
//!
//! No logic here, and nothing that can reach back into the world.

use std::collections::BTreeMap;

use drawbridge_sim::{JobId, Span, Time};
use serde::{Deserialize, Serialize};

/// Everything there is to see at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// The moment.
    pub now: Time,
    /// Records so far.
    pub events: u64,
    /// Whether the bridge process is alive; `None` in a world without one.
    pub bridge_up: Option<bool>,
    /// Pods that exist or existed, by namespace and name; a pod that is gone keeps its last row.
    pub pods: Vec<PodRow>,
    /// Jobs that slurmctld has had, by number.
    pub jobs: Vec<JobRow>,
    /// Nodes of both sides, Slurm's in slurm.conf's order, then Kubernetes' others by name.
    pub nodes: Vec<NodeRow>,
    /// Counters by name: `bridge.slurm.submit`, `kube.requests`, `slurm.cycles.main`.
    pub metrics: BTreeMap<String, u64>,
}

/// One pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodRow {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// `Pending`, `Running`, `Succeeded`, `Failed`; `Deleted` once the object is gone.
    pub phase: String,
    /// Why it waits or ended, in one word: `Resources`, `Evicted`.
    pub reason: Option<String>,
    /// The whole sentence beside the reason.
    pub message: Option<String>,
    /// Kubernetes node it is bound to.
    pub node: Option<String>,
    /// Slurm node it was given.
    pub slurm_node: Option<String>,
    /// Slurm job that stands for it.
    pub job_id: Option<JobId>,
    /// Gang it belongs to.
    pub gang: Option<String>,
    /// Controller at the top of its owners, as `Deployment/web`.
    pub owner: Option<String>,
    /// Its place among the ranks, where its labels say so; elsewhere names order them.
    pub rank: Option<u64>,
    /// The MPI program that it is a rank of.
    pub mpi: Option<MpiRow>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Scheduler that it names.
    pub scheduler: String,
    /// What the bridge says of it in conditions of its own: `SlurmSuspended=True: …`.
    pub conditions: Vec<String>,
    /// Being deleted.
    pub terminating: bool,
    /// When it was created.
    pub created_ms: Time,
    /// When it was bound.
    pub bound_ms: Option<Time>,
    /// When its containers ran.
    pub started_ms: Option<Time>,
    /// When its containers ended.
    pub finished_ms: Option<Time>,
}

/// What a rank says of its MPI program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MpiRow {
    /// Ranks of one namespace with the same name here are one program.
    pub program: String,
    /// How many ranks it has.
    pub ranks: u32,
    /// What the rank last said at the barrier: `3 of 4 ranks are here`.
    pub barrier: Option<String>,
    /// Whether it has met all the others.
    pub met: bool,
}

/// One Slurm job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRow {
    /// Its number.
    pub job_id: JobId,
    /// Its name.
    pub name: String,
    /// Its user.
    pub user: String,
    /// Its account.
    pub account: Option<String>,
    /// Its partition.
    pub partition: String,
    /// As squeue spells it.
    pub state: String,
    /// As squeue spells it; `None` when there is none.
    pub reason: Option<String>,
    /// Node list, folded: `n[1-3]`.
    pub nodes: String,
    /// CPUs asked for or allocated.
    pub cpus: u32,
    /// Fewest nodes that it asks for.
    pub min_nodes: u32,
    /// Tasks that it asks for.
    pub tasks: u32,
    /// How long it may run; `None` is without a limit.
    pub time_limit_ms: Option<Span>,
    /// Its quality of service, where it names one.
    pub qos: Option<String>,
    /// What it waits for, as scontrol prints it: `afterok:7`.
    pub dependency: Option<String>,
    /// Priority.
    pub priority: u32,
    /// The parts of its priority, as sprio names them; none where priorities aren't weighed.
    pub factors: Vec<(String, i64)>,
    /// When backfill expects to start it.
    pub expected_start_ms: Option<Time>,
    /// Started by backfill, past a job that waited.
    pub backfilled: bool,
    /// Submitted by the bridge for a workload.
    pub bridged: bool,
    /// When it was submitted.
    pub submit_ms: Time,
    /// When it started.
    pub start_ms: Option<Time>,
    /// When it ended.
    pub end_ms: Option<Time>,
    /// `0:0`, once it ended.
    pub exit_code: Option<String>,
}

/// One machine, with both of its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRow {
    /// Kubernetes name, or Slurm's where Kubernetes has no such node.
    pub name: String,
    /// Slurm name, if Slurm knows it.
    pub slurm_name: Option<String>,
    /// As sinfo spells it: `idle`, `mix`, `drng`; `-` where Slurm doesn't know it.
    pub state: String,
    /// Why it is drained or down.
    pub reason: Option<String>,
    /// Cordoned in Kubernetes.
    pub cordoned: bool,
    /// Partitions that it belongs to.
    pub partitions: Vec<String>,
    /// The switch or rack that it hangs on, where that is known.
    pub switch: Option<String>,
    /// What the bridge says of it in conditions: `SlurmSchedulable=False: …`.
    pub conditions: Vec<String>,
    /// Its taints: `slinky.slurm.net/managed-node=slurm-bridge-scheduler:NoExecute`.
    pub taints: Vec<String>,
    /// CPUs.
    pub cpus: u32,
    /// CPUs that jobs hold.
    pub cpus_alloc: u32,
    /// Memory, MiB.
    pub memory_mb: u64,
    /// Memory that jobs hold, MiB.
    pub memory_alloc_mb: u64,
    /// Generic resources: `gpu:4`.
    pub gres: String,
    /// Generic resources that jobs hold: `gpu:1`.
    pub gres_alloc: String,
    /// Who holds each CPU, by index.
    pub cpu_holders: Vec<Option<JobId>>,
    /// Who holds each GPU, by index.
    pub gpu_holders: Vec<Option<JobId>>,
    /// Pods bound here that have not ended, as `namespace/name`.
    pub pods: Vec<String>,
}
