//! Admission: what is changed and what is refused when somebody writes a pod.
//!
//! ```text
//!  CREATE ─▶ mutate ─▶ validate ─▶ stored        UPDATE ─▶ validate ─▶ stored
//! ```
//!
//! The API server calls only for pods of managed namespaces and for pods that name our scheduler
//! ([`configurations`]), so an outage of ours stops nobody else's pods.

mod environment;
mod guarded;
mod mutate;
mod validate;
mod warnings;
mod webhooks;

use serde_json::{Value, json};

use crate::config::Config;
pub(crate) use validate::WORKER_REFUSED;
pub use webhooks::{CONFIGURATION, SERVICE, WEBHOOKS, configurations};

/// Where the API server sends pods to be changed.
pub const MUTATE_PATH: &str = "/mutate--v1-pod";
/// Where the API server sends pods to be judged.
pub const VALIDATE_PATH: &str = "/validate--v1-pod";

/// Answers an `AdmissionReview` with an `AdmissionReview`. `me` is the user under which the bridge
/// itself talks to the API server: it may do what others may not.
pub fn review(config: &Config, me: &str, path: &str, review: &Value) -> Value {
    let request = &review["request"];
    let response = match path {
        MUTATE_PATH => mutate::respond(config, request),
        VALIDATE_PATH => validate::respond(config, me, request),
        other => refuse(404, &format!("no webhook at {other}")),
    };
    answer(request, response)
}

fn answer(request: &Value, mut response: Value) -> Value {
    response["uid"] = request["uid"].clone();
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

fn allow() -> Value {
    json!({ "allowed": true })
}

fn refuse(code: u16, message: &str) -> Value {
    json!({ "allowed": false, "status": { "code": code, "message": message } })
}

/// Whether the pod is in a namespace of ours. A selector was already applied by the API server.
fn in_managed_namespace(config: &Config, request: &Value) -> bool {
    let namespace = request["namespace"].as_str().unwrap_or_default();
    config.namespace_selector().is_some()
        || config.managed_namespaces.iter().any(|managed| managed == namespace)
}

fn scheduler_name(pod: &Value) -> &str {
    pod["spec"]["schedulerName"].as_str().unwrap_or_default()
}
