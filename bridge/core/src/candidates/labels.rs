//! Labels and taints: what a node is called, and whom it puts off.

use super::obstacle::Obstacle;
use crate::{
    names::{MANAGED_TAINT, UNAVAILABLE_TAINT},
    view::{NodeSelector, NodeSelectorTerm, NodeView, PodView, Taint, Toleration},
};

/// Whether the node has the labels that the pod asks for.
pub(crate) fn suits(pod: &PodView, node: &NodeView) -> Result<(), Obstacle> {
    let labels = &node.metadata.labels;
    if !pod.spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value)) {
        return Err(Obstacle::Selector);
    }
    let affinity = &pod.spec.affinity.node_affinity;
    match &affinity.required_during_scheduling_ignored_during_execution {
        Some(required) if !selects(required, node) => Err(Obstacle::Affinity),
        Some(_) | None => Ok(()),
    }
}

/// Whether one of the terms holds for the node.
pub(crate) fn selects(selector: &NodeSelector, node: &NodeView) -> bool {
    selector.node_selector_terms.iter().any(|term| holds(term, node))
}

/// A taint of the node that the pod doesn't put up with; ours keeps none of our pods away.
pub(crate) fn untolerated<'a>(pod: &PodView, node: &'a NodeView) -> Option<&'a Taint> {
    let repels = |taint: &&Taint| {
        matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
            && ![MANAGED_TAINT, UNAVAILABLE_TAINT].contains(&taint.key.as_str())
            && !pod.spec.tolerations.iter().any(|toleration| tolerates(toleration, taint))
    };
    node.spec.taints.iter().find(repels)
}

/// A term without conditions matches nothing, as in Kubernetes.
fn holds(term: &NodeSelectorTerm, node: &NodeView) -> bool {
    let label = |key: &str| node.metadata.labels.get(key).map(String::as_str);
    let field = |key: &str| (key == "metadata.name").then_some(node.metadata.name.as_str());
    let anything = !term.match_expressions.is_empty() || !term.match_fields.is_empty();
    anything
        && term.match_expressions.iter().all(|wanted| wanted.meets(label(&wanted.key)))
        && term.match_fields.iter().all(|wanted| wanted.meets(field(&wanted.key)))
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
        let pod: PodView = serde_json::from_value(pod).unwrap();
        let node: NodeView = serde_json::from_value(node).unwrap();
        told(suits(&pod, &node).and_then(|()| match untolerated(&pod, &node) {
            Some(taint) => Err(Obstacle::Taint(taint.key.clone())),
            None => Ok(()),
        }))
    }

    fn told(judged: Result<(), Obstacle>) -> String {
        judged.map_or_else(|obstacle| obstacle.to_string(), |()| "fine".into())
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
    fn selectors_and_affinity_rule_nodes_out() {
        let plain = json!({});
        let affinity_fault = "it doesn't match the node affinity";
        #[rustfmt::skip]
        let rows = [
            (json!({}),                                         plain.clone(),                    "fine"),
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
