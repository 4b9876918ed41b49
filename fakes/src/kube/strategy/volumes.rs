//! Volumes of pods and where containers mount them.

use serde_json::{Map, Value, json};

use super::storage;
use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule},
};

/// Fills in what a volume left open.
pub(super) fn defaults(volume: &mut Map<String, Value>) {
    if volume.len() == 1 && volume.contains_key("name") {
        volume.insert("emptyDir".into(), json!({}));
    }
    for key in ["configMap", "secret", "projected", "downwardAPI"] {
        if let Some(source) = volume.get_mut(key).and_then(Value::as_object_mut) {
            object::default(source, "defaultMode", 420);
        }
    }
    if let Some(path) = volume.get_mut("hostPath").and_then(Value::as_object_mut) {
        object::default(path, "type", "");
    }
    let sources = volume.get_mut("projected").and_then(|it| it.get_mut("sources"));
    for source in sources.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(token) = source.get_mut("serviceAccountToken").and_then(Value::as_object_mut) {
            object::default(token, "expirationSeconds", 3600);
        }
        if let Some(fields) = source.get_mut("downwardAPI") {
            field_defaults(fields);
        }
    }
    if let Some(fields) = volume.get_mut("downwardAPI") {
        field_defaults(fields);
    }
    let claim = volume.get_mut("ephemeral").and_then(|it| it.get_mut("volumeClaimTemplate"));
    if let Some(claim) = claim {
        storage::claim_defaults(claim);
    }
}

fn field_defaults(source: &mut Value) {
    let list = source.get_mut("items").and_then(Value::as_array_mut);
    for item in list.into_iter().flatten() {
        if let Some(field) = item.get_mut("fieldRef").and_then(Value::as_object_mut) {
            object::default(field, "apiVersion", "v1");
        }
    }
}

/// The names of a pod's volumes.
pub(super) fn names(spec: &Value) -> Vec<&str> {
    items(spec, &["volumes"]).iter().map(|volume| text(volume, &["name"])).collect()
}

/// What is wrong with a pod's volumes.
pub(super) fn validate(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut seen = vec![];
    for (index, volume) in items(spec, &["volumes"]).iter().enumerate() {
        let field = format!("{field}[{index}]");
        errors.extend(source_errors(volume, &field));
        let name = text(volume, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        } else if let Some(why) = NameRule::Label.check(name) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
        }
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        }
        seen.push(name);
    }
    errors
}

fn source_errors(volume: &Value, field: &str) -> Vec<FieldError> {
    let keys = volume.as_object().into_iter().flat_map(|map| map.keys());
    let sources: Vec<&String> = keys.filter(|key| *key != "name").collect();
    let mut errors = vec![];
    match sources.as_slice() {
        [] => errors.push(FieldError::required(field, "must specify a volume type")),
        [_] => {}
        [_, more, ..] => {
            let why = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(format!("{field}.{more}"), why));
        }
    }
    let needed = [
        ("configMap", "name"),
        ("secret", "secretName"),
        ("persistentVolumeClaim", "claimName"),
        ("hostPath", "path"),
        ("nfs", "server"),
        ("nfs", "path"),
        ("csi", "driver"),
    ];
    for (source, key) in needed {
        if at(volume, &[source]).is_some() && text(volume, &[source, key]).is_empty() {
            errors.push(FieldError::required(format!("{field}.{source}.{key}"), ""));
        }
    }
    if text(volume, &["hostPath", "path"]).split('/').any(|part| part == "..") {
        let path = text(volume, &["hostPath", "path"]).into();
        let field = format!("{field}.hostPath.path");
        errors.push(FieldError::invalid(field, &path, "must not contain '..'"));
    }
    if let Some(claim) = at(volume, &["ephemeral", "volumeClaimTemplate"]) {
        let field = format!("{field}.ephemeral.volumeClaimTemplate.spec");
        errors.extend(storage::spec_errors(&claim["spec"], &field));
    }
    errors
}

/// What is wrong with where a container mounts volumes.
pub(super) fn mount_errors(container: &Value, volumes: &[&str], field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut paths = vec![];
    for (index, mount) in items(container, &["volumeMounts"]).iter().enumerate() {
        let field = format!("{field}.volumeMounts[{index}]");
        let (name, path) = (text(mount, &["name"]), text(mount, &["mountPath"]));
        if name.is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        }
        if !volumes.contains(&name) {
            errors.push(FieldError::not_found(format!("{field}.name"), name));
        }
        if path.is_empty() {
            errors.push(FieldError::required(format!("{field}.mountPath"), ""));
        }
        if paths.contains(&path) {
            let field = format!("{field}.mountPath");
            errors.push(FieldError::invalid(field, &path.into(), "must be unique"));
        }
        paths.push(path);
        if text(mount, &["subPath"]).split('/').any(|part| part == "..") {
            let field = format!("{field}.subPath");
            errors.push(FieldError::invalid(field, &mount["subPath"], "must not contain '..'"));
        }
    }
    errors
}
