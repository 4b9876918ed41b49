//! Deterministic simulation testing: the same scenario under many faults, each run judged.
//!
//! ```text
//!   scenario ──Subject──▶ a furnished world, and what it comes to without faults
//!      │
//!      ├─ seeds:        a clone of it, with faults drawn from the seed ──┐
//!      ├─ crash points: a clone at every request, crashed there ─────────┤──▶ judged ──▶ Tally
//!      └─ generated:    clusters, workloads and people's actions ────────┘       │
//!                                                            first failure ──▶ shrunk, saved
//! ```
//!
//! Start reading at [`explore()`]. Nothing here reads a clock: whoever calls says
//! when to stop, and the results are in the order of the plan whatever the number of threads.

mod coverage;
mod crash_points;
mod grammar;
mod plan;
mod reference;
mod shrink;
mod subject;
mod tally;
mod trial;

pub use crash_points::{CrashSweep, crash_points, pairs};
pub use grammar::generate;
pub use plan::{Plan, Shard, Task, explore};
pub use reference::{Circumstances, Reference};
pub use shrink::{Shrunk, shrink};
pub use subject::Subject;
pub use tally::{Failure, Tally};
pub use trial::{Faults, Outcome, Trial, judge, run};
