//! Parts of objects with paths of their own: status, binding, eviction, scale.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Call, KubeApi,
    admission::{Operation, Webhooks},
    decode,
    definition::Scale,
    kinds::{Kind, StatusWrites},
    object, patch,
    path::Target,
    status::{self, Refusal},
    validate::FieldError,
    watch::shown,
    write::{By, Part},
};
use crate::{Method, Response};

/// What a pod of a real cluster can be asked for and one of this can't, because no program runs in it.
const ABSENT: [(&str, &str); 7] = [
    ("attach", "no program runs in the containers of this cluster"),
    ("exec", "no program runs in the containers of this cluster"),
    ("portforward", "nothing listens in the containers of this cluster"),
    ("proxy", "nothing listens in the containers of this cluster"),
    ("ephemeralcontainers", "no program runs in the containers of this cluster"),
    ("resize", "pods keep the resources that they were made with; make a new one"),
    ("log", "the log of a pod is asked for over HTTP"),
];

impl KubeApi {
    pub(crate) fn on_subresource(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
        sub: &str,
    ) -> Result<Response, Refusal> {
        let kind = call.target.kind;
        match (kind.key, sub, call.request.method) {
            (_, "status", _) if kind.status != StatusWrites::None => self.status(call, hooks, name),
            (_, "scale", _) if kind.scale => self.scale(call, hooks, name),
            ("pods", "binding", Method::Post) => self.bind(call, hooks, name),
            ("pods", "eviction", Method::Post) => self.evict(call, hooks, name),
            ("pods", "binding" | "eviction", _) => Err(Refusal::method_not_allowed()),
            ("pods", "resize", Method::Put | Method::MergePatch | Method::StrategicPatch) => {
                self.resize(call, hooks, name)
            }
            ("pods", sub, _) if let Some((_, why)) = ABSENT.iter().find(|it| it.0 == sub) => {
                self.existing(&call.target, name)?;
                Err(Refusal::unable(&format!("pods/{sub}"), why))
            }
            ("nodes" | "services", "proxy", _) => {
                let why = "nothing here listens to requests";
                Err(Refusal::unable(&format!("{}/proxy", kind.key), why))
            }
            ("serviceaccounts", "token", Method::Post) => self.token(call, name),
            ("namespaces", "finalize", Method::Put) => self.finalize(call, name),
            ("serviceaccounts", "token", _) | ("namespaces", "finalize", _) => {
                Err(Refusal::method_not_allowed())
            }
            _ => Err(Refusal::unknown_resource()),
        }
    }

    fn status(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        let stored = match call.request.method {
            Method::Get => self.existing(&call.target, name)?.clone(),
            Method::Put => self.put_part(call, hooks, name, Part::Status)?,
            Method::Apply => return self.apply(call, hooks, name, Part::Status),
            Method::MergePatch | Method::JsonPatch | Method::StrategicPatch => {
                self.patch_part(call, hooks, name, Part::Status)?
            }
            Method::Post | Method::Delete => return Err(Refusal::method_not_allowed()),
        };
        let body = shown(call.target.kind, call.target.version, &stored);
        Ok(Response { status: 200, body })
    }

    /// Pods keep the resources that they were made with; but whoever may refuse a change is asked first.
    fn resize(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        let old = self.existing(&call.target, name)?.clone();
        let old = shown(call.target.kind, call.target.version, &old);
        self.validate_by_hooks(call, hooks, Operation::Update, Some(&old), Some(&old))?;
        let why = ABSENT.iter().find(|it| it.0 == "resize").map_or("", |it| it.1);
        Err(Refusal::unable("pods/resize", why))
    }

    /// A binding that was posted by itself, as it was before pods had a path for it.
    pub(crate) fn bind_by_name(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
    ) -> Result<Response, Refusal> {
        let name = call.request.body.as_ref().map_or("", |body| object::name(body)).to_owned();
        let kind = self.kinds.by_key("pods").expect("pods are served");
        let target =
            Target { kind, name: Some(&name), subresource: Some("binding"), ..call.target };
        self.bind(&Call { target, ..call.clone() }, hooks, &name)
    }

