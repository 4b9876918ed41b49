//! Scenario files and the twin world that plays them.
//!
//! ```text
//!   *.yaml ──format──▶ Scenario ──World──▶ records, frames ──expect, laws──▶ Report
//! ```
//!
//! [`run`] plays a scenario and judges it; [`Recording`] plays it so that every moment can be seen
//! again. The world itself starts at [`World::step`].

mod aftermath;
mod ends;
pub mod expect;
pub mod fault;
pub mod format;
mod frame;
mod laws;
mod log;
mod names;
mod object;
mod record;
mod recording;
mod report;
mod rows;
mod scenario;
mod swarm;
pub mod wire;
mod world;

pub use aftermath::{Aftermath, Finding};
pub use ends::{End, KINDS};
pub use format::ScenarioError;
pub use frame::{Frame, JobRow, NodeRow, PodRow};
pub use record::{Actor, Level, Record, Subject};
pub use recording::Recording;
pub use report::{Report, Run, run};
pub use scenario::{
    Action, Crash, CrashPoint, EffectKind, NodeChange, ObjectRef, RestState, Scenario, Step,
    TokenState,
};
pub use swarm::Swarm;
pub use world::{
    World,
    trial::{NEWS, Seen},
};
