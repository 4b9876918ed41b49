//! The node life cycle: nodes whose kubelets aren't heard of, and the taints that say so.
//!
//! ```text
//!   last heartbeat ──50s──▶ Ready=Unknown, pods not ready ──▶ taint NoSchedule at once,
//!                           NoExecute one node in 10s ──▶ pods leave after what they tolerate
//!   heard of again ──▶ Ready=True ──▶ taints go
//! ```
//!
//! Heartbeats come every 10s and change nothing while they come, so they aren't sent: the last one
//! before a loss follows from when the node registered. If all nodes are lost nobody is tainted:
//! the fault is rather here.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::{
    node::{Node, Ready, node_path},
    object::{Moment, condition, items, set_condition, text},
    plan::{Plan, Subject, patch, pod_path},
    pod::Pod,
};

pub(crate) const USER: &str = "system:serviceaccount:kube-system:node-controller";
const COMPONENT: &str = "node-controller";
/// How often a kubelet renews its lease.
pub(crate) const HEARTBEAT: Span = Span::secs(10);
/// How often the controller looks at nodes.
const PERIOD: Span = Span::secs(5);
/// Taints that make pods leave come this much later.
const TAINT_PASS: Span = Span::ms(100);
/// How long a node may be silent.
const GRACE: Span = Span::secs(50);
/// The next node of a zone is tainted after this time at the earliest.
const PACE: Span = Span::secs(10);
/// The same in a large zone of which most is lost.
const SLOW_PACE: Span = Span::secs(100);
/// More nodes than this make a zone large.
const LARGE: usize = 50;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// What the controller remembers of nodes and zones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// When each kubelet registered: its heartbeats follow from that.
    registered: BTreeMap<Arc<str>, Time>,
    /// When nodes that are silent were last heard of, as the controller saw it.
    silent: BTreeMap<Arc<str>, Time>,
    /// When the next node of a zone may be tainted.
    pace: BTreeMap<String, Time>,
}

impl Health {
    /// A kubelet registered its node.
    pub(crate) fn registers(&mut self, now: Time, node: &Arc<str>) {
        self.registered.entry(node.clone()).or_insert(now);
    }

    pub(crate) fn forget(&mut self, node: &str) {
        self.registered.remove(node);
        self.silent.remove(node);
    }

    /// A kubelet isn't heard of from now on. Says when the controller will notice.
    pub(crate) fn falls_silent(&mut self, now: Time, node: &Arc<str>) -> Time {
        let since = self.registered.get(node).copied().unwrap_or_default();
        let beats = now.since(since).as_ms() / HEARTBEAT.as_ms();
        let last = since + HEARTBEAT.times(beats);
        let seen = last.round_up(PERIOD);
        let seen = *self.silent.entry(node.clone()).or_insert(seen);
        (seen + GRACE + Span::ms(1)).round_up(PERIOD)
    }

    /// A kubelet is heard of again.
    pub(crate) fn is_heard_of(&mut self, now: Time, node: &Arc<str>) {
        self.silent.remove(node);
        self.registered.insert(node.clone(), now);
    }

    /// When the controller looks next.
    pub(crate) fn next_look(now: Time) -> Time {
        (now + Span::ms(1)).round_up(PERIOD)
    }

    /// Looks at a node; `all` are all nodes and `pods` are those on this one.
    pub(crate) fn look<'a>(
        &mut self,
        at: Moment,
        node: &Node,
        all: impl Iterator<Item = &'a Node> + Clone,
        pods: impl Iterator<Item = &'a Arc<Pod>>,
    ) -> Plan {
        let mut plan = Plan::nothing();
        let silent = self.silent.get(&node.name).is_some_and(|seen| *seen + GRACE < at.now);
        if silent && node.ready != Ready::Unknown {
            lose(&mut plan, at, node, pods);
            plan.wake_at(at.now + TAINT_PASS);
            return plan;
        }
        self.taint(&mut plan, at, node, all);
        plan
    }

    /// Taints a node that isn't ready so that pods leave, or takes the taint away.
    fn taint<'a>(
        &mut self,
        plan: &mut Plan,
        at: Moment,
        node: &Node,
        all: impl Iterator<Item = &'a Node> + Clone,
    ) {
        let all_lost = all.clone().all(|it| !it.is_ready());
        let want = match node.ready {
            Ready::True | Ready::Unsaid => None,
            Ready::False | Ready::Unknown if all_lost => None,
            Ready::False => Some(NOT_READY),
            Ready::Unknown => Some(UNREACHABLE),
        };
        let has = |key: &str| node.taints.iter().any(|it| it.key == key && it.effect == NO_EXECUTE);
        let tainted = has(NOT_READY) || has(UNREACHABLE);
        match want {
            Some(key) if has(key) => {}
            // One taint in place of the other needs no patience.
            Some(key) if tainted => plan.send(retaint(at, node, Some(key))),
            Some(key) => {
                let zone = zone(node);
                let peers: Vec<&Node> = all.filter(|it| self::zone(it) == zone).collect();
                let silent = peers.iter().filter(|it| !it.is_ready()).count();
                let Some(pace) = pace(peers.len(), silent) else { return };
                let free = self.pace.get(&zone).copied().unwrap_or_default();
                if at.now < free {
                    plan.wake_at(free.round_up(PERIOD));
                    return;
                }
                self.pace.insert(zone, at.now + pace);
                plan.send(retaint(at, node, Some(key)));
            }
            None if tainted => plan.send(retaint(at, node, None)),
            None => {}
        }
    }
}

const NO_EXECUTE: &str = "NoExecute";

