//! Scenario files and the twin world that plays them.

mod frame;
mod record;

pub use frame::{Frame, JobRow, NodeRow, PodRow};
pub use record::{Actor, Level, Record, Subject};
