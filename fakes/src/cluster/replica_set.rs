//! The ReplicaSet controller: keeps so many pods of one template.

use std::sync::Arc;

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::{
    LATENCY,
    object::{Key, Moment, count, deleting, text},
    plan::{Act, Plan, Subject, patch},
    pod::{Pod, in_order_of_removal},
    template::{BURST, create, slow_start},
};

/// Who the ReplicaSet controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// Decides what to do about a ReplicaSet whose pods are these.
///
/// Pods belong to it by their owner reference. Adopting pods by their labels alone isn't modelled.
pub(crate) fn decide(at: Moment, set: &Value, pods: &[Arc<Pod>]) -> Plan {
    let mut plan = Plan::nothing();
    let active: Vec<Arc<Pod>> = pods.iter().filter(|pod| pod.active()).cloned().collect();
    plan.acts.extend(status(at, set, pods, &active));
    if let Some(next) = next_available(at, set, &active) {
        plan.wake_at(next);
    }
    if deleting(set) {
        return plan;
    }
    let want = usize::try_from(replicas(set)).unwrap_or(usize::MAX);
    if want < active.len() {
        remove(&mut plan, set, active, want);
    } else {
        add(&mut plan, at, set, active.len(), want);
    }
    plan
}

/// How many pods it should have.
pub(crate) fn replicas(set: &Value) -> u64 {
    set["spec"]["replicas"].as_u64().unwrap_or(1)
}

fn remove(plan: &mut Plan, set: &Value, mut active: Vec<Arc<Pod>>, want: usize) {
    in_order_of_removal(&mut active);
    let surplus = (active.len() - want).min(BURST);
    plan.acts.extend(active[..surplus].iter().map(|pod| Act::DeletePod {
        user: USER,
        owner: Subject::of(set),
        pod: pod.key.clone(),
        uid: pod.uid.to_string(),
    }));
}

fn add(plan: &mut Plan, at: Moment, set: &Value, there: usize, want: usize) {
    let batch = slow_start(there, want - there);
    let prefix = format!("{}-", text(&set["metadata"]["name"]));
    for _ in 0..batch {
        plan.acts.push(create(USER, set, &prefix, |_| {}));
    }
    if batch < want - there {
        plan.wake_at(at.now + LATENCY);
    }
}

/// Writes the status, if it differs from what is there.
fn status(at: Moment, set: &Value, pods: &[Arc<Pod>], active: &[Arc<Pod>]) -> Option<Act> {
    let ready = active.iter().filter(|pod| pod.ready.is_some()).count();
    let available = active.iter().filter(|pod| available(at.now, set, pod));
    let new = json!({
        "replicas": active.len(),
        "fullyLabeledReplicas": active.len(),
        "readyReplicas": ready,
        "availableReplicas": available.count(),
        "terminatingReplicas": pods.iter().filter(|pod| pod.terminating()).count(),
        "observedGeneration": set["metadata"]["generation"],
    });
    let old = &set["status"];
    let changed = new.as_object()?.iter().any(|(field, value)| {
        old[field] != *value && !(old[field].is_null() && *value == json!(0))
    });
    let Key { namespace, name } = Key::of(set);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/replicasets/{name}/status");
    changed.then(|| Act::Send(patch(USER, path, json!({"status": new}))))
}

fn min_ready(set: &Value) -> Span {
    Span::secs(count(&set["spec"]["minReadySeconds"]))
}

fn available(now: Time, set: &Value, pod: &Pod) -> bool {
    pod.ready.is_some_and(|since| since + min_ready(set) <= now)
}

/// When the next ready pod becomes available.
fn next_available(at: Moment, set: &Value, active: &[Arc<Pod>]) -> Option<Time> {
    let times = active.iter().filter_map(|pod| pod.ready);
    times.map(|since| since + min_ready(set)).filter(|then| at.now < *then).min()
}
