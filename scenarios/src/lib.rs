//! Scenario files and the twin world that plays them.
//!
//! ```text
//!   *.yaml ──format──▶ Scenario ──World──▶ records, frames ──expect, laws──▶ Report
//! ```
//!
//! [`run`] plays a scenario and judges it; [`recording`] plays it so that every moment can be seen
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
pub mod recording;
mod report;
mod rows;
mod scenario;
mod swarm;
pub mod wire;
mod world;

pub use aftermath::{Aftermath, Finding};
pub use ends::{End, KINDS};
pub use format::ScenarioError;
pub use frame::{Frame, JobRow, MpiRow, NodeRow, PodRow};
pub use record::{Actor, Level, Record, Subject};
pub use report::{Report, Run, run};
pub use scenario::{
    Action, Crash, CrashPoint, EffectKind, JobVerb, NodeChange, ObjectRef, RestState, Scenario,
    Scontrol, Step, TokenState,
};
pub use swarm::Swarm;
pub use world::{
    World,
    trial::{NEWS, Seen},
};
