//! Kubernetes objects as far as we read them. Everything else stays with the API server.

mod group;
mod neighbours;
mod storage;

use std::collections::BTreeMap;

use drawbridge_sim::{Epoch, Quantity, Time};
use serde::Deserialize;
use serde_json::Value;

pub(crate) use group::{PodGroupView, SCHEDULED, SchedulingGroup};

use crate::names::{
    EXTERNAL_LABEL, FINALIZER, JOB_ID_LABEL, KubeNode, ObjectKey, POD_GROUP_LABEL, Uid,
    WORKER_LABEL,
};
pub(crate) use neighbours::{Affinity, PodTerm, Selector, SpreadConstraint};
pub(crate) use storage::{ClaimView, ClassView, SELECTED_NODE, VolumeView};

/// What every object has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) uid: Uid,
    #[serde(default)]
    pub(crate) resource_version: String,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) finalizers: Vec<String>,
    #[serde(default)]
    pub(crate) owner_references: Vec<OwnerRef>,
    #[serde(default)]
    pub(crate) deletion_timestamp: Option<String>,
    #[serde(default)]
    pub(crate) creation_timestamp: Option<String>,
}

/// A reference from an object to one that owns it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnerRef {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: Uid,
    #[serde(default)]
    pub(crate) controller: bool,
}

/// A pod.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PodView {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: PodSpec,
    #[serde(default)]
    pub(crate) status: PodStatus,
}

/// What a pod asks for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpec {
    pub(crate) node_name: Option<String>,
    pub(crate) host_network: bool,
    pub(crate) containers: Vec<Container>,
    pub(crate) init_containers: Vec<Container>,
    pub(crate) overhead: Amounts,
    pub(crate) resources: Resources,
    pub(crate) node_selector: BTreeMap<String, String>,
    pub(crate) affinity: Affinity,
    pub(crate) tolerations: Vec<Toleration>,
    pub(crate) scheduling_gates: Vec<Value>,
    pub(crate) scheduling_group: Option<SchedulingGroup>,
    pub(crate) resource_claims: Vec<PodClaim>,
    pub(crate) topology_spread_constraints: Vec<SpreadConstraint>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) termination_grace_period_seconds: Option<u64>,
    pub(crate) active_deadline_seconds: Option<u64>,
    pub(crate) priority_class_name: Option<String>,
}

/// A claim that a pod uses: one of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodClaim {
    pub(crate) name: String,
    pub(crate) resource_claim_name: Option<String>,
    pub(crate) resource_claim_template_name: Option<String>,
}

/// The claim that was made for a pod, by the name that the pod gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodClaimStatus {
    pub(crate) name: String,
    /// None if none is needed.
    pub(crate) resource_claim_name: Option<String>,
}

/// The claim that stands for a pod's resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ExtendedClaim {
    pub(crate) resource_claim_name: String,
}

/// Resource names with quantities, which are text or plain numbers.
pub(crate) type Amounts = BTreeMap<String, Value>;

/// A quantity, if it is one.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) resources: Resources,
    /// `Always` makes an init container a sidecar.
    pub(crate) restart_policy: Option<String>,
    pub(crate) ports: Vec<Port>,
}

/// A port of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Port {
    /// The port of the node, or 0.
    pub(crate) host_port: u32,
    pub(crate) container_port: u32,
    #[serde(rename = "hostIP")]
    pub(crate) host_ip: Option<String>,
    pub(crate) protocol: Option<String>,
}

/// A volume, as far as it is tied to a place.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) persistent_volume_claim: Option<ClaimName>,
    pub(crate) ephemeral: Option<Value>,
}

/// A claim in the pod's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimName {
    pub(crate) claim_name: String,
}

/// Requests and limits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Resources {
    pub(crate) requests: Amounts,
    pub(crate) limits: Amounts,
}

/// Rules about nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAffinity {
    pub(crate) required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
    /// Wishes; they aren't read, only known to be there.
    pub(crate) preferred_during_scheduling_ignored_during_execution: Vec<Value>,
}

/// Terms of which one must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSelector {
    pub(crate) node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSelectorTerm {
    pub(crate) match_expressions: Vec<Requirement>,
    pub(crate) match_fields: Vec<Requirement>,
}

/// One condition on a label or field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    pub(crate) operator: String,
    pub(crate) values: Vec<String>,
}

/// A taint that a pod puts up with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Toleration {
    pub(crate) key: String,
    pub(crate) operator: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

/// How a pod is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    /// One word, where a kubelet has one.
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) resource_claim_statuses: Vec<PodClaimStatus>,
    pub(crate) extended_resource_claim_status: Option<ExtendedClaim>,
}

/// One condition of a pod or a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    #[serde(rename = "lastTransitionTime")]
    pub(crate) last_transition_time: Option<String>,
}

/// A Kubernetes node.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct NodeView {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: NodeSpec,
    #[serde(default)]
    pub(crate) status: NodeStatus,
}

/// What is wanted of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct NodeSpec {
    pub(crate) unschedulable: bool,
    pub(crate) taints: Vec<Taint>,
}

/// How a node is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct NodeStatus {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) capacity: Amounts,
    /// What pods may have of it.
    pub(crate) allocatable: Amounts,
    pub(crate) addresses: Vec<Address>,
}

