//! Kinds with little of their own.

use serde_json::{Value, json};

use crate::kube::{
    object::{self, at, items, text},
    validate::FieldError,
};

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

/// What is wrong with a role's rules.
pub(super) fn role_validate(role: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let cluster = role["kind"] == "ClusterRole";
    for (index, rule) in items(role, &["rules"]).iter().enumerate() {
        let field = format!("rules[{index}]");
        let empty = |key: &str| items(rule, &[key]).is_empty();
        if empty("verbs") {
            let why = "verbs must contain at least one value";
            errors.push(FieldError::required(format!("{field}.verbs"), why));
        }
        if !empty("nonResourceURLs") {
            if !cluster {
                let why = "namespaced rules cannot apply to non-resource URLs";
                let value = &rule["nonResourceURLs"];
                errors.push(FieldError::invalid(format!("{field}.nonResourceURLs"), value, why));
            }
            if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
                let why = "rules cannot apply to both regular resources and non-resource URLs";
                let value = &rule["nonResourceURLs"];
                errors.push(FieldError::invalid(format!("{field}.nonResourceURLs"), value, why));
            }
            continue;
        }
        if empty("apiGroups") {
            let why = "resource rules must supply at least one api group";
            errors.push(FieldError::required(format!("{field}.apiGroups"), why));
        }
        if empty("resources") {
            let why = "resource rules must supply at least one resource";
            errors.push(FieldError::required(format!("{field}.resources"), why));
        }
    }
    errors
}

/// What is wrong with a binding of a role.
pub(super) fn binding_validate(binding: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let kinds: &[&str] = match binding["kind"] == "ClusterRoleBinding" {
        true => &["ClusterRole"],
        false => &["Role", "ClusterRole"],
    };
    let kind = text(binding, &["roleRef", "kind"]);
    if !kinds.contains(&kind) {
        errors.push(FieldError::unsupported("roleRef.kind", kind, kinds));
    }
    if text(binding, &["roleRef", "name"]).is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    for (index, subject) in items(binding, &["subjects"]).iter().enumerate() {
        let field = format!("subjects[{index}]");
        if text(subject, &["name"]).is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        }
        let (kind, known) = (text(subject, &["kind"]), ["ServiceAccount", "User", "Group"]);
        if !known.contains(&kind) {
            errors.push(FieldError::unsupported(format!("{field}.kind"), kind, &known));
        }
        let alone = binding["kind"] == "ClusterRoleBinding";
        if kind == "ServiceAccount" && alone && text(subject, &["namespace"]).is_empty() {
            errors.push(FieldError::required(format!("{field}.namespace"), ""));
        }
    }
    errors
}

/// What may not change in a binding of a role.
pub(super) fn binding_update(new: &Value, old: &Value) -> Vec<FieldError> {
    match new["roleRef"] == old["roleRef"] {
        true => vec![],
        false => {
            vec![FieldError::invalid("roleRef", &new["roleRef"], "cannot change roleRef")]
        }
    }
}

/// What is wrong with a PriorityClass.
pub(super) fn priority_class_validate(class: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let (name, value) = (object::name(class), class["value"].as_i64().unwrap_or(0));
    let system = ["system-cluster-critical", "system-node-critical"].contains(&name);
    if name.starts_with("system-") && !system {
        let why = "priority class names with 'system-' prefix are reserved for system use only. \
                   error: \"";
        let why = format!("{why}{name}\" is not a known system priority class");
        errors.push(FieldError::forbidden("metadata.name", &why));
    } else if !system && value > 1_000_000_000 {
        let why = "maximum allowed value of a user defined priority is 1000000000";
        errors.push(FieldError::forbidden("value", why));
    }
    let (policy, known) = (text(class, &["preemptionPolicy"]), ["Never", "PreemptLowerPriority"]);
    if !known.contains(&policy) {
        errors.push(FieldError::unsupported("preemptionPolicy", policy, &known));
    }
    errors
}

/// Fills in what an Ingress left open: nothing, but it has no address yet.
pub(super) fn ingress_prepare(ingress: &mut Value) {
    ingress["status"] = json!({"loadBalancer": {}});
}

/// What is wrong with an Ingress.
pub(super) fn ingress_validate(ingress: &Value) -> Vec<FieldError> {
    let spec = &ingress["spec"];
    let mut errors = vec![];
    if items(spec, &["rules"]).is_empty() && at(spec, &["defaultBackend"]).is_none() {
        let why = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid_unshown("spec", why));
    }
    for (index, rule) in items(spec, &["rules"]).iter().enumerate() {
        for (place, path) in items(rule, &["http", "paths"]).iter().enumerate() {
            let field = format!("spec.rules[{index}].http.paths[{place}]");
            let (kind, known) =
                (text(path, &["pathType"]), ["Exact", "ImplementationSpecific", "Prefix"]);
            if kind.is_empty() {
                let why = "pathType must be specified";
                errors.push(FieldError::required(format!("{field}.pathType"), why));
            } else if !known.contains(&kind) {
                errors.push(FieldError::unsupported(format!("{field}.pathType"), kind, &known));
            } else if kind != "ImplementationSpecific" && !text(path, &["path"]).starts_with('/') {
                let why = "must be an absolute path";
                errors.push(FieldError::invalid(format!("{field}.path"), &path["path"], why));
            }
        }
    }
    errors
}

/// Fills in what an EndpointSlice left open.
pub(super) fn slice_defaults(slice: &mut Value) {
    let ports = slice.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        object::default(port, "name", "");
        object::default(port, "protocol", "TCP");
    }
}

/// What is wrong with an EndpointSlice.
pub(super) fn slice_validate(slice: &Value) -> Vec<FieldError> {
    let (kind, known) = (text(slice, &["addressType"]), ["FQDN", "IPv4", "IPv6"]);
    let mut errors = match kind {
        "" => vec![FieldError::required("addressType", "")],
        kind if !known.contains(&kind) => {
            vec![FieldError::unsupported("addressType", kind, &known)]
        }
        _ => vec![],
    };
    for (index, endpoint) in items(slice, &["endpoints"]).iter().enumerate() {
        if items(endpoint, &["addresses"]).is_empty() {
            let field = format!("endpoints[{index}].addresses");
            errors.push(FieldError::required(field, "must contain at least 1 address"));
        }
    }
    errors
}
