//! Containers: what is filled in, and what can't be.

use serde_json::{Map, Value, json};

use super::{resources, secret::key_error, service, volumes};
use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule},
};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// Fills in what a container left open.
pub(super) fn defaults(container: &mut Map<String, Value>, host_network: bool) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or("");
    let last = image.rsplit('/').next().unwrap_or("");
    let latest = !last.contains('@') && (!last.contains(':') || last.ends_with(":latest"));
    let pull = if latest { "Always" } else { "IfNotPresent" };
    object::default(container, "imagePullPolicy", pull);
    object::default(container, "resources", json!({}));
    object::default(container, "terminationMessagePath", "/dev/termination-log");
    object::default(container, "terminationMessagePolicy", "File");
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        object::default(port, "protocol", "TCP");
        let number = port.get("containerPort").cloned();
        if let (true, Some(number)) = (host_network, number) {
            object::default(port, "hostPort", number);
        }
    }
    let env = container.get_mut("env").and_then(Value::as_array_mut);
    for variable in env.into_iter().flatten() {
        let field = variable.get_mut("valueFrom").and_then(|it| it.get_mut("fieldRef"));
        if let Some(field) = field.and_then(Value::as_object_mut) {
            object::default(field, "apiVersion", "v1");
        }
    }
    for key in PROBES {
        if let Some(probe) = container.get_mut(key).and_then(Value::as_object_mut) {
            probe_defaults(probe);
        }
    }
    for moment in ["postStart", "preStop"] {
        let handler = container.get_mut("lifecycle").and_then(|it| it.get_mut(moment));
        if let Some(handler) = handler.and_then(Value::as_object_mut) {
            http_defaults(handler);
        }
    }
    if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
        resources::defaults(resources);
    }
}

fn probe_defaults(probe: &mut Map<String, Value>) {
    let rows = [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ];
    for (key, value) in rows {
        // Nothing and zero are the same to a typed server.
        if probe.get(key).is_none_or(|it| it.is_null() || *it == 0) {
            probe.insert(key.into(), value.into());
        }
    }
    http_defaults(probe);
    if let Some(grpc) = probe.get_mut("grpc").and_then(Value::as_object_mut) {
        object::default(grpc, "service", "");
    }
}

fn http_defaults(handler: &mut Map<String, Value>) {
    if let Some(get) = handler.get_mut("httpGet").and_then(Value::as_object_mut) {
        object::default(get, "path", "/");
        object::default(get, "scheme", "HTTP");
    }
}

/// What is wrong with all containers of a pod.
pub(super) fn validate(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    if items(spec, &["containers"]).is_empty() {
        errors.push(FieldError::required(format!("{field}.containers"), ""));
    }
    let volumes = volumes::names(spec);
    let claims: Vec<&str> =
        items(spec, &["resourceClaims"]).iter().map(|it| text(it, &["name"])).collect();
    let mut names = vec![];
    for key in ["containers", "initContainers"] {
        for (index, container) in items(spec, &[key]).iter().enumerate() {
            let field = format!("{field}.{key}[{index}]");
            let name = text(container, &["name"]);
            if names.contains(&name) && !name.is_empty() {
                errors.push(FieldError::duplicate(format!("{field}.name"), name));
            }
            names.push(name);
            errors.extend(container_errors(container, &field));
            errors.extend(volumes::mount_errors(container, &volumes, &field));
            errors.extend(claim_errors(container, &claims, &field));
            if key == "initContainers" {
                errors.extend(init_errors(container, &field));
            }
        }
    }
    errors.extend(host_port_errors(spec, field));
    errors
}

fn container_errors(container: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let name = text(container, &["name"]);
    if name.is_empty() {
        errors.push(FieldError::required(format!("{field}.name"), ""));
    } else if let Some(why) = NameRule::Label.check(name) {
        errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
    }
    if text(container, &["image"]).is_empty() {
        errors.push(FieldError::required(format!("{field}.image"), ""));
    }
    let rows: [(&str, &[&str]); 2] = [
        ("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
        ("imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    ];
    for (key, known) in rows {
        let word = text(container, &[key]);
        if !known.contains(&word) {
            errors.push(FieldError::unsupported(format!("{field}.{key}"), word, known));
        }
    }
    errors.extend(port_errors(container, &format!("{field}.ports")));
    errors.extend(env_errors(container, field));
    for key in PROBES {
        if let Some(probe) = at(container, &[key]) {
            errors.extend(probe_errors(probe, &format!("{field}.{key}"), key));
        }
    }
    errors.extend(resources::validate(&container["resources"], &format!("{field}.resources")));
    errors
}

/// Containers that come first end, unless they stay beside the others.
fn init_errors(container: &Value, field: &str) -> Vec<FieldError> {
    let policy = text(container, &["restartPolicy"]);
    let stays = policy == "Always";
    let mut errors = vec![];
    let known = ["Always", "Never", "OnFailure"];
    if !policy.is_empty() && !known.contains(&policy) {
        errors.push(FieldError::unsupported(format!("{field}.restartPolicy"), policy, &known));
    }
    for key in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if !stays && at(container, &[key]).is_some() {
            let why = "may not be set for init containers without restartPolicy=Always";
            errors.push(FieldError::forbidden(format!("{field}.{key}"), why));
        }
    }
    errors
}

fn port_errors(container: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut names = vec![];
    for (index, port) in items(container, &["ports"]).iter().enumerate() {
        let field = format!("{field}[{index}]");
        let name = text(port, &["name"]);
        if let Some(why) = service::port_name_error(name).filter(|_| !name.is_empty()) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), why));
        } else if !name.is_empty() && names.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        }
        names.push(name);
        if port["containerPort"].as_i64().unwrap_or(0) == 0 {
            errors.push(FieldError::required(format!("{field}.containerPort"), ""));
        } else {
            let at_port = format!("{field}.containerPort");
            errors.extend(service::number_error(&port["containerPort"], at_port));
        }
        if port["hostPort"].as_i64().unwrap_or(0) != 0 {
            errors.extend(service::number_error(&port["hostPort"], format!("{field}.hostPort")));
        }
        let (protocol, known) = (text(port, &["protocol"]), ["SCTP", "TCP", "UDP"]);
        if !known.contains(&protocol) {
            errors.push(FieldError::unsupported(format!("{field}.protocol"), protocol, &known));
        }
    }
    errors
}

