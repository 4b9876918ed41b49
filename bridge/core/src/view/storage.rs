//! Claims, volumes and their classes, as far as they say where a pod can be.

use std::collections::BTreeMap;

use drawbridge_sim::Quantity;
use serde::Deserialize;

use super::{Amounts, Meta, NodeSelector, Resources, Selector};
use crate::names::Uid;

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ClaimView {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: ClaimSpec,
    #[serde(default)]
    pub(crate) status: Phase,
}

/// What a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimSpec {
    pub(crate) volume_name: String,
    pub(crate) storage_class_name: Option<String>,
    pub(crate) access_modes: Vec<String>,
    pub(crate) resources: Resources,
    pub(crate) selector: Option<Selector>,
    pub(crate) volume_mode: Option<String>,
}

/// `Pending`, `Bound`, `Lost`, `Available`, `Released` …
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Phase {
    pub(crate) phase: String,
}

/// A PersistentVolume.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct VolumeView {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: VolumeSpec,
}

/// What a volume is, and where it can be used.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeSpec {
    pub(crate) capacity: Amounts,
    pub(crate) access_modes: Vec<String>,
    pub(crate) storage_class_name: String,
    pub(crate) volume_mode: Option<String>,
    pub(crate) node_affinity: VolumeAffinity,
    pub(crate) claim_ref: Option<ClaimRef>,
}

/// On which nodes a volume can be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct VolumeAffinity {
    pub(crate) required: Option<NodeSelector>,
}

/// Whose a volume is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimRef {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: Option<Uid>,
}

/// A StorageClass.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClassView {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) provisioner: String,
    #[serde(default)]
    pub(crate) volume_binding_mode: Option<String>,
    #[serde(default)]
    pub(crate) allowed_topologies: Vec<TopologyTerm>,
}

/// Where volumes of a class can be made: one of the terms, all of its labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TopologyTerm {
    pub(crate) match_label_expressions: Vec<TopologyLabel>,
}

/// A label with one of these values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct TopologyLabel {
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

/// On a claim: the node for which its volume is to be made.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// On a claim: it has its volume, and knows.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// The provisioner of classes whose volumes somebody makes by hand.
const NOBODY: &str = "kubernetes.io/no-provisioner";

impl ClaimView {
    /// Whether it has its volume, for good.
    pub(crate) fn is_bound(&self) -> bool {
        self.metadata.annotations.contains_key(BIND_COMPLETED) && !self.spec.volume_name.is_empty()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.status.phase == "Lost"
    }

    /// The node for which its volume is to be made.
    pub(crate) fn selected_node(&self) -> Option<&str> {
        self.metadata.annotations.get(SELECTED_NODE).map(String::as_str)
    }

    /// Whether it permits this alone: one node, or one pod.
    pub(crate) fn permits_only(&self, mode: &str) -> bool {
        let modes = &self.spec.access_modes;
        !modes.is_empty() && modes.iter().all(|it| it == mode)
    }
}

impl VolumeView {
    /// Whether nobody has it.
    pub(crate) fn is_free(&self) -> bool {
        self.spec.claim_ref.is_none() && self.metadata.deletion_timestamp.is_none()
    }

    /// Whether it was given to this very claim, or to one of its name that wasn't there yet.
    pub(crate) fn is_given_to(&self, claim: &ClaimView) -> bool {
        self.spec.claim_ref.as_ref().is_some_and(|to| {
            to.namespace == claim.metadata.namespace
                && to.name == claim.metadata.name
                && to.uid.as_ref().is_none_or(|uid| *uid == claim.metadata.uid)
        })
    }

    /// Whether it could serve the claim, wherever it is.
    pub(crate) fn suits(&self, claim: &ClaimView) -> bool {
        let (mine, wanted) = (&self.spec, &claim.spec);
        let mode = |mode: &Option<String>| mode.clone().unwrap_or_else(|| "Filesystem".into());
        let class = wanted.storage_class_name.as_deref().unwrap_or_default();
        mine.storage_class_name == class
            && mode(&mine.volume_mode) == mode(&wanted.volume_mode)
            && wanted.access_modes.iter().all(|mode| mine.access_modes.contains(mode))
            && size(&wanted.resources.requests) <= self.size()
            && wanted.selector.as_ref().is_none_or(|it| it.matches(&self.metadata.labels))
    }

    pub(crate) fn size(&self) -> Quantity {
        size(&self.spec.capacity)
    }
}

impl ClassView {
    /// Whether its claims are bound only when it is known where they are used.
    pub(crate) fn waits_for_consumer(&self) -> bool {
        self.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
    }

    /// Whether somebody makes volumes of it when they are needed.
    pub(crate) fn provides(&self) -> bool {
        self.provisioner != NOBODY
    }

    /// Whether its volumes can be made for a node with these labels.
    pub(crate) fn provides_on(&self, labels: &BTreeMap<String, String>) -> bool {
        let has = |label: &TopologyLabel| {
            labels.get(&label.key).is_some_and(|value| label.values.contains(value))
        };
        let holds = |term: &TopologyTerm| term.match_label_expressions.iter().all(has);
        self.allowed_topologies.is_empty() || self.allowed_topologies.iter().any(holds)
    }
}

fn size(amounts: &Amounts) -> Quantity {
    amounts.get("storage").and_then(super::quantity).unwrap_or_default()
}
