//! The controller of ResourceClaims, and what the kubelet makes of them.
//!
//! ```text
//!   pod with a template ──▶ a claim of its own ──▶ its name in the pod's status
//!   claim ── its pods are over ──▶ reservations go ──▶ allocation goes ──▶ made for a pod: deleted
//!   bound pod ── a claim isn't allocated, or not for it ──▶ FailedPrepareDynamicResources, and waits
//! ```
//!
//! Who allocates is the scheduler. The twin's default scheduler doesn't: a pod with claims waits
//! there with a word.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    controllers::Sight,
    object::{Key, deleting, items, owned_by, text, uid},
    plan::{Plan, patch, pod_path},
    pod::Pod,
};
use crate::{KubeApi, Method, Request};

pub(crate) const RESOURCE: &str = "resourceclaims.resource.k8s.io";
const TEMPLATES: &str = "resourceclaimtemplates.resource.k8s.io";
const USER: &str = "system:serviceaccount:kube-system:resource-claim-controller";
/// Says under which of the pod's names a claim was made.
const POD_CLAIM: &str = "resource.kubernetes.io/pod-claim-name";
const PROTECTION: &str = "resource.kubernetes.io/delete-protection";
/// Resources that are named after a device class.
const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Decides what to do about a pod that uses claims: those from templates are made.
pub(crate) fn decide_pod(sight: Sight<'_>, pod: &Value) -> Plan {
    let mut plan = Plan::nothing();
    let known = items(&pod["status"]["resourceClaimStatuses"]);
    if is_over(pod) || deleting(pod) {
        return plan;
    }
    let mut statuses = known.to_vec();
    for claim in items(&pod["spec"]["resourceClaims"]) {
        let name = text(&claim["name"]);
        let Some(template) = claim["resourceClaimTemplateName"].as_str() else { continue };
        if known.iter().any(|it| it["name"] == name) {
            continue;
        }
        let mut made = sight.owned(pod, RESOURCE);
        let made = made.find(|it| it["metadata"]["annotations"][POD_CLAIM] == name);
        match made {
            Some(made) => {
                let of = &made["metadata"]["name"];
                statuses.push(json!({"name": name, "resourceClaimName": of}));
            }
            None => plan.acts.extend(make(sight, pod, name, template).acts),
        }
    }
    if statuses.len() != known.len() {
        let body = json!({"status": {"resourceClaimStatuses": statuses}});
        plan.send(patch(USER, pod_path(&Key::of(pod)) + "/status", body));
    }
    plan
}

fn make(sight: Sight<'_>, pod: &Value, name: &str, template: &str) -> Plan {
    let mut plan = Plan::nothing();
    let Key { namespace, name: pod_name } = Key::of(pod);
    let Some(template) = sight.api.get(TEMPLATES, &namespace, template) else {
        return plan;
    };
    let inner = &template["spec"];
    let mut metadata = json!({
        "generateName": format!("{pod_name}-{name}-"),
        "namespace": &*namespace,
        "labels": inner["metadata"]["labels"],
        "annotations": inner["metadata"]["annotations"],
        "ownerReferences": [owned_by(pod)],
    });
    metadata["annotations"][POD_CLAIM] = name.into();
    let body = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": inner["spec"],
    });
    let path = format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims");
    plan.send(Request::new(USER, Method::Post, path).with_body(body));
    plan
}

/// Decides what to do about a claim: whoever is over lets go of it.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let mut plan = Plan::nothing();
    let reserved = items(&it["status"]["reservedFor"]);
    let valid: Vec<&Value> =
        reserved.iter().filter(|user| is_used_by(sight.api, it, user)).collect();
    let allocated = it["status"]["allocation"].is_object();
    let unused = valid.is_empty() && (!reserved.is_empty() || deleting(it));
    if valid.len() < reserved.len() || (unused && allocated) {
        let mut status = json!({"reservedFor": valid});
        if unused {
            status["allocation"] = Value::Null;
        }
        plan.send(patch(USER, path(it) + "/status", json!({"status": status})));
    }
    let finalizers = items(&it["metadata"]["finalizers"]);
    if unused && finalizers.iter().any(|name| name == PROTECTION) {
        let kept: Vec<&Value> = finalizers.iter().filter(|name| *name != PROTECTION).collect();
        plan.send(patch(USER, path(it), json!({"metadata": {"finalizers": kept}})));
    }
    if valid.is_empty() && !deleting(it) && was_made_for_one_who_is_over(sight.api, it) {
        let options = json!({"preconditions": {"uid": uid(it)}});
        plan.send(Request::new(USER, Method::Delete, path(it)).with_body(options));
    }
    plan
}

