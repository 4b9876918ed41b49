//! Scenario files and the twin world that plays them.

pub mod expect;
pub mod format;
mod frame;
mod record;
mod scenario;

pub use frame::{Frame, JobRow, NodeRow, PodRow};
pub use record::{Actor, Level, Record, Subject};
pub use scenario::{Action, Crash, CrashPoint, EffectKind, NodeChange, ObjectRef, Scenario, Step};
