//! The default scheduler: one pod at a time, the most important and oldest first.
//!
//! ```text
//!   waiting pods ──filter──▶ nodes that can ──score──▶ the best ──▶ volumes ──▶ Binding
//!                    └─ none ──▶ room made by less important pods, or PodScheduled=False and
//!                                tried again when something changes
//! ```
//!
//! Pods with equal demands form a class: where the first of a class doesn't fit, none does, so a
//! long queue costs no more than a short one. ResourceClaims aren't modelled; a pod that has one
//! isn't placed and its condition says so.

mod affinity;
mod filter;
mod preempt;
mod queue;
mod score;
mod spread;
mod view;
mod volumes;

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::Span;
use serde_json::{Value, json};

use self::{
    filter::{Pre, Verdict},
    preempt::Outcome,
    score::Candidate,
};
pub(crate) use self::{
    preempt::Room,
    queue::{Queue, waits},
    view::View,
    volumes::Step,
};
use super::{
    claim,
    index::Held,
    node::Node,
    object::{Key, Moment, condition, items, set_condition},
    plan::{Plan, Subject, delete_pod, patch, pod_path},
    pod::{DEFAULT_SCHEDULER, Pod},
};
use crate::{Method, Request};

/// Who the scheduler is to the API server.
pub(crate) const USER: &str = "system:kube-scheduler";
/// Up to so many pods with equal demands say at once when the reason for waiting is another.
const FEW: usize = 100;
/// More of them say so at most this often, or a long queue would write more than it waits.
pub(crate) const REFRESH: Span = Span::mins(1);
/// All nodes are asked if there are no more than this.
const SMALL: usize = 100;

/// What the scheduler decided about a pod.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// Take this node, after these steps.
    Node(Arc<str>, Vec<Step>),
    /// Make room for it.
    Preempt(Room, String),
    /// None can take it, and this is why; `alone` if others with the same demand may fare better.
    Nowhere { why: String, alone: bool },
}

/// Chooses a node for a pod. `start` is the node to begin with, so that in a large cluster not
/// always the same ones are asked.
pub(crate) fn choose(view: &View<'_>, pod: &Pod, start: &mut usize) -> Choice {
    let nowhere = |why: String| Choice::Nowhere { why, alone: false };
    if let Some(field) = pod.demand.unmodelled.first() {
        return nowhere(format!("{field} is not modelled; the pod isn't scheduled."));
    }
    let total = view.index.n_nodes();
    if total == 0 {
        return nowhere("no nodes available to schedule pods".into());
    }
    let pre = match Pre::of(view, pod) {
        Ok(pre) => pre,
        // The last words are those of a plugin that finds nothing prepared.
        Err(why) => return nowhere(format!("0/{total} nodes are available: {why}. not found")),
    };
    let asked = ask(view, &pre, pod, start);
    match score::best(view, pod, &asked.feasible) {
        Some(node) => {
            let steps = pre.volumes.steps(view, node).unwrap_or_default();
            Choice::Node(node.name.clone(), steps)
        }
        None => make_room(view, pod, &asked, total),
    }
}

/// What the nodes said.
struct Asked<'a> {
    feasible: Vec<Candidate<'a>>,
    reasons: BTreeMap<String, usize>,
    /// Nodes that could take the pod if others left.
    hopeful: Vec<(&'a Node, &'a Held)>,
    alone: bool,
}

/// Asks nodes until enough have said that they can.
fn ask<'a>(view: &View<'a>, pre: &Pre, pod: &Pod, start: &mut usize) -> Asked<'a> {
    let total = view.index.n_nodes();
    let enough = enough(total);
    // In a small cluster all are asked, by name.
    let skip = if enough < total { *start % total } else { 0 };
    let nodes = view.index.nodes();
    let turned = nodes.clone().skip(skip).chain(nodes.take(skip));
    let mut asked =
        Asked { feasible: vec![], reasons: BTreeMap::new(), hopeful: vec![], alone: false };
    let mut n_asked = 0;
    for (node, held) in turned {
        n_asked += 1;
        let seen = view.held(pod, node, held);
        match filter::check(view, pre, pod, node, &seen) {
            Verdict::Fits => asked.feasible.push((node, seen)),
            Verdict::No(objection) => {
                asked.alone |= objection.personal;
                if objection.helps {
                    asked.hopeful.push((node, held));
                }
                for reason in objection.reasons {
                    *asked.reasons.entry(reason).or_default() += 1;
                }
            }
        }
        if enough <= asked.feasible.len() {
            break;
        }
    }
    *start = (skip + n_asked) % total;
    asked
}

/// How many nodes that can take a pod are enough, of so many.
fn enough(total: usize) -> usize {
    let percent = 50_usize.saturating_sub(total / 125).max(5);
    if total <= SMALL { total } else { (total * percent / 100).max(SMALL) }
}

fn make_room(view: &View<'_>, pod: &Pod, asked: &Asked<'_>, total: usize) -> Choice {
    let why = nowhere(total, &asked.reasons);
    match preempt::find(view, pod, &asked.hopeful, total) {
        Outcome::Room(room) => Choice::Preempt(room, why),
        Outcome::None(told) => Choice::Nowhere {
            why: format!("{why} no new claims to deallocate, preemption: {told}"),
            alone: asked.alone,
        },
    }
}

/// `0/6 nodes are available: 2 Too many pods, 6 Insufficient cpu.`
fn nowhere(total: usize, reasons: &BTreeMap<String, usize>) -> String {
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

/// Does what must be done before a pod can be bound to a node.
pub(crate) fn prepare(node: &str, steps: &[Step]) -> Plan {
    let mut plan = Plan::nothing();
    for step in steps {
        plan.send(match step {
            Step::Take { volume, claim } => claim::give(USER, volume, claim),
            Step::Provide { claim } => claim::select(USER, claim, node),
        });
    }
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

/// Makes room for a pod: those that are in its way leave, and the node is kept for it.
pub(crate) fn evict(at: Moment, pod: &Pod, room: &Room, why: &str) -> Plan {
    let mut plan = park(at, pod, why);
    for victim in &room.victims {
        if victim.deleting.is_some() {
            continue;
        }
        let mut conditions: Vec<Value> = items(&victim.object["status"]["conditions"]).to_vec();
        let new = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
            "message": "default-scheduler: preempting to accommodate a higher priority pod",
        });
        set_condition(&mut conditions, new, &at.stamp());
        let body = json!({"metadata": {"uid": &*victim.uid}, "status": {"conditions": conditions}});
        plan.send(patch(USER, pod_path(&victim.key) + "/status", body));
        plan.send(delete_pod(USER, &victim.key, &victim.uid, None));
        let message = format!("Preempted by pod {} on node {}", pod.uid, room.node);
        let about = Subject::of(&victim.object);
        plan.tell(about.notes(DEFAULT_SCHEDULER, "Preempted", message));
    }
    let body = json!({
        "metadata": {"uid": &*pod.uid}, "status": {"nominatedNodeName": &*room.node},
    });
    plan.send(patch(USER, pod_path(&pod.key) + "/status", body));
    plan
}
