//! Whether a schema is structural: every field has a type, and alternatives only narrow what is there.

use serde_json::Value;

use super::{prune, values};
use crate::kube::{object::items, validate::FieldError};

/// Where a schema lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

/// What is wrong with a schema.
pub(super) fn errors(schema: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    walk(schema, Level::Root, field, &mut errors);
    if errors.is_empty() {
        check_defaults(schema, field, true, &mut errors);
    }
    errors
}

fn walk(schema: &Value, level: Level, field: &str, errors: &mut Vec<FieldError>) {
    let Some(map) = schema.as_object() else {
        errors.push(FieldError::invalid(field, schema, "must be a schema"));
        return;
    };
    for key in ["$ref", "definitions", "dependencies", "patternProperties", "id", "$schema"] {
        if map.contains_key(key) {
            let why = format!("{key} is not supported");
            errors.push(FieldError::forbidden(format!("{field}.{key}"), &why));
        }
    }
    if schema["uniqueItems"] == true {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{field}.uniqueItems"), why));
    }
    check_type(schema, level, field, errors);
    check_extensions(schema, field, errors);
    check_pattern(schema, field, errors);
    check_nested(schema, field, errors);
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let field = format!("{field}.properties[{key}]");
        if level == Level::Root && key == "metadata" {
            check_metadata(inner, &field, errors);
            continue;
        }
        walk(inner, Level::Field, &field, errors);
    }
    let more = &schema["additionalProperties"];
    if more.is_object() {
        walk(more, Level::Field, &format!("{field}.additionalProperties"), errors);
    }
    if !more.is_null() && level == Level::Root {
        let why = "must not be used at the root";
        errors.push(FieldError::forbidden(format!("{field}.additionalProperties"), why));
    }
    if more.is_object() && schema["properties"].as_object().is_some_and(|it| !it.is_empty()) {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(format!("{field}.additionalProperties"), why));
    }
    let inner = &schema["items"];
    if !inner.is_null() {
        walk(inner, Level::Item, &format!("{field}.items"), errors);
    } else if schema["type"] == "array" {
        errors.push(FieldError::required(format!("{field}.items"), "must be specified"));
    }
}

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

fn check_type(schema: &Value, level: Level, field: &str, errors: &mut Vec<FieldError>) {
    let at = format!("{field}.type");
    let kind = schema["type"].as_str().unwrap_or("");
    let open = schema["x-kubernetes-int-or-string"] == true
        || schema["x-kubernetes-preserve-unknown-fields"] == true;
    match (kind, level) {
        ("", _) if open => {}
        ("", Level::Root) => errors.push(FieldError::required(at, "must not be empty at the root")),
        ("", Level::Item) => {
            errors.push(FieldError::required(at, "must not be empty for specified array items"));
        }
        ("", Level::Field) => {
            errors.push(FieldError::required(at, "must not be empty for specified object fields"));
        }
        (kind, Level::Root) if kind != "object" => {
            errors.push(FieldError::invalid(at, &kind.into(), "must be object at the root"));
        }
        (kind, _) if !TYPES.contains(&kind) => {
            errors.push(FieldError::unsupported(at, kind, &TYPES));
        }
        _ => {}
    }
}

fn check_extensions(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let at = |key: &str| format!("{field}.{key}");
    let kind = schema["type"].as_str().unwrap_or("");
    let whole = schema["x-kubernetes-preserve-unknown-fields"].clone();
    if whole == false {
        let key = at("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(key, &whole, "must be true or undefined"));
    }
    if schema["x-kubernetes-embedded-resource"] == true {
        if kind != "object" {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::invalid(at("type"), &kind.into(), why));
        }
        if whole != true && schema["properties"].is_null() {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                       x-kubernetes-preserve-unknown-fields";
            errors.push(FieldError::required(at("properties"), why));
        }
    }
    let map_type = schema["x-kubernetes-map-type"].as_str();
    if let Some(given) = map_type.filter(|it| !["atomic", "granular"].contains(it)) {
        let key = at("x-kubernetes-map-type");
        errors.push(FieldError::unsupported(key, given, &["atomic", "granular"]));
    }
    if map_type.is_some() && kind != "object" {
        let why = "must be object if x-kubernetes-map-type is specified";
        errors.push(FieldError::invalid(at("type"), &kind.into(), why));
    }
    check_list_type(schema, kind, field, errors);
}

