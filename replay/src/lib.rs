//! Recorded workloads through the Slurm model: traces in, waits and plots out.
//!
//! ```text
//!   bytes ──read──▶ Trace ──Workload::new──▶ jobs with arrivals ──slurm::replay──▶ Outcome
//!                     │                             │           └─easy::replay──▶    │
//!                     └──cluster::derive──▶ slurm.conf                               ▼
//!                                                          Summary ──▶ text, CSV, HTML
//! ```
//!
//! Start with [`read`], then [`Workload`]. No clock, no files: the caller reads and writes them.

pub mod cluster;
pub mod compare;
pub mod easy;
mod options;
mod outcome;
mod read;
pub mod report;
pub mod sacct;
pub mod slurm;
mod summary;
pub mod swf;
pub mod synthetic;
pub mod trace;
mod workload;

pub use options::{Limits, Mode, Options, OverLimit, RunTimes};
pub use outcome::{End, JobOutcome, Outcome};
pub use read::{ReadError, Source, read};
pub use summary::{Distribution, Group, Summary};
pub use trace::{Trace, TraceError, grouped};
pub use workload::{Arrival, Workload, replica_seed};