/// Two containers of a pod can't have the same port of their node.
fn host_port_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut taken = vec![];
    let host_network = spec["hostNetwork"] == true;
    for (index, container) in items(spec, &["containers"]).iter().enumerate() {
        for (place, port) in items(container, &["ports"]).iter().enumerate() {
            let field = format!("{field}.containers[{index}].ports[{place}]");
            let Some(number) = port["hostPort"].as_i64().filter(|port| *port != 0) else {
                continue;
            };
            let key = format!("{}/{}/{number}", text(port, &["protocol"]), text(port, &["hostIP"]));
            if host_network && port["hostPort"] != port["containerPort"] {
                let why = "must match `hostPort` when `hostNetwork` is true";
                let field = format!("{field}.containerPort");
                errors.push(FieldError::invalid(field, &port["containerPort"], why));
            }
            if taken.contains(&key) {
                errors.push(FieldError::duplicate(format!("{field}.hostPort"), &key));
            }
            taken.push(key);
        }
    }
    errors
}

fn env_errors(container: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (index, variable) in items(container, &["env"]).iter().enumerate() {
        let field = format!("{field}.env[{index}]");
        let name = text(variable, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        } else if name.contains('=') || !name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            let why = "a valid environment variable name must consist only of printable ASCII \
                       characters other than '='";
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), why));
        }
        let Some(from) = at(variable, &["valueFrom"]) else { continue };
        let field = format!("{field}.valueFrom");
        if !text(variable, &["value"]).is_empty() {
            let why = "may not be specified when `value` is not empty";
            errors.push(FieldError::invalid(field.clone(), &"".into(), why));
        }
        errors.extend(source_errors(from, &field));
    }
    errors
}

fn source_errors(from: &Value, field: &str) -> Vec<FieldError> {
    let keys = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let mut errors = vec![];
    let set: Vec<&str> = keys.into_iter().filter(|key| at(from, &[key]).is_some()).collect();
    match set.len() {
        0 => {
            let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
                       `secretKeyRef` or `fileKeyRef`";
            errors.push(FieldError::invalid(field, &"".into(), why));
        }
        1 => {}
        _ => {
            let why = "may not have more than one field specified at a time";
            errors.push(FieldError::invalid(field, &"".into(), why));
        }
    }
    if let Some(reference) = at(from, &["fieldRef"]) {
        errors.extend(field_error(text(reference, &["fieldPath"]), &format!("{field}.fieldRef")));
    }
    for key in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = at(from, &[key]) {
            let name = text(reference, &["key"]);
            let field = format!("{field}.{key}.key");
            if name.is_empty() {
                errors.push(FieldError::required(field, ""));
            } else if let Some(why) = key_error(name) {
                errors.push(FieldError::invalid(field, &name.into(), &why));
            }
        }
    }
    errors
}

fn field_error(path: &str, field: &str) -> Option<FieldError> {
    let known = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let field = format!("{field}.fieldPath");
    let keyed = ["metadata.annotations['", "metadata.labels['"];
    if path.is_empty() {
        return Some(FieldError::required(field, ""));
    }
    let good = known.contains(&path)
        || keyed.iter().any(|front| path.starts_with(front)) && path.ends_with("']");
    (!good).then(|| FieldError::unsupported(field, path, &known))
}

fn probe_errors(probe: &Value, field: &str, key: &str) -> Vec<FieldError> {
    let mut errors = handler_errors(probe, field);
    for name in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        if probe[name].as_i64().is_some_and(|count| count < 0) {
            let why = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(format!("{field}.{name}"), &probe[name], why));
        }
    }
    if key != "readinessProbe" && probe["successThreshold"].as_i64().is_some_and(|n| n != 1) {
        let at_count = format!("{field}.successThreshold");
        errors.push(FieldError::invalid(at_count, &probe["successThreshold"], "must be 1"));
    }
    errors
}

fn handler_errors(handler: &Value, field: &str) -> Vec<FieldError> {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let set: Vec<&str> = kinds.into_iter().filter(|key| at(handler, &[key]).is_some()).collect();
    let mut errors = vec![];
    match set.as_slice() {
        [] => errors.push(FieldError::required(field, "must specify a handler type")),
        [_] => {}
        [_, more, ..] => {
            let why = "may not specify more than 1 handler type";
            errors.push(FieldError::forbidden(format!("{field}.{more}"), why));
        }
    }
    if at(handler, &["exec"]).is_some() && items(handler, &["exec", "command"]).is_empty() {
        errors.push(FieldError::required(format!("{field}.exec.command"), ""));
    }
    for key in ["httpGet", "tcpSocket", "grpc"] {
        if let Some(port) = at(handler, &[key]).map(|it| &it["port"]) {
            errors.extend(service::target_error(port, format!("{field}.{key}.port")));
        }
    }
    errors
}

fn claim_errors(container: &Value, claims: &[&str], field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (index, claim) in items(container, &["resources", "claims"]).iter().enumerate() {
        let name = text(claim, &["name"]);
        if !claims.contains(&name) {
            let field = format!("{field}.resources.claims[{index}].name");
            errors.push(FieldError::not_found(field, name));
        }
    }
    errors
}
