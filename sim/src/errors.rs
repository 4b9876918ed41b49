//! What slurmctld answers when it says no: its own numbers and its own words.

use thiserror::Error;

/// A refusal. The numbers are those of `slurm_errno.h`; the words are those of `slurm_strerror`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum SlurmError {
    /// 2000: no such partition.
    #[error("Invalid partition name specified")]
    InvalidPartitionName,
    /// 2001: the job names none and there is no default.
    #[error("No partition specified or system default partition")]
    DefaultPartitionNotSet,
    /// 2002: somebody else's job, or an operator's right.
    #[error("Access/permission denied")]
    AccessDenied,
    /// 2003: not in one of `AllowGroups`.
    #[error("User's group not permitted to use this partition")]
    MissingPartitionGroup,
    /// 2004: `-w` names nodes outside the partition.
    #[error("Requested nodes not in this partition")]
    RequestedNodesNotInPartition,
    /// 2005: more CPUs than the partition has.
    #[error("More processors requested than permitted")]
    TooManyCpus,
    /// 2006: fewest nodes above most nodes, or none at all.
    #[error("Node count specification invalid")]
    InvalidNodeCount,
    /// 2009: there is no script to signal.
    #[error("Job script not specified")]
    JobScriptMissing,
    /// 2010: an operator's right on nodes.
    #[error("Invalid user id")]
    UserIdMissing,
    /// 2014: no set of nodes could ever hold the job.
    #[error("Requested node configuration is not available")]
    RequestedNodeConfigUnavailable,
    /// 2015: the partition could never hold it.
    #[error("Requested partition configuration not available now")]
    RequestedPartConfigUnavailable,
    /// 2016: jobs are on it.
    #[error("Requested nodes are busy")]
    NodesBusy,
    /// 2017: no such job.
    #[error("Invalid job id specified")]
    InvalidJobId,
    /// 2018: no such node.
    #[error("Invalid node name specified")]
    InvalidNodeName,
    /// 2019: REST submissions need an environment.
    #[error("I/O error writing script/environment to file")]
    WritingToFile,
    /// 2020: not in this state.
    #[error("Job can not be altered now, try again later")]
    TransitionStateNoUpdate,
    /// 2021: the job has ended.
    #[error("Job/step already completing or completed")]
    AlreadyDone,
    /// 2024: the job has not started yet.
    #[error("Job is pending execution")]
    JobPending,
    /// 2028: the node can't go there from where it is.
    #[error("Invalid node state specified")]
    InvalidNodeState,
    /// 2031: a node can't use a feature that it doesn't have.
    #[error("Active features not subset of available features")]
    ActiveFeatureNotSubset,
    /// 2029: no node has that feature.
    #[error("Invalid feature specification")]
    InvalidFeature,
    /// 2038: the dependency can't be read or names no job.
    #[error("Job dependency problem")]
    Dependency,
    /// 2039: only what has a script can run again.
    #[error("Only batch jobs are accepted or processed")]
    BatchOnly,
    /// 2042: held, which is also said of a job that was accepted.
    #[error("Job is in held state, pending scheduler release")]
    JobHeld,
    /// 2044: more memory than `MaxMemPerCPU` or `MaxMemPerNode` allow.
    #[error("Memory required by task is not available")]
    InvalidTaskMemory,
    /// 2045: no such account.
    #[error("Invalid account or account/partition combination specified")]
    InvalidAccount,
    /// 2053: no such reservation.
    #[error("Requested reservation is invalid")]
    ReservationInvalid,
    /// 2063: REST submissions need a working directory.
    #[error("Job cannot be submitted without the current working directory specified.")]
    MissingWorkDir,
    /// 2066: no such quality of service.
    #[error("Invalid qos specification")]
    InvalidQos,
    /// 2070: the partition takes no jobs.
    #[error("Required partition not available (inactive or drain)")]
    PartitionNotAvail,
    /// 2072: no such generic resource.
    #[error("Invalid generic resource (gres) specification")]
    InvalidGres,
    /// 2073: too late for that change.
    #[error("Job is no longer pending execution")]
    JobNotPending,
    /// 2048: no such licence.
    #[error("Invalid license specification")]
    InvalidLicenses,
    /// 2025: a number of tasks that makes no sense.
    #[error("Task count specification invalid")]
    BadTaskCount,
    /// 2036: not on this system.
    #[error("Requested operation not supported on this system")]
    NotSupported,
    /// 2036, in our own words: not in this release.
    #[error("Requested operation not supported on this system: external jobs need Slurm 26.05")]
    ExternalJobsNotSupported,
    /// 2037: the job isn't to be queued again.
    #[error("Requested operation is presently disabled")]
    Disabled,
    /// 2051: it can't end in time.
    #[error("Requested time limit is invalid (missing or exceeds some limit)")]
    InvalidTimeLimit,
    /// 2054: a time that has passed.
    #[error("Invalid time specified")]
    InvalidTimeValue,
    /// 2071: it would wait for itself.
    #[error("Circular job dependency")]
    CircularDependency,
    /// 2081: no array could be like that.
    #[error("Invalid job array specification")]
    InvalidArray,
    /// 2084: too late for any change.
    #[error("Job has already finished")]
    JobFinished,
    /// 2085: it does not run.
    #[error("Job is not running")]
    JobNotRunning,
    /// 2086: it neither waits nor runs.
    #[error("Job is not pending nor running")]
    JobNotPendingNorRunning,
    /// 2087: it is not suspended.
    #[error("Job is not suspended")]
    JobNotSuspended,
    /// 2095: a user's priority does not last.
    #[error("Changes to job priority are not persistent, change nice instead")]
    PrioResetFail,
    /// 2123: only operators may be that nice to a job.
    #[error("Invalid --nice value")]
    InvalidNice,
    /// 2124: a shortest limit longer than the limit.
    #[error("Invalid time-min specification (exceeds job's time or other limits)")]
    InvalidTimeMinLimit,
    /// 2075: jobs are in it.
    #[error("Partition is in use")]
    PartitionInUse,
    /// 2164: a node of that name.
    #[error("Node already exists")]
    NodeAlreadyExists,
    /// 2165: `MaxNodeCount` leaves no room.
    #[error("Unable to add node, node table is full")]
    NodeTableFull,
    /// 2189: an external job with a script.
    #[error("Invalid configuration for external job")]
    InvalidExternalJob,
    /// 11: `MaxJobCount` is reached.
    #[error("Resource temporarily unavailable")]
    TooManyJobs,
}

