//! The ephemeral volume controller: a pod's own claims are made with it, and go with it.

use serde_json::{Value, json};

use super::{
    claim,
    controllers::Sight,
    object::{Key, deleting, items, owned_by, text, uid},
    plan::{Plan, Subject},
};
use crate::{Method, Request};

const USER: &str = "system:serviceaccount:kube-system:ephemeral-volume-controller";
const COMPONENT: &str = "ephemeral_volume";

/// Whether a pod has volumes that live as long as itself.
pub(crate) fn concerns(pod: &Value) -> bool {
    items(&pod["spec"]["volumes"]).iter().any(|volume| volume["ephemeral"].is_object())
}

/// Decides which of a pod's own claims are to be made.
pub(crate) fn decide(sight: Sight<'_>, pod: &Value) -> Plan {
    let mut plan = Plan::nothing();
    if deleting(pod) {
        return plan;
    }
    let Key { namespace, name } = Key::of(pod);
    for volume in items(&pod["spec"]["volumes"]) {
        let template = &volume["ephemeral"]["volumeClaimTemplate"];
        if !template.is_object() {
            continue;
        }
        let claim_name = format!("{name}-{}", text(&volume["name"]));
        match sight.api.get(claim::RESOURCE, &namespace, &claim_name) {
            None => plan.send(make(pod, template, &namespace, &claim_name)),
            Some(known) if known["metadata"]["ownerReferences"][0]["uid"] == uid(pod) => {}
            Some(_) => {
                let message = format!(
                    "PVC {namespace}/{claim_name} was not created for pod {namespace}/{name} (pod \
                     is not owner)"
                );
                plan.tell(Subject::of(pod).warns(
                    COMPONENT,
                    "EphemeralVolumeClaimCreateFailed",
                    message,
                ));
            }
        }
    }
    plan
}

fn make(pod: &Value, template: &Value, namespace: &str, name: &str) -> Request {
    let mut metadata = json!({"name": name, "ownerReferences": [owned_by(pod)]});
    for part in ["labels", "annotations"] {
        if template["metadata"][part].is_object() {
            metadata[part] = template["metadata"][part].clone();
        }
    }
    let body = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": metadata, "spec": template["spec"],
    });
    let path = format!("/api/v1/namespaces/{namespace}/{}", claim::RESOURCE);
    Request::new(USER, Method::Post, path).with_body(body)
}
