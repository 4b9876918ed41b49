//! From a body to an object: the checks that a typed server makes while it decodes.
//! Start at [`KubeApi::read_object`].

use serde_json::{Map, Value};

use super::{
    Call, KubeApi,
    kinds::{From, Kind, To},
    object,
    status::Refusal,
    strategy,
};

/// The body as an object of the target's kind, in the stored version, in the target's namespace.
pub(crate) fn object(call: &Call<'_>, body: Value) -> Result<Value, Refusal> {
    let target = &call.target;
    let kind = target.kind;
    let Value::Object(map) = body else {
        return Err(Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; \
             the body is not a JSON object",
            kind.kind
        )));
    };
    let mut object = Value::Object(map);
    check_type(call, &object)?;
    if !kind.custom {
        strip_nulls(&mut object);
    }
    check_shape(call, &object)?;
    let namespace = object::namespace(&object);
    if kind.namespaced && !namespace.is_empty() && namespace != target.namespace {
        return Err(Refusal::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    object["kind"] = kind.kind.into();
    object["apiVersion"] = kind.api_version(target.version).into();
    let metadata = object::metadata_mut(&mut object);
    match kind.namespaced {
        true => metadata.insert("namespace".into(), target.namespace.into()),
        false => metadata.remove("namespace"),
    };
    tidy(metadata);
    Ok(object)
}

fn check_type(call: &Call<'_>, object: &Value) -> Result<(), Refusal> {
    let kind = call.target.kind;
    let given = object::text(object, &["kind"]);
    let version = object::text(object, &["apiVersion"]);
    if !given.is_empty() && given != kind.kind {
        let short = |group: &str| match group.split('.').next() {
            None | Some("") => "core".to_owned(),
            Some(first) => first.to_owned(),
        };
        let bare = version.rsplit('/').next().unwrap_or("");
        return Err(Refusal::bad_request(format!(
            "{given} in version \"{version}\" cannot be handled as a {0}: converting \
             ({bare}.{given}) to ({1}.{0}): unknown conversion",
            kind.kind,
            short(kind.group)
        )));
    }
    let expected = kind.api_version(call.target.version);
    if !version.is_empty() && version != expected {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version \
             ({expected})"
        )));
    }
    Ok(())
}

impl KubeApi {
    /// A body as an object in the form in which it is stored, without fields that its kind lacks.
    pub(crate) fn read_object(&mut self, call: &Call<'_>, body: Value) -> Result<Value, Refusal> {
        let mut object = object(call, body)?;
        self.check_fields(call, &mut object)?;
        to_stored(call.target.kind, call.target.version, &mut object);
        Ok(object)
    }
}

/// Gives an object the form in which it is stored.
pub(crate) fn to_stored(kind: &Kind, version: &str, object: &mut Value) {
    if !kind.alias.is_empty() || version != kind.stored_version() {
        (kind.convert)(object, From(version), To(kind.stored_version()));
        object["apiVersion"] = kind.stored_api_version().into();
    }
}

/// Checks the shapes that the rest of the server relies on.
fn check_shape(call: &Call<'_>, object: &Value) -> Result<(), Refusal> {
    let refuse = |why: String| Refusal::undecodable(call.target.kind, call.target.version, &why);
    for key in ["metadata", "spec", "status"] {
        expect(object, &[key], "object", Value::is_object).map_err(refuse)?;
    }
    for key in ["labels", "annotations"] {
        expect(object, &["metadata", key], "map[string]string", is_string_map).map_err(refuse)?;
    }
    for key in ["name", "namespace", "generateName", "uid", "resourceVersion"] {
        expect(object, &["metadata", key], "string", Value::is_string).map_err(refuse)?;
    }
    expect(object, &["metadata", "finalizers"], "[]string", is_string_list).map_err(refuse)?;
    let refs = ["metadata", "ownerReferences"];
    expect(object, &refs, "[]v1.OwnerReference", is_object_list).map_err(refuse)?;
    pod_shape(call.target.kind, object).map_err(refuse)
}

/// The lists of a pod, or of a template inside a workload.
fn pod_shape(kind: &Kind, object: &Value) -> Result<(), String> {
    let spec = match kind.key {
        "pods" => object.get("spec"),
        "jobs.batch" | "deployments.apps" | "replicasets.apps" | "statefulsets.apps"
        | "daemonsets.apps" => {
            expect(object, &["spec", "template"], "v1.PodTemplateSpec", Value::is_object)?;
            let template = ["spec", "template", "metadata"];
            expect(object, &template, "v1.ObjectMeta", Value::is_object)?;
            expect(object, &["spec", "template", "spec"], "v1.PodSpec", Value::is_object)?;
            let labels = ["spec", "template", "metadata", "labels"];
            expect(object, &labels, "map[string]string", is_string_map)?;
            object::at(object, &["spec", "template", "spec"])
        }
        _ => None,
    };
    let Some(spec) = spec else { return Ok(()) };
    for key in ["containers", "initContainers", "tolerations", "volumes", "schedulingGates"] {
        expect(spec, &[key], "list of objects", is_object_list)?;
    }
    for container in
        ["containers", "initContainers"].iter().flat_map(|key| object::items(spec, &[key]))
    {
        expect(container, &["resources"], "v1.ResourceRequirements", Value::is_object)?;
        for key in ["requests", "limits"] {
            expect(container, &["resources", key], "v1.ResourceList", Value::is_object)?;
        }
    }
    strategy::undecodable(spec)
}

fn expect(
    object: &Value,
    path: &[&str],
    wanted: &str,
    is: fn(&Value) -> bool,
) -> Result<(), String> {
    match object::at(object, path) {
        Some(value) if !is(value) => Err(format!(
            "json: cannot unmarshal {} into Go struct field {} of type {wanted}",
            json_type(value),
            path.join(".")
        )),
        _ => Ok(()),
    }
}

fn is_string_map(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.values().all(Value::is_string))
}

fn is_string_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

fn is_object_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_object))
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Null is the same as absent, as for every typed server.
pub(crate) fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(strip_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(strip_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Takes away what a real server doesn't keep: empty maps and lists, nulls, what is obsolete.
fn tidy(metadata: &mut Map<String, Value>) {
    for key in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match metadata.get(key) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(key);
        }
    }
    metadata.retain(|_, value| !value.is_null());
    metadata.remove("selfLink");
}
