//! Kubernetes, as little of it as the bridge notices.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_core::{KubeReply, KubeRequest, Method, StreamId, WatchEvent};
use serde_json::{Value, json};

/// Objects by path, and who watches which paths.
#[derive(Clone, Default)]
pub(crate) struct Kube {
    objects: BTreeMap<String, Value>,
    version: u64,
    watches: Vec<(StreamId, String)>,
    history: Vec<(u64, String, WatchEvent)>,
    pub(crate) pending: Vec<(StreamId, WatchEvent)>,
}

impl Kube {
    pub(crate) fn pod(&self, name: &str) -> Option<&Value> {
        self.objects.get(&pod_path(name))
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.objects.iter()
    }

    pub(crate) fn watch(&mut self, stream: StreamId, request: &KubeRequest) {
        let from = request.query.iter().find(|(key, _)| key == "resourceVersion");
        let from: u64 = from.and_then(|(_, from)| from.parse().ok()).unwrap_or(0);
        let selector = selector(request);
        for (version, path, event) in &self.history {
            if from < *version && matches(&selector, path, object_of(event)) {
                self.pending.push((stream, event.clone()));
            }
        }
        self.watches.push((stream, selector));
    }

    pub(crate) fn unwatch(&mut self, stream: StreamId) {
        self.watches.retain(|(open, _)| *open != stream);
    }

    pub(crate) fn hang_up(&mut self) {
        self.watches.clear();
        self.pending.clear();
    }

    pub(crate) fn create(&mut self, path: &str, mut object: Value) {
        if object["metadata"]["uid"].is_null() {
            let name = object["metadata"]["name"].as_str().unwrap();
            object["metadata"]["uid"] = json!(format!("uid-{name}"));
        }
        self.put(path, object, WatchEvent::Added);
    }

    pub(crate) fn change(&mut self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[path].clone();
        change(&mut object);
        self.put(path, object, WatchEvent::Modified);
        self.collect(path);
    }

    /// Deletes as the API server does: what is held by a finalizer or a kubelet stays for now.
    pub(crate) fn delete(&mut self, path: &str) {
        if self.objects.contains_key(path) {
            self.change(path, |object| {
                object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            });
        }
    }

    fn collect(&mut self, path: &str) {
        let object = &self.objects[path];
        let leaving = !object["metadata"]["deletionTimestamp"].is_null();
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        let over = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let at_kubelet = object["spec"]["nodeName"].is_string() && !over;
        if leaving && !held && !at_kubelet {
            self.version += 1;
            let mut object = self.objects.remove(path).unwrap();
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            let object = Arc::new(object);
            self.announce(path, &object, WatchEvent::Deleted);
        }
    }

