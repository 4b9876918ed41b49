//! Looking into objects: plain JSON, read by path, so that nothing a client sent is lost.

use serde_json::{Map, Value};

/// The text at a path of keys; empty where there is none, as in Go.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or("")
}

/// The value at a path of keys, if it is there and not null.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(object, |value, key| value.get(key))?;
    (!found.is_null()).then_some(found)
}

/// The list at a path of keys; empty where there is none.
pub(crate) fn items<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `metadata.name`.
pub(crate) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// `metadata.namespace`; empty for cluster-wide objects.
pub(crate) fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

/// `metadata.uid`.
pub(crate) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

/// `metadata.resourceVersion`, as text.
pub(crate) fn version(object: &Value) -> &str {
    text(object, &["metadata", "resourceVersion"])
}

/// Whether the object waits to be gone.
pub(crate) fn is_deleting(object: &Value) -> bool {
    at(object, &["metadata", "deletionTimestamp"]).is_some()
}

/// The finalizers that hold the object.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    items(object, &["metadata", "finalizers"]).iter().filter_map(Value::as_str)
}

/// The uids in `metadata.ownerReferences`.
pub(crate) fn owners(object: &Value) -> impl Iterator<Item = &str> {
    items(object, &["metadata", "ownerReferences"]).iter().map(|owner| text(owner, &["uid"]))
}

/// The map under `key`, made if it isn't one.
pub(crate) fn map_mut<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    let slot = field_mut(object, key);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("it was just made a map")
}

/// The slot under `key` of an object, made if it isn't there.
fn field_mut<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let map = object.as_object_mut().expect("it was just made a map");
    map.entry(key).or_insert(Value::Null)
}

/// Puts a value at a path of keys, and makes the maps on the way.
pub(crate) fn set(object: &mut Value, path: &[impl AsRef<str>], value: Value) {
    match path {
        [] => {}
        [last] => {
            *field_mut(object, last.as_ref()) = value;
        }
        [first, rest @ ..] => set(field_mut(object, first.as_ref()), rest, value),
    }
}

/// `metadata`, made if it isn't there.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    map_mut(object, "metadata")
}

/// Puts a value where there is none yet: how defaults are written.
pub(crate) fn default(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    match map.get(key) {
        None | Some(Value::Null) => {
            map.insert(key.into(), value.into());
        }
        Some(_) => {}
    }
}

/// Makes `key` in `to` what it is in `from`: there with the same value, or absent.
pub(crate) fn copy_field(to: &mut Map<String, Value>, from: Option<&Value>, key: &str) {
    match from.and_then(|from| from.get(key)) {
        Some(value) => {
            to.insert(key.into(), value.clone());
        }
        None => {
            to.remove(key);
        }
    }
}
