//! A real Slurm and the model, in lock-step: every decision of one must be the other's.
//!
//! ```text
//!   family, seed ──▶ cluster ─┬─▶ Lab: slurmctld, slurmd per node ─┐
//!        │                    └─▶ Twin: the model ────────────────┐│ until both have settled
//!        └──▶ next operation (sees what Slurm shows) ──▶ both ────▼▼
//!                                      View == View ? ──no──▶ shrink ──▶ a case to keep
//! ```
//!
//! Start with [`run`].

mod case;
mod compare;
mod dice;
mod families;
mod lab;
mod lockstep;
mod mutants;
mod operation;
mod plumbing;
mod real;
mod run;
mod shrink;
mod site;
mod timed;
mod twin;
mod view;

pub use case::{Case, CaseError, Cluster, Record, Step};
pub use compare::Difference;
pub use families::{Family, families, family};
pub use lab::{Lab, LabError, LabOptions, Services, default_cache, install, outside::Forward};
pub use lockstep::{CaseResult, Kept, replay};
pub use mutants::{Fault, faults};
pub use operation::NotModelled;
pub use run::{
    FirstDifference, Progress, Report, RunOptions, Tally, recorded_cases, replay_all, run,
};
pub use timed::{Judgement, judge, record, recordings};
pub use view::{Answer, View};
