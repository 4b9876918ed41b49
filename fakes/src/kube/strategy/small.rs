//! Kinds with little of their own.

use serde_json::{Value, json};

use crate::kube::{
    object::{self, at, items, text},
    validate::FieldError,
};

/// Fills in what a Service left open. It gets no address: nothing routes here.
pub(super) fn service_defaults(service: &mut Value) {
    let spec = object::map_mut(service, "spec");
    object::default(spec, "type", "ClusterIP");
    object::default(spec, "sessionAffinity", "None");
    object::default(spec, "internalTrafficPolicy", "Cluster");
    object::default(spec, "ipFamilies", json!(["IPv4"]));
    object::default(spec, "ipFamilyPolicy", "SingleStack");
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        object::default(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or(Value::Null);
        object::default(port, "targetPort", number);
    }
}

/// Fills in what a RoleBinding or ClusterRoleBinding left open.
pub(super) fn binding_defaults(binding: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    object::default(object::map_mut(binding, "roleRef"), "apiGroup", GROUP);
    let subjects = binding.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten().filter_map(Value::as_object_mut) {
        if subject.get("kind").is_some_and(|kind| kind != "ServiceAccount") {
            object::default(subject, "apiGroup", GROUP);
        }
    }
}

/// Every namespace carries its name as a label, for selectors.
pub(super) fn namespace_defaults(namespace: &mut Value) {
    let name = object::name(namespace).to_owned();
    if !name.is_empty() {
        let labels = object::metadata_mut(namespace).entry("labels").or_insert(json!({}));
        labels["kubernetes.io/metadata.name"] = name.into();
    }
    object::default(object::map_mut(namespace, "spec"), "finalizers", json!(["kubernetes"]));
}

pub(super) fn namespace_prepare(namespace: &mut Value) {
    namespace["status"] = json!({"phase": "Active"});
}

pub(super) fn node_validate(node: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut seen = vec![];
    for (index, taint) in items(node, &["spec", "taints"]).iter().enumerate() {
        let field = format!("spec.taints[{index}]");
        let (key, effect) = (text(taint, &["key"]), text(taint, &["effect"]));
        if key.is_empty() {
            errors
                .push(FieldError::required(format!("{field}.key"), "name part must be non-empty"));
        }
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if effect.is_empty() {
            errors.push(FieldError::required(format!("{field}.effect"), ""));
        } else if !known.contains(&effect) {
            errors.push(FieldError::unsupported(format!("{field}.effect"), effect, &known));
        }
        if seen.contains(&(key, effect)) {
            errors.push(FieldError::duplicate(field, &taint.to_string()));
        }
        seen.push((key, effect));
    }
    errors
}

pub(super) fn event_validate(event: &Value) -> Vec<FieldError> {
    let about = text(event, &["involvedObject", "namespace"]);
    let within = object::namespace(event);
    // Events about cluster-wide objects live in `default`.
    let fits = about == within || (about.is_empty() && within == "default");
    match fits {
        true => vec![],
        false => vec![FieldError::invalid(
            "involvedObject.namespace",
            &about.into(),
            "does not match event.namespace",
        )],
    }
}

pub(super) fn config_map_validate(map: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in ["data", "binaryData"] {
        for (name, value) in at(map, &[key]).and_then(Value::as_object).into_iter().flatten() {
            if !value.is_string() {
                let field = format!("{key}[{name}]");
                errors.push(FieldError::invalid(field, value, "must be a string"));
            }
        }
    }
    errors
}

pub(super) fn config_map_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let fixed = old.get("immutable") == Some(&Value::Bool(true));
    let changed =
        new.get("data") != old.get("data") || new.get("immutable") != old.get("immutable");
    match fixed && changed {
        false => vec![],
        true => vec![FieldError::forbidden("data", "field is immutable when `immutable` is set")],
    }
}

pub(super) fn lease_validate(lease: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    for (key, least) in [("leaseDurationSeconds", 1), ("leaseTransitions", 0)] {
        let value = at(lease, &["spec", key]);
        if value.is_some_and(|value| value.as_i64().is_none_or(|value| value < least)) {
            let why = match least {
                0 => "must be greater than or equal to 0",
                _ => "must be greater than 0",
            };
            let value = value.cloned().unwrap_or_default();
            errors.push(FieldError::invalid(format!("spec.{key}"), &value, why));
        }
    }
    errors
}

pub(super) fn priority_class_defaults(class: &mut Value) {
    if let Some(map) = class.as_object_mut() {
        object::default(map, "preemptionPolicy", "PreemptLowerPriority");
    }
}

pub(super) fn priority_class_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in ["value", "preemptionPolicy"] {
        if new.get(key) != old.get(key) {
            errors.push(FieldError::forbidden(key, "may not be changed in an update."));
        }
    }
    errors
}

pub(super) fn pod_group_validate(group: &Value) -> Vec<FieldError> {
    let least = at(group, &["spec", "minMember"]);
    match least.is_some_and(|least| least.as_i64().is_none_or(|least| least < 1)) {
        false => vec![],
        true => vec![FieldError::invalid(
            "spec.minMember",
            least.unwrap_or(&Value::Null),
            "spec.minMember in body should be greater than or equal to 1",
        )],
    }
}

pub(super) fn node_set_validate(set: &Value) -> Vec<FieldError> {
    let replicas = at(set, &["spec", "replicas"]);
    let mut errors = vec![];
    if replicas.is_some_and(|count| count.as_i64().is_none_or(|count| count < 0)) {
        errors.push(FieldError::invalid(
            "spec.replicas",
            replicas.unwrap_or(&Value::Null),
            "spec.replicas in body should be greater than or equal to 0",
        ));
    }
    errors
}
