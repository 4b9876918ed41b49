//! Which nodes can take a pod, and which of them is the emptiest.

use super::super::{amounts::Amounts, demand::Demand, node::Node};

/// Whether a node can take a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It can.
    Fits,
    /// It can't, for these reasons.
    No(Vec<String>),
}

/// What a pod without a request counts as when nodes are compared: 100m and 200Mi, in thousandths.
const NO_REQUEST: [(&str, u64); 2] = [("cpu", 100), ("memory", 200 * 1024 * 1024 * 1000)];

/// Asks a node, in the order and the words of the real plugins: the first that objects decides.
pub(super) fn check(demand: &Demand, node: &Node, held: &Amounts) -> Verdict {
    let cordon = super::super::demand::Taint {
        key: "node.kubernetes.io/unschedulable".into(),
        value: String::new(),
        effect: "NoSchedule".into(),
    };
    if node.unschedulable && !demand.tolerations.iter().any(|it| it.covers(&cordon)) {
        return no("node(s) were unschedulable");
    }
    if let Some(taint) = node.untolerated(demand, &["NoSchedule", "NoExecute"]) {
        let (key, value) = (&taint.key, &taint.value);
        return no(&format!("node(s) had untolerated taint {{{key}: {value}}}"));
    }
    if !node.suits(demand) {
        return no("node(s) didn't match Pod's node affinity/selector");
    }
    let lacking: Vec<String> = demand
        .requests
        .lacking(held, &node.allocatable)
        .map(|resource| match resource {
            "pods" => "Too many pods".to_owned(),
            other => format!("Insufficient {other}"),
        })
        .collect();
    if lacking.is_empty() { Verdict::Fits } else { Verdict::No(lacking) }
}

fn no(reason: &str) -> Verdict {
    Verdict::No(vec![reason.into()])
}

/// How empty the node would be with the pod on it: the mean of free CPU and memory, in
/// thousandths.
pub(super) fn score(demand: &Demand, node: &Node, held: &Amounts) -> u64 {
    NO_REQUEST
        .into_iter()
        .map(|(resource, least)| {
            let ask = match demand.requests.get(resource) {
                0 => least,
                ask => ask,
            };
            // Pods that reserve nothing still weigh something.
            let pods = held.get("pods") / 1000;
            let used = held.get(resource).max(least.saturating_mul(pods)) + ask;
            let all = node.allocatable.get(resource);
            let free = u128::from(all.saturating_sub(used)) * 1000;
            u64::try_from(free.checked_div(u128::from(all)).unwrap_or(0)).unwrap_or(0)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn node(spec: &Value) -> Node {
        Node::read(&Arc::new(json!({
            "metadata": {"name": "n1", "labels": {"zone": "a"}},
            "spec": spec,
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "2"}},
        })))
    }

    fn told(pod: &Value, node_spec: &Value, held: &Value) -> String {
        match check(&Demand::read(pod), &node(node_spec), &Amounts::read(held)) {
            Verdict::Fits => "fits".into(),
            Verdict::No(reasons) => reasons.join(", "),
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
        let free = json!({});
        #[rustfmt::skip]
        let rows = [
            (asks("4"),   json!({}),                        json!({}),                              "fits"),
            (asks("4"),   json!({}),                        json!({"cpu": "1m"}),                   "Insufficient cpu"),
            (asks("5"),   json!({}),                        json!({"memory": "8Gi", "pods": 2}),    "Insufficient cpu, Insufficient memory, Too many pods"),
            (asks("1"),   json!({"unschedulable": true}),   free.clone(),                           "node(s) were unschedulable"),
            (tolerant.clone(), json!({"unschedulable": true}), free.clone(),                        "fits"),
            (asks("9"),   tainted.clone(),                  free.clone(),                           "node(s) had untolerated taint {k: v}"),
            (tolerant,    tainted,                          free.clone(),                           "fits"),
            (picky,       json!({}),                        free.clone(),                           "node(s) didn't match Pod's node affinity/selector"),
            (affine("a"), json!({}),                        free.clone(),                           "fits"),
            (affine("b"), json!({}),                        free,                                   "node(s) didn't match Pod's node affinity/selector"),
        ];
        for (pod, node, held, expected) in rows {
            assert_eq!(told(&pod, &node, &held), expected, "{pod} {node} {held}");
        }
    }

    #[test]
    fn the_emptier_node_scores_higher() {
        let demand =
            Demand::read(&json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]}));
        let node = node(&json!({}));
        let score = |held: Value| score(&demand, &node, &Amounts::read(&held));
        assert!(score(json!({"cpu": "2", "pods": 1})) < score(json!({"cpu": "1", "pods": 1})));
        assert!(score(json!({"pods": 2})) < score(json!({"pods": 0})));
    }
}
