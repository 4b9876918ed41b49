//! Which nodes can take a pod.

use super::{
    super::{
        demand::{Demand, Taint},
        index::Held,
        node::Node,
        pod::Pod,
    },
    affinity::Near,
    spread::Spreads,
    view::View,
    volumes::Volumes,
};

/// Whether a node can take a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It can.
    Fits,
    /// It can't.
    No(Objection),
}

/// Why a node can't take a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    pub(super) reasons: Vec<String>,
    /// Whether it could if others left.
    pub(super) helps: bool,
    /// Whether it's because of the pod's labels: another with the same demand may fare better.
    pub(super) personal: bool,
}

/// What is worked out once for all nodes.
pub(super) struct Pre {
    pub(super) spreads: Spreads,
    pub(super) near: Near,
    pub(super) volumes: Volumes,
}

impl Pre {
    /// Why no node at all can take the pod, or what to ask the nodes.
    pub(super) fn of(view: &View<'_>, pod: &Pod) -> Result<Self, String> {
        Ok(Self {
            volumes: Volumes::of(view, &pod.demand)?,
            spreads: Spreads::required(view, pod),
            near: Near::of(view, pod),
        })
    }
}

/// Asks a node, in the order and the words of the real plugins: the first that objects decides.
pub(super) fn check(view: &View<'_>, pre: &Pre, pod: &Pod, node: &Node, held: &Held) -> Verdict {
    let objection = of_node(&pod.demand, node)
        .or_else(|| of_room(&pod.demand, node, held))
        .or_else(|| pre.volumes.objection(view, node).map(|why| objects(&why, false)))
        .or_else(|| pre.spreads.objection(node))
        .or_else(|| pre.near.objection(node));
    objection.map_or(Verdict::Fits, Verdict::No)
}

pub(super) fn objects(reason: &str, helps: bool) -> Objection {
    Objection { reasons: vec![reason.into()], helps, personal: false }
}

/// What the node itself says, whoever is there.
fn of_node(demand: &Demand, node: &Node) -> Option<Objection> {
    let cordon = Taint::new("node.kubernetes.io/unschedulable", "", "NoSchedule");
    if node.unschedulable && !demand.tolerations.iter().any(|it| it.covers(&cordon)) {
        return Some(objects("node(s) were unschedulable", false));
    }
    if let Some(taint) = node.untolerated(demand, &["NoSchedule", "NoExecute"]) {
        let (key, value) = (&taint.key, &taint.value);
        let why = format!("node(s) had untolerated taint {{{key}: {value}}}");
        return Some(objects(&why, false));
    }
    let suits = node.suits(demand);
    (!suits).then(|| objects("node(s) didn't match Pod's node affinity/selector", false))
}

/// What is left of the node.
fn of_room(demand: &Demand, node: &Node, held: &Held) -> Option<Objection> {
    if held.clashes(demand) {
        return Some(objects("node(s) didn't have free ports for the requested pod ports", true));
    }
    let lacking: Vec<&str> = demand.requests.lacking(&held.requests, &node.allocatable).collect();
    // What an empty node hasn't got nobody can make room for.
    let helps = lacking
        .iter()
        .all(|resource| demand.requests.get(resource) <= node.allocatable.get(resource));
    let reasons: Vec<String> = lacking
        .into_iter()
        .map(|resource| match resource {
            "pods" => "Too many pods".to_owned(),
            other => format!("Insufficient {other}"),
        })
        .collect();
    (!reasons.is_empty()).then_some(Objection { reasons, helps, personal: false })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drawbridge_sim::Epoch;
    use serde_json::{Value, json};

    use super::*;

    fn node(spec: &Value) -> Node {
        Node::read(&Arc::new(json!({
            "metadata": {"name": "n1", "labels": {"zone": "a"}},
            "spec": spec,
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "2"}},
        })))
    }

    fn told(spec: &Value, node_spec: &Value, taken: &Value) -> String {
        let demand = Demand::read(&json!({"spec": spec}));
        let mut held = Held::NONE;
        for (n, spec) in taken.as_array().into_iter().flatten().enumerate() {
            let other = json!({"metadata": {"name": format!("p{n}")}, "spec": spec});
            held.add(&Pod::read(Epoch::DEFAULT, &Arc::new(other), 1, None));
        }
        let node = node(node_spec);
        match of_node(&demand, &node).or_else(|| of_room(&demand, &node, &held)) {
            None => "fits".into(),
            Some(it) => {
                let hope = if it.helps { "" } else { " for good" };
                it.reasons.join(", ") + hope
            }
        }
    }

    #[test]
    fn a_node_says_why_it_cannot() {
        let asks = |cpu: &str| json!({"containers": [{"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]});
        let tolerant = json!({"containers": [], "tolerations": [{"operator": "Exists"}]});
        let picky = json!({"containers": [], "nodeSelector": {"zone": "b"}});
        let affine = |zone: &str| {
            json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]},
            ]}}}})
        };
        let tainted = json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]});
        let port = json!({"containers": [{"ports": [{"hostPort": 80}]}]});
        let free = json!([]);
        let cordoned = json!({"unschedulable": true});
        #[rustfmt::skip]
        let rows = [
            (asks("4"),        json!({}),         free.clone(),                "fits"),
            (asks("4"),        json!({}),         json!([asks("1m")]),         "Insufficient cpu"),
            (asks("5"),        json!({}),         json!([asks("1"), asks("1")]), "Insufficient cpu, Too many pods for good"),
            (asks("1"),        cordoned.clone(),  free.clone(),                "node(s) were unschedulable for good"),
            (tolerant.clone(), cordoned,          free.clone(),                "fits"),
            (asks("9"),        tainted.clone(),   free.clone(),                "node(s) had untolerated taint {k: v} for good"),
            (tolerant,         tainted,           free.clone(),                "fits"),
            (picky,            json!({}),         free.clone(),                "node(s) didn't match Pod's node affinity/selector for good"),
            (affine("a"),      json!({}),         free.clone(),                "fits"),
            (affine("b"),      json!({}),         free,                        "node(s) didn't match Pod's node affinity/selector for good"),
            (port.clone(),     json!({}),         json!([port]),               "node(s) didn't have free ports for the requested pod ports"),
        ];
        for (pod, node, held, expected) in rows {
            assert_eq!(told(&pod, &node, &held), expected, "{pod} {node} {held}");
        }
    }
}