/// One of a node's addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Address {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) address: String,
}

/// What keeps pods off a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Taint {
    pub(crate) key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) value: String,
    pub(crate) effect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_added: Option<String>,
}

impl Requirement {
    pub(crate) fn meets(&self, value: Option<&str>) -> bool {
        let listed = value.is_some_and(|value| self.values.iter().any(|one| one == value));
        let bound = self.values.first().and_then(|bound| bound.parse::<i64>().ok());
        let number = value.and_then(|value| value.parse::<i64>().ok());
        match self.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => matches!((number, bound), (Some(number), Some(bound)) if number > bound),
            "Lt" => matches!((number, bound), (Some(number), Some(bound)) if number < bound),
            _ => false,
        }
    }
}

impl Meta {
    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }

    /// When it was created, in seconds since 1970; the API server always says.
    pub(crate) fn created(&self) -> u64 {
        let at = self.creation_timestamp.as_deref().and_then(|text| Epoch::parse(text).ok());
        at.map_or(0, |at| at.unix(Time::ZERO))
    }

    /// The owner that controls this object.
    pub(crate) fn controller(&self) -> Option<&OwnerRef> {
        self.owner_references.iter().find(|owner| owner.controller)
    }

    /// Whether this is an older state than `other` of the same object.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        let version = |meta: &Self| meta.resource_version.parse::<u64>().ok();
        self.uid == other.uid
            && matches!((version(self), version(other)), (Some(mine), Some(theirs)) if mine < theirs)
    }
}

impl PodView {
    pub(crate) fn key(&self) -> ObjectKey {
        self.metadata.key()
    }

    pub(crate) fn uid(&self) -> &Uid {
        &self.metadata.uid
    }

    /// The node that it is bound to.
    pub(crate) fn node(&self) -> Option<KubeNode> {
        let node = self.spec.node_name.as_deref().filter(|node| !node.is_empty())?;
        Some(node.into())
    }

    pub(crate) fn is_bound(&self) -> bool {
        self.spec.node_name.as_deref().is_some_and(|node| !node.is_empty())
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.succeeded() || self.status.phase == "Failed"
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.status.phase == "Succeeded"
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Waits for a place: not bound, not over, not on its way out.
    pub(crate) fn wants_a_place(&self) -> bool {
        !self.is_bound() && !self.is_terminal() && !self.is_leaving()
    }

    /// How long it may take to end, once it is told to.
    pub(crate) fn grace_seconds(&self) -> u64 {
        self.spec.termination_grace_period_seconds.unwrap_or(30)
    }

    pub(crate) fn is_gated(&self) -> bool {
        !self.spec.scheduling_gates.is_empty()
    }

    pub(crate) fn has_finalizer(&self) -> bool {
        self.metadata.finalizers.iter().any(|name| name == FINALIZER)
    }

    /// The job that its label names.
    pub(crate) fn job_label(&self) -> Option<&str> {
        self.metadata.labels.get(JOB_ID_LABEL).map(String::as_str)
    }

    /// The PodGroup that its label names.
    pub(crate) fn group(&self) -> Option<ObjectKey> {
        let name = self.metadata.labels.get(POD_GROUP_LABEL)?;
        Some(ObjectKey::new(&self.metadata.namespace, name))
    }

    /// The claims that it uses. One of a volume that lives as long as the pod is named after both.
    pub(crate) fn claims(&self) -> impl Iterator<Item = ObjectKey> {
        let Meta { namespace, name, .. } = &self.metadata;
        self.spec.volumes.iter().filter_map(move |volume| {
            let own = || format!("{name}-{}", volume.name);
            let claim = match (&volume.persistent_volume_claim, &volume.ephemeral) {
                (Some(claim), _) => claim.claim_name.clone(),
                (None, Some(_)) => own(),
                (None, None) => return None,
            };
            Some(ObjectKey::new(namespace, &claim))
        })
    }

    /// Whether it is a NodeSet's own worker.
    pub(crate) fn is_worker(&self) -> bool {
        self.metadata.labels.contains_key(WORKER_LABEL)
            || self.metadata.owner_references.iter().any(|owner| owner.kind == "NodeSet")
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }
}

impl NodeAffinity {
    /// Whether there are rules that needn't be met.
    pub(crate) fn is_wished(&self) -> bool {
        !self.preferred_during_scheduling_ignored_during_execution.is_empty()
    }
}

impl NodeView {
    pub(crate) fn name(&self) -> KubeNode {
        self.metadata.name.as_str().into()
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether Slurm shall have it as an external node.
    pub(crate) fn is_external(&self) -> bool {
        self.metadata.labels.contains_key(EXTERNAL_LABEL)
    }

    /// Since when it isn't ready, in seconds since 1970; `None` if it is, or doesn't say.
    pub(crate) fn not_ready_since(&self) -> Option<u64> {
        let ready = self.condition("Ready").filter(|ready| ready.status != "True")?;
        let since = ready.last_transition_time.as_deref();
        Some(since.and_then(|text| Epoch::parse(text).ok()).map_or(0, |at| at.unix(Time::ZERO)))
    }
}