    fn put(&mut self, path: &str, mut object: Value, event: fn(Arc<Value>) -> WatchEvent) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.into(), object.clone());
        self.announce(path, &Arc::new(object), event);
    }

    fn announce(&mut self, path: &str, object: &Arc<Value>, event: fn(Arc<Value>) -> WatchEvent) {
        self.history.push((self.version, path.into(), event(Arc::clone(object))));
        for (stream, selector) in &self.watches {
            if matches(selector, path, object) {
                self.pending.push((*stream, event(Arc::clone(object))));
            }
        }
    }

    pub(crate) fn handle(&mut self, request: &KubeRequest) -> KubeReply {
        let (path, sub) = match request.path.rsplit_once('/') {
            Some((path, sub @ ("binding" | "eviction" | "status"))) => (path, sub),
            Some(_) | None => (request.path.as_str(), ""),
        };
        let body = request.body.clone().unwrap_or_default();
        match (request.method, sub) {
            (Method::Get, _) => self.get(request),
            (Method::Post, "") if path.ends_with("/resourceclaims") => self.make(path, body),
            (Method::Post, "") => reply(201, body),
            (_, _) if !self.objects.contains_key(path) => reply(404, json!({})),
            (Method::Post, "binding") => self.bind(path, &body),
            (Method::Post, "eviction") => {
                self.delete(path);
                reply(201, json!({}))
            }
            (Method::Delete, _) => {
                self.delete(path);
                reply(200, json!({}))
            }
            (_, _) => self.patch(path, &body),
        }
    }

    fn make(&mut self, collection: &str, body: Value) -> KubeReply {
        let path = format!("{collection}/{}", body["metadata"]["name"].as_str().unwrap());
        if self.objects.contains_key(&path) {
            return reply(409, json!({}));
        }
        self.create(&path, body);
        reply(201, self.objects[&path].clone())
    }

    fn get(&self, request: &KubeRequest) -> KubeReply {
        if let Some(object) = self.objects.get(&request.path) {
            return reply(200, object.clone());
        }
        const KNOWN: [&str; 6] = [
            "/pods",
            "/nodes",
            "/podgroups",
            "/resourceclaims",
            "/resourceslices",
            "/deviceclasses",
        ];
        let known = KNOWN.iter().any(|end| request.path.ends_with(end));
        if !known {
            return reply(404, json!({}));
        }
        let selector = selector(request);
        let items = self.objects.iter().filter(|(path, object)| matches(&selector, path, object));
        let items: Vec<_> = items.map(|(_, object)| object.clone()).collect();
        let metadata = json!({ "resourceVersion": self.version.to_string() });
        reply(200, json!({ "metadata": metadata, "items": items }))
    }

    fn bind(&mut self, path: &str, body: &Value) -> KubeReply {
        let pod = &self.objects[path];
        let stale = pod["metadata"]["uid"] != body["metadata"]["uid"];
        if stale || pod["spec"]["nodeName"].is_string() {
            return reply(409, json!({}));
        }
        self.change(path, |pod| {
            pod["spec"]["nodeName"] = body["target"]["name"].clone();
            pod["status"]["conditions"] = json!([{ "type": "PodScheduled", "status": "True" }]);
        });
        reply(201, json!({}))
    }

    fn patch(&mut self, path: &str, body: &Value) -> KubeReply {
        let object = &self.objects[path];
        for key in ["uid", "resourceVersion"] {
            if object["metadata"][key] != body["metadata"][key] {
                return reply(409, json!({}));
            }
        }
        let mut patched = object.clone();
        merge(&mut patched, body);
        self.change(path, |object| merge(object, body));
        reply(200, self.objects.get(path).cloned().unwrap_or(patched))
    }
}

fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else { return };
    for (key, value) in fields {
        match value {
            Value::Null => drop(object.as_object_mut().unwrap().remove(key)),
            Value::Object(_) => {
                if !object[key].is_object() {
                    object[key] = json!({});
                }
                merge(&mut object[key], value);
            }
            Value::Array(new) if key == "conditions" => {
                let old = object[key].as_array().cloned().unwrap_or_default();
                let kept =
                    old.into_iter().filter(|one| new.iter().all(|n| n["type"] != one["type"]));
                object[key] = kept.chain(new.iter().cloned()).collect();
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                object[key] = value.clone();
            }
        }
    }
}

fn object_of(event: &WatchEvent) -> &Value {
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
            object
        }
        WatchEvent::Bookmark(_) | WatchEvent::Failed(_) | WatchEvent::Ended => &Value::Null,
    }
}

/// The last part of the path, and the worker label where it was asked for.
fn selector(request: &KubeRequest) -> String {
    let kind = request.path.rsplit('/').next().unwrap();
    let workers = request.query.iter().any(|(key, _)| key == "labelSelector");
    match kind {
        "podgroups" => request.path.clone(),
        kind => {
            if workers {
                "workers".into()
            } else {
                kind.into()
            }
        }
    }
}

fn matches(selector: &str, path: &str, object: &Value) -> bool {
    let worker =
        object["metadata"]["labels"].get("nodeset.slinky.slurm.net/pod-hostname").is_some();
    match selector {
        "workers" => path.contains("/pods/") && worker,
        "pods" => path.contains("/pods/") && !worker,
        groups if groups.ends_with("/podgroups") => {
            path.starts_with(groups.trim_end_matches("podgroups")) && path.contains("/podgroups/")
        }
        kind => path.contains(&format!("/{kind}/")),
    }
}

pub(crate) fn pod_path(name: &str) -> String {
    format!("/api/v1/namespaces/a/pods/{name}")
}

pub(crate) fn reply(status: u16, body: Value) -> KubeReply {
    KubeReply { status, body: Arc::new(body) }
}
