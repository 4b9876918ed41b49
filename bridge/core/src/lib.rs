//! The bridge between Kubernetes and Slurm, as a state machine without a clock or a socket.
//!
//! ```text
//!   Input ──▶ Bridge::step(now, input) ──▶ Vec<Effect>
//! ```
//!
//! Start at [`Bridge::step`]. One [`Effect`] is exactly one request; whoever performs it decides
//! nothing. There is no state of our own: after a crash, everything is rebuilt from what Kubernetes
//! and Slurm say.

pub mod admission;
mod annotations;
mod backoff;
mod bridge;
mod candidates;
pub mod config;
mod context;
mod desk;
pub mod effect;
mod ending;
mod explain;
mod facts;
mod gate;
mod informer;
pub mod input;
mod jobs;
mod mapping;
mod mark;
pub mod names;
mod nodes;
mod outbox;
mod owners;
mod poller;
mod ranks;
mod requests;
pub mod slurm;
mod store;
mod translate;
mod view;
mod workload;

pub use bridge::Bridge;
pub use config::{Config, ConfigError, LabelExpression, LabelSelector, Placeholder, PollSeconds};
pub use effect::{Effect, KubeRequest, Method, NodeTarget, SlurmRequest};
pub use facts::{BridgeFact, FactSubject, Weight};
pub use input::{CallId, Input, KubeReply, Lost, SlurmFault, SlurmReply, StreamId, WatchEvent};
pub use names::{KubeNode, ObjectKey, Uid};
