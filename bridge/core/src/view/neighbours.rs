//! What a pod says about other pods: whom it wants near, whom far, and how evenly spread.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{NodeAffinity, Requirement};

/// Which nodes, and which neighbours.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Affinity {
    pub(crate) node_affinity: NodeAffinity,
    pub(crate) pod_affinity: PodAffinity,
    pub(crate) pod_anti_affinity: PodAffinity,
}

/// Rules about neighbours.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) required: Vec<PodTerm>,
    /// Wishes; they aren't read, only known to be there.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) preferred: Vec<Value>,
}

impl PodAffinity {
    /// Whether there are rules that needn't be met.
    pub(crate) fn is_wished(&self) -> bool {
        !self.preferred.is_empty()
    }
}

/// Pods that are meant, and how near is near: the same value of a node's label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodTerm {
    /// Without one no pod is meant.
    pub(crate) label_selector: Option<Selector>,
    /// The pod's own if there are none.
    pub(crate) namespaces: Vec<String>,
    /// An empty one means all namespaces.
    pub(crate) namespace_selector: Option<Selector>,
    pub(crate) topology_key: String,
    pub(crate) match_label_keys: Vec<String>,
    pub(crate) mismatch_label_keys: Vec<String>,
}

/// Labels that are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Selector {
    pub(crate) match_labels: BTreeMap<String, String>,
    pub(crate) match_expressions: Vec<Requirement>,
}

/// How pods are to be spread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpreadConstraint {
    pub(crate) max_skew: u64,
    pub(crate) topology_key: String,
    pub(crate) when_unsatisfiable: String,
    pub(crate) label_selector: Option<Selector>,
    pub(crate) min_domains: Option<u64>,
    pub(crate) match_label_keys: Vec<String>,
    pub(crate) node_affinity_policy: Option<String>,
    pub(crate) node_taints_policy: Option<String>,
}

impl SpreadConstraint {
    /// Whether a pod must not be placed against it.
    pub(crate) fn is_required(&self) -> bool {
        self.when_unsatisfiable != "ScheduleAnyway"
    }
}

impl Selector {
    /// Whether nothing is asked: everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = |key: &str| labels.get(key).map(String::as_str);
        self.match_labels.iter().all(|(key, wanted)| value(key) == Some(wanted))
            && self.match_expressions.iter().all(|wanted| wanted.meets(value(&wanted.key)))
    }
}
