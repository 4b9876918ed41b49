//! The bridge between Kubernetes and Slurm, as a state machine without a clock or a socket.

pub mod effect;
pub mod input;
pub mod slurm;

pub use effect::{Effect, KubeRequest, Method, NodeTarget, SlurmRequest};
pub use input::{CallId, Input, KubeReply, Lost, SlurmFault, SlurmReply, StreamId, WatchEvent};
