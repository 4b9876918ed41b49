//! How nodes are kept in step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How nodes are kept in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default = "NodeSettings::as_shipped")]
pub struct NodeSettings {
    /// A Kubernetes node that hasn't been ready for so long is drained in Slurm; 0: never.
    pub drain_not_ready_seconds: u32,
    /// Nodes that somebody drained or took down in Slurm get a taint, so that no other pod goes there.
    pub taint_unavailable: bool,
    /// How often Slurm's reservations are read, to show maintenance on nodes; 0: never.
    pub reservation_seconds: u32,
}

impl NodeSettings {
    /// The values in force where nothing is set.
    pub const fn as_shipped() -> Self {
        Self { drain_not_ready_seconds: 60, taint_unavailable: false, reservation_seconds: 60 }
    }
}
