//! Which Slurm nodes a workload must not use, and why.
//!
//! They go to Slurm as `excluded_nodes`, never as `required_nodes`: Slurm checks a required list
//! again at every restart and would fail the job if one node were gone.

use std::{collections::BTreeMap, fmt};

use drawbridge_sim::SlurmNode;

use crate::{
    mapping::{Conflict, Mapping},
    names::{KubeNode, MANAGED_TAINT, UNAVAILABLE_TAINT},
    slurm::NodeInfo,
    store::Store,
    view::{NodeSelectorTerm, NodeView, PodView, Requirement, Taint, Toleration},
};

/// Why a node is out of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    Unmapped,
    Conflict(Conflict),
    Cordoned,
    Selector,
    Affinity,
    Taint(String),
}

/// What the choice is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) store: &'a Store,
    pub(crate) mapping: &'a Mapping,
    pub(crate) slurm: &'a BTreeMap<SlurmNode, NodeInfo>,
}

/// The nodes of the partition (of all partitions, if none is named) that some pod can't use.
pub(crate) fn excluded(
    field: Field<'_>,
    pods: &[&PodView],
    partition: Option<&str>,
) -> Vec<(SlurmNode, Obstacle)> {
    let nodes = in_question(field.slurm, partition);
    nodes.filter_map(|info| Some((info.name.clone(), obstacle(field, pods, &info.name)?))).collect()
}

/// Whether there are nodes left, and no slurmd on any of them.
pub(crate) fn none_has_slurmd(
    slurm: &BTreeMap<SlurmNode, NodeInfo>,
    excluded: &[SlurmNode],
    partition: Option<&str>,
) -> bool {
    let left = in_question(slurm, partition).filter(|info| !excluded.contains(&info.name));
    let mut left = left.peekable();
    left.peek().is_some() && left.all(NodeInfo::is_external)
}

/// The nodes of these partitions; all of them if none is named.
fn in_question<'a>(
    slurm: &'a BTreeMap<SlurmNode, NodeInfo>,
    partition: Option<&str>,
) -> impl Iterator<Item = &'a NodeInfo> {
    let asked: Option<Vec<String>> =
        partition.map(|names| names.split(',').map(str::to_owned).collect());
    slurm.values().filter(move |info| match &asked {
        None => true,
        Some(asked) => {
            asked.iter().any(|name| info.partitions.iter().any(|it| it.as_str() == name))
        }
    })
}

fn obstacle(field: Field<'_>, pods: &[&PodView], slurm: &SlurmNode) -> Option<Obstacle> {
    if let Some(conflict) = field.mapping.conflicts().get(slurm) {
        return Some(Obstacle::Conflict(conflict.clone()));
    }
    let node = field.mapping.kube(slurm).and_then(|name: &KubeNode| field.store.node(name));
    match node {
        None => Some(Obstacle::Unmapped),
        Some(node) => pods.iter().find_map(|pod| obstacle_for(pod, node)),
    }
}

fn obstacle_for(pod: &PodView, node: &NodeView) -> Option<Obstacle> {
    if node.spec.unschedulable {
        return Some(Obstacle::Cordoned);
    }
    let labels = &node.metadata.labels;
    if !pod.spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value)) {
        return Some(Obstacle::Selector);
    }
    let affinity = &pod.spec.affinity.node_affinity;
    if let Some(required) = &affinity.required_during_scheduling_ignored_during_execution
        && !required.node_selector_terms.iter().any(|term| holds(term, node))
    {
        return Some(Obstacle::Affinity);
    }
    let repels = |taint: &&Taint| {
        matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
            && ![MANAGED_TAINT, UNAVAILABLE_TAINT].contains(&taint.key.as_str())
            && !pod.spec.tolerations.iter().any(|toleration| tolerates(toleration, taint))
    };
    node.spec.taints.iter().find(repels).map(|taint| Obstacle::Taint(taint.key.clone()))
}

/// A term without conditions matches nothing, as in Kubernetes.
fn holds(term: &NodeSelectorTerm, node: &NodeView) -> bool {
    let label = |key: &str| node.metadata.labels.get(key).map(String::as_str);
    let field = |key: &str| (key == "metadata.name").then_some(node.metadata.name.as_str());
    let anything = !term.match_expressions.is_empty() || !term.match_fields.is_empty();
    anything
        && term.match_expressions.iter().all(|wanted| meets(wanted, label(&wanted.key)))
        && term.match_fields.iter().all(|wanted| meets(wanted, field(&wanted.key)))
}

