//! Pods.

use serde_json::{Value, json};

use crate::kube::{object, validate::FieldError};

pub(super) fn defaults(pod: &mut Value) {
    let spec = object::map_mut(pod, "spec");
    object::default(spec, "schedulerName", "default-scheduler");
    object::default(spec, "restartPolicy", "Always");
    object::default(spec, "terminationGracePeriodSeconds", 30);
}

pub(super) fn prepare(pod: &mut Value) {
    pod["status"] = json!({"phase": "Pending"});
}

pub(super) fn validate(_pod: &Value) -> Vec<FieldError> {
    vec![]
}

pub(super) fn validate_update(_new: &Value, _old: &Value) -> Vec<FieldError> {
    vec![]
}
