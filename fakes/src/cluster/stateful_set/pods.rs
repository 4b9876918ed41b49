//! The pods of a StatefulSet: each has a name, a host name and claims of its own.

use serde_json::{Value, json};

use super::{
    super::{
        leader_worker_set,
        object::{Key, items, owned_by, text},
        revision::{HASH, Revision},
    },
    USER, claims,
};
use crate::{Method, Request};

pub(super) fn name(set: &Value, ordinal: u64) -> String {
    format!("{}-{ordinal}", text(&set["metadata"]["name"]))
}

/// The request that makes the pod of an ordinal from a revision's template.
pub(super) fn create(set: &Value, ordinal: u64, revision: &Revision) -> Request {
    let Key { namespace, name: set_name } = Key::of(set);
    let name = name(set, ordinal);
    let mut metadata = json!({
        "name": name,
        "generateName": format!("{set_name}-"),
        "ownerReferences": [owned_by(set)],
    });
    for part in ["labels", "annotations", "finalizers"] {
        let given = &revision.template["metadata"][part];
        if !given.is_null() {
            metadata[part] = given.clone();
        }
    }
    metadata["labels"][HASH] = revision.name.as_str().into();
    metadata["labels"]["apps.kubernetes.io/pod-index"] = ordinal.to_string().into();
    metadata["labels"]["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    let mut spec = revision.template["spec"].clone();
    spec["hostname"] = name.as_str().into();
    if !text(&set["spec"]["serviceName"]).is_empty() {
        spec["subdomain"] = set["spec"]["serviceName"].clone();
    }
    mount(set, ordinal, &mut spec);
    let mut body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    leader_worker_set::pods::shape(&namespace, &mut body);
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    Request::new(USER, Method::Post, path).with_body(body)
}

/// Puts the pod's own claims in place of the volumes that the templates name.
fn mount(set: &Value, ordinal: u64, spec: &mut Value) {
    let templates = items(&set["spec"]["volumeClaimTemplates"]);
    if templates.is_empty() {
        return;
    }
    let named =
        |volume: &Value| templates.iter().any(|it| it["metadata"]["name"] == volume["name"]);
    let others = items(&spec["volumes"]).iter().filter(|volume| !named(volume)).cloned();
    let own = templates.iter().map(|template| {
        json!({
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claims::name(set, template, ordinal)},
        })
    });
    let volumes: Vec<Value> = own.chain(others).collect();
    spec["volumes"] = volumes.into();
}
