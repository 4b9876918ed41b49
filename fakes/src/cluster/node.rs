//! A node as the scheduler and the kubelet see it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    amounts::Amounts,
    demand::{Demand, Taint, Term},
    object::{Moment, condition, items, pairs, set_condition, text},
    plan::{Act, Plan, patch},
};

/// How many pods a node takes if it doesn't say: what a real kubelet reports.
const PODS: &str = "110";

/// The facts about one node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) unschedulable: bool,
    pub(crate) allocatable: Amounts,
    pub(crate) object: Arc<Value>,
}

impl Node {
    pub(crate) fn read(object: &Arc<Value>) -> Self {
        let status = &object["status"];
        let allocatable = Amounts::read(&status["allocatable"]);
        Self {
            name: text(&object["metadata"]["name"]).into(),
            labels: pairs(&object["metadata"]["labels"])
                .map(|(key, value)| (key.clone(), text(value).to_owned()))
                .collect(),
            taints: items(&object["spec"]["taints"]).iter().map(Taint::read).collect(),
            unschedulable: object["spec"]["unschedulable"] == true,
            allocatable,
            object: object.clone(),
        }
    }

    /// Whether two readings of a node look the same to the scheduler.
    pub(crate) fn same_to_scheduler(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.taints == other.taints
            && self.unschedulable == other.unschedulable
            && self.allocatable == other.allocatable
    }

    /// Whether the node's labels and name are what the pod asks for.
    pub(crate) fn suits(&self, demand: &Demand) -> bool {
        let label = |key: &str| self.labels.get(key).map(String::as_str);
        let holds = |term: &Term| {
            let empty = term.labels.is_empty() && term.fields.is_empty();
            let name = |key: &str| (key == "metadata.name").then_some(&*self.name);
            !empty
                && term.labels.iter().all(|it| it.holds(label(&it.key)))
                && term.fields.iter().all(|it| it.holds(name(&it.key)))
        };
        demand.selector.iter().all(|it| it.holds(label(&it.key)))
            && demand.affinity.as_ref().is_none_or(|terms| terms.iter().any(holds))
    }

    /// The first taint with one of these effects that the pod doesn't put up with.
    pub(crate) fn untolerated(&self, demand: &Demand, effects: &[&str]) -> Option<&Taint> {
        self.taints
            .iter()
            .filter(|taint| effects.contains(&taint.effect.as_str()))
            .find(|taint| !demand.tolerations.iter().any(|it| it.covers(taint)))
    }
}

/// What a kubelet does for its node when it registers: what isn't given is filled in.
pub(crate) fn register(at: Moment, node: &Node) -> Plan {
    let object = &node.object;
    let user = user(&node.name);
    let path = format!("/api/v1/nodes/{}", node.name);
    let mut plan = Plan::default();
    let hostname = "kubernetes.io/hostname";
    if object["metadata"]["labels"][hostname].is_null() {
        let labels = json!({"metadata": {"labels": {hostname: &*node.name}}});
        plan.acts.push(Act::Send(patch(&user, path.clone(), labels)));
    }
    let status = missing_status(at, object);
    if status != json!({}) {
        let body = json!({"status": status});
        plan.acts.push(Act::Send(patch(&user, format!("{path}/status"), body)));
    }
    plan
}

/// What the controller manager writes on every node: how long kubelets may cache what they read.
pub(crate) fn remember(node: &Node) -> Option<Act> {
    const TTL: &str = "node.alpha.kubernetes.io/ttl";
    let user = "system:serviceaccount:kube-system:ttl-controller";
    let path = format!("/api/v1/nodes/{}", node.name);
    let missing = node.object["metadata"]["annotations"][TTL].is_null();
    let body = json!({"metadata": {"annotations": {TTL: "0"}}});
    missing.then(|| Act::Send(patch(user, path, body)))
}

/// The user that a node's kubelet is.
pub(crate) fn user(node: &str) -> String {
    format!("system:node:{node}")
}

fn missing_status(at: Moment, object: &Value) -> Value {
    let status = &object["status"];
    let mut missing = json!({});
    for list in ["capacity", "allocatable"] {
        let mut amounts = match (&status[list], &status["capacity"], &status["allocatable"]) {
            (Value::Object(own), _, _) => own.clone(),
            (_, Value::Object(other), _) | (_, _, Value::Object(other)) => other.clone(),
            _ => Default::default(),
        };
        amounts.entry("pods").or_insert(PODS.into());
        if status[list] != Value::Object(amounts.clone()) {
            missing[list] = Value::Object(amounts);
        }
    }
    if condition(object, "Ready").is_none() {
        let mut conditions = items(&status["conditions"]).to_vec();
        let ready = json!({
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        });
        set_condition(&mut conditions, ready, &at.stamp());
        missing["conditions"] = conditions.into();
    }
    missing
}
