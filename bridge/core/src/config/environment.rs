//! Which pods learn from Slurm's variables who they are among the others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What containers find in their environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Environment {
    /// Which pods get `SLURM_JOB_ID`, `SLURM_PROCID` and their like.
    pub slurm_variables: SlurmVariables,
}

/// Which pods get Slurm's variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SlurmVariables {
    /// Those that belong to a group or have an index.
    #[default]
    Ranks,
    /// All of them.
    Always,
    /// None.
    Never,
}
