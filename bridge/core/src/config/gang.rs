//! Which workloads are gangs, and what becomes of pods that don't fit into one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How gangs are made of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GangConfig {
    /// Indexed Jobs whose completions all run at once are gangs, also without the annotation
    /// `drawbridge.dev/gang`.
    pub indexed_jobs: bool,
    /// Where a PodGroup's pods beyond its minimum go.
    pub surplus: Surplus,
    /// What becomes of a gang whose pods ask for different amounts.
    pub uneven: Uneven,
}

/// Where a PodGroup's pods beyond its minimum go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Surplus {
    /// Into the gang's job: all that are there when it is submitted start together.
    #[default]
    Together,
    /// Into jobs of their own: the minimum starts as soon as there is room for it, the others later.
    Apart,
}

/// What becomes of a gang whose pods ask for different amounts. A Slurm job has tasks of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Uneven {
    /// Every pod gets as much as the largest asks for, with a warning.
    #[default]
    Largest,
    /// It is refused.
    Refuse,
}
