//! Slurm as the bridge sees it: what it submits, and what it observes.
//!
//! Observed states are open ([`Base::Unknown`]): a newer Slurm may say what we don't know, and that
//! must be safe.

mod state;
mod version;

use std::fmt;

use drawbridge_sim::{JobId, PartitionName, SlurmNode, fnv1a};
use serde::{Deserialize, Serialize};

pub use state::{Base, Flag, NoState, ObservedState};
pub use version::{ApiVersion, UnknownVersion};

/// Where a request goes, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Via {
    /// Which slurmrestd, by its place in the configuration.
    pub endpoint: usize,
    /// The version of the API.
    pub version: ApiVersion,
}

/// A job to submit. Amounts are for the whole job unless the name says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    /// Job name.
    pub name: String,
    /// The batch script; an external job has none, and needs no slurmd.
    pub script: Option<String>,
    /// Where to queue; Slurm's default partition if unset.
    pub partition: Option<PartitionName>,
    /// Account to charge.
    pub account: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Reservation to use.
    pub reservation: Option<String>,
    /// Workload characterisation key.
    pub wckey: Option<String>,
    /// Licences.
    pub licenses: Option<String>,
    /// Feature expression.
    pub constraints: Option<String>,
    /// Run as this user (name or number).
    pub user_id: Option<String>,
    /// Run as this group.
    pub group_id: Option<String>,
    /// Number of tasks: one per pod.
    pub tasks: u32,
    /// CPUs for each task.
    pub cpus_per_task: u32,
    /// Memory, in MiB.
    pub memory: Memory,
    /// Generic resources per task, as Slurm writes them: `gres/gpu:1`.
    pub tres_per_task: Option<String>,
    /// Generic resources per node, from an annotation.
    pub tres_per_node: Option<String>,
    /// Most tasks on one node.
    pub tasks_per_node: Option<u32>,
    /// Fewest nodes.
    pub min_nodes: Option<u32>,
    /// Most nodes.
    pub max_nodes: Option<u32>,
    /// Nodes that must not be used.
    pub excluded_nodes: Vec<SlurmNode>,
    /// Nodes that must be used. Ours never name any: Slurm checks them again at every restart, and
    /// fails a job that names one which is gone. Only a planted defect does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_nodes: Vec<SlurmNode>,
    /// Wall-clock limit, in minutes.
    pub time_limit_minutes: Option<u32>,
    /// An explicit priority.
    pub priority: Option<u32>,
    /// When it may run, and what else.
    pub wishes: Wishes,
    /// Whole nodes only.
    pub exclusive: bool,
    /// The mark by which we know our jobs, as JSON.
    pub admin_comment: String,
    /// Multi-category security label.
    pub mcs_label: Option<String>,
}

impl Submission {
    /// What it asks for, in short: equal for equal requests, whatever is written on them. Of a dependency
    /// only counts what somebody wrote: what it comes to changes as jobs end, and Slurm sees that itself.
    pub(crate) fn in_short(&self, dependency: &impl fmt::Debug) -> String {
        let wishes = Wishes { dependency: None, ..self.wishes.clone() };
        let bare = Self { admin_comment: String::new(), wishes, ..self.clone() };
        let text = serde_json::to_string(&bare).unwrap_or_default();
        format!("{:016x}", fnv1a(format!("{text} {dependency:?}").as_bytes()))
    }
}

/// When a job may run, how urgent it is, and what else sbatch can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Wishes {
    /// Not before: seconds since the epoch.
    pub begin_time: Option<u64>,
    /// To be over by then: seconds since the epoch.
    pub deadline: Option<u64>,
    /// What it waits for, as sbatch writes it.
    pub dependency: Option<String>,
    /// Less urgent by so much.
    pub nice: Option<i32>,
    /// A user's comment.
    pub comment: Option<String>,
    /// Features that are preferred.
    pub prefer: Option<String>,
    /// A warning before the time limit.
    pub signal: Option<WarningSignal>,
    /// How many leaf switches, at most.
    pub switches: Option<Switches>,
}

/// A signal some time before a job's limit, for its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarningSignal {
    /// Its name without `SIG`.
    pub signal: String,
    /// How long before.
    pub seconds_before: u32,
}

/// How many leaf switches a job may lie under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Switches {
    /// At most so many.
    pub count: u32,
    /// How long to wait for them, at most; slurm.conf's bound if unset.
    pub wait_seconds: Option<u32>,
}

/// How much memory a job asks for, in MiB. There is no "nothing": Slurm would take the whole node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Memory {
    /// For each node.
    PerNode(u64),
    /// For each CPU.
    PerCpu(u64),
}

/// One job as Slurm describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedJob {
    /// Its number.
    pub id: JobId,
    /// Its state.
    pub state: ObservedState,
    /// The reason for waiting (or ending), one word, as Slurm gives it. `None` when Slurm says none.
    pub reason: Option<String>,
    /// The free-text explanation beside the reason, where Slurm gives one.
    pub reason_text: Option<String>,
    /// Our mark, or somebody else's text.
    pub admin_comment: String,
    /// Seconds since the epoch at which it was submitted.
    pub submit_time: u64,
    /// The allocation, in the order of Slurm's node list; empty while it waits.
    pub allocation: Vec<NodeAllocation>,
    /// The devices on each node, in the same order, as Slurm writes them: `gpu:a100:2(IDX:0-1)`.
    #[serde(default)]
    pub gres_detail: Vec<String>,
    /// The cores on each node, in the same order, by their index: `0-3,8`.
    #[serde(default)]
    pub cores: Vec<String>,
    /// Expected or actual start, seconds since the epoch.
    pub start_time: Option<u64>,
    /// Expected or actual end, seconds since the epoch.
    pub end_time: Option<u64>,
    /// Partition.
    pub partition: PartitionName,
}

/// What a job has on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeAllocation {
    /// The node.
    pub node: SlurmNode,
    /// CPUs there.
    pub cpus: u32,
}

/// One Slurm node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// Its name.
    pub name: SlurmNode,
    /// Its state flags as Slurm lists them: `["MIXED", "DRAIN"]`.
    pub state: Vec<String>,
    /// Why it is drained or down; empty if it isn't.
    pub reason: String,
    /// Free text; NodeSets keep JSON here.
    pub comment: String,
    /// Partitions it belongs to.
    pub partitions: Vec<PartitionName>,
    /// CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Generic resources as configured: `gpu:4`.
    pub gres: String,
    /// Its features.
    pub features: Vec<String>,
    /// Where it is in the topology, as Slurm writes it; empty if that isn't said.
    pub topology: String,
}

/// One reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// The nodes that it takes.
    pub nodes: Vec<SlurmNode>,
    /// When it begins: seconds since the epoch.
    pub start_time: u64,
    /// When it ends; `None` if it doesn't.
    pub end_time: Option<u64>,
    /// Whether it is for maintenance.
    pub is_maintenance: bool,
}

impl NodeInfo {
    /// Whether it has no slurmd: only external jobs run there.
    pub fn is_external(&self) -> bool {
        self.has("EXTERNAL")
    }

    /// Whether this word is among its states.
    pub fn has(&self, flag: &str) -> bool {
        self.state.iter().any(|state| state == flag)
    }
}