impl SlurmError {
    /// Slurm's number for it.
    pub const fn number(self) -> u32 {
        match self {
            Self::InvalidPartitionName => 2000,
            Self::DefaultPartitionNotSet => 2001,
            Self::AccessDenied => 2002,
            Self::MissingPartitionGroup => 2003,
            Self::RequestedNodesNotInPartition => 2004,
            Self::TooManyCpus => 2005,
            Self::InvalidNodeCount => 2006,
            Self::JobScriptMissing => 2009,
            Self::UserIdMissing => 2010,
            Self::RequestedNodeConfigUnavailable => 2014,
            Self::RequestedPartConfigUnavailable => 2015,
            Self::NodesBusy => 2016,
            Self::InvalidJobId => 2017,
            Self::InvalidNodeName => 2018,
            Self::WritingToFile => 2019,
            Self::TransitionStateNoUpdate => 2020,
            Self::AlreadyDone => 2021,
            Self::JobPending => 2024,
            Self::InvalidNodeState => 2028,
            Self::ActiveFeatureNotSubset => 2031,
            Self::InvalidFeature => 2029,
            Self::Dependency => 2038,
            Self::BatchOnly => 2039,
            Self::JobHeld => 2042,
            Self::InvalidTaskMemory => 2044,
            Self::InvalidAccount => 2045,
            Self::InvalidLicenses => 2048,
            Self::ReservationInvalid => 2053,
            Self::MissingWorkDir => 2063,
            Self::InvalidQos => 2066,
            Self::PartitionNotAvail => 2070,
            Self::InvalidGres => 2072,
            Self::JobNotPending => 2073,
            Self::BadTaskCount => 2025,
            Self::NotSupported | Self::ExternalJobsNotSupported => 2036,
            Self::Disabled => 2037,
            Self::InvalidTimeLimit => 2051,
            Self::InvalidTimeValue => 2054,
            Self::CircularDependency => 2071,
            Self::InvalidArray => 2081,
            Self::JobFinished => 2084,
            Self::JobNotRunning => 2085,
            Self::JobNotPendingNorRunning => 2086,
            Self::JobNotSuspended => 2087,
            Self::PrioResetFail => 2095,
            Self::InvalidNice => 2123,
            Self::InvalidTimeMinLimit => 2124,
            Self::PartitionInUse => 2075,
            Self::NodeAlreadyExists => 2164,
            Self::NodeTableFull => 2165,
            Self::InvalidExternalJob => 2189,
            Self::TooManyJobs => 11,
        }
    }
}
