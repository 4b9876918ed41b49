//! The spec of pods, alone or in a workload's template: what is filled in, and what can't be.

use serde_json::{Map, Value, json};

use super::{containers, placing, resources, volumes};
use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule, labels, qualified_error},
};

/// Fills in what a pod template left open.
pub(super) fn defaults(spec: &mut Map<String, Value>) {
    object::default(spec, "dnsPolicy", "ClusterFirst");
    object::default(spec, "restartPolicy", "Always");
    object::default(spec, "schedulerName", "default-scheduler");
    object::default(spec, "securityContext", json!({}));
    object::default(spec, "terminationGracePeriodSeconds", 30);
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for key in ["containers", "initContainers"] {
        let list = spec.get_mut(key).and_then(Value::as_array_mut);
        for container in list.into_iter().flatten().filter_map(Value::as_object_mut) {
            containers::defaults(container, host_network);
        }
    }
    if let Some(amounts) = spec.get_mut("resources").and_then(Value::as_object_mut) {
        resources::defaults(amounts);
    }
    let list = spec.get_mut("volumes").and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut).for_each(volumes::defaults);
    let spread = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
    for constraint in spread.into_iter().flatten().filter_map(Value::as_object_mut) {
        object::default(constraint, "nodeAffinityPolicy", "Honor");
        object::default(constraint, "nodeTaintsPolicy", "Ignore");
    }
    let tolerations = spec.get_mut("tolerations").and_then(Value::as_array_mut);
    for toleration in tolerations.into_iter().flatten().filter_map(Value::as_object_mut) {
        // An operator that isn't given is Equal, and stays ungiven.
        if toleration.get("operator").is_some_and(|it| it == "") {
            toleration.remove("operator");
        }
    }
}

/// What is wrong with a pod's spec; `field` says where it lies.
pub(super) fn validate(spec: &Value, field: &str) -> Vec<FieldError> {
    let at_field = |key: &str| format!("{field}.{key}");
    let mut errors = volumes::validate(spec, &at_field("volumes"));
    errors.extend(claim_errors(spec, &at_field("resourceClaims")));
    errors.extend(containers::validate(spec, field));
    errors.extend(word_errors(spec, field));
    errors.extend(labels(at(spec, &["nodeSelector"]), &at_field("nodeSelector")));
    errors.extend(placing::affinity_errors(&spec["affinity"], &at_field("affinity")));
    errors.extend(gate_errors(spec, field));
    errors.extend(placing::spread_errors(spec, &at_field("topologySpreadConstraints")));
    errors.extend(name_errors(spec, field));
    let deadline = at(spec, &["activeDeadlineSeconds"]);
    if let Some(secs) = deadline.filter(|secs| !is_within(secs, 1)) {
        let why = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(at_field("activeDeadlineSeconds"), secs, why));
    }
    errors.extend(placing::toleration_errors(spec, field));
    if at(spec, &["resources"]).is_some() {
        errors.extend(resources::validate(&spec["resources"], &at_field("resources")));
    }
    errors
}

fn is_within(value: &Value, least: i64) -> bool {
    let range = least..=i64::from(i32::MAX);
    value.as_i64().is_some_and(|value| range.contains(&value))
}

/// Words of which there are only some.
fn word_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let rows: [(&str, &[&str], bool); 3] = [
        ("restartPolicy", &["Always", "OnFailure", "Never"], true),
        ("dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], true),
        ("preemptionPolicy", &["PreemptLowerPriority", "Never"], false),
    ];
    let mut errors = vec![];
    for (key, known, needed) in rows {
        let word = text(spec, &[key]);
        if (needed || !word.is_empty()) && !known.contains(&word) {
            errors.push(FieldError::unsupported(format!("{field}.{key}"), word, known));
        }
    }
    errors
}

/// Names that have to be names.
fn name_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let rows = [
        ("serviceAccountName", NameRule::Subdomain),
        ("nodeName", NameRule::Subdomain),
        ("hostname", NameRule::Label),
        ("subdomain", NameRule::Label),
        ("priorityClassName", NameRule::Subdomain),
        ("runtimeClassName", NameRule::Subdomain),
    ];
    let mut errors = vec![];
    for (key, rule) in rows {
        let name = text(spec, &[key]);
        if let Some(why) = rule.check(name).filter(|_| !name.is_empty()) {
            errors.push(FieldError::invalid(format!("{field}.{key}"), &name.into(), &why));
        }
    }
    errors
}

fn gate_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (key, name_key) in [("readinessGates", "conditionType"), ("schedulingGates", "name")] {
        let mut seen = vec![];
        for (index, gate) in items(spec, &[key]).iter().enumerate() {
            let name = text(gate, &[name_key]);
            let field = format!("{field}.{key}[{index}].{name_key}");
            if let Some(why) = qualified_error(name) {
                errors.push(FieldError::invalid(field, &name.into(), &why));
            } else if key == "schedulingGates" && seen.contains(&name) {
                let field = field.trim_end_matches(".name").to_owned();
                errors.push(FieldError::duplicate(field, name));
            }
            seen.push(name);
        }
    }
    errors
}

fn claim_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut seen = vec![];
    for (index, claim) in items(spec, &["resourceClaims"]).iter().enumerate() {
        let field = format!("{field}[{index}]");
        let name = text(claim, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        } else if seen.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        } else if let Some(why) = NameRule::Label.check(name) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
        }
        seen.push(name);
        let set = ["resourceClaimName", "resourceClaimTemplateName"];
        match set.iter().filter(|key| !text(claim, &[key]).is_empty()).count() {
            1 => {}
            0 => {
                let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                errors.push(FieldError::invalid_unshown(field, why));
            }
            _ => {
                let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be \
                           specified";
                errors.push(FieldError::invalid_unshown(field, why));
            }
        }
    }
    errors
}
