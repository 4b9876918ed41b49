//! One job, from its submission until it is forgotten.
//!
//! ```text
//!             start                 end of script, cancel, limit, lost node
//!  PENDING ─────────▶ RUNNING ──────────────────────────▶ COMPLETED | FAILED | CANCELLED | …
//!     ▲                 │ ▲                                   (COMPLETING until its nodes are free)
//!     ├──── requeue ────┘ └──▶ SUSPENDED                                       │
//!     └──────────────────────────────── requeue ───────────────────────────────┘
//! ```

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

use crate::{
    Allocation, ArrayPlace, IndexSet, JobBehaviour, JobId, PartitionName, Reason, Span, Submission,
    Time, dependency::Dependency, licenses::LicenseAsk, select::Ask,
};

/// A job as slurmctld knows it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// What is asked for: as it was submitted, and changed since.
    pub submission: Arc<Submission>,
    /// Which tasks of an array it is.
    pub array: Option<ArrayPlace>,
    /// Where it queues or runs. One of several while it waits: the first that was named.
    pub partition: PartitionName,
    /// Where it may run, in the order in which squeue lists them while it waits.
    pub listed: Arc<[PartitionName]>,
    /// Its base state.
    pub state: JobState,
    /// Ended or queued again, but its nodes aren't free yet.
    pub completing: bool,
    /// Running, but its nodes aren't ready yet.
    pub configuring: bool,
    /// Queued again and held, because it said so with its exit code or somebody did.
    pub special_exit: bool,
    /// Why it waits or ended.
    pub reason: Reason,
    /// 0 while it is held.
    pub priority: u32,
    /// When it was submitted, or queued again.
    pub submit_time: Time,
    /// Since when it could run, dependencies and begin time aside; unset while held or dependent.
    pub eligible_time: Option<Time>,
    /// Not before.
    pub begin_time: Option<Time>,
    /// When it really started, the last time.
    pub start_time: Option<Time>,
    /// When backfill expects to start it.
    pub expected_start: Option<Time>,
    /// When it ended.
    pub end_time: Option<Time>,
    /// Its wall-clock limit; `None` is without one.
    pub time_limit: Option<Span>,
    /// What backfill may shorten its limit to.
    pub time_min: Option<Span>,
    /// It must end until then.
    pub deadline: Option<Time>,
    /// How long it ran before it was last suspended, and since when it is suspended.
    pub suspended: Suspended,
    /// Licences that it takes.
    pub licenses: LicenseAsk,
    /// What it holds, or held until it ended.
    pub allocation: Option<Arc<Allocation>>,
    /// How its script ended.
    pub exit: ExitCode,
    /// How often it was queued again.
    pub restarts: u32,
    /// Whether it is queued again when a node fails.
    pub requeue: bool,
    /// The user's comment.
    pub comment: String,
    /// How its script behaves.
    pub behaviour: Arc<JobBehaviour>,
    pub(crate) ask: Arc<Ask>,
    /// Places in the list of partitions, in the order named.
    pub(crate) partitions: Vec<usize>,
    pub(crate) dependency: Dependency,
    /// When it is asked again whether it could run.
    pub(crate) timer: Option<Time>,
    /// The priority was given, not computed.
    pub(crate) priority_given: bool,
    /// Its cores are counted for others: it is suspended, or was.
    pub(crate) coreless: bool,
    /// It came to its nodes as one that shares them with nobody else's jobs.
    pub(crate) keeps_others_out: bool,
    /// Its script runs.
    pub(crate) script_lives: bool,
    /// Nodes on which it is over, while it is completing on others.
    pub(crate) left: IndexSet,
    /// The limit is its own, not the partition's.
    pub(crate) limit_given: bool,
    /// Tells its runs apart.
    pub(crate) run: u32,
}

/// Base states, as squeue spells them. COMPLETING is a flag: [`Job::completing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// In the queue.
    Pending,
    /// On its nodes.
    Running,
    /// On its nodes, but stopped: its CPUs are others' for now.
    Suspended,
    /// Ended with exit code 0.
    Completed,
    /// Somebody ended it.
    Cancelled,
    /// Ended with another exit code, or by a signal.
    Failed,
    /// Ran into its limit.
    Timeout,
    /// Lost a node.
    NodeFail,
    /// Could not have ended in time.
    Deadline,
    /// Used more memory than it had.
    OutOfMemory,
    /// Its nodes would not boot.
    BootFail,
}

