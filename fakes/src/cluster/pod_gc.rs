//! The pod garbage collector: pods that nobody else would ever remove.
//!
//! ```text
//!   every 20s   bound to a node that is gone for 40s  ──▶ Failed, DisruptionTarget, removed
//!               asked to go before it was bound       ──▶ Failed, removed
//!               asked to go on a node out of service  ──▶ Failed, removed
//!               more than 12,500 have ended           ──▶ the oldest are removed
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_sim::{Span, Time};
use serde_json::json;

use super::{
    index::Index,
    object::{Key, Moment, items, set_condition},
    plan::{Plan, delete_pod, patch, pod_path},
    pod::Pod,
};

const USER: &str = "system:serviceaccount:kube-system:pod-garbage-collector";
const PERIOD: Span = Span::secs(20);
/// How long a node must be gone before its pods go.
const QUARANTINE: Span = Span::secs(40);
/// How many pods that have ended are kept.
const THRESHOLD: usize = 12_500;
/// The taint by which an administrator says that a node won't come back.
pub(crate) const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The collector's memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodGc {
    /// Pods that may have to be removed.
    suspects: BTreeSet<Key>,
    /// Since when nodes are missing.
    missing: BTreeMap<Arc<str>, Time>,
}

/// Why a pod is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    /// Not at all.
    None,
    /// Its node may come back.
    Wait,
    /// Its node is gone.
    Orphaned,
    Terminating,
}

impl PodGc {
    /// A pod may have to be removed. Says when it's looked at.
    pub(crate) fn suspect(&mut self, now: Time, pod: &Key) -> Time {
        self.suspects.insert(pod.clone());
        Self::next_look(now)
    }

    /// When the collector looks next.
    pub(crate) fn next_look(now: Time) -> Time {
        (now + Span::ms(1)).round_up(PERIOD)
    }

    /// Whether too many pods have ended.
    pub(crate) fn is_full(index: &Index) -> bool {
        THRESHOLD < index.ended().len()
    }

    /// Looks at all suspects.
    pub(crate) fn look(&mut self, at: Moment, index: &Index) -> Plan {
        let mut plan = Plan::nothing();
        let mut missing = BTreeSet::new();
        for key in std::mem::take(&mut self.suspects) {
            let Some(pod) = index.pod(&key) else { continue };
            if let Some(node) = pod.node.as_ref().filter(|it| index.node(it).is_none()) {
                missing.insert(node.clone());
                self.missing.entry(node.clone()).or_insert(at.now);
            }
            match self.case(at.now, pod, index) {
                Case::None => {}
                Case::Wait => {
                    plan.wake_at(Self::next_look(at.now));
                    self.suspects.insert(key);
                }
                case @ (Case::Orphaned | Case::Terminating) => bury(&mut plan, at, pod, case),
            }
        }
        self.missing.retain(|node, _| missing.contains(node));
        let ended = index.ended();
        let surplus = ended.len().saturating_sub(THRESHOLD);
        for pod in ended.iter().take(surplus).filter_map(|(_, key)| index.pod(key)) {
            plan.send(delete_pod(USER, &pod.key, &pod.uid, Some(Span::ZERO)));
        }
        plan
    }

    fn case(&self, now: Time, pod: &Pod, index: &Index) -> Case {
        let Some(name) = &pod.node else {
            return if pod.deleting.is_some() { Case::Terminating } else { Case::None };
        };
        match (index.node(name), self.missing.get(name)) {
            (None, Some(since)) if *since + QUARANTINE <= now => Case::Orphaned,
            (None, _) => Case::Wait,
            (Some(node), _) => {
                let out = node.taints.iter().any(|it| it.key == OUT_OF_SERVICE);
                match out && !node.is_ready() && pod.terminating() {
                    true => Case::Terminating,
                    false => Case::None,
                }
            }
        }
    }
}

/// Writes on a pod that it failed, unless it has ended, and removes it.
fn bury(plan: &mut Plan, at: Moment, pod: &Pod, case: Case) {
    if !pod.terminal() {
        let mut status = json!({"phase": "Failed"});
        if case == Case::Orphaned {
            let mut conditions = items(&pod.object["status"]["conditions"]).to_vec();
            let new = json!({
                "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists",
            });
            set_condition(&mut conditions, new, &at.stamp());
            status["conditions"] = conditions.into();
        }
        let body = json!({"metadata": {"uid": &*pod.uid}, "status": status});
        plan.send(patch(USER, pod_path(&pod.key) + "/status", body));
    }
    // Asking again wouldn't help against a finalizer.
    if pod.deleting != Some(0) {
        plan.send(delete_pod(USER, &pod.key, &pod.uid, Some(Span::ZERO)));
    }
}
