//! The OpenAPI document that is served, made from the table.
//!
//! It has the vendor's paths, operation ids, parameters, types and security schemes, so that clients
//! and generators find what they know, and none of the vendor's sentences.

use drawbridge_sim::Release;
use serde_json::{Map, Value, json};

use crate::Method;

use super::{Kind, Operation, Table, Type, table::Parameter, types::Field};

/// The document of a release, with slurmdbd's part or without.
pub(crate) fn document(release: Release, accounting: bool) -> Value {
    let table = Table::of(release);
    let served = |operation: &&Operation| accounting || !operation.path.starts_with("/slurmdb/");
    let mut paths = Map::new();
    for it in table.operations.iter().filter(served) {
        let path = paths.entry(&*it.path).or_insert_with(|| json!({}));
        path[method(it.method)] = operation(it);
    }
    let types = table.types.iter().map(|(name, of)| (name.to_string(), schema(of)));
    json!({
        "openapi": "3.0.3",
        "info": info(release, accounting),
        "servers": [{ "url": "/" }],
        "tags": tags(accounting),
        "security": [{ "user": [], "token": [] }, { "token": [] }, { "bearerAuth": [] }, {}],
        "paths": paths,
        "components": {
            "schemas": types.collect::<Map<_, _>>(),
            "securitySchemes": {
                "user": { "type": "apiKey", "name": "X-SLURM-USER-NAME", "in": "header" },
                "token": { "type": "apiKey", "name": "X-SLURM-USER-TOKEN", "in": "header" },
                "bearerAuth": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
            },
        },
    })
}

fn info(release: Release, accounting: bool) -> Value {
    let version = match (release, accounting) {
        (Release::V24_11, true) => "Slurm-24.11.5&openapi/slurmctld&openapi/slurmdbd",
        (Release::V24_11, false) => "Slurm-24.11.5&openapi/slurmctld",
        (Release::V26_05, _) => "Slurm-26.05.5",
    };
    json!({
        "title": "Slurm REST API",
        "version": version,
        "description": "What Slurm's slurmrestd serves, over a model of Slurm.",
    })
}

fn tags(accounting: bool) -> Vec<Value> {
    let tags = [("slurm", "slurmctld"), ("slurmdb", "slurmdbd")];
    let tags = tags.iter().filter(|(name, _)| accounting || *name == "slurm");
    tags.map(|(name, who)| json!({ "name": name, "description": format!("answered by {who}") }))
        .collect()
}

const fn method(method: Method) -> &'static str {
    if matches!(method, Method::Post) {
        "post"
    } else if matches!(method, Method::Delete) {
        "delete"
    } else {
        "get"
    }
}

fn operation(it: &Operation) -> Value {
    let words: Vec<&str> = it.id.splitn(3, '_').collect();
    let summary = words.last().map_or(String::new(), |words| words.replace('_', " "));
    let mut json = json!({
        "tags": [words[0]],
        "operationId": it.id,
        "summary": summary,
        "responses": {
            "200": { "description": "done", "content": content(&it.answer) },
            "default": { "description": "refused", "content": content(&it.answer) },
        },
    });
    if it.deprecated {
        json["deprecated"] = true.into();
    }
    if !it.parameters.is_empty() {
        json["parameters"] = it.parameters.iter().map(parameter).collect();
    }
    if let Some(body) = &it.body {
        json["requestBody"] = json!({ "description": "the request", "content": content(body) });
    }
    json
}

fn content(of: &Type) -> Value {
    let schema = schema(of);
    json!({ "application/json": { "schema": schema }, "application/yaml": { "schema": schema } })
}

fn parameter(it: &Parameter) -> Value {
    let (place, style) = if it.in_path { ("path", "simple") } else { ("query", "form") };
    let mut json = json!({
        "in": place,
        "name": it.name,
        "style": style,
        "explode": false,
        "allowEmptyValue": it.may_be_empty,
        "allowReserved": false,
        "required": it.required,
        "schema": schema(&it.of),
    });
    if it.deprecated {
        json["deprecated"] = true.into();
    }
    json
}

/// A type as JSON Schema.
fn schema(of: &Type) -> Value {
    let mut json = match &of.kind {
        Kind::Any => json!({}),
        Kind::Named(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
        Kind::OneOf(words) => json!({ "type": "string", "enum": words }),
        Kind::List(of) => json!({ "type": "array", "items": schema(of) }),
        Kind::Dict { fields, required } => dictionary(fields, required.as_deref()),
        Kind::Plain { name, format, default } => {
            let mut json = json!({ "type": name });
            if let Some(format) = format {
                json["format"] = format.to_string().into();
            }
            if let Some(default) = default {
                json["default"] = default.clone();
            }
            json
        }
    };
    if of.deprecated {
        json["deprecated"] = true.into();
    }
    json
}

fn dictionary(fields: &[Field], required: Option<&[Box<str>]>) -> Value {
    let properties = fields.iter().map(|field| (field.name.to_string(), schema(&field.of)));
    let mut json = json!({ "type": "object", "properties": properties.collect::<Map<_, _>>() });
    let own = fields.iter().filter(|field| field.required).map(|field| &*field.name);
    let own: Vec<&str> = own.collect();
    match required {
        Some(list) => json["required"] = json!(list),
        None if !own.is_empty() => json["required"] = own.into(),
        None => {}
    }
    json
}
