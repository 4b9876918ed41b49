//! Claims for storage, volumes and their classes.

use serde_json::{Value, json};

use drawbridge_sim::Quantity;

use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule},
};

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// Fills in what a claim left open.
pub(super) fn claim_defaults(claim: &mut Value) {
    object::default(object::map_mut(claim, "spec"), "volumeMode", "Filesystem");
}

/// A new claim has no volume.
pub(super) fn claim_prepare(claim: &mut Value) {
    claim["status"] = json!({"phase": "Pending"});
}

/// What is wrong with a claim.
pub(super) fn claim_validate(claim: &Value) -> Vec<FieldError> {
    spec_errors(&claim["spec"], "spec")
}

/// What is wrong with what a claim asks for, alone or in a template.
pub(super) fn spec_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = mode_errors(spec, field, "at least 1 access mode is required");
    let amount = at(spec, &["resources", "requests", "storage"]);
    let at_amount = format!("{field}.resources[storage]");
    match amount {
        None => errors.push(FieldError::required(at_amount, "")),
        Some(value) => errors.extend(amount_error(value, at_amount)),
    }
    let class = text(spec, &["storageClassName"]);
    if let Some(why) = NameRule::Subdomain.check(class).filter(|_| !class.is_empty()) {
        let field = format!("{field}.storageClassName");
        errors.push(FieldError::invalid(field, &class.into(), &why));
    }
    errors.extend(volume_mode_error(spec, field));
    errors
}

fn mode_errors(spec: &Value, field: &str, none: &str) -> Vec<FieldError> {
    let modes = items(spec, &["accessModes"]);
    let field = format!("{field}.accessModes");
    if modes.is_empty() {
        return vec![FieldError::required(field, none)];
    }
    let words: Vec<&str> = modes.iter().filter_map(Value::as_str).collect();
    let mut errors: Vec<FieldError> = words
        .iter()
        .filter(|mode| !MODES.contains(mode))
        .map(|mode| FieldError::unsupported(&*field, mode, &MODES))
        .collect();
    if words.contains(&"ReadWriteOncePod") && words.len() > 1 {
        let why = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(field, why));
    }
    errors
}

fn amount_error(value: &Value, field: String) -> Option<FieldError> {
    let amount = match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match amount {
        Some(amount) if !amount.is_zero() => None,
        _ => Some(FieldError::invalid(field, value, "must be greater than zero")),
    }
}

fn volume_mode_error(spec: &Value, field: &str) -> Option<FieldError> {
    let (mode, known) = (text(spec, &["volumeMode"]), ["Block", "Filesystem"]);
    let odd = !mode.is_empty() && !known.contains(&mode);
    odd.then(|| FieldError::unsupported(format!("{field}.volumeMode"), mode, &known))
}

/// What may not change in a claim.
pub(super) fn claim_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let fixed = |claim: &Value| {
        let mut spec = claim["spec"].clone();
        if let Some(map) = spec.as_object_mut() {
            map.remove("volumeAttributesClassName");
            map.remove("resources");
            if text(old, &["spec", "volumeName"]).is_empty() {
                map.remove("volumeName");
            }
        }
        spec
    };
    let mut errors = vec![];
    if fixed(new) != fixed(old) {
        let why = "spec is immutable after creation except resources.requests and \
                   volumeAttributesClassName for bound claims";
        errors.push(FieldError::forbidden("spec", why));
    }
    let amount = |claim: &Value| {
        Quantity::parse(text(claim, &["spec", "resources", "requests", "storage"])).ok()
    };
    if amount(new).zip(amount(old)).is_some_and(|(is, was)| is < was) {
        let why = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden("spec.resources.requests.storage", why));
    }
    errors
}

/// Fills in what a volume left open.
pub(super) fn volume_defaults(volume: &mut Value) {
    let spec = object::map_mut(volume, "spec");
    object::default(spec, "persistentVolumeReclaimPolicy", "Retain");
    object::default(spec, "volumeMode", "Filesystem");
}

