//! The disruption controller: how many pods of a PodDisruptionBudget may go at a time.
//!
//! ```text
//!   expected pods ──▶ desired healthy by minAvailable or maxUnavailable
//!   healthy now − desired healthy = disruptions allowed
//! ```
//!
//! Whether an eviction is let through is the API server's business; it takes one from the budget and
//! names the pod in `disruptedPods` until that has gone.

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::{
    controllers::Sight,
    deployment::share,
    object::{
        Key, changed, controller, count, deleting, items, pairs, set_condition, text, time, uid,
    },
    plan::{Plan, Subject, patch},
    pod::{Phase, Pod},
};
use crate::{KubeApi, LabelSelector};

pub(crate) const RESOURCE: &str = "poddisruptionbudgets.policy";
const USER: &str = "system:serviceaccount:kube-system:disruption-controller";
const COMPONENT: &str = "controllermanager";
/// A pod that was to be evicted and is still there after this time counts again.
const PATIENCE: Span = Span::mins(2);

/// Decides what a budget's status should be.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let mut plan = Plan::nothing();
    if deleting(it) {
        return plan;
    }
    let pods = chosen(sight, it);
    let (expected, unmanaged) = expected(sight, it, &pods);
    let disrupted = still_going(sight, it, &pods);
    if let Some(until) = disrupted.iter().map(|(_, at)| *at + PATIENCE).min() {
        plan.wake_at(until.max(sight.at.now + Span::secs(1)));
    }
    let healthy = |pod: &Pod| {
        let going = disrupted.iter().any(|(name, _)| **name == *pod.key.name);
        pod.ready.is_some() && pod.deleting.is_none() && !going
    };
    let healthy = pods.iter().filter(|pod| healthy(pod)).count() as u64;
    let desired = desired(it, expected);
    let allowed = match expected {
        0 => 0,
        _ => healthy.saturating_sub(desired),
    };
    let mut new = json!({
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        "observedGeneration": it["metadata"]["generation"],
        "conditions": conditions(sight, it, allowed),
    });
    let kept: Vec<&str> = disrupted.iter().map(|(name, _)| &**name).collect();
    let old = &it["status"]["disruptedPods"];
    for (name, _) in pairs(old).filter(|(name, _)| !kept.contains(&name.as_str())) {
        new["disruptedPods"][name] = Value::Null;
    }
    if changed(&it["status"], &new) {
        let Key { namespace, name } = Key::of(it);
        let path = format!("/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}");
        plan.send(patch(USER, path + "/status", json!({"status": new})));
    }
    tell(&mut plan, it, &pods, unmanaged);
    plan
}

fn selector(it: &Value) -> Option<LabelSelector> {
    LabelSelector::from_object(&it["spec"]["selector"]).ok()
}

/// The pods that a budget is about. An empty selector means all of its namespace.
fn chosen(sight: Sight<'_>, it: &Value) -> Vec<Arc<Pod>> {
    let Some(selector) = selector(it).filter(|_| it["spec"]["selector"].is_object()) else {
        return vec![];
    };
    let all = sight.index.in_namespace(&Key::of(it).namespace);
    all.filter(|pod| selector.matches(&pod.object["metadata"]["labels"])).cloned().collect()
}

/// How many pods there should be, and whether some have no controller that says so.
fn expected(sight: Sight<'_>, it: &Value, pods: &[Arc<Pod>]) -> (u64, bool) {
    let absolute = it["spec"]["minAvailable"].is_u64();
    if absolute {
        return (pods.len() as u64, false);
    }
    let mut seen = BTreeSet::new();
    let (mut sum, mut unmanaged) = (0, false);
    for pod in pods {
        let owner = pod.owner.as_ref().and_then(|uid| sight.api.by_uid(uid));
        let top = owner.map(|owner| {
            let above = controller(owner).and_then(|by| sight.api.by_uid(text(&by["uid"])));
            above.filter(|above| above["spec"]["replicas"].is_u64()).unwrap_or(owner)
        });
        match top.filter(|top| top["spec"]["replicas"].is_u64()) {
            Some(top) if seen.insert(uid(top).to_owned()) => sum += count(&top["spec"]["replicas"]),
            Some(_) => {}
            None => unmanaged = true,
        }
    }
    (sum, unmanaged)
}

fn desired(it: &Value, expected: u64) -> u64 {
    let spec = &it["spec"];
    match (&spec["maxUnavailable"], &spec["minAvailable"]) {
        (Value::Null, Value::Null) => expected.saturating_sub(1).min(expected),
        (Value::Null, Value::Number(least)) => least.as_u64().unwrap_or(0),
        (Value::Null, least) => share(least, expected, true),
        (most, _) => expected.saturating_sub(share(most, expected, true)),
    }
}

/// Pods that were let go a short while ago and are still there.
fn still_going(sight: Sight<'_>, it: &Value, pods: &[Arc<Pod>]) -> Vec<(Arc<str>, Time)> {
    let told = pairs(&it["status"]["disruptedPods"]);
    told.filter_map(|(name, at)| {
        let pod = pods.iter().find(|pod| *pod.key.name == **name)?;
        let at = time(sight.at.epoch, at)?;
        let late = at + PATIENCE <= sight.at.now;
        (pod.deleting.is_none() && !late).then(|| (pod.key.name.clone(), at))
    })
    .collect()
}

fn conditions(sight: Sight<'_>, it: &Value, allowed: u64) -> Vec<Value> {
    let mut all = items(&it["status"]["conditions"]).to_vec();
    let (is, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let new = json!({
        "type": "DisruptionAllowed", "status": is, "reason": reason, "message": "",
        "observedGeneration": it["metadata"]["generation"],
    });
    set_condition(&mut all, new, &sight.at.stamp());
    all
}

fn tell(plan: &mut Plan, it: &Value, pods: &[Arc<Pod>], unmanaged: bool) {
    let first = it["status"]["observedGeneration"].is_null();
    let about = Subject::of(it);
    if pods.is_empty() && first {
        plan.tell(about.notes(COMPONENT, "NoPods", "No matching pods found".into()));
    }
    if unmanaged && first {
        let message = "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a \
                       result, the status of the PDB cannot be calculated correctly, which may \
                       result in undefined behavior."
            .to_owned();
        plan.tell(about.warns(COMPONENT, "UnmanagedPods", message));
    }
}

/// Which of these pods can't go without breaking a budget, if they go in this order.
pub(crate) fn broken(api: &KubeApi, pods: &[Arc<Pod>]) -> BTreeSet<Key> {
    let budgets = api.list(RESOURCE);
    let mut left: Vec<(Key, LabelSelector, u64)> = budgets
        .filter_map(|it| {
            let allowed = count(&it["status"]["disruptionsAllowed"]);
            Some((Key::of(it), selector(it).filter(|it| !it.is_empty())?, allowed))
        })
        .collect();
    let mut broken = BTreeSet::new();
    for pod in pods.iter().filter(|pod| pod.phase != Phase::Succeeded) {
        let labels = &pod.object["metadata"]["labels"];
        for (key, selector, allowed) in &mut left {
            if key.namespace != pod.key.namespace || !selector.matches(labels) {
                continue;
            }
            match allowed.checked_sub(1) {
                Some(fewer) => *allowed = fewer,
                None => {
                    broken.insert(pod.key.clone());
                }
            }
        }
    }
    broken
}