    /// Gives a pod its node, once.
    fn bind(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        let binding = call.request.body.clone().unwrap_or(Value::Null);
        check_named(&binding, "Binding", name)?;
        self.validate_by_hooks(call, hooks, Operation::Create, Some(&binding), None)?;
        let node = binding_target(&binding)?.to_owned();
        let pod = self.existing(&call.target, name)?.clone();
        let expected = object::uid(&binding);
        if !expected.is_empty() && expected != object::uid(&pod) {
            return Err(Refusal::other_uid(call.target.kind, &pod, expected));
        }
        let version = object::version(&binding);
        if !version.is_empty() && version != object::version(&pod) {
            return Err(Refusal::modified(call.target.kind, name));
        }
        if let Some(why) = unbindable(&pod, name) {
            return Err(Refusal::conflict_on("pods/binding", name, &why));
        }
        let now = self.epoch.rfc3339(call.now);
        let mut bound = bound(&pod, &binding, &node, &now);
        self.complete_pod(call, &mut bound, false)?;
        self.commit(call.target.kind, bound, &call.user);
        Ok(status::done())
    }

    /// Writes the finalizers of a namespace; one on its way out without any is gone at once.
    fn finalize(&mut self, call: &Call<'_>, name: &str) -> Result<Response, Refusal> {
        let kind = call.target.kind;
        let body = call.request.body.clone().unwrap_or(Value::Null);
        check_named(&body, "Namespace", name)?;
        let old = self.existing(&call.target, name)?.clone();
        let mut new = Value::clone(&old);
        let kept = body["spec"].get("finalizers").cloned().unwrap_or(json!([]));
        let gone = object::is_deleting(&old) && kept.as_array().is_none_or(Vec::is_empty);
        object::map_mut(&mut new, "spec").insert("finalizers".into(), kept);
        let stored = match gone {
            true => self.discard(kind, &Arc::new(new), &call.user),
            false => self.commit(kind, new, &call.user),
        };
        Ok(Response { status: 200, body: shown(kind, call.target.version, &stored) })
    }

    fn scale(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        let old = self.existing(&call.target, name)?.clone();
        let wanted = match call.request.method {
            Method::Get => None,
            Method::Put => Some(call.request.body.clone().unwrap_or(Value::Null)),
            Method::MergePatch | Method::JsonPatch | Method::StrategicPatch | Method::Apply => {
                Some(patch::apply(call, &scale_of(call.target.kind, &old))?)
            }
            Method::Post | Method::Delete => return Err(Refusal::method_not_allowed()),
        };
        let stored = match wanted {
            None => old,
            Some(scale) => self.set_scale(call, hooks, &old, &scale)?,
        };
        let body = Arc::new(scale_of(call.target.kind, &stored));
        Ok(Response { status: 200, body })
    }

    fn set_scale(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        old: &Arc<Value>,
        scale: &Value,
    ) -> Result<Arc<Value>, Refusal> {
        check_named(scale, "Scale", object::name(old))?;
        let replicas = object::at(scale, &["spec", "replicas"]).cloned().unwrap_or(0.into());
        if replicas.as_u64().is_none_or(|count| count > i32::MAX as u64) {
            let why = "must be greater than or equal to 0";
            let error = FieldError::invalid("spec.replicas", &replicas, why);
            return Err(Refusal::invalid(call.target.kind, object::name(old), &[error]));
        }
        let mut new = Value::clone(old);
        match call.target.kind.definition {
            Some(definition) => object::set(&mut new, &definition.scale.wanted, replicas),
            None => object::set(&mut new, &["spec", "replicas"], replicas),
        }
        for key in ["uid", "resourceVersion"] {
            if let Some(given) = object::at(scale, &["metadata", key]) {
                object::metadata_mut(&mut new).insert(key.into(), given.clone());
            }
        }
        self.replace(call, hooks, old, new, Part::Main, By::Put)
    }
}

