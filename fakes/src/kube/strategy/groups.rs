//! Groups of pods and the workloads that hold their templates; claims for devices.

use serde_json::Value;

use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule},
};

/// Fills in what a group of pods left open.
pub(super) fn group_defaults(group: &mut Value) {
    let spec = object::map_mut(group, "spec");
    object::default(spec, "disruptionMode", serde_json::json!({"single": {}}));
}

/// What is wrong with a group of pods.
pub(super) fn group_validate(group: &Value) -> Vec<FieldError> {
    policy_errors(&group["spec"]["schedulingPolicy"], "spec.schedulingPolicy")
}

/// What may not change in a group of pods.
pub(super) fn spec_update(new: &Value, old: &Value) -> Vec<FieldError> {
    match new["spec"] == old["spec"] {
        true => vec![],
        false => vec![FieldError::invalid("spec", &new["spec"], "field is immutable")],
    }
}

fn policy_errors(policy: &Value, field: &str) -> Vec<FieldError> {
    let (basic, gang) = (at(policy, &["basic"]), at(policy, &["gang"]));
    match (basic, gang) {
        (None, None) => {
            let why = "must specify one of: `basic`, `gang`";
            vec![FieldError::invalid(field, &"".into(), why)]
        }
        (Some(_), Some(_)) => {
            let why = "must specify exactly one of: `basic`, `gang`";
            vec![FieldError::invalid(field, &"{basic, gang}".into(), why)]
        }
        (Some(_), None) => vec![],
        (None, Some(gang)) => match gang["minCount"].as_i64() {
            Some(count) if count >= 1 => vec![],
            None => vec![FieldError::required(format!("{field}.gang.minCount"), "")],
            Some(count) => {
                let field = format!("{field}.gang.minCount");
                let why = "must be greater than or equal to 1";
                vec![FieldError::invalid(field, &count.into(), why)]
            }
        },
    }
}

/// What is wrong with a workload.
pub(super) fn workload_validate(workload: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let templates = items(workload, &["spec", "podGroupTemplates"]);
    if templates.is_empty() {
        errors.push(FieldError::required("spec.podGroupTemplates", ""));
    }
    if templates.len() > 8 {
        errors.push(FieldError::too_many("spec.podGroupTemplates", templates.len(), 8));
    }
    let mut names = vec![];
    for (index, template) in templates.iter().enumerate() {
        let field = format!("spec.podGroupTemplates[{index}]");
        let name = text(template, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        } else if let Some(why) = NameRule::Label.check(name) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
        } else if names.contains(&name) {
            errors.push(FieldError::duplicate_value(field.clone(), template));
        }
        names.push(name);
        let policy = &template["schedulingPolicy"];
        errors.extend(policy_errors(policy, &format!("{field}.schedulingPolicy")));
    }
    errors
}

/// Fills in what a claim for devices left open.
pub(super) fn claim_defaults(claim: &mut Value) {
    request_defaults(&mut claim["spec"]);
}

/// Fills in what a template of such claims left open.
pub(super) fn template_defaults(template: &mut Value) {
    let spec = object::map_mut(template, "spec");
    if let Some(spec) = spec.get_mut("spec") {
        request_defaults(spec);
    }
}

fn request_defaults(spec: &mut Value) {
    let requests = spec.get_mut("devices").and_then(|it| it.get_mut("requests"));
    let requests = requests.and_then(Value::as_array_mut);
    for request in requests.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(exactly) = request.get_mut("exactly").and_then(Value::as_object_mut) {
            object::default(exactly, "allocationMode", "ExactCount");
            if exactly["allocationMode"] == "ExactCount" {
                object::default(exactly, "count", 1);
            }
        }
    }
}

/// What is wrong with a claim for devices.
pub(super) fn claim_validate(claim: &Value) -> Vec<FieldError> {
    request_errors(&claim["spec"], "spec")
}

/// A claim's spec stays, and its devices until they have been taken out.
pub(super) fn claim_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = spec_update(new, old);
    let of = |claim: &Value| claim["status"]["allocation"].clone();
    let (now, before) = (of(new), of(old));
    if !before.is_null() && !now.is_null() && now != before {
        errors.push(FieldError::invalid("status.allocation", &now, "field is immutable"));
    }
    errors
}

/// What is wrong with a template of such claims.
pub(super) fn template_validate(template: &Value) -> Vec<FieldError> {
    request_errors(&template["spec"]["spec"], "spec.spec")
}

fn request_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let requests = items(spec, &["devices", "requests"]);
    if requests.len() > 32 {
        errors.push(FieldError::too_many(format!("{field}.devices.requests"), requests.len(), 32));
    }
    let mut names = vec![];
    for (index, request) in requests.iter().enumerate() {
        let field = format!("{field}.devices.requests[{index}]");
        let name = text(request, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        } else if let Some(why) = NameRule::Label.check(name) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
        } else if names.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        }
        names.push(name);
        let (exactly, any) =
            (at(request, &["exactly"]), items(request, &["firstAvailable"]).is_empty());
        match (exactly, any) {
            (None, true) => {
                let why = "exactly one of `exactly` or `firstAvailable` is required";
                errors.push(FieldError::required(field, why));
            }
            (Some(_), false) => {
                let why = "exactly one of `exactly` or `firstAvailable` is required, but multiple \
                           fields are set";
                errors.push(FieldError::invalid_unshown(field, why));
            }
            (Some(exactly), true) => {
                if text(exactly, &["deviceClassName"]).is_empty() {
                    let field = format!("{field}.exactly.deviceClassName");
                    errors.push(FieldError::required(field, ""));
                }
                if exactly["count"].as_i64().is_some_and(|count| count < 1) {
                    let field = format!("{field}.exactly.count");
                    let why = "must be greater than zero";
                    errors.push(FieldError::invalid(field, &exactly["count"], why));
                }
            }
            (None, false) => {}
        }
    }
    errors
}

/// What is wrong with a slice of devices.
pub(super) fn slice_validate(slice: &Value) -> Vec<FieldError> {
    let spec = &slice["spec"];
    let mut errors = vec![];
    if text(spec, &["driver"]).is_empty() {
        errors.push(FieldError::required("spec.driver", ""));
    }
    if text(spec, &["pool", "name"]).is_empty() {
        errors.push(FieldError::required("spec.pool.name", ""));
    }
    if spec["pool"]["resourceSliceCount"].as_i64().is_none_or(|count| count < 1) {
        let field = "spec.pool.resourceSliceCount";
        let value = spec["pool"]["resourceSliceCount"].as_i64().unwrap_or(0).into();
        errors.push(FieldError::invalid(field, &value, "must be greater than zero"));
    }
    let set = [
        !text(spec, &["nodeName"]).is_empty(),
        at(spec, &["nodeSelector"]).is_some(),
        spec["allNodes"] == true,
        spec["perDeviceNodeSelection"] == true,
    ];
    let choices = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`";
    match set.iter().filter(|it| **it).count() {
        0 => {
            let why = format!("exactly one of {choices} is required");
            errors.push(FieldError::required("spec", &why));
        }
        1 => {}
        _ => {
            let why = format!("exactly one of {choices} is required, but multiple fields are set");
            errors.push(FieldError::invalid_unshown("spec", &why));
        }
    }
    errors
}
