//! Virtual time, seeded randomness, and slurmctld as a state machine.

mod calendar;
mod chain;
mod ids;
mod queue;
mod rng;
mod time;

pub use calendar::Epoch;
pub use chain::HashChain;
pub use ids::{AccountName, JobId, PartitionName, SlurmNode, UserName};
pub use queue::EventQueue;
pub use rng::{Seed, fnv1a};
pub use time::{Span, Time};
