//! Virtual time, seeded randomness, and slurmctld as a state machine.
//!
//! ```text
//!   slurm.conf ──SlurmConfig::parse──▶ Slurmctld::new
//!                                          │ submit, cancel, signal, update_node …   (commands)
//!                                          │ wake(now), next_wake()                  (time)
//!                                          ▼
//!                        jobs(), nodes(), take_facts()                               (news)
//! ```
//!
//! Start with [`Slurmctld`]. This crate does not know what a pod is.

mod admin;
mod allocation;
mod array;
mod backfill;
mod calendar;
mod census;
mod chain;
mod conf;
mod dependency;
mod dynamic;
mod errors;
mod facts;
mod gpu_defaults;
mod hostlist;
mod ids;
mod index_set;
mod invariants;
mod job;
mod job_update;
mod licenses;
mod lifecycle;
mod memory_limit;
mod mutants;
mod node;
mod owners;
mod partition_admin;
mod partition_limits;
mod pings;
mod priority;
mod quantity;
mod queue;
mod reason;
mod reconfigure;
mod release;
mod requeue;
mod rng;
mod rows;
mod sbatch;
mod scancel;
mod sched;
mod script;
mod select;
mod slurmctld;
mod slurmd;
mod slurmdbd;
mod submission;
mod submit;
mod suspend;
mod tally;
mod target;
mod time;
mod time_spec;
mod verdict;
mod waiting;

pub use allocation::{Allocation, NodeShare};
pub use array::{ArrayPlace, ArraySpec, ArrayTasks};
pub use calendar::Epoch;
pub use chain::HashChain;
pub use conf::{
    Access, BackfillParams, ConfError, ConfFile, ConfTexts, Defer, DeviceGroup, EnforcePartLimits,
    GresSpec, InitialState, MemoryDefault, NodeSet, NodeSpec, Note, OverSubscribe, OverTime,
    Params, Parsed, PartitionSpec, PartitionState, PriorityFlags, PriorityParams, PriorityType,
    ReconfigFlags, ResourceUnit, SchedulerType, SlurmConfig, TresWeights,
};
pub use errors::SlurmError;
pub use facts::Fact;
pub use hostlist::{HostlistError, expand_hostlist, fold_hostlist};
pub use ids::{AccountName, JobId, PartitionName, SlurmNode, UserName};
pub use index_set::IndexSet;
pub use job::{ExitCode, Job, JobState, Suspended};
pub use job_update::JobUpdate;
pub use licenses::{LicenseAsk, Licenses};
pub use mutants::Mutant;
pub use node::{Node, NodeBase, NodeFlags, NodeReason, NodeState, NodeUpdate, Usage};
pub use partition_admin::AdminError;
pub use priority::{PriorityFactors, SprioRow};
pub use quantity::{Quantity, QuantityError};
pub use queue::EventQueue;
pub use reason::Reason;
pub use release::Release;
pub use requeue::Requeue;
pub use rng::{Seed, fnv1a};
pub use sbatch::{SbatchError, parse_sbatch, parse_sbatch_script};
pub use slurmctld::{Slurmctld, Stats};
pub use slurmd::SlurmdStop;
pub use slurmdbd::{
    Account, AdminLevel, Admitted, Association, DbError, DbUser, Enforced, JobRecord, Qos,
    Slurmdbd, Tres, Wckey,
};
pub use submission::{
    Begin, CoreOrder, Defaulted, GresAsk, GresPer, JobBehaviour, MemoryAsk, PerGpu, ShapeAsk,
    Signal, Submission, TimeLimit, Trap, Warning,
};
pub use target::JobTarget;
pub use time::{Span, Time};
pub use time_spec::parse_time_limit;
