//! OpenAPI v3 documents of what is served: kubectl validates, explains and merges by them.

use std::collections::BTreeMap;

use drawbridge_sim::fnv1a;
use serde_json::{Value, json};

use super::{HttpRequest, Reply, discovery, documents::cached};
use crate::{
    KubeApi,
    kube::{Kind, schemas},
};

/// The document under `/openapi/v3/…`, if there is one.
pub(crate) fn answer(api: &KubeApi, http: &HttpRequest, rest: &[&str]) -> Option<Reply> {
    let document = match rest {
        [] => index(api),
        ["api", version] => of(api, "", version)?,
        ["apis", group, version] => of(api, group, version)?,
        _ => return None,
    };
    Some(cached(http, Reply::json(200, &document, false)))
}

fn place(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        group => format!("apis/{group}/{version}"),
    }
}

fn index(api: &KubeApi) -> Value {
    let mut paths = BTreeMap::new();
    for (group, version) in discovery::group_versions(api) {
        let place = place(group, version);
        let mut seen = place.clone();
        for kind in kinds(api, group, version) {
            seen.push_str(kind.key);
            seen.push_str(&kind.definition.map(|it| it.seal(version)).unwrap_or_default());
        }
        let hash = fnv1a(seen.as_bytes());
        let url = format!("/openapi/v3/{place}?hash={hash:016X}");
        paths.insert(place, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

fn kinds(api: &KubeApi, group: &str, version: &str) -> Vec<&'static Kind> {
    let all = api.kinds().iter();
    all.filter(|kind| kind.group == group && kind.versions.contains(&version)).collect()
}

fn of(api: &KubeApi, group: &str, version: &str) -> Option<Value> {
    if !discovery::group_versions(api).contains(&(group, version)) {
        return None;
    }
    let (mut paths, mut components) = (BTreeMap::new(), BTreeMap::new());
    gather(api, group, version, &mut paths, &mut components);
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": paths, "components": {"schemas": components},
    }))
}

/// Adds the paths and schemas of a group's version.
pub(crate) fn gather(
    api: &KubeApi,
    group: &str,
    version: &str,
    paths: &mut BTreeMap<String, Value>,
    components: &mut BTreeMap<String, Value>,
) {
    for kind in kinds(api, group, version) {
        let reference = match kind.definition {
            Some(definition) => {
                let name = custom_name(kind, version);
                let schema =
                    definition.schema(version).cloned().unwrap_or(json!({"type": "object"}));
                components.insert(name.clone(), custom(kind, version, schema));
                schemas::gather(META, components);
                name
            }
            None => {
                let name = schemas::name(group, version, kind.kind).unwrap_or("").to_owned();
                schemas::gather(&name, components);
                name
            }
        };
        components.insert(format!("{reference}List"), list_of(kind, version, &reference));
        add_paths(kind, version, &reference, paths);
    }
    schemas::gather("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta", components);
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The schema of a list of a kind.
fn list_of(kind: &Kind, version: &str, item: &str) -> Value {
    let reference =
        |name: &str| json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}]});
    json!({
        "type": "object", "required": ["items"],
        "description": format!("{0}List is a list of {0}", kind.kind),
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "metadata": reference("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"),
            "items": {"type": "array", "items": reference(item)},
        },
        "x-kubernetes-group-version-kind": [
            {"group": kind.group, "version": version, "kind": format!("{}List", kind.kind)},
        ],
    })
}

/// `net.slurm.slinky.v1alpha1.NodeSet`.
fn custom_name(kind: &Kind, version: &str) -> String {
    let reversed: Vec<&str> = kind.group.rsplit('.').collect();
    format!("{}.{version}.{}", reversed.join("."), kind.kind)
}

/// A custom resource's schema with what every object has.
fn custom(kind: &Kind, version: &str, mut schema: Value) -> Value {
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    for key in ["apiVersion", "kind"] {
        schema["properties"][key] = json!({"type": "string"});
    }
    let metadata = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    schema["properties"]["metadata"] = json!({"allOf": [{"$ref": metadata}]});
    schema["x-kubernetes-group-version-kind"] = json!([named(kind, version)]);
    schema
}

fn named(kind: &Kind, version: &str) -> Value {
    json!({"group": kind.group, "version": version, "kind": kind.kind})
}

fn add_paths(kind: &Kind, version: &str, schema: &str, paths: &mut BTreeMap<String, Value>) {
    let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let list = format!("/{}{scope}/{}", place(kind.group, version), kind.resource);
    let answer = json!({"200": {"description": "OK", "content": {"application/json": {
        "schema": {"$ref": format!("#/components/schemas/{schema}")},
    }}}});
    let operation = |action: &str, writes: bool| {
        let mut names = vec!["pretty"];
        if writes {
            names.extend(["dryRun", "fieldManager", "fieldValidation"]);
        }
        let parameters: Vec<Value> = names
            .into_iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
            .collect();
        json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": named(kind, version),
            "parameters": parameters, "responses": answer,
        })
    };
    let one = json!({
        "get": operation("get", false), "put": operation("put", true),
        "patch": operation("patch", true), "delete": operation("delete", false),
    });
    paths.insert(format!("{list}/{{name}}"), one);
    paths.insert(list, json!({"get": operation("list", false), "post": operation("post", true)}));
}
