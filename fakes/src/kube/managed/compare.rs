//! Which fields an object has, and which differ between two, as far as schemas tell maps and lists
//! that are merged from those that are replaced whole.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::Set;
use crate::kube::{kinds::Kind, schemas};

/// A schema, where there is one.
pub(super) type Schema = Option<&'static Value>;

/// A field that tells a list's items apart, and what it is in items that don't say.
pub(super) struct Key {
    name: &'static str,
    default: Option<&'static Value>,
}

/// How a value is merged.
pub(super) enum Merge {
    /// Field by field.
    Map,
    /// Item by item, told apart by these keys.
    Keyed(Vec<Key>),
    /// Item by item, each a value of its own.
    Set,
    /// All at once.
    Whole,
}

/// The schema of a kind's objects.
pub(super) fn root(kind: &Kind) -> Schema {
    if let Some(schema) = kind.schema(kind.stored_version()) {
        return Some(schema);
    }
    let group = if kind.alias.is_empty() { kind.group } else { "" };
    schemas::all().get(schemas::name(group, kind.stored_version(), kind.kind)?)
}

/// The schema of a field.
pub(super) fn field(schema: Schema, key: &str, path: &[String]) -> Schema {
    if key == "metadata" && path.is_empty() {
        return schemas::all().get("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    }
    let schema = schemas::resolve(schema?);
    let known = schema.get("properties").and_then(|all| all.get(key));
    known.or_else(|| schema.get("additionalProperties")).map(schemas::resolve)
}

/// The schema of a list's items.
pub(super) fn item(schema: Schema) -> Schema {
    schemas::resolve(schema?).get("items").map(schemas::resolve)
}

/// How a value is merged.
pub(super) fn merge(schema: Schema, value: &Value) -> Merge {
    static NOTHING: OnceLock<Value> = OnceLock::new();
    let schema = schema.unwrap_or_else(|| NOTHING.get_or_init(|| json!({})));
    match value {
        Value::Object(_) if schema["x-kubernetes-map-type"] == "atomic" => Merge::Whole,
        Value::Object(_) => Merge::Map,
        Value::Array(_) => match schema["x-kubernetes-list-type"].as_str() {
            Some("map") => Merge::Keyed(keys(schema)),
            Some("set") => Merge::Set,
            _ => Merge::Whole,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Merge::Whole,
    }
}

fn keys(schema: &'static Value) -> Vec<Key> {
    let names = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
    let default = |name| field(item(Some(schema)), name, &["item".into()])?.get("default");
    names.filter_map(Value::as_str).map(|name| Key { name, default: default(name) }).collect()
}

/// A list's item as a part of a path.
pub(super) fn key_of(keys: &[Key], item: &Value) -> String {
    let value = |key: &Key| item.get(key.name).filter(|it| !it.is_null()).or(key.default).cloned();
    let parts: serde_json::Map<String, Value> =
        keys.iter().filter_map(|key| Some((key.name.to_owned(), value(key)?))).collect();
    format!("k:{}", Value::Object(parts))
}

/// The parts of a value with their names, if it has parts.
fn parts<'a>(
    schema: Schema,
    value: &'a Value,
    path: &[String],
) -> Option<Vec<(String, Schema, &'a Value)>> {
    match (merge(schema, value), value) {
        (Merge::Map, Value::Object(map)) => Some(
            map.iter()
                .map(|(key, inner)| (format!("f:{key}"), field(schema, key, path), inner))
                .collect(),
        ),
        (Merge::Keyed(keys), Value::Array(list)) => {
            Some(list.iter().map(|it| (key_of(&keys, it), item(schema), it)).collect())
        }
        (Merge::Set, Value::Array(list)) => {
            Some(list.iter().map(|it| (format!("v:{it}"), None, it)).collect())
        }
        (Merge::Map | Merge::Keyed(_) | Merge::Set | Merge::Whole, _) => None,
    }
}

/// The fields that a configuration gives: the leaves, and the items of lists.
pub(super) fn leaves(schema: Schema, value: &Value, path: &mut Vec<String>, to: &mut Set) {
    let inner = parts(schema, value, path).filter(|parts| !parts.is_empty());
    let is_item = path.last().is_some_and(|last| last.starts_with("k:"));
    if (inner.is_none() || is_item) && !path.is_empty() {
        to.insert(path.clone());
    }
    for (name, schema, value) in inner.into_iter().flatten() {
        path.push(name);
        leaves(schema, value, path, to);
        path.pop();
    }
}

/// All fields, with the maps and lists that they lie in.
fn all(schema: Schema, value: &Value, path: &mut Vec<String>, to: &mut Set) {
    if !path.is_empty() {
        to.insert(path.clone());
    }
    for (name, schema, value) in parts(schema, value, path).into_iter().flatten() {
        path.push(name);
        all(schema, value, path, to);
        path.pop();
    }
}

/// How two objects differ.
#[derive(Default)]
pub(super) struct Difference {
    /// Fields that are new or have another value.
    pub(super) set: Set,
    /// Fields that are gone.
    pub(super) removed: Set,
}

/// What must be set and removed to get from one object to another.
pub(super) fn compare(schema: Schema, old: &Value, new: &Value) -> Difference {
    let mut difference = Difference::default();
    walk(schema, old, new, &mut vec![], &mut difference);
    difference
}

fn walk(schema: Schema, old: &Value, new: &Value, path: &mut Vec<String>, to: &mut Difference) {
    if old == new {
        return;
    }
    let after = parts(schema, new, path);
    let before = if old.is_null() { Some(vec![]) } else { parts(schema, old, path) };
    let (Some(before), Some(after)) = (before, after) else {
        if new.is_null() {
            all(schema, old, path, &mut to.removed);
        } else {
            to.set.insert(path.clone());
        }
        return;
    };
    for (name, schema, value) in &after {
        path.push(name.clone());
        match before.iter().find(|(known, _, _)| known == name) {
            Some((_, _, old)) => walk(*schema, old, value, path, to),
            None => all(*schema, value, path, &mut to.set),
        }
        path.pop();
    }
    for (name, schema, value) in &before {
        if !after.iter().any(|(known, _, _)| known == name) {
            path.push(name.clone());
            all(*schema, value, path, &mut to.removed);
            path.pop();
        }
    }
}

/// An object with the empty parts that every object of its kind has.
pub(super) fn completed(kind: &Kind, object: &Value) -> Value {
    let mut object = object.clone();
    if let (Value::Object(own), Value::Object(parts)) = (&mut object, skeleton(kind)) {
        for (key, value) in parts {
            own.entry(key).or_insert(value);
        }
    }
    object
}

/// What an object of a kind has before anybody gave it anything: what Go writes of an empty one.
pub(super) fn skeleton(kind: &Kind) -> Value {
    let template = json!({"metadata": {}, "spec": {"containers": null}});
    match kind.key {
        _ if kind.custom => json!({"metadata": {}}),
        "pods" => json!({"metadata": {}, "spec": {"containers": null}, "status": {}}),
        "deployments.apps" => {
            json!({"metadata": {}, "spec": {"strategy": {}, "template": template}, "status": {}})
        }
        "statefulsets.apps" | "daemonsets.apps" => {
            let spec = json!({"updateStrategy": {}, "template": template});
            json!({"metadata": {}, "spec": spec, "status": {}})
        }
        "replicasets.apps" | "jobs.batch" => {
            json!({"metadata": {}, "spec": {"template": template}, "status": {}})
        }
        _ => json!({"metadata": {}, "spec": {}, "status": {}}),
    }
}
