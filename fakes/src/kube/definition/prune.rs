//! Structural schemas at work on objects: defaults are filled in, unknown fields go.
//! The fields that every object has (`apiVersion`, `kind`, `metadata`) are none of a schema's business.

use serde_json::{Map, Value};

use super::OWN;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Fills in what the schema gives a default for.
pub(crate) fn defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, part) in schema["properties"].as_object().into_iter().flatten() {
                let empty = match map.get(key) {
                    None => true,
                    Some(Value::Null) => part["nullable"] != true,
                    Some(_) => false,
                };
                if !part["default"].is_null() && empty {
                    map.insert(key.clone(), part["default"].clone());
                }
                if let Some(inner) = map.get_mut(key) {
                    defaults(part, inner);
                }
            }
            if schema["additionalProperties"].is_object() {
                map.values_mut().for_each(|it| defaults(&schema["additionalProperties"], it));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|it| defaults(&schema["items"], it)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Drops the fields of an object that the schema doesn't know; gives back their paths.
pub(crate) fn object(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut unknown = vec![];
    if let Some(map) = object.as_object_mut() {
        prune_map(schema, map, "", &mut unknown, true);
    }
    unknown
}

/// Drops the fields of any value that the schema doesn't know.
pub(super) fn value(schema: &Value, value: &mut Value) {
    prune_value(schema, value, "", &mut vec![]);
}

fn prune_value(schema: &Value, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let whole = schema["x-kubernetes-embedded-resource"] == true;
            prune_map(schema, map, path, unknown, whole);
        }
        Value::Array(list) => {
            for (index, item) in list.iter_mut().enumerate() {
                prune_value(&schema["items"], item, &format!("{path}[{index}]"), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn prune_map(
    schema: &Value,
    map: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
    whole: bool,
) {
    // Without a schema for its fields, an object that is kept is kept as it is.
    let open = schema[PRESERVE] == true;
    let more = &schema["additionalProperties"];
    let inner = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    map.retain(|key, value| {
        let known = &schema["properties"][key];
        if whole && OWN.contains(&key.as_str()) {
            return true;
        }
        if known.is_object() {
            prune_value(known, value, &inner(key), unknown);
            return true;
        }
        if more.is_object() {
            prune_value(more, value, &inner(key), unknown);
            return true;
        }
        let kept = open || *more == true;
        if !kept {
            unknown.push(inner(key));
        }
        kept
    });
}