fn check_list_type(schema: &Value, kind: &str, field: &str, errors: &mut Vec<FieldError>) {
    let at = |key: &str| format!("{field}.{key}");
    let keys = items(schema, &["x-kubernetes-list-map-keys"]);
    let Some(list_type) = schema["x-kubernetes-list-type"].as_str() else {
        if !keys.is_empty() {
            let why = "must be map if x-kubernetes-list-map-keys is non-empty";
            errors.push(FieldError::required(at("x-kubernetes-list-type"), why));
        }
        return;
    };
    let known = ["atomic", "set", "map"];
    if !known.contains(&list_type) {
        errors.push(FieldError::unsupported(at("x-kubernetes-list-type"), list_type, &known));
    }
    if kind != "array" {
        let why = "must be array if x-kubernetes-list-type is specified";
        errors.push(FieldError::invalid(at("type"), &kind.into(), why));
    }
    if list_type == "set"
        && schema["items"]["type"] == "object"
        && schema["items"]["x-kubernetes-map-type"] != "atomic"
    {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let key = at("items.x-kubernetes-map-type");
        errors.push(FieldError::invalid(key, &schema["items"]["x-kubernetes-map-type"], why));
    }
    if list_type != "map" {
        return;
    }
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(at("x-kubernetes-list-map-keys"), why));
    }
    if schema["items"]["type"] != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(at("items.type"), &schema["items"]["type"], why));
    }
    let required = items(&schema["items"], &["required"]);
    for key in keys.iter().filter_map(Value::as_str) {
        let part = &schema["items"]["properties"][key];
        if part.is_null() {
            let why = "entries must all be names of item properties";
            let given = &schema["x-kubernetes-list-map-keys"];
            errors.push(FieldError::invalid(at("x-kubernetes-list-map-keys"), given, why));
        } else if part["default"].is_null() && !required.iter().any(|it| it == key) {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or \
                       be a required property";
            let key = at(&format!("items.properties[{key}].default"));
            errors.push(FieldError::required(key, why));
        }
    }
}

fn check_pattern(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    if let Some(Err(why)) = schema["pattern"].as_str().map(regex::Regex::new) {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(format!("{field}.pattern"), &schema["pattern"], &why));
    }
}

/// Alternatives may narrow values, and may not say anything about types.
fn check_nested(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let either = serde_json::json!([{"type": "integer"}, {"type": "string"}]);
    let int_or_string = schema["x-kubernetes-int-or-string"] == true;
    for key in ["allOf", "anyOf", "oneOf"] {
        if int_or_string && (schema[key] == either || schema[key][0]["anyOf"] == either) {
            continue;
        }
        for (index, inner) in items(schema, &[key]).iter().enumerate() {
            check_inner(inner, &format!("{field}.{key}[{index}]"), errors);
        }
    }
    if schema["not"].is_object() {
        check_inner(&schema["not"], &format!("{field}.not"), errors);
    }
}

fn check_inner(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    for key in [
        "type",
        "default",
        "additionalProperties",
        "nullable",
        "title",
        "description",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-validations",
    ] {
        let set = schema.get(key).is_some_and(|it| *it != false && *it != "");
        if set {
            let why = match key {
                "type" => "must be empty to be structural",
                "nullable" | "x-kubernetes-preserve-unknown-fields" => {
                    "must be false to be structural"
                }
                _ => "must be undefined to be structural",
            };
            errors.push(FieldError::forbidden(format!("{field}.{key}"), why));
        }
    }
    check_pattern(schema, field, errors);
    check_nested(schema, field, errors);
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        check_inner(inner, &format!("{field}.properties[{key}]"), errors);
    }
    if schema["items"].is_object() {
        check_inner(&schema["items"], &format!("{field}.items"), errors);
    }
}

fn check_metadata(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let properties = schema["properties"].as_object();
    let plain = |key: &String| ["name", "generateName"].contains(&key.as_str());
    if properties.is_some_and(|it| !it.keys().all(plain)) {
        let why = "must not specify anything other than name and generateName, but metadata is \
                   implicitly specified";
        errors.push(FieldError::forbidden(field, why));
    }
}

/// Defaults must be values that the schema takes, with nothing in them that it doesn't know.
fn check_defaults(schema: &Value, field: &str, root: bool, errors: &mut Vec<FieldError>) {
    let default = &schema["default"];
    if !default.is_null() {
        let at = format!("{field}.default");
        let mut pruned = default.clone();
        prune::value(schema, &mut pruned);
        if root {
            errors.push(FieldError::forbidden(at, "must not be set in top-level schema"));
        } else if pruned != *default {
            let why = "must not have unknown fields";
            errors.push(FieldError::invalid(at, default, why));
        } else {
            let wrapped = serde_json::json!({"type": "object", "properties": {"default": schema}});
            let value = serde_json::json!({"default": default});
            let found = values::validate(&wrapped, &value, None);
            errors.extend(found.into_iter().map(|error| {
                let inner = error.field.strip_prefix("default").unwrap_or("").to_owned();
                error.moved_to(format!("{field}.default{inner}"))
            }));
        }
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        check_defaults(inner, &format!("{field}.properties[{key}]"), false, errors);
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            check_defaults(&schema[key], &format!("{field}.{key}"), false, errors);
        }
    }
}
