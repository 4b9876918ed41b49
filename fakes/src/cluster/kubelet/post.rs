//! What a kubelet says of its node, and what it does when the node is in trouble.

use std::collections::BTreeMap;

use drawbridge_sim::{Span, Time, fnv1a};
use serde_json::{Value, json};

use super::{
    super::{
        index::Index,
        node::{self, Node, Ready, node_path},
        object::{Key, Moment, condition, items, set_condition},
        plan::{Plan, Subject, patch},
    },
    COMPONENT, Kubelets, Stage,
    life::Why,
};

/// What can happen to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its machine is off: nothing runs there, and nobody hears of it.
    NoPower,
    /// Its network is gone: all goes on there, but nobody hears of it.
    NoNetwork,
    /// Its kubelet says that it isn't ready, and why.
    NotReady(String),
    /// It runs out of memory: its kubelet evicts one pod after the other.
    MemoryPressure,
}

/// A kubelet evicts the next pod after this time, if the node is still in trouble.
const EVERY: Span = Span::secs(10);
/// Pods that are at least this important aren't evicted.
const CRITICAL: i64 = 2_000_000_000;

/// What the kubelets have to say of their nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Posts {
    /// What the last trouble of a node was, and that it's over.
    trouble: BTreeMap<String, Option<Trouble>>,
    /// When a node under pressure evicts the next pod.
    evicts: BTreeMap<String, Time>,
    /// The pods that are being evicted.
    pub(super) evicted: BTreeMap<Key, Why>,
}

impl Kubelets {
    /// Something happened to a node whose kubelet is heard of, or is over.
    pub(crate) fn set_trouble(&mut self, node: &str, trouble: Option<Trouble>) {
        self.posts.evicts.remove(node);
        self.posts.trouble.insert(node.into(), trouble);
    }

    /// Writes what a kubelet says of its node, if that isn't there.
    pub(crate) fn post(&self, at: Moment, node: &Node) -> Plan {
        let mut plan = node::register(at, node, self.detail);
        let Some(trouble) = self.posts.trouble.get(&*node.name) else { return plan };
        let mut conditions = items(&node.object["status"]["conditions"]).to_vec();
        let mut changed = false;
        for new in [ready(trouble.as_ref()), memory(trouble.as_ref())] {
            let known = condition(&node.object, new["type"].as_str().unwrap_or_default());
            let fine = new["type"] == "MemoryPressure" && new["status"] == "False";
            let same = |it: &Value| it["status"] == new["status"] && it["reason"] == new["reason"];
            if known.is_some_and(same) || (known.is_none() && fine) {
                continue;
            }
            set_condition(&mut conditions, new, &at.stamp());
            changed = true;
        }
        if !changed {
            return plan;
        }
        let user = node::user(&node.name);
        let body = json!({"status": {"conditions": conditions}});
        plan.send(patch(&user, node_path(&node.name) + "/status", body));
        let is_ready = !matches!(trouble, Some(Trouble::NotReady(_)));
        if is_ready != (node.ready == Ready::True) {
            let reason = if is_ready { "NodeReady" } else { "NodeNotReady" };
            let message = format!("Node {} status is now: {reason}", node.name);
            plan.tell(Subject::of(&node.object).notes(COMPONENT, reason, message).on(&node.name));
        }
        plan
    }

    /// A machine that has its power back says so.
    pub(crate) fn boot(node: &Node, now: Time) -> Plan {
        let mut plan = Plan::nothing();
        let about = Subject::of(&node.object);
        let name = &node.name;
        let id = fnv1a(format!("{name}/{now}").as_bytes());
        plan.tell(about.notes(COMPONENT, "Starting", "Starting kubelet.".into()).on(name));
        let message = format!("Node {name} has been rebooted, boot id: {id:016x}");
        plan.tell(about.warns(COMPONENT, "Rebooted", message).on(name));
        plan
    }

    /// Which pod a node under pressure evicts now, and when it looks again.
    pub(crate) fn evicts(
        &mut self,
        now: Time,
        node: &Node,
        index: &Index,
    ) -> Option<(Option<Key>, Time)> {
        let trouble = self.posts.trouble.get(&*node.name)?;
        if *trouble != Some(Trouble::MemoryPressure) {
            return None;
        }
        let due = self.posts.evicts.entry(node.name.to_string()).or_insert(now);
        if now < *due {
            return Some((None, *due));
        }
        *due = now + EVERY;
        let next = *due;
        let victim = index
            .on_node(&node.name)
            .filter(|pod| pod.active() && pod.priority < CRITICAL)
            .filter(|pod| {
                let run = self.runs.get(&pod.key);
                run.is_some_and(|run| run.uses_node && run.stage == Stage::Alive)
            })
            .filter(|pod| !self.posts.evicted.contains_key(&pod.key))
            .min_by_key(|pod| {
                let memory = pod.demand.requests.get("memory");
                (memory > 0, pod.priority, std::cmp::Reverse(memory), pod.created)
            })?;
        self.posts.evicted.insert(victim.key.clone(), Why::Pressure("memory"));
        Some((Some(victim.key.clone()), next))
    }
}

fn ready(trouble: Option<&Trouble>) -> Value {
    match trouble {
        Some(Trouble::NotReady(why)) => json!({
            "type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": why,
        }),
        Some(Trouble::NoPower | Trouble::NoNetwork | Trouble::MemoryPressure) | None => json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        }),
    }
}

fn memory(trouble: Option<&Trouble>) -> Value {
    match trouble {
        Some(Trouble::MemoryPressure) => json!({
            "type": "MemoryPressure", "status": "True", "reason": "KubeletHasInsufficientMemory",
            "message": "kubelet has insufficient memory available",
        }),
        Some(Trouble::NoPower | Trouble::NoNetwork | Trouble::NotReady(_)) | None => json!({
            "type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory",
            "message": "kubelet has sufficient memory available",
        }),
    }
}
