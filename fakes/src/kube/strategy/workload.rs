//! Jobs, Deployments, ReplicaSets.

use serde_json::{Value, json};

use crate::kube::validate::FieldError;

pub(super) fn job_defaults(_job: &mut Value) {}
pub(super) fn job_prepare(job: &mut Value) {
    job["status"] = json!({});
}
pub(super) fn job_validate(_job: &Value) -> Vec<FieldError> {
    vec![]
}
pub(super) fn job_update(_new: &Value, _old: &Value) -> Vec<FieldError> {
    vec![]
}
pub(super) fn deployment_defaults(_set: &mut Value) {}
pub(super) fn replica_set_defaults(_set: &mut Value) {}
pub(super) fn set_validate(_set: &Value) -> Vec<FieldError> {
    vec![]
}
pub(super) fn set_update(_new: &Value, _old: &Value) -> Vec<FieldError> {
    vec![]
}
