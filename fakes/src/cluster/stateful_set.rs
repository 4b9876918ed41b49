//! The StatefulSet controller: pods with names that stay, one after the other.
//!
//! ```text
//!   OrderedReady: n starts when 0..n are ready; the last goes first
//!   template changes: the highest pod of the old template goes, and comes back new
//! ```
//!
//! Not modelled: volume claim templates, partitions of a rolling update, history of revisions.

use std::sync::Arc;

use drawbridge_sim::fnv1a;
use serde_json::{Value, json};

use super::{
    object::{Key, Moment, count, deleting, owned_by, text},
    plan::{Act, Plan, Subject, delete_pod, patch},
    pod::Pod,
};
use crate::{Method, Request};

/// Who the StatefulSet controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:statefulset-controller";
const COMPONENT: &str = "statefulset-controller";
const HASH: &str = "controller-revision-hash";

/// Decides what to do about a StatefulSet whose pods are these.
pub(crate) fn decide(_: Moment, set: &Value, pods: &[Arc<Pod>]) -> Plan {
    let mut plan = Plan::nothing();
    plan.acts.extend(status(set, pods));
    if deleting(set) {
        return plan;
    }
    let first = count(&set["spec"]["ordinals"]["start"]);
    let wanted = first..first + set["spec"]["replicas"].as_u64().unwrap_or(1);
    let parallel = set["spec"]["podManagementPolicy"] == "Parallel";
    for ordinal in wanted.clone() {
        let pod = pods.iter().find(|pod| ordinal_of(set, pod) == Some(ordinal));
        match pod {
            None => create(&mut plan, set, ordinal),
            Some(pod) if pod.terminal() && !pod.terminating() => remove(&mut plan, set, pod),
            Some(_) => {}
        }
        let ready = pod.is_some_and(|pod| pod.ready.is_some() && !pod.terminating());
        if !ready && !parallel {
            return plan;
        }
    }
    let beyond =
        pods.iter().filter(|pod| ordinal_of(set, pod).is_none_or(|it| !wanted.contains(&it)));
    let mut beyond: Vec<&Arc<Pod>> = beyond.collect();
    beyond.sort_by_key(|pod| std::cmp::Reverse(ordinal_of(set, pod)));
    for pod in &beyond {
        if !pod.terminating() {
            remove(&mut plan, set, pod);
        }
        if !parallel {
            return plan;
        }
    }
    if set["spec"]["updateStrategy"]["type"] != "OnDelete" {
        roll(&mut plan, set, pods);
    }
    plan
}

/// Replaces the highest pod of an earlier template, once all others are well.
fn roll(plan: &mut Plan, set: &Value, pods: &[Arc<Pod>]) {
    let well = pods.iter().all(|pod| pod.ready.is_some() && !pod.terminating());
    let hash = revision(set);
    let old = pods.iter().filter(|pod| pod.object["metadata"]["labels"][HASH] != hash.as_str());
    if let (true, Some(pod)) = (well, old.max_by_key(|pod| ordinal_of(set, pod))) {
        remove(plan, set, pod);
    }
}

fn ordinal_of(set: &Value, pod: &Pod) -> Option<u64> {
    let rest = pod.key.name.strip_prefix(text(&set["metadata"]["name"]))?;
    rest.strip_prefix('-')?.parse().ok()
}

fn create(plan: &mut Plan, set: &Value, ordinal: u64) {
    let Key { namespace, name } = Key::of(set);
    let pod_name = format!("{name}-{ordinal}");
    let template = &set["spec"]["template"];
    let mut metadata = template["metadata"].clone();
    metadata["name"] = pod_name.as_str().into();
    metadata["generateName"] = format!("{name}-").into();
    metadata["ownerReferences"] = json!([owned_by(set)]);
    metadata["labels"][HASH] = revision(set).into();
    metadata["labels"]["apps.kubernetes.io/pod-index"] = ordinal.to_string().into();
    metadata["labels"]["statefulset.kubernetes.io/pod-name"] = pod_name.as_str().into();
    let mut spec = template["spec"].clone();
    spec["hostname"] = pod_name.as_str().into();
    if !text(&set["spec"]["serviceName"]).is_empty() {
        spec["subdomain"] = set["spec"]["serviceName"].clone();
    }
    let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    plan.send(Request::new(USER, Method::Post, path).with_body(body));
    let message = format!("Create Pod {pod_name} in StatefulSet {name} successful");
    plan.tell(Subject::of(set).notes(COMPONENT, "SuccessfulCreate", message));
}

fn remove(plan: &mut Plan, set: &Value, pod: &Pod) {
    plan.send(delete_pod(USER, &pod.key, &pod.uid, None));
    let message = format!(
        "Delete Pod {} in StatefulSet {} successful",
        pod.key.name,
        text(&set["metadata"]["name"])
    );
    plan.tell(Subject::of(set).notes(COMPONENT, "SuccessfulDelete", message));
}

/// `database-7c9f…`: which template a pod was made from.
fn revision(set: &Value) -> String {
    let seen = set["spec"]["template"].to_string();
    format!("{}-{:010x}", text(&set["metadata"]["name"]), fnv1a(seen.as_bytes()) & 0xff_ffff_ffff)
}

fn status(set: &Value, pods: &[Arc<Pod>]) -> Option<Act> {
    let live: Vec<&Arc<Pod>> = pods.iter().filter(|pod| !pod.terminating()).collect();
    let ready = live.iter().filter(|pod| pod.ready.is_some()).count();
    let hash = revision(set);
    let new_ones =
        live.iter().filter(|pod| pod.object["metadata"]["labels"][HASH] == hash.as_str());
    let updated = new_ones.count();
    let mut new = json!({
        "replicas": pods.len(), "readyReplicas": ready, "availableReplicas": ready,
        "currentReplicas": updated, "updatedReplicas": updated, "collisionCount": 0,
        "updateRevision": hash, "observedGeneration": set["metadata"]["generation"],
    });
    let all_new = updated == live.len();
    let before = &set["status"]["currentRevision"];
    new["currentRevision"] = if all_new || before.is_null() { hash.into() } else { before.clone() };
    let old = &set["status"];
    let differs = |field: &str, value: &Value| old[field] != *value;
    let changed = new.as_object()?.iter().any(|(field, value)| differs(field, value));
    let Key { namespace, name } = Key::of(set);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/status");
    changed.then(|| Act::Send(patch(USER, path, json!({"status": new}))))
}
