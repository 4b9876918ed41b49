//! What is wrong with an object, as its schema says: types, bounds, patterns, formats, alternatives.

use serde_json::{Map, Value};

use super::{OWN, formats, list_item};
use crate::kube::{object::items, validate::FieldError};

/// What is wrong with an object. What was there before and hasn't changed may stay as it is.
pub(crate) fn validate(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = vec![];
    check(schema, object, old, "", &mut errors);
    errors
}

fn child(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

fn check(
    schema: &Value,
    value: &Value,
    old: Option<&Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if value.is_null() && (schema["nullable"] == true || path.is_empty()) {
        return;
    }
    if !path.is_empty() && old == Some(value) {
        return;
    }
    if let Some(wrong) = wrong_type(schema, value) {
        let wanted = match schema["x-kubernetes-int-or-string"] == true {
            true => "integer,string",
            false => schema["type"].as_str().unwrap_or(""),
        };
        let why = format!("{path} in body must be of type {wanted}: \"{wrong}\"");
        errors.push(FieldError::mistyped(path, wrong, &why));
        return;
    }
    check_plain(schema, value, path, errors);
    check_alternatives(schema, value, path, errors);
    match value {
        Value::Object(map) => check_map(schema, map, old, path, errors),
        Value::Array(list) => check_list(schema, list, old, path, errors),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Everything about a value that needs no look inside it.
fn check_plain(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    check_number(schema, value, path, errors);
    check_text(schema, value, path, errors);
    let choices = items(schema, &["enum"]);
    if !choices.is_empty() && !choices.contains(value) {
        errors.push(FieldError::unsupported_value(path, value, choices));
    }
}

fn check_map(
    schema: &Value,
    map: &Map<String, Value>,
    old: Option<&Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for key in items(schema, &["required"]).iter().filter_map(Value::as_str) {
        if !map.contains_key(key) {
            errors.push(FieldError::required(child(path, key), ""));
        }
    }
    check_count(schema, map.len(), "Properties", path, errors);
    let own = path.is_empty() || schema["x-kubernetes-embedded-resource"] == true;
    for (key, value) in map {
        if own && OWN.contains(&key.as_str()) {
            continue;
        }
        let before = old.and_then(|old| old.get(key));
        match schema["properties"].get(key) {
            Some(part) => check(part, value, before, &child(path, key), errors),
            None => {
                let more = &schema["additionalProperties"];
                check(more, value, before, &child(path, key), errors);
            }
        }
    }
}

fn check_list(
    schema: &Value,
    list: &[Value],
    old: Option<&Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    check_count(schema, list.len(), "Items", path, errors);
    for (index, item) in list.iter().enumerate() {
        let before = old.and_then(|old| list_item(schema, old, item));
        check(&schema["items"], item, before, &format!("{path}[{index}]"), errors);
    }
    let keys: Vec<&str> = match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => vec![],
        Some("map") => items(schema, &["x-kubernetes-list-map-keys"])
            .iter()
            .filter_map(Value::as_str)
            .collect(),
        _ => return,
    };
    let key_of = |item: &Value| -> Value {
        if keys.is_empty() {
            return item.clone();
        }
        let pair = |key: &&str| Some(((*key).to_owned(), item.get(*key)?.clone()));
        Value::Object(keys.iter().filter_map(pair).collect())
    };
    let mut seen: Vec<Value> = vec![];
    for (index, item) in list.iter().enumerate() {
        let key = key_of(item);
        if seen.contains(&key) {
            errors.push(FieldError::duplicate_value(format!("{path}[{index}]"), &key));
        }
        seen.push(key);
    }
}

/// The type that a value has, if it isn't the one that the schema wants.
fn wrong_type(schema: &Value, value: &Value) -> Option<&'static str> {
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_f64().is_some_and(|it| it.fract() != 0.0) => "number",
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
    let mut refuse = |why: String| {
        errors.push(FieldError::invalid(path, value, &format!("{path} in body should be {why}")));
    };
    let least = schema["exclusiveMinimum"] == true;
    if bound("minimum").is_some_and(|it| number < it || least && number <= it) {
        let or = if least { "" } else { " or equal to" };
        refuse(format!("greater than{or} {}", schema["minimum"]));
    }
    let most = schema["exclusiveMaximum"] == true;
    if bound("maximum").is_some_and(|it| number > it || most && number >= it) {
        let or = if most { "" } else { " or equal to" };
        refuse(format!("less than{or} {}", schema["maximum"]));
    }
    if bound("multipleOf").is_some_and(|it| it != 0.0 && (number / it).fract() != 0.0) {
        refuse(format!("a multiple of {}", schema["multipleOf"]));
    }
}

fn check_text(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(text) = value.as_str() else { return };
    let size = text.chars().count() as u64;
    if let Some(least) = schema["minLength"].as_u64().filter(|least| size < *least) {
        let why = format!("{path} in body should be at least {least} chars long");
        errors.push(FieldError::invalid(path, value, &why));
    }
    if let Some(most) = schema["maxLength"].as_u64().filter(|most| size > *most) {
        errors.push(FieldError::too_long(path, most));
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && !regex::Regex::new(pattern).is_ok_and(|it| it.is_match(text))
    {
        let why = format!("{path} in body should match '{pattern}'");
        errors.push(FieldError::invalid(path, value, &why));
    }
    let format = schema["format"].as_str().unwrap_or("");
    if !formats::fits(format, text) {
        let why = format!("{path} in body must be of type {format}: \"{text}\"");
        errors.push(FieldError::invalid(path, value, &why));
    }
}

fn check_count(schema: &Value, size: usize, what: &str, path: &str, errors: &mut Vec<FieldError>) {
    let bound = |way: &str| schema[format!("{way}{what}")].as_u64();
    let unit = what.to_lowercase();
    if let Some(least) = bound("min").filter(|least| (size as u64) < *least) {
        let why = format!("{path} in body should have at least {least} {unit}");
        errors.push(FieldError::invalid(path, &size.into(), &why));
    }
    if let Some(most) = bound("max").filter(|most| size as u64 > *most) {
        errors.push(FieldError::too_many(path, size, most));
    }
}

/// All of, any of, one of, none of.
fn check_alternatives(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let good = |schema: &Value| {
        let mut errors = vec![];
        check(schema, value, None, path, &mut errors);
        errors.is_empty()
    };
    let mut refuse = |why: &str| {
        let why = format!("{path} in body {why}");
        errors.push(FieldError::invalid(path, value, &why));
    };
    let all = items(schema, &["allOf"]);
    if !all.iter().all(good) {
        refuse("must validate all the schemas (allOf)");
    }
    let any = items(schema, &["anyOf"]);
    if !any.is_empty() && !any.iter().any(good) {
        refuse("must validate at least one schema (anyOf)");
    }
    let one = items(schema, &["oneOf"]);
    match one.iter().filter(|schema| good(schema)).count() {
        _ if one.is_empty() => {}
        0 => refuse("must validate one and only one schema (oneOf). Found none valid"),
        1 => {}
        n => refuse(&format!(
            "must validate one and only one schema (oneOf). Found {n} valid alternatives"
        )),
    }
    if schema["not"].is_object() && good(&schema["not"]) {
        refuse("must not validate the schema (not)");
    }
}