/// Refuses a body that is about another object than the path.
pub(super) fn check_named(body: &Value, kind: &str, name: &str) -> Result<(), Refusal> {
    if !body.is_object() {
        return Err(Refusal::bad_request(format!("the body is not a {kind}")));
    }
    let given = object::name(body);
    match given.is_empty() || given == name {
        true => Ok(()),
        false => {
            Err(Refusal::bad_request(format!("name in URL does not match name in {kind} object")))
        }
    }
}

fn binding_target(binding: &Value) -> Result<&str, Refusal> {
    let kind = object::text(binding, &["target", "kind"]);
    let mut errors = vec![];
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::unsupported("target.kind", kind, &["Node", "<empty>"]));
    }
    let node = object::text(binding, &["target", "name"]);
    if node.is_empty() {
        errors.push(FieldError::required("target.name", ""));
    }
    match errors.is_empty() {
        true => Ok(node),
        false => Err(Refusal::invalid_part("Binding", object::name(binding), &errors)),
    }
}

fn unbindable(pod: &Value, name: &str) -> Option<String> {
    let node = object::text(pod, &["spec", "nodeName"]);
    if object::is_deleting(pod) {
        Some(format!("pod {name} is being deleted, cannot be assigned to a host"))
    } else if !node.is_empty() {
        Some(format!("pod {name} is already assigned to node \"{node}\""))
    } else if !object::items(pod, &["spec", "schedulingGates"]).is_empty() {
        Some(format!("pod {name} has non-empty .spec.schedulingGates"))
    } else {
        None
    }
}

fn bound(pod: &Value, binding: &Value, node: &str, now: &str) -> Value {
    let mut pod = pod.clone();
    object::map_mut(&mut pod, "spec").insert("nodeName".into(), node.into());
    let annotations = object::at(binding, &["metadata", "annotations"]).and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flatten().filter(|(_, value)| value.is_string()) {
        let metadata = object::metadata_mut(&mut pod).entry("annotations").or_insert(json!({}));
        metadata[key] = value.clone();
    }
    let condition = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now});
    set_condition(&mut pod, condition);
    object::map_mut(&mut pod, "status").remove("nominatedNodeName");
    pod
}

/// Puts a condition in place of the one of its type; the time of transition stays if the status does.
pub(crate) fn set_condition(object: &mut Value, mut condition: Value) {
    let status = object::map_mut(object, "status");
    let list = status.entry("conditions").or_insert(json!([]));
    let Some(list) = list.as_array_mut() else {
        return;
    };
    let same = list.iter_mut().find(|known| known["type"] == condition["type"]);
    match same {
        None => list.push(condition),
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            decode::strip_nulls(&mut condition);
            *known = condition;
        }
    }
}

/// The `Scale` of an object.
fn scale_of(kind: &Kind, object: &Value) -> Value {
    let look = |own: &[&str], defined: fn(&Scale) -> &Vec<String>| match kind.definition {
        None => object::at(object, own).cloned(),
        Some(definition) => {
            let path: Vec<&str> = defined(&definition.scale).iter().map(String::as_str).collect();
            object::at(object, &path).filter(|_| !path.is_empty()).cloned()
        }
    };
    let mut metadata = json!({});
    for key in ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"] {
        metadata[key] = object["metadata"][key].clone();
    }
    let is = look(&["status", "replicas"], |scale| &scale.is);
    let mut status = json!({"replicas": is.unwrap_or(0.into())});
    let selector = match look(&["status", "selector"], |scale| &scale.selector) {
        Some(Value::String(text)) => text,
        Some(selector) => selector_text(&selector),
        None => selector_text(&object["spec"]["selector"]),
    };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    let wanted = look(&["spec", "replicas"], |scale| &scale.wanted);
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": wanted.unwrap_or(0.into())}, "status": status,
    })
}

/// A structured selector in the form of query parameters.
fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let equal = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
    let mut clauses: Vec<String> = equal.collect();
    for expression in object::items(selector, &["matchExpressions"]) {
        let key = object::text(expression, &["key"]);
        let values = object::items(expression, &["values"]).iter().filter_map(Value::as_str);
        let values = values.collect::<Vec<_>>().join(",");
        clauses.push(match object::text(expression, &["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    clauses.join(",")
}
