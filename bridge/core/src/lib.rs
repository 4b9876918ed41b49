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
mod base64;
mod bridge;
mod candidates;
mod census;
pub mod config;
mod context;
pub mod custody;
mod desk;
mod dra;
pub mod effect;
mod election;
mod ending;
mod explain;
mod facts;
mod gang;
mod gate;
mod informer;
pub mod input;
mod instance;
mod jobs;
mod lanes;
pub mod link;
mod mapping;
mod mark;
pub mod names;
mod nodes;
mod outbox;
mod owners;
mod permissions;
mod placement;
mod plants;
mod poller;
mod porter;
mod ranks;
mod refusals;
mod requests;
pub mod slurm;
mod states;
mod storage;
mod store;
mod tenants;
mod translate;
mod view;
mod workload;

pub use annotations::annotation_page;
pub use bridge::{Bridge, Role};
pub use config::{
    Addresses, ClassPriority, Config, ConfigError, DeviceClass, Devices, Environment, Features,
    GangConfig, LabelExpression, LabelSelector, LeaderElection, Namespace, NodeSettings,
    OnUnsupported, Placeholder, PluginResource, Plugins, PollSeconds, SlurmRest, SlurmTls,
    SlurmVariables, Surplus, SuspendedJobs, Uneven, Unmapped,
};
pub use effect::{Effect, KubeRequest, Limits, Method, NodeTarget, SlurmRequest};
pub use facts::{BridgeFact, FactSubject, Weight};
pub use input::{CallId, Input, KubeReply, Lost, SlurmFault, SlurmReply, StreamId, WatchEvent};
pub use instance::{Duties, Instance};
pub use names::{KubeNode, ObjectKey, Uid};
pub use plants::Plant;
pub use states::{JobStateRow, job_state_rows, job_states_page};
pub use workload::STAGES;
