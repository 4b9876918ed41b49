//! A scenario file as it is written: format version 1.
//!
//! These types are the JSON Schema too: their comments are its descriptions.
//! Steps and expectations have files of their own.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use crate::format::{
    duration::Lasting,
    steps::{ExpectEntry, StepEntry},
    text_or::TextOr,
};

/// A scenario: two clusters, a bridge between them, what happens, and what must come of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Drawbridge scenario")]
pub struct File {
    /// One sentence that says what the scenario shows. Always the first key.
    pub why: String,
    /// Version of this format.
    #[serde(default = "version_one")]
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// The moment that time zero is: `2026-01-01T00:00:00Z`.
    pub epoch: Option<String>,
    /// Where randomness comes from, unless the command line gives another seed.
    #[serde(default)]
    pub seed: u64,
    /// When to stop at the latest. A run ends earlier once nothing is left to happen.
    #[serde(default = "one_day")]
    pub until: Lasting,
    /// The Slurm cluster.
    pub slurm: SlurmSide,
    /// The Kubernetes cluster.
    #[serde(default)]
    pub kubernetes: KubernetesSide,
    /// The bridge's configuration, with the keys of its `config.yaml`; `none` plays without a
    /// bridge.
    pub bridge: Option<TextOr<drawbridge_core::Config>>,
    /// How pods behave. The first entry that fits a pod counts.
    #[serde(default)]
    pub behaviour: Vec<BehaviourEntry>,
    /// What happens, and when.
    #[serde(default)]
    pub steps: Vec<StepEntry>,
    /// What must come of it.
    #[serde(default)]
    pub expect: Vec<ExpectEntry>,
}

fn version_one() -> u32 {
    1
}

fn one_day() -> Lasting {
    Lasting(drawbridge_sim::Span::hours(24))
}

/// The Slurm cluster, as its own files describe it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlurmSide {
    /// The Slurm release: `24.11` or `26.05`.
    #[serde(default = "default_release")]
    #[schemars(extend("enum" = ["24.11", "26.05"]))]
    pub release: String,
    /// The text of slurm.conf.
    pub conf: Option<String>,
    /// A slurm.conf to read instead, relative to the scenario.
    pub conf_file: Option<String>,
    /// The text of gres.conf.
    pub gres: Option<String>,
    /// A gres.conf to read instead, relative to the scenario.
    pub gres_file: Option<String>,
}

fn default_release() -> String {
    "24.11".into()
}

/// The Kubernetes cluster before anything happens.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubernetesSide {
    /// Its nodes. Without this key: Slurm's nodes, with the same names and sizes.
    pub nodes: Option<Vec<NodeEntry>>,
    /// Namespaces beside the usual ones and those that the bridge manages.
    #[serde(default)]
    pub namespaces: Vec<TextOr<NamespaceEntry>>,
    /// Objects that exist at the start.
    #[serde(default)]
    pub objects: Manifests,
}

/// One Kubernetes node, or several of a kind.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeEntry {
    /// Its name, or a hostlist for several: `worker-[0-2]`.
    pub name: String,
    /// What Slurm calls it, or a hostlist of the same length: becomes the label
    /// `slinky.slurm.net/slurm-nodename`. Without it there is no such label.
    pub slurm_name: Option<String>,
    /// Labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Taints.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// What it has: `{cpu: 8, memory: 16Gi, nvidia.com/gpu: 1}`. Without it: what the Slurm node
    /// has that `slurmName`, or else its own name, names.
    pub capacity: Option<BTreeMap<String, String>>,
}

/// A taint of a Kubernetes node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
}

/// What a taint does to pods that don't tolerate it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// Keeps new ones away.
    NoSchedule,
    /// Keeps new ones away where possible.
    PreferNoSchedule,
    /// Keeps new ones away and evicts those that run.
    NoExecute,
}

/// A namespace with labels.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceEntry {
    /// Its name.
    pub name: String,
    /// Its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// How the pods that fit behave.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BehaviourEntry {
    /// Which: their namespace.
    pub namespace: Option<String>,
    /// Which: their name, with `*`.
    pub name: Option<String>,
    /// Which: labels that they have, all of these.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// From binding to running: a duration, or `{uniform: [1s, 5s]}`. 1s by default.
    pub startup: Option<TextOr<UniformEntry>>,
    /// How long they run: a duration, `forever` (the default), or `{uniform: [1m, 5m]}`.
    pub runtime: Option<TextOr<UniformEntry>>,
    /// How they exit.
    #[serde(default)]
    pub exit_code: i32,
    /// How long they take to end once they're told to. 1s by default.
    pub stop: Option<Lasting>,
    /// They are ranks of an MPI job: none works before all of them run.
    pub mpi: Option<MpiEntry>,
}

/// A duration drawn anew for each pod.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UniformEntry {
    /// Any duration from the first to the second, all equally likely.
    pub uniform: [Lasting; 2],
}

/// Ranks of an MPI job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MpiEntry {
    /// The label whose value names the job that a pod is a rank of.
    pub group_label: String,
    /// How many ranks must run before any of them works.
    pub ranks: u32,
}

/// Kubernetes manifests: one, a list of them, or files of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Manifests(pub Value);

impl JsonSchema for Manifests {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Manifests".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let manifest = serde_json::json!({
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
            },
            "required": ["apiVersion", "kind", "metadata"],
        });
        let file = serde_json::json!({
            "type": "string",
            "description": "A file of manifests, relative to the scenario.",
        });
        json_schema!({
            "description": "Kubernetes manifests: one, a list of them, or files of them.",
            "anyOf": [
                manifest,
                file,
                {"type": "array", "items": {"anyOf": [manifest, file]}},
            ],
        })
    }
}
