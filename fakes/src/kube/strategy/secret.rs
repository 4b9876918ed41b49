//! Secrets and ConfigMaps: maps of texts and bytes.

use serde_json::{Value, json};

use crate::kube::{
    base64,
    object::{self, at, text},
    validate::FieldError,
};

/// The most that one of them may hold.
const LARGEST: usize = 1024 * 1024;

/// Fills in what a Secret left open: what was given as text is kept as bytes.
pub(super) fn defaults(secret: &mut Value) {
    let Some(map) = secret.as_object_mut() else { return };
    object::default(map, "type", "Opaque");
    let Some(Value::Object(texts)) = map.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    let data = map.entry("data").or_insert(json!({}));
    for (key, value) in texts {
        let coded = base64::encode(value.as_str().unwrap_or("").as_bytes());
        if data.is_object() {
            data[key] = coded.into();
        }
    }
}

/// What is wrong with a Secret.
pub(super) fn validate(secret: &Value) -> Vec<FieldError> {
    let mut errors = key_errors(secret, "data");
    let mut size = 0;
    for (key, value) in at(secret, &["data"]).and_then(Value::as_object).into_iter().flatten() {
        match value.as_str().and_then(base64::decode) {
            Some(bytes) => size += bytes.len(),
            None => {
                let field = format!("data[{key}]");
                errors.push(FieldError::invalid(field, value, "illegal base64 data"));
            }
        }
    }
    if size > LARGEST {
        errors.push(FieldError::too_long("data", LARGEST as u64));
    }
    let needed: &[&str] = match text(secret, &["type"]) {
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    for key in needed.iter().filter(|key| at(secret, &["data", key]).is_none()) {
        errors.push(FieldError::required(format!("data[{key}]"), ""));
    }
    if text(secret, &["type"]) == "kubernetes.io/service-account-token" {
        let account = "kubernetes.io/service-account.name";
        if text(secret, &["metadata", "annotations", account]).is_empty() {
            let field = format!("metadata.annotations[{account}]");
            errors.push(FieldError::required(field, ""));
        }
    }
    errors
}

/// What may not change in a Secret.
pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = fixed(new, old, &["data"]);
    if new.get("type") != old.get("type") {
        errors.push(FieldError::invalid("type", &new["type"], "field is immutable"));
    }
    errors
}

/// What is wrong with a ConfigMap.
pub(super) fn config_map_validate(map: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut size = 0;
    for key in ["data", "binaryData"] {
        errors.extend(key_errors(map, key));
        for (name, value) in at(map, &[key]).and_then(Value::as_object).into_iter().flatten() {
            size += value.as_str().map_or(0, str::len);
            let field = format!("{key}[{name}]");
            if key == "data" && at(map, &["binaryData", name]).is_some() {
                let why = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(field, &name.as_str().into(), why));
            } else if !value.is_string() {
                errors.push(FieldError::invalid(field, value, "must be a string"));
            }
        }
    }
    if size > LARGEST {
        errors.push(FieldError::too_long("", LARGEST as u64));
    }
    errors
}

/// What may not change in a ConfigMap.
pub(super) fn config_map_update(new: &Value, old: &Value) -> Vec<FieldError> {
    fixed(new, old, &["data", "binaryData"])
}

fn key_errors(object: &Value, field: &str) -> Vec<FieldError> {
    let keys = at(object, &[field]).and_then(Value::as_object).into_iter().flatten();
    let wrong = keys.filter_map(|(key, _)| {
        let why = key_error(key)?;
        Some(FieldError::invalid(format!("{field}[{key}]"), &key.as_str().into(), &why))
    });
    wrong.collect()
}

/// What is wrong with a key of a Secret or ConfigMap.
pub(super) fn key_error(key: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if key.len() > 253 {
        return Some("must be no more than 253 bytes".to_owned());
    }
    if key.is_empty() || !key.bytes().all(plain) {
        return Some(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
             'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
             '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match key {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        key if key.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

/// What was made immutable stays as it is.
fn fixed(new: &Value, old: &Value, keys: &[&str]) -> Vec<FieldError> {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return vec![];
    }
    let why = "field is immutable when `immutable` is set";
    let mut errors = vec![];
    if new.get("immutable") != old.get("immutable") {
        errors.push(FieldError::forbidden("immutable", why));
    }
    let changed = keys.iter().filter(|key| new.get(*key) != old.get(*key));
    errors.extend(changed.map(|key| FieldError::forbidden(*key, why)));
    errors
}
