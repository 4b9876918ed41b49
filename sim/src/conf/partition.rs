//! A partition as its `PartitionName` line describes it.

use crate::{PartitionName, Span};

use super::MemoryDefault;

/// A partition as `slurm.conf` describes it, and as operators changed it since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// Its name.
    pub name: PartitionName,
    /// Its nodes, as places in the order of the nodes, ascending.
    pub nodes: Vec<usize>,
    /// `Nodes=` as it was written.
    pub nodes_text: String,
    /// Takes jobs that name no partition.
    pub default: bool,
    /// Longest limit; `None` is without one.
    pub max_time: Option<Span>,
    /// Limit of jobs that name none; `None` takes `max_time`.
    pub default_time: Option<Span>,
    /// Fewest nodes of a job.
    pub min_nodes: u32,
    /// Most nodes of a job.
    pub max_nodes: Option<u32>,
    /// Most CPUs that its jobs get on a node, all together.
    pub max_cpus_per_node: Option<u32>,
    /// Most CPUs that its jobs get on a socket, all together.
    pub max_cpus_per_socket: Option<u32>,
    /// Higher tiers are looked at first.
    pub priority_tier: u32,
    /// Weighs in multifactor priority.
    pub priority_job_factor: u32,
    /// Whether it takes and starts jobs.
    pub state: PartitionState,
    /// `OverSubscribe=EXCLUSIVE`: whole nodes only.
    pub exclusive: bool,
    /// `OverSubscribe`.
    pub oversubscribe: OverSubscribe,
    /// `ExclusiveUser`: a node is one user's at a time.
    pub exclusive_user: bool,
    /// Least loaded nodes first.
    pub lln: bool,
    /// Memory of jobs that name none.
    pub def_mem: Option<MemoryDefault>,
    /// `DefMemPerGPU`, MiB.
    pub def_mem_per_gpu: Option<u64>,
    /// `DefCpuPerGPU`.
    pub def_cpus_per_gpu: Option<u32>,
    /// Most memory that a job may name.
    pub max_mem: Option<MemoryDefault>,
    /// Who may use it.
    pub access: Access,
    /// Where jobs go while it takes none.
    pub alternate: Option<PartitionName>,
    /// sinfo doesn't show it.
    pub hidden: bool,
    /// `GraceTime`.
    pub grace_time: Span,
    /// `OverTimeLimit`, where it isn't slurm.conf's.
    pub over_time_limit: Option<OverTime>,
    /// `TRESBillingWeights`, as written.
    pub billing_weights: Option<String>,
}

/// Who may use a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// `AllowGroups`; `None` is everybody.
    pub groups: Option<Vec<String>>,
    /// `AllowAccounts`; `None` is all. Without enforced accounting nobody looks at it.
    pub accounts: Option<Vec<String>>,
    /// `DenyAccounts`.
    pub denied_accounts: Option<Vec<String>>,
    /// `AllowQos`; `None` is all. Without accounting nobody looks at it.
    pub qos: Option<Vec<String>>,
    /// `DenyQos`.
    pub denied_qos: Option<Vec<String>>,
    /// `AllocNodes`: hosts that jobs may be submitted from; `None` is all.
    pub alloc_nodes: Option<Vec<String>>,
    /// `RootOnly`.
    pub root_only: bool,
    /// `DisableRootJobs`, where it isn't slurm.conf's.
    pub no_root: Option<bool>,
    /// `ReqResv`: only with a reservation.
    pub needs_reservation: bool,
}

/// How long a job may run past its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverTime {
    /// So long.
    Of(Span),
    /// Without end.
    Unlimited,
}

/// Whether jobs share cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverSubscribe {
    /// They don't.
    No,
    /// They don't even share nodes.
    Exclusive,
    /// So many do, if all of them ask for it.
    Yes(u32),
    /// So many do.
    Force(u32),
}

/// Whether a partition takes and starts jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionState {
    /// Both.
    Up,
    /// Takes them only.
    Down,
    /// Starts them only.
    Drain,
    /// Neither.
    Inactive,
}

impl PartitionState {
    /// As sinfo spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "UP",
            Self::Down => "DOWN",
            Self::Drain => "DRAIN",
            Self::Inactive => "INACTIVE",
        }
    }

    /// Whether jobs may be submitted to it.
    pub const fn takes_jobs(self) -> bool {
        matches!(self, Self::Up | Self::Down)
    }

    /// Whether its jobs may start.
    pub const fn starts_jobs(self) -> bool {
        matches!(self, Self::Up | Self::Drain)
    }
}
