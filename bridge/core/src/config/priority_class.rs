//! What a PriorityClass means to Slurm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How urgent the jobs of a PriorityClass are: one of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClassPriority {
    /// This priority, whatever Slurm would compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Less urgent by so much; more urgent if negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
}

impl ClassPriority {
    pub(super) fn says_one_thing(&self) -> bool {
        self.priority.is_some() != self.nice.is_some()
    }
}
