//! Pods: their first status, and the little of their spec that may change.

use serde_json::{Value, json};

use super::{pod_spec, resources};
use crate::kube::{
    object::{self, at, items, text},
    validate::FieldError,
};

/// Fills in what the client left open.
pub(super) fn defaults(pod: &mut Value) {
    let spec = object::map_mut(pod, "spec");
    pod_spec::defaults(spec);
    object::default(spec, "enableServiceLinks", true);
    object::default(spec, "serviceAccountName", "default");
    let account = spec["serviceAccountName"].clone();
    object::default(spec, "serviceAccount", account);
}

/// A new pod is pending, whatever the client says.
pub(super) fn prepare(pod: &mut Value) {
    let quality = resources::quality(&pod["spec"]);
    let gated = !items(pod, &["spec", "schedulingGates"]).is_empty();
    pod["status"] = json!({"phase": "Pending", "qosClass": quality});
    if gated {
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
}

/// What is wrong with a pod.
pub(super) fn validate(pod: &Value) -> Vec<FieldError> {
    pod_spec::validate(&pod["spec"], "spec")
}

const FIXED: &str = "pod updates may not change fields other than \
     `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
     `spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// What is wrong with a change of a pod's spec.
pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&new["spec"], &old["spec"]);
    if new == old {
        return vec![];
    }
    let mut errors = vec![];
    for key in ["containers", "initContainers"] {
        if items(new, &[key]).len() != items(old, &[key]).len() {
            let why = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(format!("spec.{key}"), why));
            return errors;
        }
    }
    errors.extend(deadline_error(new, old));
    errors.extend(toleration_error(new, old));
    errors.extend(gate_error(new, old));
    if with_changeable_of(old, new) != *old {
        errors.push(FieldError::forbidden("spec", FIXED));
    }
    errors
}

fn deadline_error(new: &Value, old: &Value) -> Option<FieldError> {
    let field = "spec.activeDeadlineSeconds";
    let secs = |spec| at(spec, &["activeDeadlineSeconds"]).and_then(Value::as_i64);
    match (secs(new), secs(old)) {
        (Some(new), Some(old)) if new > old => {
            let why = format!("must be less than or equal to previous value of {old}");
            Some(FieldError::invalid(field, &new.into(), &why))
        }
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            Some(FieldError::invalid(field, &Value::Null, why))
        }
        (Some(_) | None, _) => None,
    }
}

fn toleration_error(new: &Value, old: &Value) -> Option<FieldError> {
    let same = |one: &Value, other: &Value| {
        let fields = ["key", "operator", "value", "effect"];
        fields.iter().all(|key| one.get(key) == other.get(key))
    };
    let now = items(new, &["tolerations"]);
    let kept = |toleration: &Value| now.iter().any(|other| same(toleration, other));
    let lost = items(old, &["tolerations"]).iter().any(|toleration| !kept(toleration));
    lost.then(|| {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        FieldError::forbidden("spec.tolerations", why)
    })
}

fn gate_error(new: &Value, old: &Value) -> Option<FieldError> {
    let had = items(old, &["schedulingGates"]);
    let added = items(new, &["schedulingGates"]).iter().find(|gate| !had.contains(gate))?;
    let name = text(added, &["name"]);
    Some(FieldError::forbidden(
        "spec.schedulingGates",
        &format!("only deletion is allowed, but found new scheduling gate '{name}'"),
    ))
}

/// `new` with everything that may change as it was in `old`: equal to `old` if nothing else changed.
fn with_changeable_of(old: &Value, new: &Value) -> Value {
    let mut kept = new.clone();
    if let Some(map) = kept.as_object_mut() {
        for key in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            object::copy_field(map, Some(old), key);
        }
        if old["terminationGracePeriodSeconds"].as_i64().is_some_and(|secs| secs < 0) {
            object::copy_field(map, Some(old), "terminationGracePeriodSeconds");
        }
    }
    for key in ["containers", "initContainers"] {
        let list = kept.get_mut(key).and_then(Value::as_array_mut);
        let pairs = list.into_iter().flatten().zip(items(old, &[key]));
        for (container, before) in pairs {
            if let Some(map) = container.as_object_mut() {
                object::copy_field(map, Some(before), "image");
            }
        }
    }
    kept
}
