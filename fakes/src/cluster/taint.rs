//! Taint eviction: pods leave nodes whose `NoExecute` taints they don't put up with.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Span, Time};

use super::{
    node::Node,
    object::{Key, Moment},
    plan::{Plan, Subject, delete_pod},
    pod::Pod,
};

const COMPONENT: &str = "taint-eviction-controller";
const USER: &str = "system:serviceaccount:kube-system:taint-eviction-controller";
const NO_EXECUTE: &str = "NoExecute";

/// Since when pods live under taints that they put up with for a while.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evictions {
    since: BTreeMap<Key, (Arc<str>, Time)>,
}

/// How long a pod may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    Forever,
    For(Span),
}

impl Evictions {
    /// A pod is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.since.remove(key);
    }

    /// Looks at a pod on its node.
    pub(crate) fn sync(&mut self, at: Moment, pod: &Pod, node: &Node) -> Plan {
        let mut plan = Plan::nothing();
        let Stay::For(time) = stay(pod, node) else {
            self.since.remove(&pod.key);
            return plan;
        };
        if !pod.active() {
            return plan;
        }
        let entry = self.since.entry(pod.key.clone());
        let (uid, since) = entry.or_insert_with(|| (pod.uid.clone(), at.now));
        if *uid != pod.uid {
            (*uid, *since) = (pod.uid.clone(), at.now);
        }
        let until = *since + time;
        if at.now < until {
            plan.wake_at(until);
            return plan;
        }
        let message = format!("Marking for deletion Pod {}", pod.key);
        let about = Subject::of(&pod.object);
        plan.tell(about.notes(COMPONENT, "TaintManagerEviction", message));
        plan.send(delete_pod(USER, &pod.key, &pod.uid, None));
        plan
    }
}

/// Whether a node has taints that make pods leave.
pub(crate) fn evicts(node: &Node) -> bool {
    node.taints.iter().any(|taint| taint.effect == NO_EXECUTE)
}

fn stay(pod: &Pod, node: &Node) -> Stay {
    if !evicts(node) {
        return Stay::Forever;
    }
    if node.untolerated(&pod.demand, &[NO_EXECUTE]).is_some() {
        return Stay::For(Span::ZERO);
    }
    let taints = || node.taints.iter().filter(|it| it.effect == NO_EXECUTE);
    let used = pod
        .demand
        .tolerations
        .iter()
        .filter(|toleration| taints().any(|taint| toleration.covers(taint)));
    let seconds = used.filter_map(|it| it.seconds).min();
    seconds.map_or(Stay::Forever, |secs| Stay::For(Span::secs(u64::try_from(secs).unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use drawbridge_sim::Epoch;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_pod_stays_as_long_as_its_tolerations_say() {
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        let exists = |key: &str, secs: Value| json!({"key": key, "operator": "Exists", "tolerationSeconds": secs});
        let (hard, soft) = (taint("a", "NoExecute"), taint("b", "NoSchedule"));
        let rows = [
            (json!([]), json!([]), Stay::Forever),
            (json!([soft]), json!([]), Stay::Forever),
            (json!([hard]), json!([]), Stay::For(Span::ZERO)),
            (json!([hard]), json!([exists("a", Value::Null)]), Stay::Forever),
            (json!([hard]), json!([exists("a", json!(5))]), Stay::For(Span::secs(5))),
            (json!([hard]), json!([exists("a", json!(-5))]), Stay::For(Span::ZERO)),
            (
                json!([hard, taint("c", "NoExecute")]),
                json!([exists("a", json!(5)), exists("c", json!(3))]),
                Stay::For(Span::secs(3)),
            ),
        ];
        for (taints, tolerations, expected) in rows {
            let node = Node::read(&Arc::new(
                json!({"metadata": {"name": "n"}, "spec": {"taints": taints}}),
            ));
            let object = json!({"metadata": {"name": "p"}, "spec": {"tolerations": tolerations}});
            let pod = Pod::read(Epoch::DEFAULT, &Arc::new(object), 1, None);
            assert_eq!(stay(&pod, &node), expected, "{taints} {tolerations}");
        }
    }
}