/// A job's pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspended {
    /// Since when; unset unless it is suspended now.
    pub since: Option<Time>,
    /// How long in all, until it last resumed.
    pub total: Span,
}

/// How a script ended: `code:signal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExitCode {
    /// What it returned.
    pub code: u8,
    /// The signal that ended it; 0 if none did.
    pub signal: u8,
}

impl Job {
    /// The state as squeue's STATE column shows it: flags cover the base state.
    pub fn squeue_state(&self) -> &'static str {
        self.flags().next().unwrap_or_else(|| self.state.as_str())
    }

    /// The state as the REST API lists it: base state, then flags.
    pub fn state_flags(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.state.as_str()).chain(self.flags())
    }

    fn flags(&self) -> impl Iterator<Item = &'static str> + use<> {
        let flags = [
            ("COMPLETING", self.completing),
            ("CONFIGURING", self.configuring),
            ("SPECIAL_EXIT", self.special_exit),
        ];
        flags.into_iter().filter_map(|(word, set)| set.then_some(word))
    }

    /// Its number as squeue prints it: `12`, `12_3`, `12_[4-7%3]`.
    pub fn squeue_id(&self) -> String {
        self.array.as_ref().map_or_else(|| self.id.to_string(), ToString::to_string)
    }

    /// The partitions as squeue prints them: all while it waits, afterwards the one that it is in,
    /// unless one of them is no more.
    pub fn squeue_partition(&self) -> String {
        let placed = self.state != JobState::Pending && !self.partitions.is_empty();
        if placed || self.listed.is_empty() {
            return self.partition.to_string();
        }
        let names: Vec<&str> = self.listed.iter().map(PartitionName::as_str).collect();
        names.join(",")
    }

    /// What it still waits for, as scontrol prints it; `None` if nothing.
    pub fn dependency(&self) -> Option<String> {
        (!self.dependency.is_empty()).then(|| self.dependency.to_string())
    }

    /// Whether it is external: it has no script, and its nodes are free as soon as it ends.
    pub fn is_external(&self) -> bool {
        self.submission.external
    }

    /// Whether it holds nodes.
    pub fn holds_nodes(&self) -> bool {
        matches!(self.state, JobState::Running | JobState::Suspended) || self.completing
    }

    /// CPUs that it holds or asks for at least.
    pub fn cpus(&self) -> u32 {
        match &self.allocation {
            Some(allocation) => allocation.cpus(),
            None => self.ask.min_cpus(),
        }
    }

    /// Tasks that it asks for.
    pub fn tasks(&self) -> u32 {
        self.ask.tasks
    }

    /// Fewest nodes that it asks for.
    pub fn min_nodes(&self) -> u32 {
        self.ask.min_nodes
    }

    /// When it must end at the latest: start and limit, and what it was suspended for.
    pub fn limit_end(&self) -> Option<Time> {
        Some(self.counts_from()? + self.time_limit?)
    }

    /// When its limit would have begun: its nodes were ready, and pauses don't count.
    pub(crate) fn counts_from(&self) -> Option<Time> {
        Some(self.start_time? + self.behaviour.configuring + self.suspended.total)
    }
}

impl JobState {
    /// As squeue spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Suspended => "SUSPENDED",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
            Self::Timeout => "TIMEOUT",
            Self::NodeFail => "NODE_FAIL",
            Self::Deadline => "DEADLINE",
            Self::OutOfMemory => "OUT_OF_MEMORY",
            Self::BootFail => "BOOT_FAIL",
        }
    }

    /// Whether nothing more will happen to it but tidying up.
    pub const fn is_end(self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Suspended)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for JobState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl ExitCode {
    /// A script that returned this.
    pub const fn code(code: u8) -> Self {
        Self { code, signal: 0 }
    }

    /// A script that this signal ended.
    pub const fn signal(signal: u8) -> Self {
        Self { code: 0, signal }
    }
}

/// `code:signal`.
impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.code, self.signal))
    }
}

impl Serialize for ExitCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
