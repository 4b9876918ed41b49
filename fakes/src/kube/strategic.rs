//! Strategic merge patches: maps merge key by key, lists by what their items are known by.
//!
//! ```text
//!  {"spec": {"containers": [{"name": "a", "image": "x"}]}}     changes the image of container a
//!  {"$patch": "delete", "name": "a"}                           in a list: takes the item out
//!  {"$patch": "replace", …}                                    what was there is gone
//!  "$deleteFromPrimitiveList/finalizers": ["a"]                takes words out of a list of words
//!  "$setElementOrder/containers": […]                          orders what the patch mentions
//! ```

use std::{iter, mem};

use serde_json::{Map, Value};

/// How a list merges.
#[derive(Clone, Copy)]
enum ListRule {
    /// Items are maps known by this key.
    Keyed(&'static str),
    /// Items are words; the list is a set.
    Set,
    /// The patch's list replaces what was there.
    Atomic,
}

/// The rule of a list, by the field that it lies in. What isn't here is atomic.
fn rule(field: &str, parent: &str) -> ListRule {
    match (parent, field) {
        ("spec", "ports") => ListRule::Keyed("port"),
        (_, "ports") => ListRule::Keyed("containerPort"),
        (
            _,
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "env"
            | "volumes"
            | "imagePullSecrets"
            | "schedulingGates"
            | "resourceClaims"
            | "secrets"
            | "webhooks"
            | "matchConditions",
        ) => ListRule::Keyed("name"),
        (_, "volumeMounts") => ListRule::Keyed("mountPath"),
        (_, "volumeDevices") => ListRule::Keyed("devicePath"),
        (_, "conditions" | "addresses") => ListRule::Keyed("type"),
        (_, "taints") => ListRule::Keyed("key"),
        (_, "ownerReferences") => ListRule::Keyed("uid"),
        (_, "topologySpreadConstraints") => ListRule::Keyed("topologyKey"),
        (_, "hostAliases" | "podIPs" | "hostIPs") => ListRule::Keyed("ip"),
        (_, "finalizers" | "podCIDRs") => ListRule::Set,
        _ => ListRule::Atomic,
    }
}

const DIRECTIVE: &str = "$patch";
const ORDER: &str = "$setElementOrder/";
const DELETE_WORDS: &str = "$deleteFromPrimitiveList/";
const RETAIN_KEYS: &str = "$retainKeys";

/// Merges `patch` into `object`.
pub(crate) fn merge(object: &mut Value, patch: &Value) -> Result<(), String> {
    merge_map(object, patch, "")
}

fn merge_map(object: &mut Value, patch: &Value, field: &str) -> Result<(), String> {
    let Some(patch) = patch.as_object() else {
        *object = patch.clone();
        return Ok(());
    };
    match patch.get(DIRECTIVE).map(|word| word.as_str().unwrap_or("")) {
        None | Some("merge") => {}
        Some("replace") => {
            *object = without_directives(patch);
            return Ok(());
        }
        Some("delete") => {
            *object = Value::Object(Map::new());
            return Ok(());
        }
        Some(other) => return Err(unknown_directive(other)),
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let map = object.as_object_mut().expect("it was just made a map");
    if let Some(keys) = patch.get(RETAIN_KEYS).and_then(Value::as_array) {
        map.retain(|key, _| keys.iter().any(|kept| kept == key));
    }
    let before = ordered_lists(map, patch);
    for (key, value) in patch {
        merge_field(map, key, value, field)?;
    }
    for (list, had, order) in before {
        if let Some(Value::Array(now)) = map.get_mut(list) {
            arrange(now, order, &had, rule(list, field));
        }
    }
    Ok(())
}

/// The lists that a patch puts into an order, as they were before it, and the order.
fn ordered_lists<'a>(
    map: &Map<String, Value>,
    patch: &'a Map<String, Value>,
) -> Vec<(&'a str, Vec<Value>, &'a [Value])> {
    let ordered = patch.iter().filter_map(|(key, order)| {
        let list = key.strip_prefix(ORDER)?;
        let had = map.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
        Some((list, had, order.as_array()?.as_slice()))
    });
    ordered.collect()
}

fn merge_field(
    map: &mut Map<String, Value>,
    key: &str,
    value: &Value,
    parent: &str,
) -> Result<(), String> {
    if key == DIRECTIVE || key == RETAIN_KEYS || key.starts_with(ORDER) {
        return Ok(());
    }
    if let Some(list) = key.strip_prefix(DELETE_WORDS) {
        let words = value.as_array().map_or(&[][..], Vec::as_slice);
        if let Some(Value::Array(had)) = map.get_mut(list) {
            had.retain(|word| !words.contains(word));
        }
        return Ok(());
    }
    match value {
        Value::Null => {
            map.remove(key);
        }
        Value::Object(patch)
            if !map.contains_key(key) && patch.get(DIRECTIVE).is_some_and(|it| it == "delete") => {}
        Value::Object(patch) if patch.get(DIRECTIVE).is_some_and(|it| it == "delete") => {
            map.remove(key);
        }
        Value::Object(_) => merge_map(map.entry(key).or_insert(Value::Null), value, key)?,
        Value::Array(items) => {
            let list = map.entry(key).or_insert(Value::Array(vec![]));
            merge_list(list, items, key, parent)?;
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            map.insert(key.to_owned(), value.clone());
        }
    }
    Ok(())
}

fn merge_list(list: &mut Value, patch: &[Value], field: &str, parent: &str) -> Result<(), String> {
    if !list.is_array() {
        *list = Value::Array(vec![]);
    }
    let had = list.as_array_mut().expect("it was just made a list");
    let before = had.clone();
    match rule(field, parent) {
        ListRule::Atomic => *had = patch.iter().map(plain).collect(),
        ListRule::Set => {
            for word in patch {
                if !had.contains(word) {
                    had.push(word.clone());
                }
            }
            arrange(had, patch, &before, ListRule::Set);
        }
        ListRule::Keyed(key) => {
            if patch.iter().any(is_replace) {
                had.clear();
            }
            for item in patch.iter().filter(|item| !is_replace(item)) {
                merge_item(had, item, key, field)?;
            }
            arrange(had, patch, &before, ListRule::Keyed(key));
        }
    }
    Ok(())
}

/// A list item that only says that what was there is gone.
fn is_replace(item: &Value) -> bool {
    item.get(DIRECTIVE).is_some_and(|word| word == "replace")
        && item.as_object().is_some_and(|map| map.len() == 1)
}

fn merge_item(had: &mut Vec<Value>, item: &Value, key: &str, field: &str) -> Result<(), String> {
    let Some(id) = item.get(key) else {
        return Err(format!("map: {item} does not contain declared merge key: {key}"));
    };
    let place = had.iter().position(|known| known.get(key) == Some(id));
    match (item.get(DIRECTIVE).and_then(Value::as_str), place) {
        (Some("delete"), Some(place)) => {
            had.remove(place);
        }
        (Some("delete"), None) => {}
        (None | Some("merge" | "replace"), Some(place)) => merge_map(&mut had[place], item, field)?,
        (None | Some("merge" | "replace"), None) => {
            let mut made = Value::Null;
            merge_map(&mut made, item, field)?;
            had.push(made);
        }
        (Some(other), _) => return Err(unknown_directive(other)),
    }
    Ok(())
}

/// Puts the items that a patch mentions into its order and the others into the one that they had.
/// One of the others goes first where it stood before the patch's next item; else the patch's does,
/// so that new items come in front.
fn arrange(list: &mut Vec<Value>, order: &[Value], before: &[Value], rule: ListRule) {
    let place = |among: &[Value], item: &Value| {
        among.iter().position(|other| match rule {
            ListRule::Keyed(key) => other.get(key) == item.get(key),
            ListRule::Set | ListRule::Atomic => other == item,
        })
    };
    let (mut ours, mut others): (Vec<_>, Vec<_>) =
        mem::take(list).into_iter().partition(|item| place(order, item).is_some());
    ours.sort_by_key(|item| place(order, item));
    others.sort_by_key(|item| place(before, item));
    let mut others = others.into_iter().peekable();
    for item in ours {
        let stood = place(before, &item);
        let goes_first = |other: &Value| {
            let other = place(before, other);
            other.is_some() && stood.is_some() && other < stood
        };
        list.extend(iter::from_fn(|| others.next_if(goes_first)));
        list.push(item);
    }
    list.extend(others);
}

fn plain(value: &Value) -> Value {
    value.as_object().map_or_else(|| value.clone(), without_directives)
}

fn without_directives(map: &Map<String, Value>) -> Value {
    let kept = map.iter().filter(|(key, _)| !key.starts_with('$'));
    Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn unknown_directive(word: &str) -> String {
    format!("Unknown patch type found: {word}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(object: Value, patch: &Value) -> Value {
        let mut object = object;
        merge(&mut object, patch).unwrap();
        object
    }

    fn check(table: &[(&str, Value, Value, Value)]) {
        for (why, object, patch, expected) in table {
            assert_eq!(merged(object.clone(), patch), *expected, "{why}");
        }
    }

    #[test]
    fn patches_merge_as_the_fields_rule_says() {
        check(&[
            (
                "containers merge by name",
                json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}),
                json!({"containers": [{"name": "b", "image": "2"}]}),
                json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}),
            ),
            (
                "env merges inside",
                json!({"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}]}]}),
                json!({"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}]}),
                json!({"containers": [{"name": "a", "env": [
                    {"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]}]}),
            ),
            (
                "conditions merge by type",
                json!({"conditions": [{"type": "Ready", "status": "False", "reason": "r"}]}),
                json!({"conditions": [{"type": "Ready", "status": "True", "reason": null}]}),
                json!({"conditions": [{"type": "Ready", "status": "True"}]}),
            ),
            (
                "tolerations are replaced",
                json!({"tolerations": [{"key": "a"}]}),
                json!({"tolerations": [{"key": "b"}]}),
                json!({"tolerations": [{"key": "b"}]}),
            ),
            (
                "finalizers are a set",
                json!({"finalizers": ["a/b"]}),
                json!({"finalizers": ["c/d", "a/b"]}),
                json!({"finalizers": ["c/d", "a/b"]}),
            ),
        ]);
    }

    #[test]
    fn directives_replace_delete_and_order() {
        check(&[
            (
                "words are taken out of a list",
                json!({"finalizers": ["a/b", "c/d"]}),
                json!({"$deleteFromPrimitiveList/finalizers": ["a/b"]}),
                json!({"finalizers": ["c/d"]}),
            ),
            (
                "items are taken out by key",
                json!({"taints": [{"key": "a"}, {"key": "b"}]}),
                json!({"taints": [{"$patch": "delete", "key": "a"}]}),
                json!({"taints": [{"key": "b"}]}),
            ),
            (
                "a list is replaced on request",
                json!({"taints": [{"key": "a"}, {"key": "b"}]}),
                json!({"taints": [{"$patch": "replace"}, {"key": "c"}]}),
                json!({"taints": [{"key": "c"}]}),
            ),
            (
                "a map is replaced on request",
                json!({"data": {"a": "1"}}),
                json!({"data": {"$patch": "replace", "b": "2"}}),
                json!({"data": {"b": "2"}}),
            ),
            (
                "a map is deleted on request",
                json!({"data": {"a": "1"}, "b": 1}),
                json!({"data": {"$patch": "delete"}}),
                json!({"b": 1}),
            ),
            (
                "what is mentioned comes in the patch's order, what stood before its first item first",
                json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
                json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}),
                json!({"containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}),
            ),
            (
                "a new item comes in front",
                json!({"containers": [{"name": "a"}, {"name": "b"}]}),
                json!({"containers": [{"name": "c"}]}),
                json!({"containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}),
            ),
            (
                "an item that is changed stays where it is",
                json!({"containers": [{"name": "a"}, {"name": "b"}]}),
                json!({"containers": [{"name": "b", "image": "x"}]}),
                json!({"containers": [{"name": "a"}, {"name": "b", "image": "x"}]}),
            ),
            (
                "null takes a field away",
                json!({"spec": {"unschedulable": true}}),
                json!({"spec": {"unschedulable": null}}),
                json!({"spec": {}}),
            ),
        ]);
    }

    #[test]
    fn an_item_without_its_key_is_refused() {
        let error = merge(&mut json!({}), &json!({"containers": [{"image": "x"}]})).unwrap_err();
        assert!(error.contains("does not contain declared merge key: name"), "{error}");
        let error = merge(&mut json!({}), &json!({"$patch": "explode"})).unwrap_err();
        assert_eq!(error, "Unknown patch type found: explode");
    }
}
