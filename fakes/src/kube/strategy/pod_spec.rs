//! The spec of pods, alone or in a workload's template: defaults and validation.

use serde_json::{Map, Value, json};

use super::resources;
use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule},
};

/// Fills in what a pod template left open.
pub(super) fn defaults(spec: &mut Map<String, Value>) {
    object::default(spec, "dnsPolicy", "ClusterFirst");
    object::default(spec, "restartPolicy", "Always");
    object::default(spec, "schedulerName", "default-scheduler");
    object::default(spec, "securityContext", json!({}));
    object::default(spec, "terminationGracePeriodSeconds", 30);
    for key in ["containers", "initContainers"] {
        let list = spec.get_mut(key).and_then(Value::as_array_mut);
        let containers = list.into_iter().flatten().filter_map(Value::as_object_mut);
        containers.for_each(container_defaults);
    }
}

fn container_defaults(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or("");
    let last = image.rsplit('/').next().unwrap_or("");
    let latest = !last.contains('@') && (!last.contains(':') || last.ends_with(":latest"));
    let pull = if latest { "Always" } else { "IfNotPresent" };
    object::default(container, "imagePullPolicy", pull);
    object::default(container, "resources", json!({}));
    object::default(container, "terminationMessagePath", "/dev/termination-log");
    object::default(container, "terminationMessagePolicy", "File");
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        object::default(port, "protocol", "TCP");
    }
    if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
        resources::defaults(resources);
    }
}

/// What is wrong with a pod's spec; `field` says where it lies.
pub(super) fn validate(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    if items(spec, &["containers"]).is_empty() {
        errors.push(FieldError::required(format!("{field}.containers"), ""));
    }
    let mut names = vec![];
    for key in ["containers", "initContainers"] {
        for (index, container) in items(spec, &[key]).iter().enumerate() {
            let field = format!("{field}.{key}[{index}]");
            let name = text(container, &["name"]);
            if names.contains(&name) && !name.is_empty() {
                errors.push(FieldError::duplicate(format!("{field}.name"), name));
            }
            names.push(name);
            errors.extend(container_errors(container, &field));
        }
    }
    let policy = text(spec, &["restartPolicy"]);
    let policies = ["Always", "OnFailure", "Never"];
    if !policies.contains(&policy) {
        errors.push(FieldError::unsupported(format!("{field}.restartPolicy"), policy, &policies));
    }
    let deadline = at(spec, &["activeDeadlineSeconds"]);
    if let Some(secs) = deadline.filter(|secs| !is_within(secs, 1)) {
        let why = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(format!("{field}.activeDeadlineSeconds"), secs, why));
    }
    errors.extend(toleration_errors(spec, field));
    errors
}

fn is_within(value: &Value, least: i64) -> bool {
    let range = least..=i64::from(i32::MAX);
    value.as_i64().is_some_and(|value| range.contains(&value))
}

fn container_errors(container: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let name = text(container, &["name"]);
    if name.is_empty() {
        errors.push(FieldError::required(format!("{field}.name"), ""));
    } else if let Some(why) = NameRule::Label.check(name) {
        errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
    }
    if text(container, &["image"]).is_empty() {
        errors.push(FieldError::required(format!("{field}.image"), ""));
    }
    let pull = text(container, &["imagePullPolicy"]);
    let known = ["Always", "IfNotPresent", "Never"];
    if !known.contains(&pull) {
        errors.push(FieldError::unsupported(format!("{field}.imagePullPolicy"), pull, &known));
    }
    errors.extend(resources::validate(&container["resources"], &format!("{field}.resources")));
    errors
}

fn toleration_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (index, toleration) in items(spec, &["tolerations"]).iter().enumerate() {
        let field = format!("{field}.tolerations[{index}]");
        let word = |key| text(toleration, &[key]);
        if word("key").is_empty() && word("operator") != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values \
                       and all keys\"";
            let operator = word("operator").into();
            errors.push(FieldError::invalid(format!("{field}.operator"), &operator, why));
        }
        let operators = ["Equal", "Exists", "Lt", "Gt"];
        if !word("operator").is_empty() && !operators.contains(&word("operator")) {
            let field = format!("{field}.operator");
            errors.push(FieldError::unsupported(field, word("operator"), &operators));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if !word("effect").is_empty() && !effects.contains(&word("effect")) {
            let field = format!("{field}.effect");
            errors.push(FieldError::unsupported(field, word("effect"), &effects));
        }
    }
    errors
}
