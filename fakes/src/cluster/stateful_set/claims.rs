//! The claims of a StatefulSet's pods: made with them, kept or removed as the retention policy says.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    super::{
        controllers::Sight,
        object::{Key, items, owned_by, pairs, text, uid},
        plan::{Plan, Subject, patch},
        pod::Pod,
    },
    COMPONENT, USER, ordinal_of, pods,
};
use crate::{Method, Request};

const CLAIMS: &str = "persistentvolumeclaims";

pub(super) fn name(set: &Value, template: &Value, ordinal: u64) -> String {
    let (template, set) = (text(&template["metadata"]["name"]), text(&set["metadata"]["name"]));
    format!("{template}-{set}-{ordinal}")
}

fn templates(set: &Value) -> &[Value] {
    items(&set["spec"]["volumeClaimTemplates"])
}

fn find<'a>(sight: Sight<'a>, set: &Value, name: &str) -> Option<&'a Arc<Value>> {
    sight.api.get(CLAIMS, &Key::of(set).namespace, name)
}

/// Makes the claims of an ordinal that aren't there.
pub(super) fn make_missing(plan: &mut Plan, sight: Sight<'_>, set: &Value, ordinal: u64) {
    for template in templates(set) {
        let name = name(set, template, ordinal);
        if find(sight, set, &name).is_none() {
            make(plan, set, template, ordinal, &name);
        }
    }
}

fn make(plan: &mut Plan, set: &Value, template: &Value, ordinal: u64, name: &str) {
    let Key { namespace, name: set_name } = Key::of(set);
    let mut labels = template["metadata"]["labels"].clone();
    for (key, value) in pairs(&set["spec"]["selector"]["matchLabels"]) {
        labels[key] = value.clone();
    }
    let mut metadata = json!({"name": name, "labels": labels});
    if !template["metadata"]["annotations"].is_null() {
        metadata["annotations"] = template["metadata"]["annotations"].clone();
    }
    if policy(set).when_deleted {
        metadata["ownerReferences"] = json!([owned_by(set)]);
    }
    let body = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template["spec"],
    });
    let path = format!("/api/v1/namespaces/{namespace}/{CLAIMS}");
    let pod = pods::name(set, ordinal);
    let about = Subject::of(set);
    let done = format!("Create Claim {name} Pod {pod} in StatefulSet {set_name} success");
    let failed =
        format!("Create Claim {name} for Pod {pod} in StatefulSet {set_name} failed error: ");
    plan.send_telling(
        Request::new(USER, Method::Post, path).with_body(body),
        about.notes(COMPONENT, "SuccessfulCreate", done),
        about.warns(COMPONENT, "FailedCreate", failed),
    );
}

/// Which claims go: those of the set when it's deleted, those of pods that it's scaled down by.
struct Policy {
    when_deleted: bool,
    when_scaled: bool,
}

fn policy(set: &Value) -> Policy {
    let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
    Policy {
        when_deleted: policy["whenDeleted"] == "Delete",
        when_scaled: policy["whenScaled"] == "Delete",
    }
}

/// Makes the owners of a pod's claims what the retention policy says, so that the garbage collector
/// removes them in time. `wanted` says whether the pod should be there.
pub(super) fn settle(plan: &mut Plan, sight: Sight<'_>, set: &Value, pod: &Pod, wanted: bool) {
    let Some(ordinal) = ordinal_of(set, pod) else { return };
    let policy = policy(set);
    let by_pod = policy.when_scaled && !wanted;
    let by_set = policy.when_deleted && !by_pod;
    for template in templates(set) {
        let name = name(set, template, ordinal);
        let Some(claim) = find(sight, set, &name) else { continue };
        let owners = items(&claim["metadata"]["ownerReferences"]);
        let has = |uid: &str| owners.iter().any(|owner| owner["uid"] == uid);
        if has(uid(set)) == by_set && has(&pod.uid) == by_pod {
            continue;
        }
        let ours = |owner: &&Value| owner["uid"] == uid(set) || owner["uid"] == *pod.uid;
        let mut owners: Vec<Value> = owners.iter().filter(|it| !ours(it)).cloned().collect();
        owners.extend(by_set.then(|| owned_by(set)));
        owners.extend(by_pod.then(|| owned_by(&pod.object)));
        let body = json!({"metadata": {"ownerReferences": owners}});
        let namespace = Key::of(set).namespace;
        let path = format!("/api/v1/namespaces/{namespace}/{CLAIMS}/{name}");
        plan.send(patch(USER, path, body));
    }
}

/// Whether a claim of this ordinal is about to go with a pod that is gone.
pub(super) fn is_stale(sight: Sight<'_>, set: &Value, ordinal: u64) -> bool {
    let pod = pods::name(set, ordinal);
    templates(set).iter().any(|template| {
        let claim = find(sight, set, &name(set, template, ordinal));
        let owners = claim.map_or(&[][..], |it| items(&it["metadata"]["ownerReferences"]));
        owners.iter().any(|owner| owner["kind"] == "Pod" && owner["name"] == pod.as_str())
    })
}
