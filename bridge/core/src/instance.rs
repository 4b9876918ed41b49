//! One life of the process: what it is told at its start besides the configuration.

use drawbridge_sim::Epoch;
use serde::{Deserialize, Serialize};

use crate::names::BRIDGE_NAMESPACE;

/// One life of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Which moment its time zero is.
    pub epoch: Epoch,
    /// Its name among the replicas; no two lives share one.
    pub identity: String,
    /// The namespace that it lives in.
    pub namespace: String,
    /// What it is there for.
    pub duties: Duties,
}

/// What a process is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duties {
    /// Pods become jobs, and are bound where Slurm says.
    pub workloads: bool,
    /// Nodes are kept in step.
    pub nodes: bool,
}

impl Duties {
    /// Everything.
    pub const ALL: Self = Self { workloads: true, nodes: true };
}

impl Instance {
    /// The only process that there is, with everything to do.
    pub fn alone(epoch: Epoch) -> Self {
        Self {
            epoch,
            identity: "drawbridge".into(),
            namespace: BRIDGE_NAMESPACE.into(),
            duties: Duties::ALL,
        }
    }
}
