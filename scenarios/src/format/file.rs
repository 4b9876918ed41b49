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
pub(crate) struct File {
    /// One sentence that says what the scenario shows. Always the first key.
    pub(crate) why: String,
    /// Version of this format.
    #[serde(default = "version_one")]
    #[schemars(range(min = 1, max = 1))]
    #[expect(dead_code, reason = "looked at before the rest is read")]
    pub(crate) version: u32,
    /// The moment that time zero is: `2026-01-01T00:00:00Z`.
    pub(crate) epoch: Option<String>,
    /// Where randomness comes from, unless the command line gives another seed.
    #[serde(default)]
    pub(crate) seed: u64,
    /// When to stop at the latest. A run ends earlier once nothing is left to happen.
    #[serde(default = "one_day")]
    pub(crate) until: Lasting,
    /// The Slurm cluster.
    pub(crate) slurm: SlurmSide,
    /// The Kubernetes cluster.
    #[serde(default)]
    pub(crate) kubernetes: KubernetesSide,
    /// The bridge's configuration, with the keys of its `config.yaml`; `none` plays without a
    /// bridge.
    pub(crate) bridge: Option<TextOr<drawbridge_core::Config>>,
    /// How many replicas of the bridge run. More than one need `features.enableLeaderElection`.
    #[serde(default = "one_replica")]
    #[schemars(range(min = 1, max = 9))]
    pub(crate) bridge_replicas: u8,
    /// How pods behave. The first entry that fits a pod counts.
    #[serde(default)]
    pub(crate) behaviour: Vec<BehaviourEntry>,
    /// What happens, and when.
    #[serde(default)]
    pub(crate) steps: Vec<StepEntry>,
    /// What must come of it.
    #[serde(default)]
    pub(crate) expect: Vec<ExpectEntry>,
}

fn one_replica() -> u8 {
    1
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
pub(crate) struct SlurmSide {
    /// The Slurm release: `24.11` or `26.05`.
    #[serde(default = "default_release")]
    #[schemars(extend("enum" = ["24.11", "26.05"]))]
    pub(crate) release: String,
    /// The text of slurm.conf.
    pub(crate) conf: Option<String>,
    /// A slurm.conf to read instead, relative to the scenario.
    pub(crate) conf_file: Option<String>,
    /// The text of gres.conf.
    pub(crate) gres: Option<String>,
    /// A gres.conf to read instead, relative to the scenario.
    pub(crate) gres_file: Option<String>,
}

fn default_release() -> String {
    "24.11".into()
}

/// The Kubernetes cluster before anything happens.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct KubernetesSide {
    /// Its nodes. Without this key: Slurm's nodes, with the same names and sizes.
    pub(crate) nodes: Option<Vec<NodeEntry>>,
    /// Namespaces beside the usual ones and those that the bridge manages.
    #[serde(default)]
    pub(crate) namespaces: Vec<TextOr<NamespaceEntry>>,
    /// Objects that exist at the start.
    #[serde(default)]
    pub(crate) objects: Manifests,
    /// How provisioners of volumes work, by the names that storage classes give them. Others take
    /// a second.
    #[serde(default)]
    pub(crate) provisioners: BTreeMap<String, ProvisionerEntry>,
}

/// How a provisioner of volumes works.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProvisionerEntry {
    /// How long it takes. 1s by default.
    pub(crate) delay: Option<Lasting>,
    /// Its volumes can only be used on nodes with the same value of this label as the one that they
    /// were made for.
    pub(crate) topology: Option<String>,
    /// It can't, and says this.
    pub(crate) fails: Option<String>,
    /// Nodes for which it can't, as a hostlist: it takes their selection off the claim.
    pub(crate) full_on: Option<String>,
}

