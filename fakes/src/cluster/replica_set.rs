//! The ReplicaSet controller: keeps so many pods of one template.

use std::sync::Arc;

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::{
    LATENCY, adopt,
    controllers::Sight,
    object::{Key, Moment, changed, controller, count, deleting, items, pairs, some, text},
    plan::{Act, Plan, Subject, patch},
    pod::{Pod, in_order_of_removal},
    template::{BURST, create, slow_start},
};

/// Who the ReplicaSet controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:replicaset-controller";
const COMPONENT: &str = "replicaset-controller";

/// Decides what to do about a ReplicaSet.
pub(crate) fn decide(sight: Sight<'_>, set: &Value) -> Plan {
    let mut plan = Plan::nothing();
    let at = sight.at;
    let pods = adopt::claim(sight, &mut plan, USER, set);
    let active: Vec<Arc<Pod>> = pods.iter().filter(|pod| pod.active()).cloned().collect();
    plan.acts.extend(status(sight, set, &pods, &active));
    if let Some(next) = next_available(at, set, &active) {
        plan.wake_at(next);
    }
    if deleting(set) {
        return plan;
    }
    let want = usize::try_from(replicas(set)).unwrap_or(usize::MAX);
    if want < active.len() {
        remove(&mut plan, sight, set, active, want);
    } else {
        add(&mut plan, at, set, active.len(), want);
    }
    plan
}

/// How many pods it should have.
pub(crate) fn replicas(set: &Value) -> u64 {
    set["spec"]["replicas"].as_u64().unwrap_or(1)
}

fn remove(plan: &mut Plan, sight: Sight<'_>, set: &Value, mut active: Vec<Arc<Pod>>, want: usize) {
    in_order_of_removal(&mut active, &related(sight, set));
    let surplus = (active.len() - want).min(BURST);
    plan.acts.extend(active[..surplus].iter().map(|pod| Act::DeletePod {
        user: USER,
        component: COMPONENT,
        owner: Subject::of(set),
        pod: pod.key.clone(),
        uid: pod.uid.to_string(),
    }));
}

/// The pods of all ReplicaSets that have the same controller: of two on one node, one goes first.
fn related(sight: Sight<'_>, set: &Value) -> Vec<Arc<Pod>> {
    let by = controller(set).and_then(|by| sight.api.by_uid(text(&by["uid"])));
    let Some(by) = by else { return sight.pods_of(set) };
    sight.owned(by, "replicasets.apps").flat_map(|set| sight.pods_of(set)).collect()
}

fn add(plan: &mut Plan, at: Moment, set: &Value, there: usize, want: usize) {
    let batch = slow_start(there, want - there);
    let prefix = format!("{}-", text(&set["metadata"]["name"]));
    for _ in 0..batch {
        plan.acts.push(create(USER, COMPONENT, set, &prefix, |_| {}));
    }
    if batch < want - there {
        plan.wake_at(at.now + LATENCY);
    }
}

/// Writes the status, if it differs from what is there.
fn status(sight: Sight<'_>, set: &Value, pods: &[Arc<Pod>], active: &[Arc<Pod>]) -> Option<Act> {
    let now = sight.at.now;
    let ready = active.iter().filter(|pod| pod.ready.is_some()).count();
    let available = active.iter().filter(|pod| available(now, set, pod)).count();
    let labels = &set["spec"]["template"]["metadata"]["labels"];
    let labelled = active.iter().filter(|pod| {
        let own = &pod.object["metadata"]["labels"];
        pairs(labels).all(|(key, value)| own[key] == *value)
    });
    let new = json!({
        "replicas": active.len(),
        "fullyLabeledReplicas": some(labelled.count()),
        "readyReplicas": some(ready),
        "availableReplicas": some(available),
        "terminatingReplicas": pods.iter().filter(|pod| pod.terminating()).count(),
        "observedGeneration": set["metadata"]["generation"],
        "conditions": conditions(sight, set, active.len()),
    });
    let Key { namespace, name } = Key::of(set);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/replicasets/{name}/status");
    changed(&set["status"], &new).then(|| Act::Send(patch(USER, path, json!({"status": new}))))
}

/// `ReplicaFailure` while pods can't be created or removed; its first message stays.
fn conditions(sight: Sight<'_>, set: &Value, active: usize) -> Option<Vec<Value>> {
    let old = items(&set["status"]["conditions"]);
    let (failures, mut kept): (Vec<Value>, Vec<Value>) =
        old.iter().cloned().partition(|it| it["type"] == "ReplicaFailure");
    if let Some(message) = sight.failed {
        let short = (active as u64) < replicas(set);
        kept.push(failures.into_iter().next().unwrap_or_else(|| {
            json!({
                "type": "ReplicaFailure", "status": "True",
                "reason": if short { "FailedCreate" } else { "FailedDelete" },
                "message": message, "lastTransitionTime": sight.at.stamp(),
            })
        }));
    }
    (!kept.is_empty()).then_some(kept)
}

/// How long a pod must be ready before it counts as available.
pub(crate) fn min_ready(set: &Value) -> Span {
    Span::secs(count(&set["spec"]["minReadySeconds"]))
}

/// Whether a pod of this set is available.
pub(crate) fn available(now: Time, set: &Value, pod: &Pod) -> bool {
    pod.ready.is_some_and(|since| since + min_ready(set) <= now)
}

/// When the next ready pod becomes available.
pub(crate) fn next_available(at: Moment, set: &Value, active: &[Arc<Pod>]) -> Option<Time> {
    let times = active.iter().filter_map(|pod| pod.ready);
    times.map(|since| since + min_ready(set)).filter(|then| at.now < *then).min()
}
