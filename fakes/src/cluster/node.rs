//! A node as the scheduler and the kubelet see it.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::fnv1a;
use serde_json::{Value, json};

use super::{
    amounts::Amounts,
    demand::{Demand, Taint, Term},
    kubelet::Detail,
    object::{Moment, condition, items, pairs, set_condition, text},
    plan::{Act, Plan, patch},
};
use crate::{Method, Request};

/// How many pods a node takes if it doesn't say: what a real kubelet reports.
const PODS: &str = "110";

/// The facts about one node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) unschedulable: bool,
    pub(crate) ready: Ready,
    pub(crate) allocatable: Amounts,
    pub(crate) object: Arc<Value>,
}

/// What a node's condition `Ready` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    True,
    False,
    /// Its kubelet isn't heard of.
    Unknown,
    /// There is no such condition yet.
    Unsaid,
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
            ready: match condition(object, "Ready").map(|it| text(&it["status"])) {
                Some("True") => Ready::True,
                Some("False") => Ready::False,
                Some(_) => Ready::Unknown,
                None => Ready::Unsaid,
            },
            allocatable,
            object: object.clone(),
        }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready == Ready::True
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
        demand.selector.iter().all(|it| it.holds(self.label(&it.key)))
            && demand
                .affinity
                .as_ref()
                .is_none_or(|terms| terms.iter().any(|it| self.fits_term(it)))
    }

    /// Whether a term holds for the node. An empty one holds nowhere.
    pub(crate) fn fits_term(&self, term: &Term) -> bool {
        let empty = term.labels.is_empty() && term.fields.is_empty();
        let name = |key: &str| (key == "metadata.name").then_some(&*self.name);
        !empty
            && term.labels.iter().all(|it| it.holds(self.label(&it.key)))
            && term.fields.iter().all(|it| it.holds(name(&it.key)))
    }

    /// The address of a pod with this uid: one of 254 of the node's network.
    pub(crate) fn address_of(&self, uid: &str) -> String {
        let network = text(&self.object["spec"]["podCIDR"]);
        let network = network.split('/').next().unwrap_or_default();
        let Some((network, _)) = network.rsplit_once('.') else { return String::new() };
        format!("{network}.{}", fnv1a(uid.as_bytes()) % 253 + 2)
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
pub(crate) fn register(at: Moment, node: &Node, detail: Detail) -> Plan {
    let object = &node.object;
    let user = user(&node.name);
    let path = node_path(&node.name);
    let mut plan = Plan::default();
    let given = &object["metadata"]["labels"];
    let mut labels = json!({});
    let usual = [
        ("kubernetes.io/hostname", &*node.name),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ];
    let wanted = if detail == Detail::Full { &usual[..] } else { &usual[..1] };
    for (label, value) in wanted.iter().filter(|(label, _)| given[*label].is_null()) {
        labels[*label] = (*value).into();
    }
    if labels != json!({}) {
        let body = json!({"metadata": {"labels": labels}});
        plan.acts.push(Act::Send(patch(&user, path.clone(), body)));
    }
    let mut status = missing_status(at, object);
    if detail == Detail::Full {
        introduce(at, &mut status, node);
    }
    if status != json!({}) {
        let body = json!({"status": status});
        plan.acts.push(Act::Send(patch(&user, format!("{path}/status"), body)));
    }
    plan
}

/// What people like to see of a node: its addresses, its system, all its conditions.
fn introduce(at: Moment, status: &mut Value, node: &Node) {
    let object = &node.object;
    if object["status"]["addresses"].is_null() {
        let number = fnv1a(node.name.as_bytes());
        let address =
            format!("10.{}.{}.{}", number % 200 + 10, number / 256 % 256, number / 65536 % 253 + 2);
        status["addresses"] = json!([
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": &*node.name},
        ]);
    }
    if text(&object["status"]["nodeInfo"]["kubeletVersion"]).is_empty() {
        status["nodeInfo"] = json!({
            "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.12.0",
            "osImage": "Drawbridge twin", "containerRuntimeVersion": "containerd://2.2.0",
            "kubeletVersion": "v1.36.4", "kubeProxyVersion": "", "operatingSystem": "linux",
            "architecture": "amd64",
        });
    }
    let said = if status["conditions"].is_array() { &*status } else { &object["status"] };
    let mut conditions = items(&said["conditions"]).to_vec();
    for (kind, reason, message) in [
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ] {
        if condition(object, kind).is_none() {
            let new = json!({
                "type": kind, "status": "False", "reason": reason, "message": message,
                "lastHeartbeatTime": at.stamp(),
            });
            set_condition(&mut conditions, new, &at.stamp());
            status["conditions"] = conditions.clone().into();
        }
    }
}

/// What the controller manager writes on every node: how long kubelets may cache what they read.
pub(crate) fn remember(node: &Node) -> Option<Act> {
    const TTL: &str = "node.alpha.kubernetes.io/ttl";
    let user = "system:serviceaccount:kube-system:ttl-controller";
    let path = node_path(&node.name);
    let missing = node.object["metadata"]["annotations"][TTL].is_null();
    let body = json!({"metadata": {"annotations": {TTL: "0"}}});
    missing.then(|| Act::Send(patch(user, path, body)))
}

/// A kubelet's heartbeat: its lease, made or renewed.
pub(crate) fn beat(at: Moment, node: &Node, there: bool) -> Request {
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let (user, name) = (user(&node.name), &*node.name);
    let renewed = at.epoch.rfc3339_micro(at.now);
    if there {
        let body = json!({"spec": {"renewTime": renewed}});
        return patch(&user, format!("{path}/{name}"), body);
    }
    let body = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": name,
                "uid": node.object["metadata"]["uid"],
            }],
        },
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed},
    });
    Request::new(&user, Method::Post, path).with_body(body)
}

/// The path of a node.
pub(crate) fn node_path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
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
