//! The objects that tell the API server when to call us.
//!
//! Two webhooks each: one for managed namespaces, one for pods elsewhere that name our scheduler.

use serde_json::{Value, json};

use super::{MUTATE_PATH, VALIDATE_PATH};
use crate::config::Config;

const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The webhook configurations to install.
pub fn configurations(config: &Config) -> Vec<Value> {
    vec![
        configuration(
            config,
            "MutatingWebhookConfiguration",
            MUTATE_PATH,
            &["CREATE"],
        ),
        configuration(
            config,
            "ValidatingWebhookConfiguration",
            VALIDATE_PATH,
            &["CREATE", "UPDATE"],
        ),
    ]
}

fn configuration(config: &Config, kind: &str, path: &str, operations: &[&str]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": "slurm-bridge-admission" },
        "webhooks": [
            by_namespace(config, path, operations),
            by_scheduler(config, path, operations),
        ],
    })
}

fn by_namespace(config: &Config, path: &str, operations: &[&str]) -> Value {
    let mut webhook = webhook("pods.slinky.slurm.net", path, operations);
    webhook["namespaceSelector"] = match config.namespace_selector() {
        Some(selector) => json!(selector),
        None => names(config, "In"),
    };
    webhook
}

fn by_scheduler(config: &Config, path: &str, operations: &[&str]) -> Value {
    let mut webhook = webhook("named.pods.slinky.slurm.net", path, operations);
    if config.namespace_selector().is_none() {
        webhook["namespaceSelector"] = names(config, "NotIn");
    }
    webhook["matchConditions"] = json!([{
        "name": "names-our-scheduler",
        "expression": format!("object.spec.schedulerName == '{}'", config.scheduler_name),
    }]);
    webhook
}

fn names(config: &Config, operator: &str) -> Value {
    json!({ "matchExpressions": [{
        "key": NAMESPACE_NAME, "operator": operator, "values": config.managed_namespaces,
    }] })
}

fn webhook(name: &str, path: &str, operations: &[&str]) -> Value {
    json!({
        "name": name,
        "clientConfig": {
            "service": { "namespace": "slurm-bridge", "name": "drawbridge", "path": path },
        },
        "rules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
            "operations": operations, "scope": "Namespaced",
        }],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
    })
}
