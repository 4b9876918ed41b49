//! The default scheduler: one pod at a time, the most important and oldest first.
//!
//! ```text
//!   waiting pods ──filter──▶ nodes that can ──score──▶ the emptiest ──▶ Binding
//!                    └─ none ──▶ PodScheduled=False, tried again when room appears
//! ```
//!
//! Pods with equal demands form a class: where the first of a class doesn't fit, none does, so a
//! long queue costs no more than a short one. Preemption, pod affinity, spreading and volumes
//! aren't modelled; a pod that requires one of them isn't placed and its condition says so.

mod filter;
mod queue;

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::Span;
use serde_json::{Value, json};

use self::filter::Verdict;
pub(crate) use self::queue::{Queue, waits};
use super::{
    amounts::Amounts,
    demand::Demand,
    node::Node,
    object::{Key, Moment, condition, items, set_condition},
    plan::{Plan, Subject, patch, pod_path},
    pod::{DEFAULT_SCHEDULER, Pod},
};
use crate::{Method, Request};

/// Who the scheduler is to the API server.
pub(crate) const USER: &str = "system:kube-scheduler";
/// Up to so many pods with equal demands say at once when the reason for waiting is another.
const FEW: usize = 100;
/// More of them say so at most this often, or a long queue would write more than it waits.
pub(crate) const REFRESH: Span = Span::mins(1);

/// What the scheduler decided about a demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Take this node.
    Node(Arc<str>),
    /// None can take it, and this is why.
    Nowhere(String),
}

/// Chooses a node for a demand, given what is held on each.
pub(crate) fn choose<'a>(
    demand: &Demand,
    nodes: impl Iterator<Item = (&'a Node, &'a Amounts)>,
) -> Choice {
    if let Some(field) = demand.unmodelled.first() {
        return Choice::Nowhere(format!("{field} is not modelled; the pod isn't scheduled."));
    }
    let mut best: Option<(u64, &Node)> = None;
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut total = 0;
    for (node, held) in nodes {
        total += 1;
        match filter::check(demand, node, held) {
            Verdict::Fits => {
                let score = filter::score(demand, node, held);
                // The nodes come by name, so the first of equals stays.
                if best.is_none_or(|(most, _)| most < score) {
                    best = Some((score, node));
                }
            }
            Verdict::No(why) => {
                for reason in why {
                    *reasons.entry(reason).or_default() += 1;
                }
            }
        }
    }
    match best {
        Some((_, node)) => Choice::Node(node.name.clone()),
        None => Choice::Nowhere(nowhere(total, &reasons)),
    }
}

/// `0/6 nodes are available: 2 Too many pods, 6 Insufficient cpu.`
fn nowhere(total: usize, reasons: &BTreeMap<String, usize>) -> String {
    if total == 0 {
        return "no nodes available to schedule pods".into();
    }
    let mut parts: Vec<String> =
        reasons.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    parts.sort();
    format!("0/{total} nodes are available: {}.", parts.join(", "))
}

/// Binds a pod.
pub(crate) fn bind(pod: &Pod, node: &str) -> Plan {
    let Key { namespace, name } = &pod.key;
    let mut plan = Plan::nothing();
    let body = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": &**name, "namespace": &**namespace, "uid": &*pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    let path = pod_path(&pod.key) + "/binding";
    plan.send(Request::new(USER, Method::Post, path).with_body(body));
    let message = format!("Successfully assigned {} to {node}", pod.key);
    plan.tell(Subject::of(&pod.object).notes(DEFAULT_SCHEDULER, "Scheduled", message));
    plan
}

/// Says on a pod why it waits, if it doesn't say so already.
pub(crate) fn park(at: Moment, pod: &Pod, why: &str) -> Plan {
    let mut plan = Plan::nothing();
    let new = json!({
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
    });
    let says = condition(&pod.object, "PodScheduled");
    let known = says.is_some_and(|old| {
        ["status", "reason", "message"].iter().all(|field| old[*field] == new[*field])
    });
    if known {
        return plan;
    }
    let mut conditions: Vec<Value> = items(&pod.object["status"]["conditions"]).to_vec();
    set_condition(&mut conditions, new, &at.stamp());
    let body = json!({"metadata": {"uid": &*pod.uid}, "status": {"conditions": conditions}});
    plan.send(patch(USER, pod_path(&pod.key) + "/status", body));
    let about = Subject::of(&pod.object);
    plan.tell(about.warns(DEFAULT_SCHEDULER, "FailedScheduling", why.into()));
    plan
}