/// Whether a pod that a claim is reserved for still uses it.
fn is_used_by(api: &KubeApi, it: &Value, user: &Value) -> bool {
    let pod = api.get("pods", text(&it["metadata"]["namespace"]), text(&user["name"]));
    pod.is_some_and(|pod| {
        let unscheduled = text(&pod["spec"]["nodeName"]).is_empty();
        user["uid"] == uid(pod) && !is_over(pod) && !(deleting(pod) && unscheduled)
    })
}

fn was_made_for_one_who_is_over(api: &KubeApi, it: &Value) -> bool {
    let owners = items(&it["metadata"]["ownerReferences"]);
    let Some(owner) = owners.iter().find(|owner| owner["kind"] == "Pod") else { return false };
    api.by_uid(text(&owner["uid"])).is_some_and(|pod| is_over(pod))
}

fn is_over(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

fn path(it: &Value) -> String {
    let Key { namespace, name } = Key::of(it);
    format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}")
}

/// The claims that a pod uses, by name: its own, those made for it, and the one for its resources.
pub(crate) fn used_by(pod: &Value) -> Vec<Key> {
    let namespace = text(&pod["metadata"]["namespace"]);
    let named = items(&pod["spec"]["resourceClaims"]).iter();
    let named = named.filter_map(|it| it["resourceClaimName"].as_str());
    let made = items(&pod["status"]["resourceClaimStatuses"]).iter();
    let made = made.filter_map(|it| it["resourceClaimName"].as_str());
    let extended = pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"].as_str();
    named.chain(made).chain(extended).map(|name| Key::new(namespace, name)).collect()
}

/// Why a kubelet can't prepare the devices of a pod, if it can't.
pub(crate) fn unprepared(api: &KubeApi, pod: &Pod) -> Option<String> {
    let object = &pod.object;
    let waiting = items(&object["spec"]["resourceClaims"]).iter().find(|claim| {
        let statuses = items(&object["status"]["resourceClaimStatuses"]);
        claim["resourceClaimName"].is_null()
            && !statuses.iter().any(|it| it["name"] == claim["name"])
    });
    if let Some(claim) = waiting {
        let name = text(&claim["name"]);
        return Some(format!("pod claim {name}: resource claim not created yet"));
    }
    if wants_classes(object) && object["status"]["extendedResourceClaimStatus"].is_null() {
        return Some("no claim for the pod's extended resources".into());
    }
    used_by(object).into_iter().find_map(|key| {
        let claim = api.get(RESOURCE, &key.namespace, &key.name);
        unusable(claim, &key, pod)
    })
}

fn wants_classes(pod: &Value) -> bool {
    let lists = ["initContainers", "containers"];
    let mut containers = lists.iter().flat_map(|list| items(&pod["spec"][*list]));
    containers.any(|it| {
        let limits = it["resources"]["limits"].as_object();
        limits.is_some_and(|limits| limits.keys().any(|name| name.starts_with(CLASS_PREFIX)))
    })
}

fn unusable(claim: Option<&Arc<Value>>, key: &Key, pod: &Pod) -> Option<String> {
    let Key { namespace, name } = key;
    let Some(claim) = claim else {
        return Some(format!("failed to fetch ResourceClaim {name}: not found"));
    };
    if claim["status"]["allocation"].is_null() {
        return Some(format!("ResourceClaim {namespace}/{name} is not allocated"));
    }
    let reserved = items(&claim["status"]["reservedFor"]);
    if !reserved.iter().any(|user| user["uid"] == *pod.uid) {
        let Key { namespace: of, name: who } = &pod.key;
        return Some(format!(
            "pod {of}/{who}({}) is not allowed to use ResourceClaim {namespace}/{name}",
            pod.uid
        ));
    }
    None
}
