//! What slurmrestd describes, in full: one set of types for all versions.
//!
//! The fields have the names of the wire; what a version lacks is empty, 0 or [`Number::Unset`]. Where
//! versions differ in more than what is there, the type reads every form and keeps one:
//!
//! | what | v0.0.40 | later |
//! |---|---|---|
//! | a job's resources per node | `allocated_nodes`, cores by socket | `nodes.allocation`, cpus counted ([`JobResources`]) |
//! | an association's `id` | an object | a number ([`Association`]) |
//! | `fairshare.level`, RPC times | plain | with flags, from v0.0.42 and v0.0.41 ([`Number`]) |
//! | switches a job wants | `minimum_switches`, also in v0.0.41 | `required_switches` |
//! | a partition's `task_binding` | a number, up to v0.0.44 | words ([`Words`]) |
//!
//! The core's small [`ObservedJob`](drawbridge_core::slurm::ObservedJob) and
//! [`NodeInfo`](drawbridge_core::slurm::NodeInfo) are projections of these (`observed`).

mod accounting;
mod association;
mod diag;
mod job;
mod job_resources;
mod limits;
mod node;
mod number;
pub(crate) mod observed;
mod partition;
mod reservation;
mod share;
mod words;

pub use accounting::{
    Account, AccountingArray, AccountingComment, AccountingJob, AccountingRequired,
    AccountingReservation, AccountingState, AccountingTime, AssociationId, Coordinator, CpuTime,
    HetJob, McsLabel, Step, StepCpu, StepFrequency, StepId, StepNodes, StepStatistics, StepTask,
    StepTasks, StepTime, StepTres, StepUsage, Tres, TresPair, User, UserDefaults, WckeyUse,
};
pub use association::{Association, AssociationDefaults};
pub use diag::{BackfillExit, Diag, PendingRpc, RpcByType, RpcByUser, ScheduleExit};
pub use job::{ExitCode, ExitSignal, Job, JobStep, PartitionPriority};
pub use job_resources::{Core, JobResources, NodeResources};
pub use limits::*;
pub use node::{Energy, Gres, Node, NodeGrant};
pub use number::{Amount, Number, Numeric, Real};
pub use partition::{
    AllowDeny, Oversubscribe, Partition, PartitionCpus, PartitionDefaults, PartitionGroups,
    PartitionMaximums, PartitionMinimums, PartitionNodes, PartitionQos, PartitionState,
    PartitionTiers, PartitionTimeouts, PartitionTres,
};
pub use reservation::{License, Ping, PurgeCompleted, Reservation, ReservedCores};
pub use share::{Fairshare, Share, ShareTres, Shares, TresReal, TresValue};
pub use words::Words;

/// Declares structs whose fields are all public and may be missing on the wire.
macro_rules! wire {
    ($($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $kind:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(default)]
        #[allow(missing_docs, reason = "named as on the wire; the vendor's document explains them")]
        pub struct $name { $($(#[$note])* pub $field: $kind,)* }

        #[allow(dead_code, reason = "of most types nobody asks for them")]
        impl $name {
            /// The names of its fields.
            pub(crate) const KEYS: &[&str] = &[$(stringify!($field),)*];
        }
    )*};
}
pub(crate) use wire;
