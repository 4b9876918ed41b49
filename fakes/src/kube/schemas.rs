//! Kubernetes' own schemas: which fields the built-in kinds have.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use serde_json::{Map, Value};

/// All schemas by name, read once.
pub(crate) fn all() -> &'static Map<String, Value> {
    static ALL: OnceLock<Map<String, Value>> = OnceLock::new();
    ALL.get_or_init(|| {
        serde_json::from_str(include_str!("../../schema/schemas.json"))
            .expect("the schemas that are shipped are JSON")
    })
}

/// The name of a kind's schema.
pub(crate) fn name(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    static NAMES: OnceLock<BTreeMap<(String, String, String), &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let mut names = BTreeMap::new();
        for (name, schema) in all() {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            for kind in kinds.into_iter().flatten() {
                let word = |key: &str| kind[key].as_str().unwrap_or("").to_owned();
                names.insert((word("group"), word("version"), word("kind")), name.as_str());
            }
        }
        names
    });
    names.get(&(group.to_owned(), version.to_owned(), kind.to_owned())).copied()
}

/// The schema that a part of a schema stands for: itself, or what it refers to.
pub(crate) fn resolve(schema: &'static Value) -> &'static Value {
    let inner = schema["allOf"].get(0).unwrap_or(schema);
    let reference = inner["$ref"].as_str().and_then(|it| it.rsplit('/').next());
    reference.and_then(|name| all().get(name)).unwrap_or(inner)
}

/// Adds a schema and all that it refers to.
pub(crate) fn gather(name: &str, to: &mut BTreeMap<String, Value>) {
    let mut todo = BTreeSet::from([name.to_owned()]);
    while let Some(name) = todo.pop_first() {
        let Some(schema) = all().get(&name).filter(|_| !to.contains_key(&name)) else {
            continue;
        };
        references(schema, &mut todo);
        to.insert(name, schema.clone());
    }
}

fn references(schema: &Value, to: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                to.extend(name.rsplit('/').next().map(Into::into));
            }
            map.values().for_each(|inner| references(inner, to));
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Drops the fields of a built-in object that its schema doesn't know; gives back their paths.
pub(crate) fn prune(name: &str, object: &mut Value) -> Vec<String> {
    let mut unknown = vec![];
    if let Some(schema) = all().get(name) {
        walk(schema, object, "", &mut unknown);
    }
    unknown
}

fn walk(schema: &'static Value, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    let schema = resolve(schema);
    match value {
        Value::Object(map) => {
            let (known, more) = (schema.get("properties"), schema.get("additionalProperties"));
            let at = |key: &str| match path {
                "" => key.to_owned(),
                path => format!("{path}.{key}"),
            };
            map.retain(|key, value| match (known, more) {
                (None, None) => true,
                (_, Some(more)) => {
                    walk(more, value, &at(key), unknown);
                    true
                }
                (Some(known), None) => match known.get(key) {
                    Some(part) => {
                        walk(part, value, &at(key), unknown);
                        true
                    }
                    None => {
                        unknown.push(at(key));
                        false
                    }
                },
            });
        }
        Value::Array(list) => {
            for (index, item) in list.iter_mut().enumerate() {
                walk(&schema["items"], item, &format!("{path}[{index}]"), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_of_a_pod_are_found_where_they_are() {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {
                "contaners": [],
                "containers": [{"name": "c", "commandd": ["sh"], "resources": {"limits": {"cpu": 1}}}],
            },
        });
        let name = name("", "v1", "Pod").unwrap();
        assert_eq!(prune(name, &mut pod), ["spec.containers[0].commandd", "spec.contaners"]);
        assert_eq!(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"], 1);
    }

    #[test]
    fn every_built_in_kind_has_a_schema() {
        for kind in crate::kube::kinds::Kinds::builtin().iter().filter(|kind| !kind.custom) {
            let found = name(kind.group, kind.versions[0], kind.kind);
            assert!(found.is_some(), "{}", kind.key);
        }
    }
}
