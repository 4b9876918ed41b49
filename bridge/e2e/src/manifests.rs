//! What is applied: the rights of `deploy/base`, and what users would write.

use serde_json::{Value, json};

use crate::{Trouble, api::Api};

/// The rights, as they are deployed.
const RBAC: &str = include_str!("../../../deploy/base/rbac.yaml");

/// How long a pod of the suite runs, in seconds; for ever if there is none.
pub(crate) const RUNTIME: &str = "e2e.drawbridge.dev/runtime";
/// With which exit code it ends.
pub(crate) const EXIT: &str = "e2e.drawbridge.dev/exit";
/// How many seconds it takes to end when it is told to.
pub(crate) const STOP: &str = "e2e.drawbridge.dev/stop";

/// The kind that gangs are declared by, where the server doesn't have it.
pub(crate) fn pod_group_definition() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "minMember": { "type": "integer", "format": "int32" },
                    "scheduleTimeoutSeconds": { "type": "integer", "format": "int32" },
                },
            },
            "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "podgroups.scheduling.x-k8s.io",
            "annotations": { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50" },
        },
        "spec": {
            "group": "scheduling.x-k8s.io", "scope": "Namespaced",
            "names": { "kind": "PodGroup", "plural": "podgroups", "singular": "podgroup", "shortNames": ["pg"] },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} },
            }],
        },
    })
}

/// Applies the rights, bound to the service account of the bridge.
pub(crate) async fn apply_rights(api: &Api) -> Result<(), Trouble> {
    let documents = drawbridge_bridge::yaml::documents(RBAC).map_err(|error| error.to_string())?;
    for document in documents {
        let object = document.value;
        let path = match object["kind"].as_str() {
            Some("ServiceAccount") => format!("/api/v1/namespaces/{HOME}/serviceaccounts"),
            Some("ClusterRole") => rbac("clusterroles"),
            Some("ClusterRoleBinding") => rbac("clusterrolebindings"),
            Some("Role") => rbac(&format!("namespaces/{HOME}/roles")),
            Some("RoleBinding") => rbac(&format!("namespaces/{HOME}/rolebindings")),
            other => return Err(format!("deploy/base/rbac.yaml has a {other:?}")),
        };
        api.ensure(&path, object).await?;
    }
    Ok(())
}

/// The namespace that the bridge lives in.
pub(crate) const HOME: &str = drawbridge_core::names::BRIDGE_NAMESPACE;

fn rbac(rest: &str) -> String {
    format!("/apis/rbac.authorization.k8s.io/v1/{rest}")
}

/// What a pod of the suite is like.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodPlan {
    pub(crate) name: String,
    pub(crate) cpus: u32,
    /// `None` runs until it is told to end.
    pub(crate) runtime: Option<u32>,
    pub(crate) exit: u32,
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) annotations: Vec<(&'static str, String)>,
}

impl PodPlan {
    pub(crate) fn new(name: &str, cpus: u32, runtime: Option<u32>) -> Self {
        Self { name: name.to_owned(), cpus, runtime, ..Self::default() }
    }

    /// As a bare pod.
    pub(crate) fn pod(&self) -> Value {
        let mut pod = self.template();
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!(self.name);
        pod
    }

    /// As a template of a controller.
    pub(crate) fn template(&self) -> Value {
        let mut annotations = serde_json::Map::new();
        annotations.insert(EXIT.into(), json!(self.exit.to_string()));
        annotations.insert(STOP.into(), json!("1"));
        if let Some(runtime) = self.runtime {
            annotations.insert(RUNTIME.into(), json!(runtime.to_string()));
        }
        for (key, value) in &self.annotations {
            annotations.insert((*key).to_owned(), json!(value));
        }
        let labels: serde_json::Map<String, Value> =
            self.labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let requests = json!({ "cpu": self.cpus.to_string(), "memory": "256Mi" });
        json!({
            "metadata": { "labels": labels, "annotations": annotations },
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 5,
                "containers": [{
                    "name": "main", "image": "busybox:1.37",
                    "resources": { "requests": requests },
                }],
            },
        })
    }
}
