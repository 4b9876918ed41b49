//! Services: what they leave open, and what can't be.

use serde_json::{Map, Value, json};

use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule, labels, qualified_error},
};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// Fills in what a Service left open.
pub(super) fn defaults(service: &mut Value) {
    let spec = object::map_mut(service, "spec");
    object::default(spec, "type", "ClusterIP");
    object::default(spec, "sessionAffinity", "None");
    let kind = spec["type"].as_str().unwrap_or("").to_owned();
    if kind != "ExternalName" {
        object::default(spec, "internalTrafficPolicy", "Cluster");
        object::default(spec, "ipFamilies", json!(["IPv4"]));
        object::default(spec, "ipFamilyPolicy", "SingleStack");
    }
    if ["NodePort", "LoadBalancer"].contains(&kind.as_str()) {
        object::default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        object::default(spec, "allocateLoadBalancerNodePorts", true);
    }
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port_defaults(port);
    }
}

fn port_defaults(port: &mut Map<String, Value>) {
    object::default(port, "protocol", "TCP");
    let number = port.get("port").cloned().unwrap_or(Value::Null);
    object::default(port, "targetPort", number);
}

/// A new Service balances nothing yet.
pub(super) fn prepare(service: &mut Value) {
    service["status"] = json!({"loadBalancer": {}});
}

/// What is wrong with a Service.
pub(super) fn validate(service: &Value) -> Vec<FieldError> {
    let spec = &service["spec"];
    let mut errors = vec![];
    let kind = text(spec, &["type"]);
    let ports = items(spec, &["ports"]);
    let headless = text(spec, &["clusterIP"]) == "None";
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            let field = "spec.clusterIPs[0]";
            errors.push(FieldError::invalid(field, &"None".into(), &why));
        }
        "ExternalName" => errors.extend(external_errors(spec)),
        kind if !TYPES.contains(&kind) => {
            errors.push(FieldError::unsupported("spec.type", kind, &TYPES));
        }
        _ => {}
    }
    errors.extend(port_errors(ports));
    errors.extend(labels(at(spec, &["selector"]), "spec.selector"));
    let affinity = text(spec, &["sessionAffinity"]);
    let known = ["ClientIP", "None"];
    if !known.contains(&affinity) {
        errors.push(FieldError::unsupported("spec.sessionAffinity", affinity, &known));
    }
    errors
}

fn external_errors(spec: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    if !text(spec, &["clusterIP"]).is_empty() {
        let why = "may not be set when `type` is 'ExternalName'";
        errors.push(FieldError::forbidden("spec.clusterIPs", why));
    }
    let name = text(spec, &["externalName"]).trim_end_matches('.');
    let field = "spec.externalName";
    if name.is_empty() {
        errors.push(FieldError::required(field, ""));
    } else if let Some(why) = NameRule::Subdomain.check(name) {
        errors.push(FieldError::invalid(field, &name.into(), &why));
    }
    errors
}

fn port_errors(ports: &[Value]) -> Vec<FieldError> {
    let mut errors = vec![];
    let (mut names, mut taken) = (vec![], vec![]);
    for (index, port) in ports.iter().enumerate() {
        let field = format!("spec.ports[{index}]");
        let name = text(port, &["name"]);
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(FieldError::required(format!("{field}.name"), ""));
            }
        } else if let Some(why) = NameRule::Label.check(name) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
        } else if names.contains(&name) {
            errors.push(FieldError::duplicate(format!("{field}.name"), name));
        }
        names.push(name);
        errors.extend(number_error(&port["port"], format!("{field}.port")));
        let protocol = text(port, &["protocol"]);
        let known = ["SCTP", "TCP", "UDP"];
        if !known.contains(&protocol) {
            errors.push(FieldError::unsupported(format!("{field}.protocol"), protocol, &known));
        }
        errors.extend(target_error(&port["targetPort"], format!("{field}.targetPort")));
        let app = text(port, &["appProtocol"]);
        if let Some(why) = qualified_error(app).filter(|_| !app.is_empty()) {
            errors.push(FieldError::invalid(format!("{field}.appProtocol"), &app.into(), &why));
        }
        let key = (port["port"].as_i64(), protocol);
        if taken.contains(&key) {
            let shown = json!({"protocol": protocol, "port": port["port"]});
            errors.push(FieldError::duplicate_value(field, &shown));
        }
        taken.push(key);
    }
    errors
}

const RANGE: &str = "must be between 1 and 65535, inclusive";

/// What is wrong with the number of a port.
pub(super) fn number_error(port: &Value, field: String) -> Option<FieldError> {
    let good = port.as_i64().is_some_and(|port| (1..=65535).contains(&port));
    let shown = if port.is_null() { Value::from(0) } else { port.clone() };
    (!good).then(|| FieldError::invalid(field, &shown, RANGE))
}

/// What is wrong with a port by number or by name.
pub(super) fn target_error(port: &Value, field: String) -> Option<FieldError> {
    match port.as_str() {
        None => number_error(port, field),
        Some(name) => port_name_error(name).map(|why| FieldError::invalid(field, port, why)),
    }
}

/// What is wrong with the name of a port: `http`, `web-1`.
pub(super) fn port_name_error(name: &str) -> Option<&'static str> {
    let letter = |byte: u8| byte.is_ascii_lowercase();
    if name.is_empty() || name.len() > 15 {
        return Some("must be no more than 15 characters");
    }
    if !name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit() || byte == b'-') {
        return Some("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(letter) {
        return Some("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        return Some("must not contain consecutive hyphens");
    }
    (name.starts_with('-') || name.ends_with('-')).then_some("must not begin or end with a hyphen")
}

/// What may not change in a Service.
pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (is, was) = (text(new, &["spec", "clusterIP"]), text(old, &["spec", "clusterIP"]));
    let kinds = [text(new, &["spec", "type"]), text(old, &["spec", "type"])];
    if is == was || was.is_empty() || kinds.contains(&"ExternalName") {
        return vec![];
    }
    let why = "may not change once set";
    let field = "spec.clusterIPs[0]";
    vec![FieldError::invalid(field, &json!([is]), why)]
}
