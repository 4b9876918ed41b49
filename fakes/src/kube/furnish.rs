//! What every cluster has from its start, and every namespace from its own: roles, accounts, the
//! authority that clients inside should believe. Only for clusters that are served.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{KubeApi, addresses, kinds::Kind, object};

/// Who makes these things.
const USER: &str = "system:kube-controller-manager";
const AUTHORITY: &str = "kube-root-ca.crt";

impl KubeApi {
    /// Makes what a cluster starts with.
    pub(super) fn furnish(&mut self) {
        let roles: Vec<Value> = serde_json::from_str(include_str!("../../schema/roles.json"))
            .expect("the roles that are shipped are JSON");
        for role in roles {
            let plural = format!("{}s", object::text(&role, &["kind"]).to_lowercase());
            let place = match object::namespace(&role) {
                "" => String::new(),
                namespace => format!("/namespaces/{namespace}"),
            };
            self.install(&format!("/apis/rbac.authorization.k8s.io/v1{place}/{plural}"), role);
        }
        let ports = json!([{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]);
        self.install(
            "/api/v1/namespaces/default/services",
            json!({
                "metadata": {
                    "name": "kubernetes",
                    "labels": {"component": "apiserver", "provider": "kubernetes"},
                },
                "spec": {"clusterIP": addresses::OWN, "ports": ports},
            }),
        );
    }

    /// Gives a new namespace what every namespace has.
    pub(super) fn furnish_namespace(&mut self, kind: &Kind, namespace: &Value) {
        if !self.full || kind.key != "namespaces" || object::is_deleting(namespace) {
            return;
        }
        let name = object::name(namespace).to_owned();
        let time = namespace["metadata"]["creationTimestamp"].clone();
        let account = json!({"kind": "ServiceAccount", "metadata": {"name": "default"}});
        let authority = json!({
            "kind": "ConfigMap",
            "metadata": {
                "name": AUTHORITY,
                "annotations": {"kubernetes.io/description": "the certificates that clients of this \
                    API server should believe"},
            },
            "data": {"ca.crt": &*self.authority},
        });
        for (key, mut object) in [("serviceaccounts", account), ("configmaps", authority)] {
            let Some(kind) = self.kinds.by_key(key) else { continue };
            let metadata = object::metadata_mut(&mut object);
            if self.get(key, &name, metadata["name"].as_str().unwrap_or("")).is_some() {
                continue;
            }
            metadata.insert("namespace".into(), name.as_str().into());
            metadata.insert("uid".into(), self.identities.uid().into());
            metadata.insert("creationTimestamp".into(), time.clone());
            object["apiVersion"] = "v1".into();
            self.commit(kind, object, &USER.into());
        }
    }

    /// An account or authority that every namespace has comes back if it is deleted.
    pub(super) fn refurnish(&mut self, kind: &Kind, gone: &Value) {
        let ours = match kind.key {
            "serviceaccounts" => object::name(gone) == "default",
            "configmaps" => object::name(gone) == AUTHORITY,
            _ => false,
        };
        if !self.full || !ours {
            return;
        }
        let namespace = self.get("namespaces", "", object::namespace(gone)).cloned();
        if let Some(namespace) = namespace {
            let namespaces = super::kinds::namespaces();
            self.furnish_namespace(namespaces, &namespace);
        }
    }

    /// Says which authority clients inside the cluster should believe, in PEM.
    pub fn publish_authority(&mut self, pem: &str) {
        self.authority = Arc::from(pem);
        let Some(kind) = self.kinds.by_key("configmaps") else { return };
        let published: Vec<Arc<Value>> =
            self.list("configmaps").filter(|map| object::name(map) == AUTHORITY).cloned().collect();
        for map in published {
            let mut map = Value::clone(&map);
            map["data"] = json!({"ca.crt": pem});
            self.commit(kind, map, &USER.into());
        }
    }
}
