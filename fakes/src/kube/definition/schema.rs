//! Structural schemas: defaults, pruning, validation. The fields that every object has
//! (`apiVersion`, `kind`, `metadata`) are none of a schema's business.

use serde_json::{Map, Value};

use crate::kube::{object::items, validate::FieldError};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
/// What every object has.
const OWN: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Fills in what the schema gives a default for.
pub(crate) fn defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, part) in schema["properties"].as_object().into_iter().flatten() {
                if !part["default"].is_null() && map.get(key).is_none_or(Value::is_null) {
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
pub(crate) fn prune(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut unknown = vec![];
    if let Some(map) = object.as_object_mut() {
        prune_map(schema, map, "", &mut unknown, true);
    }
    unknown
}

fn prune_value(schema: &Value, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => prune_map(schema, map, path, unknown, false),
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
    root: bool,
) {
    let open = schema[PRESERVE] == true;
    let more = &schema["additionalProperties"];
    let inner = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    map.retain(|key, value| {
        let known = &schema["properties"][key];
        if root && OWN.contains(&key.as_str()) {
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
        if !open && *more != true {
            unknown.push(inner(key));
        }
        open || *more == true
    });
}

/// What is wrong with an object.
pub(crate) fn validate(schema: &Value, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    check(schema, value, path, &mut errors);
    errors
}

fn check(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if value.is_null() && (schema["nullable"] == true || path.is_empty()) {
        return;
    }
    if let Some(wrong) = wrong_type(schema, value) {
        let wanted = schema["type"].as_str().unwrap_or("");
        let why = format!("{path} in body must be of type {wanted}: \"{wrong}\"");
        errors.push(FieldError::mistyped(path, wrong, &why));
        return;
    }
    check_number(schema, value, path, errors);
    check_text(schema, value, path, errors);
    let choices = items(schema, &["enum"]);
    if !choices.is_empty() && !choices.contains(value) {
        let known: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        errors.push(FieldError::unsupported(path, value.as_str().unwrap_or(""), &known));
    }
    match value {
        Value::Object(map) => check_map(schema, map, path, errors),
        Value::Array(list) => {
            check_size(schema, list.len(), "Items", path, value, errors);
            for (index, item) in list.iter().enumerate() {
                check(&schema["items"], item, &format!("{path}[{index}]"), errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_map(schema: &Value, map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    let inner = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    for key in items(schema, &["required"]).iter().filter_map(Value::as_str) {
        if !map.contains_key(key) {
            errors.push(FieldError::required(inner(key), ""));
        }
    }
    for (key, value) in map {
        if path.is_empty() && OWN.contains(&key.as_str()) {
            continue;
        }
        let known = schema["properties"].get(key);
        let part = known.unwrap_or(&schema["additionalProperties"]);
        check(part, value, &inner(key), errors);
    }
}

/// The type that a value has, if it isn't the one that the schema wants.
fn wrong_type(schema: &Value, value: &Value) -> Option<&'static str> {
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if schema["x-kubernetes-int-or-string"] == true {
        return (!["integer", "string"].contains(&is)).then_some(is);
    }
    match schema["type"].as_str() {
        None => None,
        Some("number") if is == "integer" => None,
        Some(wanted) => (wanted != is).then_some(is),
    }
}

fn check_number(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(number) = value.as_f64() else { return };
    let bound = |key: &str| schema[key].as_f64();
    if bound("minimum").is_some_and(|least| number < least) {
        let why =
            format!("{path} in body should be greater than or equal to {}", schema["minimum"]);
        errors.push(FieldError::invalid(path, value, &why));
    }
    if bound("maximum").is_some_and(|most| number > most) {
        let why = format!("{path} in body should be less than or equal to {}", schema["maximum"]);
        errors.push(FieldError::invalid(path, value, &why));
    }
}

fn check_text(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(text) = value.as_str() else { return };
    check_size(schema, text.chars().count(), "Length", path, value, errors);
}

fn check_size(
    schema: &Value,
    size: usize,
    what: &str,
    path: &str,
    value: &Value,
    errors: &mut Vec<FieldError>,
) {
    let bound = |way: &str| schema[format!("{way}{what}")].as_u64();
    let unit = if what == "Items" { "items" } else { "chars long" };
    if let Some(least) = bound("min").filter(|least| (size as u64) < *least) {
        let why = format!("{path} in body should be at least {least} {unit}");
        errors.push(FieldError::invalid(path, value, &why));
    }
    if let Some(most) = bound("max").filter(|most| size as u64 > *most) {
        let why = format!("{path} in body should be at most {most} {unit}");
        errors.push(FieldError::invalid(path, value, &why));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "replicas": {"type": "integer", "minimum": 0, "default": 1},
            "template": {"type": "object", PRESERVE: true},
            "mode": {"type": "string", "enum": ["a", "b"]},
        }}}})
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let mut object =
            json!({"kind": "X", "spec": {"extra": 1, "template": {"any": 1}}, "odd": 2});
        assert_eq!(prune(&schema(), &mut object), ["odd", "spec.extra"]);
        assert_eq!(object, json!({"kind": "X", "spec": {"template": {"any": 1}}}));
    }

    #[test]
    fn defaults_fill_what_is_open() {
        let mut object = json!({"spec": {}});
        defaults(&schema(), &mut object);
        assert_eq!(object, json!({"spec": {"replicas": 1}}));
    }

    #[test]
    fn what_is_wrong_is_said_in_the_servers_words() {
        let object = json!({"spec": {"replicas": -1, "mode": "c", "template": "no"}});
        let errors = validate(&schema(), &object, "");
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(texts.join("\n"), @r#"
        spec.mode: Unsupported value: "c": supported values: "a", "b"
        spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0
        spec.template: Invalid value: "string": spec.template in body must be of type object: "string"
        "#);
    }
}
