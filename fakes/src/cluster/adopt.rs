//! Whose pods are whose: a controller takes in pods that nobody controls and that its selector
//! fits, and lets go of those that it fits no more.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    controllers::Sight,
    object::{Key, deleting, items, owned_by, uid},
    plan::{Plan, patch, pod_path},
    pod::Pod,
};
use crate::LabelSelector;

/// The pods that an object controls from now on; `plan` takes in and lets go.
pub(crate) fn claim(
    sight: Sight<'_>,
    plan: &mut Plan,
    user: &'static str,
    object: &Value,
) -> Vec<Arc<Pod>> {
    let mut pods = sight.pods_of(object);
    if pods.iter().any(|pod| pod.stray) {
        for pod in pods.iter().filter(|pod| pod.stray && pod.deleting.is_none()) {
            plan.send(release(user, object, pod));
        }
        pods.retain(|pod| !pod.stray);
    }
    if deleting(object) {
        return pods;
    }
    let namespace = Key::of(object).namespace;
    let orphans = sight.index.orphans(&namespace);
    for pod in orphans.filter(|pod| pod.active() && selects(object, pod)) {
        plan.send(take_in(user, object, pod));
        pods.push(pod.clone());
    }
    pods
}

/// Whether an object's selector fits the pod's labels. A selector that fits everything fits
/// nothing here: no controller may have one.
pub(crate) fn selects(object: &Value, pod: &Pod) -> bool {
    let selector = LabelSelector::from_object(&object["spec"]["selector"]);
    selector.is_ok_and(|it| !it.is_empty() && it.matches(&pod.object["metadata"]["labels"]))
}

fn take_in(user: &'static str, object: &Value, pod: &Pod) -> crate::Request {
    let mut owners = items(&pod.object["metadata"]["ownerReferences"]).to_vec();
    owners.push(owned_by(object));
    let body = json!({"metadata": {"uid": &*pod.uid, "ownerReferences": owners}});
    patch(user, pod_path(&pod.key), body)
}

fn release(user: &'static str, object: &Value, pod: &Pod) -> crate::Request {
    let owners: Vec<&Value> = items(&pod.object["metadata"]["ownerReferences"])
        .iter()
        .filter(|owner| owner["uid"] != uid(object))
        .collect();
    let body = json!({"metadata": {"uid": &*pod.uid, "ownerReferences": owners}});
    patch(user, pod_path(&pod.key), body)
}
