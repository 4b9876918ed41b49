//! What admission adds to every pod of a real cluster: its account's token, and the tolerations
//! that keep it on a node that is lost for a while.

use serde_json::{Value, json};

use crate::kube::{Call, KubeApi, object, status::Refusal};

const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl KubeApi {
    /// Completes a pod that is made or changed.
    pub(crate) fn complete_pod(
        &mut self,
        call: &Call<'_>,
        pod: &mut Value,
        created: bool,
    ) -> Result<(), Refusal> {
        if !self.full || call.target.kind.key != "pods" {
            return Ok(());
        }
        tolerate(pod);
        spell_out(pod);
        if !created {
            return Ok(());
        }
        let account = self.account_of(call, pod)?;
        let spec = &pod["spec"];
        let own = spec["automountServiceAccountToken"].as_bool();
        let mounts = own.unwrap_or(account["automountServiceAccountToken"] != false);
        if object::items(spec, &["imagePullSecrets"]).is_empty() {
            let secrets = object::items(&account, &["imagePullSecrets"]);
            if !secrets.is_empty() {
                object::set(pod, &["spec", "imagePullSecrets"], json!(secrets));
            }
        }
        if mounts && !has_token(&pod["spec"]) {
            let volume = self.identities.name("kube-api-access-");
            mount_token(pod, &volume);
        }
        Ok(())
    }

    /// The account that a pod runs as. Static pods of nodes have none.
    fn account_of(&self, call: &Call<'_>, pod: &Value) -> Result<Value, Refusal> {
        let name = object::text(pod, &["spec", "serviceAccountName"]);
        let namespace = call.target.namespace;
        let found = self.get("serviceaccounts", namespace, name);
        found.map(|it| Value::clone(it)).ok_or_else(|| {
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" \
                 not found"
            );
            Refusal::forbidden(call.target.kind, object::name(pod), &why)
        })
    }
}

/// Writes what a typed server always writes of a pod's status, empty or not.
fn spell_out(pod: &mut Value) {
    let ip = object::text(pod, &["status", "podIP"]).to_owned();
    let Some(status) = pod.get_mut("status").and_then(Value::as_object_mut) else { return };
    if !ip.is_empty() {
        object::default(status, "podIPs", json!([{"ip": ip}]));
    }
    let mut each = |list: &str, keys: &[&str], value: &Value| {
        let items = status.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
            for key in keys {
                item.entry(*key).or_insert_with(|| value.clone());
            }
        }
    };
    each("conditions", &["lastProbeTime", "lastTransitionTime"], &Value::Null);
    each("containerStatuses", &["lastState"], &json!({}));
}

fn tolerate(pod: &mut Value) {
    let spec = object::map_mut(pod, "spec");
    let list = spec.entry("tolerations").or_insert(json!([]));
    let Some(list) = list.as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |it: &Value| {
            let effect = object::text(it, &["effect"]);
            ["", key].contains(&object::text(it, &["key"])) && ["", "NoExecute"].contains(&effect)
        };
        if !list.iter().any(covers) {
            list.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

fn has_token(spec: &Value) -> bool {
    let containers = object::items(spec, &["containers"]).iter();
    containers
        .flat_map(|it| object::items(it, &["volumeMounts"]))
        .any(|it| it["mountPath"] == MOUNT)
}

fn mount_token(pod: &mut Value, volume: &str) {
    let spec = object::map_mut(pod, "spec");
    let source = json!({
        "name": volume,
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
        },
    });
    if let Some(volumes) = spec.entry("volumes").or_insert(json!([])).as_array_mut() {
        volumes.push(source);
    }
    for key in ["containers", "initContainers"] {
        let list = spec.get_mut(key).and_then(Value::as_array_mut);
        for container in list.into_iter().flatten().filter_map(Value::as_object_mut) {
            let mounts = container.entry("volumeMounts").or_insert(json!([]));
            if let Some(mounts) = mounts.as_array_mut() {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": MOUNT}));
            }
        }
    }
}