/// How long to wait between two nodes of a zone in which so many of so many are lost.
fn pace(nodes: usize, lost: usize) -> Option<Span> {
    let partial = lost > 2 && lost * 100 >= nodes * 55 && lost < nodes;
    match partial {
        false => Some(PACE),
        true if LARGE < nodes => Some(SLOW_PACE),
        true => None,
    }
}

fn zone(node: &Node) -> String {
    let label = |key: &str| node.label(key).unwrap_or_default().to_owned();
    format!("{}:{}", label("topology.kubernetes.io/region"), label("topology.kubernetes.io/zone"))
}

/// A node was silent for too long.
fn lose<'a>(plan: &mut Plan, at: Moment, node: &Node, pods: impl Iterator<Item = &'a Arc<Pod>>) {
    let mut conditions = items(&node.object["status"]["conditions"]).to_vec();
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        let known = condition(&node.object, kind);
        if known.is_some_and(|it| it["status"] == "Unknown") || (known.is_none() && kind != "Ready")
        {
            continue;
        }
        let new = json!({
            "type": kind, "status": "Unknown", "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
        });
        let mut new = new;
        if let Some(beat) = known.map(|it| &it["lastHeartbeatTime"]).filter(|it| !it.is_null()) {
            new["lastHeartbeatTime"] = beat.clone();
        }
        set_condition(&mut conditions, new, &at.stamp());
    }
    let body = json!({"status": {"conditions": conditions}});
    plan.send(patch(USER, node_path(&node.name) + "/status", body));
    let name = &node.name;
    let message = format!("Node {name} status is now: NodeNotReady");
    plan.tell(Subject::of(&node.object).notes(COMPONENT, "NodeNotReady", message));
    for pod in pods.filter(|pod| pod.ready.is_some()) {
        let mut conditions = items(&pod.object["status"]["conditions"]).to_vec();
        let Some(mut ready) = condition(&pod.object, "Ready").cloned() else { continue };
        ready["status"] = "False".into();
        set_condition(&mut conditions, ready, &at.stamp());
        let body = json!({"metadata": {"uid": &*pod.uid}, "status": {"conditions": conditions}});
        plan.send(patch(USER, pod_path(&pod.key) + "/status", body));
        let about = Subject::of(&pod.object);
        plan.tell(about.warns(COMPONENT, "NodeNotReady", "Node is not ready".into()));
    }
}

/// The node with this one of the two taints that make pods leave, or with none.
fn retaint(at: Moment, node: &Node, key: Option<&str>) -> crate::Request {
    let ours = |it: &Value| {
        [NOT_READY, UNREACHABLE].contains(&text(&it["key"])) && it["effect"] == NO_EXECUTE
    };
    let old = items(&node.object["spec"]["taints"]).iter();
    let mut taints: Vec<Value> = old.filter(|it| !ours(it)).cloned().collect();
    taints
        .extend(key.map(|key| json!({"key": key, "effect": NO_EXECUTE, "timeAdded": at.stamp()})));
    patch(USER, node_path(&node.name), json!({"spec": {"taints": taints}}))
}

/// Taints that keep new pods away, each with the condition and the status that it stands for.
const CONDITIONS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
];
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Makes the taints that keep new pods away those that the node's conditions ask for.
pub(crate) fn mark(node: &Node) -> Option<Plan> {
    let said = |kind: &str, is: &str| {
        condition(&node.object, kind).is_some_and(|condition| condition["status"] == is)
    };
    let wanted = CONDITIONS.iter().filter(|(kind, is, _)| said(kind, is)).map(|it| it.2);
    let cordoned = node.unschedulable.then_some(UNSCHEDULABLE);
    let wanted: Vec<&str> = wanted.chain(cordoned).collect();
    let ours = |it: &Value| {
        let key = text(&it["key"]);
        let known = key == UNSCHEDULABLE || CONDITIONS.iter().any(|row| row.2 == key);
        known && it["effect"] == "NoSchedule"
    };
    let old = items(&node.object["spec"]["taints"]);
    let has: Vec<&str> = old.iter().filter(|it| ours(it)).map(|it| text(&it["key"])).collect();
    if has.len() == wanted.len() && wanted.iter().all(|key| has.contains(key)) {
        return None;
    }
    let kept = old.iter().filter(|it| !ours(it) || wanted.contains(&text(&it["key"]))).cloned();
    let new = wanted.iter().filter(|key| !has.contains(key));
    let new = new.map(|key| json!({"key": key, "effect": "NoSchedule"}));
    let taints: Vec<Value> = kept.chain(new).collect();
    let mut plan = Plan::nothing();
    plan.send(patch(USER, node_path(&node.name), json!({"spec": {"taints": taints}})));
    Some(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_node_is_noticed_after_its_last_heartbeat_and_the_grace() {
        let at = |secs: u64| Time::ZERO + Span::secs(secs);
        #[rustfmt::skip]
        let rows = [
            // registered  silent from  noticed
            (0,            0,           55),
            (3,            25,          80),
            (3,            33,          90),
            (0,            29,          75),
        ];
        for (registered, silent, noticed) in rows {
            let mut health = Health::default();
            let node: Arc<str> = "n1".into();
            health.registers(at(registered), &node);
            assert_eq!(
                health.falls_silent(at(silent), &node),
                at(noticed),
                "{registered} {silent}"
            );
        }
    }

    #[test]
    fn few_losses_are_answered_at_a_pace_and_many_with_doubt() {
        #[rustfmt::skip]
        let rows = [
            // nodes  lost  pace
            (4,       1,    Some(PACE)),
            (4,       2,    Some(PACE)),
            (4,       3,    None),
            (100,     50,   Some(PACE)),
            (100,     60,   Some(SLOW_PACE)),
        ];
        for (nodes, lost, expected) in rows {
            assert_eq!(pace(nodes, lost), expected, "{lost} of {nodes}");
        }
    }
}
