//! What becomes of pods whose job is suspended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of pods whose job Slurm suspends. Kubernetes can't stop a pod's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SuspendedJobs {
    /// They go on and say so, and share their cores with whomever Slurm gives them to.
    Keep,
    /// They leave, and the job is cancelled.
    Evict,
}
