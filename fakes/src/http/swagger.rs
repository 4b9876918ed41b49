//! The OpenAPI v2 document of everything that is served, in JSON and in the protobuf of its own that
//! kubectl asks for. It is the v3 schemas in the words of the older version.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{HttpRequest, Reply, discovery, documents::cached, openapi, wire::Writer};
use crate::KubeApi;

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The document in the form that was asked for.
pub(crate) fn answer(api: &KubeApi, http: &HttpRequest) -> Reply {
    let accept = http.header("accept").unwrap_or("");
    let binary = accept.contains("protobuf") && accept.contains("openapi");
    let cache = api.documents();
    let reply = match binary {
        true => Reply::new(200, PROTOBUF, cache.protobuf(|| encode(&document(api)))),
        false => {
            let json = cache.json(|| document(api).to_string().into_bytes());
            Reply::new(200, "application/json", json)
        }
    };
    cached(http, reply)
}

fn document(api: &KubeApi) -> Value {
    let (mut paths, mut schemas) = (BTreeMap::new(), BTreeMap::new());
    for (group, version) in discovery::group_versions(api) {
        openapi::gather(api, group, version, &mut paths, &mut schemas);
    }
    let definitions: Map<String, Value> =
        schemas.into_iter().map(|(name, schema)| (name, older(&schema))).collect();
    let paths: Map<String, Value> =
        paths.into_iter().map(|(path, item)| (path, older_path(&item))).collect();
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": paths, "definitions": definitions,
    })
}

/// A v3 schema in the words of v2.
fn older(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut made = Map::new();
            for (key, value) in map {
                match key.as_str() {
                    // v2 has no alternatives; where there are some, the format says which.
                    "oneOf" | "anyOf" | "not" => {}
                    "nullable" => {}
                    "allOf" => made.extend(only_reference(value)),
                    "$ref" => {
                        let name = value.as_str().unwrap_or("").rsplit('/').next().unwrap_or("");
                        made.insert("$ref".into(), format!("#/definitions/{name}").into());
                    }
                    _ => {
                        made.insert(key.clone(), older(value));
                    }
                }
            }
            if schema["oneOf"].is_array() && schema["type"].is_null() {
                made.insert("type".into(), "string".into());
            }
            Value::Object(made)
        }
        Value::Array(list) => list.iter().map(older).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn only_reference(all_of: &Value) -> Option<(String, Value)> {
    let first = older(all_of.get(0)?);
    first.get("$ref").map(|reference| ("$ref".to_owned(), reference.clone()))
}

/// A path with its operations, as far as anybody looks at them.
fn older_path(item: &Value) -> Value {
    let mut made = Map::new();
    for (method, operation) in item.as_object().into_iter().flatten() {
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let parameters: Vec<Value> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| json!({"name": it["name"], "in": "query", "type": "string", "uniqueItems": true}))
            .collect();
        made.insert(
            method.clone(),
            json!({
                "x-kubernetes-action": operation["x-kubernetes-action"],
                "x-kubernetes-group-version-kind": operation["x-kubernetes-group-version-kind"],
                "parameters": parameters,
                "responses": {"200": {"description": "OK", "schema": older(schema)}},
            }),
        );
    }
    Value::Object(made)
}

/// The document as `openapi.v2.Document`.
fn encode(document: &Value) -> Vec<u8> {
    let mut to = Writer::default();
    to.text(1, &document["swagger"]);
    to.message(2, |info| {
        info.text(1, &document["info"]["title"]);
        info.text(2, &document["info"]["version"]);
    });
    to.message(8, |paths| {
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            paths.message(2, |named| {
                named.word(1, path);
                named.message(2, |to| path_item(item, to));
            });
        }
    });
    to.message(9, |definitions| named_schemas(&document["definitions"], definitions));
    to.finish()
}

fn path_item(item: &Value, to: &mut Writer) {
    for (number, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        let Some(operation) = item.get(method) else { continue };
        to.message(number, |to| {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                // A parameter, not in the body, in the query.
                to.message(8, |to| {
                    to.message(1, |to| {
                        to.message(2, |to| {
                            to.message(3, |to| {
                                to.text(2, &parameter["in"]);
                                to.text(4, &parameter["name"]);
                                to.text(6, &parameter["type"]);
                            });
                        });
                    });
                });
            }
            to.message(9, |to| {
                to.message(1, |named| {
                    named.word(1, "200");
                    named.message(2, |to| {
                        to.message(1, |to| {
                            to.word(1, "OK");
                            let answer = &operation["responses"]["200"]["schema"];
                            to.message(2, |to| to.message(1, |to| schema(answer, to)));
                        });
                    });
                });
            });
            extensions(13, operation, to);
        });
    }
}

fn named_schemas(map: &Value, to: &mut Writer) {
    for (name, inner) in map.as_object().into_iter().flatten() {
        to.message(1, |named| {
            named.word(1, name);
            named.message(2, |to| schema(inner, to));
        });
    }
}

fn schema(schema_of: &Value, to: &mut Writer) {
    for (number, key) in
        [(1, "$ref"), (2, "format"), (3, "title"), (4, "description"), (13, "pattern")]
    {
        to.text(number, &schema_of[key]);
    }
    if !schema_of["default"].is_null() {
        to.message(5, |to| any(&schema_of["default"], to));
    }
    for (number, key) in [(7, "maximum"), (9, "minimum")] {
        to.double(number, &schema_of[key]);
    }
    for (number, key) in [(11, "maxLength"), (12, "minLength"), (14, "maxItems"), (15, "minItems")]
    {
        to.number(number, &schema_of[key]);
    }
    for word in schema_of["required"].as_array().into_iter().flatten() {
        to.text(19, word);
    }
    for choice in schema_of["enum"].as_array().into_iter().flatten() {
        to.message(20, |to| any(choice, to));
    }
    if schema_of["additionalProperties"].is_object() {
        to.message(21, |to| to.message(1, |to| schema(&schema_of["additionalProperties"], to)));
    }
    if !schema_of["type"].is_null() {
        to.message(22, |to| to.text(1, &schema_of["type"]));
    }
    if schema_of["items"].is_object() {
        to.message(23, |to| to.message(1, |to| schema(&schema_of["items"], to)));
    }
    if schema_of["properties"].is_object() {
        to.message(25, |to| named_schemas(&schema_of["properties"], to));
    }
    extensions(31, schema_of, to);
}

/// What is Kubernetes' own, as texts in YAML (of which JSON is a part).
fn extensions(number: u32, of: &Value, to: &mut Writer) {
    let own = of.as_object().into_iter().flatten().filter(|(key, _)| key.starts_with("x-"));
    for (key, value) in own {
        to.message(number, |named| {
            named.word(1, key);
            named.message(2, |to| any(value, to));
        });
    }
}

fn any(value: &Value, to: &mut Writer) {
    to.word(2, &value.to_string());
}