fn meets(wanted: &Requirement, value: Option<&str>) -> bool {
    let listed = value.is_some_and(|value| wanted.values.iter().any(|one| one == value));
    let bound = wanted.values.first().and_then(|bound| bound.parse::<i64>().ok());
    let number = value.and_then(|value| value.parse::<i64>().ok());
    match wanted.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => matches!((number, bound), (Some(number), Some(bound)) if number > bound),
        "Lt" => matches!((number, bound), (Some(number), Some(bound)) if number < bound),
        _ => false,
    }
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    let value = match toleration.operator.as_str() {
        "Exists" => true,
        _ => !toleration.key.is_empty() && toleration.value == taint.value,
    };
    effect && key && value
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmapped => f.write_str("it is no Kubernetes node"),
            Self::Conflict(conflict) => write!(f, "{conflict}"),
            Self::Cordoned => f.write_str("it is cordoned"),
            Self::Selector => f.write_str("it doesn't match the node selector"),
            Self::Affinity => f.write_str("it doesn't match the node affinity"),
            Self::Taint(key) => write!(f, "its taint {key} isn't tolerated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn judged(spec: &Value, node_spec: &Value) -> String {
        let metadata = json!({ "name": "p", "uid": "p" });
        let pod = json!({ "metadata": metadata, "spec": spec });
        let labels = json!({ "zone": "a", "gpus": "4" });
        let metadata = json!({ "name": "n1", "uid": "n1", "labels": labels });
        let node = json!({ "metadata": metadata, "spec": node_spec });
        let obstacle = obstacle_for(
            &serde_json::from_value(pod).unwrap(),
            &serde_json::from_value(node).unwrap(),
        );
        obstacle.map_or("fine".into(), |obstacle| obstacle.to_string())
    }

    fn affinity(key: &str, operator: &str, values: &[&str]) -> Value {
        let wanted = json!([{ "key": key, "operator": operator, "values": values }]);
        let part = if key == "metadata.name" { "matchFields" } else { "matchExpressions" };
        let terms = json!({ "nodeSelectorTerms": [{ part: wanted }] });
        json!({ "affinity": { "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": terms,
        } } })
    }

    #[test]
    fn selectors_affinity_and_cordons_rule_nodes_out() {
        let plain = json!({});
        let affinity_fault = "it doesn't match the node affinity";
        #[rustfmt::skip]
        let rows = [
            (json!({}),                                         plain.clone(),                    "fine"),
            (json!({}),                                         json!({ "unschedulable": true }), "it is cordoned"),
            (json!({ "nodeSelector": { "zone": "a" } }),        plain.clone(),                    "fine"),
            (json!({ "nodeSelector": { "zone": "b" } }),        plain.clone(),                    "it doesn't match the node selector"),
            (affinity("zone", "In", &["a", "b"]),               plain.clone(),                    "fine"),
            (affinity("zone", "In", &["b"]),                    plain.clone(),                    affinity_fault),
            (affinity("zone", "NotIn", &["b"]),                 plain.clone(),                    "fine"),
            (affinity("disk", "NotIn", &["b"]),                 plain.clone(),                    "fine"),
            (affinity("disk", "Exists", &[]),                   plain.clone(),                    affinity_fault),
            (affinity("disk", "DoesNotExist", &[]),             plain.clone(),                    "fine"),
            (affinity("gpus", "Gt", &["3"]),                    plain.clone(),                    "fine"),
            (affinity("gpus", "Lt", &["4"]),                    plain.clone(),                    affinity_fault),
            (affinity("metadata.name", "In", &["n1"]),          plain.clone(),                    "fine"),
            (affinity("metadata.name", "In", &["n2"]),          plain.clone(),                    affinity_fault),
            (affinity("zone", "Sounds like", &["a"]),           plain,                            affinity_fault),
        ];
        for (spec, node, expected) in rows {
            assert_eq!(judged(&spec, &node), expected, "{spec} {node}");
        }
    }

    #[test]
    fn taints_that_are_not_tolerated_rule_nodes_out() {
        let taint =
            |effect: &str| json!({ "taints": [{ "key": "k", "value": "v", "effect": effect }] });
        let ours =
            json!({ "taints": [{ "key": MANAGED_TAINT, "value": "s", "effect": "NoExecute" }] });
        let fault = "its taint k isn't tolerated";
        #[rustfmt::skip]
        let rows = [
            (json!([]),                                                taint("NoSchedule"),       fault),
            (json!([]),                                                taint("NoExecute"),        fault),
            (json!([]),                                                taint("PreferNoSchedule"), "fine"),
            (json!([]),                                                ours,                      "fine"),
            (json!([{ "operator": "Exists" }]),                        taint("NoSchedule"),       "fine"),
            (json!([{ "key": "k", "operator": "Exists" }]),            taint("NoSchedule"),       "fine"),
            (json!([{ "key": "k", "value": "v" }]),                    taint("NoSchedule"),       "fine"),
            (json!([{ "key": "k", "value": "w" }]),                    taint("NoSchedule"),       fault),
            (json!([{ "key": "k", "value": "v", "effect": "NoExecute" }]), taint("NoSchedule"),   fault),
        ];
        for (tolerations, node, expected) in rows {
            assert_eq!(
                judged(&json!({ "tolerations": tolerations }), &node),
                expected,
                "{tolerations}"
            );
        }
    }
}