/// A new volume waits to be looked at.
pub(super) fn volume_prepare(volume: &mut Value) {
    volume["status"] = json!({"phase": "Pending"});
}

/// What is wrong with a volume.
pub(super) fn volume_validate(volume: &Value) -> Vec<FieldError> {
    let spec = &volume["spec"];
    let mut errors = mode_errors(spec, "spec", "");
    match at(spec, &["capacity", "storage"]) {
        None => errors.push(FieldError::required("spec.capacity", "")),
        Some(value) => errors.extend(amount_error(value, "spec.capacity[storage]".into())),
    }
    let plain = [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ];
    let keys = spec.as_object().into_iter().flat_map(|map| map.keys());
    let sources: Vec<&String> = keys.filter(|key| !plain.contains(&key.as_str())).collect();
    match sources.as_slice() {
        [] => errors.push(FieldError::required("spec", "must specify a volume type")),
        [_] => {}
        [_, more, ..] => {
            let why = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(format!("spec.{more}"), why));
        }
    }
    if at(spec, &["local"]).is_some() && at(spec, &["nodeAffinity", "required"]).is_none() {
        errors
            .push(FieldError::required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
    let (policy, known) =
        (text(spec, &["persistentVolumeReclaimPolicy"]), ["Delete", "Recycle", "Retain"]);
    if !known.contains(&policy) {
        let field = "spec.persistentVolumeReclaimPolicy";
        errors.push(FieldError::unsupported(field, policy, &known));
    }
    errors.extend(volume_mode_error(spec, "spec"));
    errors
}

/// What may not change in a volume: where its bytes are.
pub(super) fn volume_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let source = |volume: &Value| {
        let mut spec = volume["spec"].clone();
        if let Some(map) = spec.as_object_mut() {
            for key in [
                "accessModes",
                "capacity",
                "claimRef",
                "mountOptions",
                "nodeAffinity",
                "persistentVolumeReclaimPolicy",
                "storageClassName",
                "volumeAttributesClassName",
                "volumeMode",
            ] {
                map.remove(key);
            }
        }
        spec
    };
    let mut errors = vec![];
    if source(new) != source(old) {
        let why = "spec.persistentvolumesource is immutable after creation";
        errors.push(FieldError::forbidden("spec.persistentvolumesource", why));
    }
    if new["spec"]["volumeMode"] != old["spec"]["volumeMode"] {
        let value = &new["spec"]["volumeMode"];
        errors.push(FieldError::invalid("spec.volumeMode", value, "field is immutable"));
    }
    errors
}

/// Fills in what a class left open.
pub(super) fn class_defaults(class: &mut Value) {
    if let Some(map) = class.as_object_mut() {
        object::default(map, "reclaimPolicy", "Delete");
        object::default(map, "volumeBindingMode", "Immediate");
    }
}

/// What is wrong with a class.
pub(super) fn class_validate(class: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    if text(class, &["provisioner"]).is_empty() {
        errors.push(FieldError::required("provisioner", ""));
    }
    let rows: [(&str, &[&str]); 2] = [
        ("reclaimPolicy", &["Delete", "Retain"]),
        ("volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
    ];
    for (key, known) in rows {
        let word = text(class, &[key]);
        if !known.contains(&word) {
            errors.push(FieldError::unsupported(key, word, known));
        }
    }
    errors
}

/// What may not change in a class.
pub(super) fn class_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in ["parameters", "provisioner", "reclaimPolicy"] {
        if new.get(key) != old.get(key) {
            let why = "updates to parameters are forbidden.";
            let why = why.replace("parameters", key);
            errors.push(FieldError::forbidden(key, &why));
        }
    }
    if new["volumeBindingMode"] != old["volumeBindingMode"] {
        let value = &new["volumeBindingMode"];
        errors.push(FieldError::invalid("volumeBindingMode", value, "field is immutable"));
    }
    errors
}