/// One Kubernetes node, or several of a kind.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NodeEntry {
    /// Its name, or a hostlist for several: `worker-[0-2]`.
    pub(crate) name: String,
    /// What Slurm calls it, or a hostlist of the same length: becomes the label
    /// `slinky.slurm.net/slurm-nodename`. Without it there is no such label.
    pub(crate) slurm_name: Option<String>,
    /// Labels.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Taints.
    #[serde(default)]
    pub(crate) taints: Vec<Taint>,
    /// What it has: `{cpu: 8, memory: 16Gi, nvidia.com/gpu: 1}`. Without it: what the Slurm node
    /// has that `slurmName`, or else its own name, names.
    #[schemars(with = "Option<BTreeMap<String, QuantityText>>")]
    pub(crate) capacity: Option<BTreeMap<String, String>>,
}

/// A Kubernetes quantity: `4`, `500m`, `8Gi`. YAML takes some of them for numbers.
#[derive(JsonSchema)]
#[schemars(transparent)]
struct QuantityText(#[schemars(schema_with = "text_or_number")] ());

fn text_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "number"]})
}

/// A taint of a Kubernetes node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Taint {
    /// Its key.
    pub(crate) key: String,
    /// Its value.
    #[serde(default)]
    pub(crate) value: String,
    /// What it does.
    pub(crate) effect: TaintEffect,
}

/// What a taint does to pods that don't tolerate it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) enum TaintEffect {
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
pub(crate) struct NamespaceEntry {
    /// Its name.
    pub(crate) name: String,
    /// Its labels.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

/// How the pods that fit behave.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BehaviourEntry {
    /// Which: their namespace.
    pub(crate) namespace: Option<String>,
    /// Which: their name, with `*`.
    pub(crate) name: Option<String>,
    /// Which: labels that they have, all of these.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// The kubelet refuses them (`UnexpectedAdmissionError`), and says this.
    pub(crate) refused: Option<String>,
    /// From binding to running: a duration, or `{uniform: [1s, 5s]}`. 1s by default.
    pub(crate) startup: Option<TextOr<UniformEntry>>,
    /// How long they run: a duration, `forever` (the default), or `{uniform: [1m, 5m]}`.
    pub(crate) runtime: Option<TextOr<UniformEntry>>,
    /// How they exit.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub(crate) exit_code: i32,
    /// How long they take to end once they're told to. 1s by default.
    pub(crate) stop: Option<Lasting>,
    /// They are ranks of an MPI job: none works before all of them run.
    pub(crate) mpi: Option<MpiEntry>,
}

/// A duration drawn anew for each pod.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UniformEntry {
    /// Any duration from the first to the second, all equally likely.
    pub(crate) uniform: [Lasting; 2],
}

/// Ranks of an MPI job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MpiEntry {
    /// The label whose value names the job that a pod is a rank of.
    pub(crate) group_label: String,
    /// How many ranks must run before any of them works.
    #[schemars(range(min = 1))]
    pub(crate) ranks: u32,
    /// So long after a rank failed or was lost the others exit with 1. Without it they go on.
    pub(crate) abort: Option<Lasting>,
    /// They end together, when the slowest is done.
    #[serde(default)]
    pub(crate) finalize: bool,
    /// Ranks that are slower than the others.
    #[serde(default)]
    pub(crate) stragglers: Vec<StragglerEntry>,
    /// What it costs that ranks are on several switches.
    pub(crate) across: Option<AcrossEntry>,
}

/// Ranks that are slower than the others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StragglerEntry {
    /// Which: the pod's name, with `*`.
    pub(crate) name: String,
    /// So many times longer: `1.5`.
    pub(crate) slowdown: f64,
}

/// What it costs that ranks are on several switches, or in several racks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AcrossEntry {
    /// Nodes with the same value of this label share a switch.
    pub(crate) node_label: String,
    /// All ranks take so many times longer: `1.3`.
    pub(crate) slowdown: f64,
}

/// Kubernetes manifests: one, a list of them, or files of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Manifests(pub(crate) Value);

impl JsonSchema for Manifests {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Manifests".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let manifest = serde_json::json!({
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string", "description": "As kubectl takes it."},
                "kind": {"type": "string", "description": "As kubectl takes it."},
                "metadata": {"type": "object", "description": "Name, namespace, labels."},
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
