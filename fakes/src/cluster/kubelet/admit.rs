//! What a kubelet refuses to run, in its own words.

use super::super::{amounts::Amounts, demand::Port, node::Node, pod::Pod};

/// Why a pod isn't run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) message: String,
}

/// The kubelet was told to refuse it.
pub(super) fn unexpected(why: &str) -> Refusal {
    Refusal {
        reason: "UnexpectedAdmissionError".into(),
        message: format!("Pod was rejected: {why}"),
    }
}

/// Why the node can't run the pod, if it can't, when so much is used already.
pub(super) fn refusal(pod: &Pod, node: &Node, used: &Amounts, ports: &[Port]) -> Option<Refusal> {
    let demand = &pod.demand;
    // A device that the node never had is nobody's to refuse: its plugin may be gone.
    let known = |resource: &&str| !resource.contains('/') || node.allocatable.has(resource);
    let mut lacking = demand.requests.lacking(used, &node.allocatable).filter(known);
    if let Some(resource) = lacking.next() {
        let shown = |milli: u64| if resource == "cpu" { milli } else { milli / 1000 };
        return Some(Refusal {
            reason: format!("OutOf{resource}"),
            message: format!(
                "Pod was rejected: Node didn't have enough resource: {resource}, requested: {}, \
                 used: {}, capacity: {}",
                shown(demand.requests.get(resource)),
                shown(used.get(resource)),
                shown(node.allocatable.get(resource)),
            ),
        });
    }
    let failed = |predicate: &str, why: &str| Refusal {
        reason: predicate.into(),
        message: format!("Pod was rejected: Predicate {predicate} failed: {why}"),
    };
    if !node.suits(demand) {
        let why = "node(s) didn't match Pod's node affinity/selector";
        return Some(failed("NodeAffinity", why));
    }
    let taken = |port: &Port| ports.iter().any(|other| other.clashes(port));
    if demand.ports.iter().any(taken) {
        let why = "node(s) didn't have free ports for the requested pod ports";
        return Some(failed("NodePorts", why));
    }
    let tainted = node.untolerated(demand, &["NoExecute"]).is_some();
    tainted.then(|| failed("TaintToleration", "node(s) had taints that the pod didn't tolerate"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drawbridge_sim::Epoch;
    use serde_json::{Value, json};

    use super::*;

    fn told(spec: &Value, used: &Value) -> String {
        let node = Node::read(&Arc::new(json!({
            "metadata": {"name": "n1"},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": 110}},
        })));
        let object = Arc::new(json!({"metadata": {"name": "p", "uid": "u"}, "spec": spec}));
        let pod = Pod::read(Epoch::DEFAULT, &object, 1, None);
        let port = Port { protocol: "TCP".into(), address: "0.0.0.0".into(), number: 80 };
        match refusal(&pod, &node, &Amounts::read(used), &[port]) {
            Some(it) => format!("{}: {}", it.reason, it.message),
            None => "admitted".into(),
        }
    }

    #[test]
    fn the_kubelet_refuses_what_does_not_fit() {
        let asks = |cpu: &str, memory: &str| {
            json!({"containers": [
                {"resources": {"requests": {"cpu": cpu, "memory": memory}}}
            ]})
        };
        let used = json!({"cpu": "6", "memory": "1Gi"});
        assert_eq!(told(&asks("2", "1Gi"), &used), "admitted");
        insta::assert_snapshot!(
            told(&asks("4", "1Gi"), &used),
            @"OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu, requested: 4000, used: 6000, capacity: 8000"
        );
        insta::assert_snapshot!(
            told(&asks("1", "8Gi"), &used),
            @"OutOfmemory: Pod was rejected: Node didn't have enough resource: memory, requested: 8589934592, used: 1073741824, capacity: 8589934592"
        );
        insta::assert_snapshot!(
            told(&json!({"nodeSelector": {"disk": "ssd"}}), &used),
            @"NodeAffinity: Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
        );
        insta::assert_snapshot!(
            told(&json!({"containers": [{"ports": [{"hostPort": 80}]}]}), &used),
            @"NodePorts: Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
        );
    }
}
