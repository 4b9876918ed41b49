//! Objects as tables: the columns that kubectl prints, with their cells already filled in.

mod age;
mod columns;
mod pods;
mod small;
mod stored;
mod workloads;

use std::fmt::Write as _;

use serde_json::{Value, json};

use self::columns::columns;
use super::accept::Include;
use crate::kube::Kind;

/// What cells depend on beside their object.
#[derive(Clone, Copy)]
struct At {
    now: u64,
}

/// Turns one object into its cells.
type Row = fn(At, &Value) -> Vec<Value>;

/// A list or an object as a table; `now` is in seconds since 1970.
pub(crate) fn of(now: u64, kind: &Kind, body: &Value, include: Include) -> Value {
    let at = At { now };
    let objects: Vec<&Value> = match body["items"].as_array() {
        Some(items) => items.iter().collect(),
        None if body["metadata"]["name"].is_null() => vec![],
        None => vec![body],
    };
    let defined = kind.definition.and_then(|it| it.columns(text(&body["apiVersion"])));
    let (heads, rows): (Value, Vec<Vec<Value>>) = match defined {
        Some(printed) => (
            printed.iter().map(columns::custom).collect(),
            objects.iter().map(|it| columns::custom_cells(at, printed, it)).collect(),
        ),
        None => {
            let (heads, row) = columns(kind);
            (heads.into(), objects.iter().map(|object| row(at, object)).collect())
        }
    };
    let rows: Vec<Value> = rows
        .into_iter()
        .zip(&objects)
        .map(|(cells, object)| match include {
            Include::None => json!({"cells": cells, "object": null}),
            Include::Metadata => json!({"cells": cells, "object": metadata_of(object)}),
            Include::Object => json!({"cells": cells, "object": object}),
        })
        .collect();
    let mut metadata = json!({});
    for key in ["resourceVersion", "continue", "remainingItemCount"] {
        if !body["metadata"][key].is_null() {
            metadata[key] = body["metadata"][key].clone();
        }
    }
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": heads, "rows": rows,
    })
}

fn metadata_of(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}

/// A list or an object with its metadata alone.
pub(crate) fn partial(body: &Value) -> Value {
    match body["items"].as_array() {
        None => metadata_of(body),
        Some(items) => json!({
            "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
            "metadata": body["metadata"],
            "items": items.iter().map(metadata_of).collect::<Vec<_>>(),
        }),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What is there, or a word for nothing.
fn or(value: &str, nothing: &str) -> String {
    if value.is_empty() { nothing.to_owned() } else { value.to_owned() }
}

fn name(object: &Value) -> Value {
    text(&object["metadata"]["name"]).into()
}

/// `key=value` pairs in order.
fn pairs(map: &Value) -> String {
    let mut all = String::new();
    for (key, value) in map.as_object().into_iter().flatten() {
        let comma = if all.is_empty() { "" } else { "," };
        let _ = write!(all, "{comma}{key}={}", text(value));
    }
    or(&all, "<none>")
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(&object["status"]["conditions"]).iter().find(|it| it["type"] == kind)
}

fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|it| it["status"] == "True")
}
