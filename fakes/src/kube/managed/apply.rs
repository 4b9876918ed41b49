//! Server-side apply: a configuration is merged into what is there, and its fields are the applier's.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Entry, Set,
    compare::{self, Merge, Schema, compare, field, item, key_of},
    object, read_all, strip, write_all,
};
use crate::{
    Response,
    kube::{
        Call, KubeApi,
        admission::Webhooks,
        status::Refusal,
        watch::shown,
        write::{By, Part},
    },
};

impl KubeApi {
    /// Applies the request's configuration to an object, or makes it.
    pub(crate) fn apply(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
        part: Part,
    ) -> Result<Response, Refusal> {
        if call.request.query("fieldManager").unwrap_or("").is_empty() {
            return Err(Refusal::manager_required());
        }
        let target = &call.target;
        let body = call.request.body.clone().unwrap_or(Value::Null);
        let mut config = self.read_object(call, body)?;
        if object::name(&config) != name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({name})",
                object::name(&config)
            )));
        }
        let Some(old) = self.store.get(target.kind, target.namespace, name).cloned() else {
            return self.create(call, hooks);
        };
        if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let new = self.merged(call, &old, &config, part)?;
        let stored = self.replace(call, hooks, &old, new, part, By::Patch)?;
        Ok(Response { status: 200, body: shown(target.kind, target.version, &stored) })
    }

    /// The object with the configuration in it, and with its new managers.
    fn merged(
        &self,
        call: &Call<'_>,
        old: &Arc<Value>,
        config: &Value,
        part: Part,
    ) -> Result<Value, Refusal> {
        let kind = call.target.kind;
        let schema = compare::root(kind);
        let mut applier = self.writer(call, part);
        compare::leaves(schema, config, &mut vec![], &mut applier.fields);
        strip(kind, part, &mut applier.fields);
        let mut new = merge(schema, old, config, &mut vec![]);
        let mut others = read_all(old);
        let before = others.iter().position(|entry| entry.is(&applier)).map(|at| others.remove(at));
        let mut changed = compare(schema, old, &new).set;
        changed.retain(|path| applier.fields.contains(path));
        if call.request.query("force") != Some("true") {
            refuse_conflicts(&others, &changed)?;
        }
        for entry in &mut others {
            entry.fields.retain(|path| !changed.contains(path));
        }
        if let Some(before) = before {
            prune(&mut new, &before.fields, &applier.fields, &others);
            if before.fields == applier.fields && changed.is_empty() {
                applier.time = before.time;
            }
        }
        others.push(applier);
        object::metadata_mut(&mut new).insert("managedFields".into(), write_all(others));
        Ok(new)
    }
}

fn refuse_conflicts(others: &[Entry], changed: &Set) -> Result<(), Refusal> {
    let mut conflicts = vec![];
    for entry in others {
        let mut who = format!("conflict with \"{}\"", entry.manager);
        if !entry.subresource.is_empty() {
            who = format!("{who} with subresource \"{}\"", entry.subresource);
        }
        if entry.operation == "Update" {
            who = format!("{who} using {}", entry.version);
        }
        let mine = entry.fields.intersection(changed);
        conflicts.extend(mine.map(|path| (who.clone(), printed(path))));
    }
    if conflicts.is_empty() {
        return Ok(());
    }
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(who, path)| json!({"reason": "FieldManagerConflict", "message": who, "field": path}))
        .collect();
    let text = match conflicts.as_slice() {
        [(who, path)] => format!("Apply failed with 1 conflict: {who}: {path}"),
        many => {
            let mut text = format!("Apply failed with {} conflicts: ", many.len());
            let mut last = "";
            for (who, path) in many {
                if who != last {
                    let break_ = if last.is_empty() { "" } else { "\n" };
                    text += &format!("{break_}{}:", who.replacen("conflict ", "conflicts ", 1));
                }
                last = who;
                text += &format!("\n- {path}");
            }
            text
        }
    };
    Err(Refusal::apply_conflict(text, &causes))
}

/// A path as people read it: `.spec.containers[name="web"].image`.
fn printed(path: &[String]) -> String {
    let part = |part: &String| match part.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("k", keys)) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let pairs: Vec<String> = keys.iter().map(|(key, it)| format!("{key}={it}")).collect();
            format!("[{}]", pairs.join(","))
        }
        Some((_, value)) => format!("[={value}]"),
        None => part.clone(),
    };
    path.iter().map(part).collect()
}

/// `live` with everything that `config` says.
fn merge(schema: Schema, live: &Value, config: &Value, path: &mut Vec<String>) -> Value {
    match (compare::merge(schema, config), live, config) {
        (Merge::Map, Value::Object(live), Value::Object(config)) => {
            let mut merged = live.clone();
            for (key, value) in config {
                let inner = field(schema, key, path);
                path.push(key.clone());
                let value = merge(inner, live.get(key).unwrap_or(&Value::Null), value, path);
                path.pop();
                merged.insert(key.clone(), value);
            }
            Value::Object(merged)
        }
        (Merge::Keyed(keys), Value::Array(live), Value::Array(config)) => {
            let mut merged = live.clone();
            for value in config {
                let key = key_of(&keys, value);
                match merged.iter_mut().find(|known| key_of(&keys, known) == key) {
                    Some(known) => *known = merge(item(schema), known, value, path),
                    None => merged.push(value.clone()),
                }
            }
            Value::Array(merged)
        }
        (Merge::Set, Value::Array(live), Value::Array(config)) => {
            let new = config.iter().filter(|value| !live.contains(value));
            Value::Array(live.iter().chain(new).cloned().collect())
        }
        (Merge::Map | Merge::Keyed(_) | Merge::Set | Merge::Whole, _, config) => config.clone(),
    }
}

/// Takes away what the applier gave before, gives no more, and nobody else has.
fn prune(new: &mut Value, before: &Set, now: &Set, others: &[Entry]) {
    let kept = |path: &Vec<String>| {
        now.contains(path) || others.iter().any(|entry| entry.fields.contains(path))
    };
    // What lies deeper goes first, so that a map that holds nothing any more can follow.
    for path in before.iter().rev().filter(|path| !kept(path)) {
        let holds_more = before.range(path.clone()..).nth(1);
        let is_container = holds_more.is_some_and(|next| next.starts_with(path));
        remove(new, path, is_container);
    }
}

fn remove(value: &mut Value, path: &[String], only_if_empty: bool) {
    let Some((first, rest)) = path.split_first() else { return };
    let emptied = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    match (value, first.split_once(':')) {
        (Value::Object(map), Some(("f", key))) => match map.get_mut(key) {
            Some(inner) if !rest.is_empty() => remove(inner, rest, only_if_empty),
            Some(inner) if !only_if_empty || emptied(inner) => {
                map.remove(key);
            }
            Some(_) | None => {}
        },
        (Value::Array(list), Some(("k", keys))) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let is = |it: &Value| keys.iter().all(|(key, value)| it.get(key) == Some(value));
            if rest.is_empty() {
                list.retain(|it| !is(it));
            } else if let Some(inner) = list.iter_mut().find(|it| is(it)) {
                remove(inner, rest, only_if_empty);
            }
        }
        (Value::Array(list), Some(("v", text))) => {
            let given: Value = serde_json::from_str(text).unwrap_or_default();
            list.retain(|it| *it != given);
        }
        _ => {}
    }
}
