//! Taint eviction: pods leave nodes whose `NoExecute` taints they don't put up with.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Span, Time};
use serde_json::json;

use super::{
    demand::{Taint, Toleration},
    node::Node,
    object::{Key, Moment, items, set_condition},
    plan::{Plan, Subject, delete_pod, patch, pod_path},
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
            if self.since.remove(&pod.key).is_some() && pod.active() {
                let message = format!("Cancelling deletion of Pod {}", pod.key);
                let about = Subject::of(&pod.object);
                plan.tell(about.notes(COMPONENT, "TaintManagerEviction", message));
            }
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
        let mut conditions = items(&pod.object["status"]["conditions"]).to_vec();
        let new = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        });
        set_condition(&mut conditions, new, &at.stamp());
        let body = json!({"metadata": {"uid": &*pod.uid}, "status": {"conditions": conditions}});
        plan.send(patch(USER, pod_path(&pod.key) + "/status", body));
        plan.send(delete_pod(USER, &pod.key, &pod.uid, None));
        plan
    }
}

/// Whether a node has taints that make pods leave.
pub(crate) fn evicts(node: &Node) -> bool {
    node.taints.iter().any(|taint| taint.effect == NO_EXECUTE)
}

/// How long every pod stays on a node that is lost or not ready, unless it says otherwise.
const USUAL: Span = Span::secs(300);

fn stay(pod: &Pod, node: &Node) -> Stay {
    let mut stay = Stay::Forever;
    for taint in node.taints.iter().filter(|it| it.effect == NO_EXECUTE) {
        let mut covers = pod.demand.tolerations.iter().filter(|it| it.covers(taint)).peekable();
        let time = match covers.peek() {
            Some(_) => covers.filter_map(|it| it.seconds).min().map(seconds),
            None => Some(if is_usual(taint, &pod.demand.tolerations) { USUAL } else { Span::ZERO }),
        };
        stay = match (stay, time) {
            (stay, None) => stay,
            (Stay::Forever, Some(time)) => Stay::For(time),
            (Stay::For(other), Some(time)) => Stay::For(other.min(time)),
        };
    }
    stay
}

fn seconds(secs: i64) -> Span {
    Span::secs(u64::try_from(secs).unwrap_or(0))
}

/// Whether a real API server would have written a toleration of 300s for this taint on the pod.
fn is_usual(taint: &Taint, tolerations: &[Toleration]) -> bool {
    ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].contains(&&*taint.key)
        && !tolerations.iter().any(|it| it.covers(taint))
}

#[cfg(test)]
mod tests {
    use drawbridge_sim::Epoch;
    use serde_json::Value;

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
                json!([taint("node.kubernetes.io/unreachable", "NoExecute")]),
                json!([]),
                Stay::For(USUAL),
            ),
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
