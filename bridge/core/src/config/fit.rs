//! What is done about demands that Slurm can't be told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a pod that demands what can't be promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnUnsupported {
    /// It waits, and says why.
    #[default]
    Refuse,
    /// It is placed without regard to the demand, and an event on it says so.
    Warn,
}
