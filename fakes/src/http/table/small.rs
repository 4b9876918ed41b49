//! Everything else in one line each.

use serde_json::Value;

use super::{At, condition, count, list, name, or, pairs, text};

/// A name and an age.
pub(super) fn plain(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), at.age(it)]
}

/// A name and the moment it was made.
pub(super) fn created(_: At, it: &Value) -> Vec<Value> {
    vec![name(it), it["metadata"]["creationTimestamp"].clone()]
}

/// The cells of a Node.
pub(super) fn node(at: At, it: &Value) -> Vec<Value> {
    let mut status = match condition(it, "Ready") {
        Some(ready) if ready["status"] == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if it["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let info = &it["status"]["nodeInfo"];
    let address = |kind: &str| {
        let all = list(&it["status"]["addresses"]);
        let found = all.iter().find(|address| address["type"] == kind);
        or(found.map_or("", |address| text(&address["address"])), "<none>")
    };
    let known = |key: &str| or(text(&info[key]), "<unknown>");
    let mut kernel = known("kernelVersion");
    if !text(&info["architecture"]).is_empty() {
        kernel = format!("{kernel} ({})", text(&info["architecture"]));
    }
    vec![
        name(it),
        status.into(),
        roles(it).into(),
        at.age(it),
        text(&info["kubeletVersion"]).into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        known("osImage").into(),
        kernel.into(),
        known("containerRuntimeVersion").into(),
    ]
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles = labels.filter_map(|(key, value)| match key.as_str() {
        "kubernetes.io/role" => Some(text(value)),
        key => key.strip_prefix("node-role.kubernetes.io/"),
    });
    or(&roles.filter(|role| !role.is_empty()).collect::<Vec<_>>().join(","), "<none>")
}

/// The cells of a Namespace.
pub(super) fn namespace(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), text(&it["status"]["phase"]).into(), at.age(it)]
}

/// The cells of an Event.
pub(super) fn event(at: At, it: &Value) -> Vec<Value> {
    let first = [&it["firstTimestamp"], &it["eventTime"]];
    let last = [&it["series"]["lastObservedTime"], &it["lastTimestamp"], first[0], first[1]];
    let given =
        |times: &[&Value]| times.iter().find(|time| !time.is_null()).map(|time| at.since(time));
    let unknown = || "<unknown>".to_owned();
    let about = &it["involvedObject"];
    let source = match (text(&it["source"]["component"]), text(&it["source"]["host"])) {
        (component, "") => component.to_owned(),
        (component, host) => format!("{component}, {host}"),
    };
    let times = count(&it["series"]["count"]).max(count(&it["count"])).max(1);
    vec![
        given(&last).unwrap_or_else(unknown).into(),
        text(&it["type"]).into(),
        text(&it["reason"]).into(),
        format!("{}/{}", text(&about["kind"]).to_lowercase(), text(&about["name"])).into(),
        text(&about["fieldPath"]).into(),
        or(&source, text(&it["reportingComponent"])).into(),
        text(&it["message"]).trim().into(),
        given(&first).unwrap_or_else(unknown).into(),
        times.into(),
        name(it),
    ]
}

fn size(map: &Value) -> usize {
    map.as_object().map_or(0, serde_json::Map::len)
}

/// The cells of a ConfigMap.
pub(super) fn config_map(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), (size(&it["data"]) + size(&it["binaryData"])).into(), at.age(it)]
}

/// The cells of a Secret.
pub(super) fn secret(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), text(&it["type"]).into(), size(&it["data"]).into(), at.age(it)]
}

/// The cells of a Service.
pub(super) fn service(at: At, it: &Value) -> Vec<Value> {
    let spec = &it["spec"];
    let ports = list(&spec["ports"]).iter().map(|port| {
        let node = match count(&port["nodePort"]) {
            0 => String::new(),
            node => format!(":{node}"),
        };
        format!("{}{node}/{}", count(&port["port"]), text(&port["protocol"]))
    });
    vec![
        name(it),
        text(&spec["type"]).into(),
        or(text(&spec["clusterIP"]), "<none>").into(),
        outside(it).into(),
        or(&ports.collect::<Vec<_>>().join(","), "<none>").into(),
        at.age(it),
        pairs(&spec["selector"]).into(),
    ]
}

/// Where a Service is reached from outside.
fn outside(it: &Value) -> String {
    let spec = &it["spec"];
    let external = list(&spec["externalIPs"]).iter().map(text).collect::<Vec<_>>().join(",");
    match text(&spec["type"]) {
        "ExternalName" => or(text(&spec["externalName"]), "<none>"),
        "LoadBalancer" => {
            let places = list(&it["status"]["loadBalancer"]["ingress"]).iter().map(|place| {
                let ip = text(&place["ip"]);
                if ip.is_empty() { text(&place["hostname"]) } else { ip }
            });
            let all: Vec<&str> =
                places.chain(Some(external.as_str()).filter(|it| !it.is_empty())).collect();
            or(&all.join(","), "<pending>")
        }
        _ => or(&external, "<none>"),
    }
}

/// The cells of a PodDisruptionBudget.
pub(super) fn budget(at: At, it: &Value) -> Vec<Value> {
    let bound = |value: &Value| match (value.is_null(), value.as_str()) {
        (true, _) => "N/A".to_owned(),
        (false, Some(share)) => share.to_owned(),
        (false, None) => value.to_string(),
    };
    vec![
        name(it),
        bound(&it["spec"]["minAvailable"]).into(),
        bound(&it["spec"]["maxUnavailable"]).into(),
        count(&it["status"]["disruptionsAllowed"]).into(),
        at.age(it),
    ]
}

/// The cells of a Lease.
pub(super) fn lease(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), text(&it["spec"]["holderIdentity"]).into(), at.age(it)]
}

/// The cells of a PriorityClass.
pub(super) fn priority_class(at: At, it: &Value) -> Vec<Value> {
    let global = it["globalDefault"] == true;
    let policy = or(text(&it["preemptionPolicy"]), "PreemptLowerPriority");
    vec![name(it), count(&it["value"]).into(), global.into(), at.age(it), policy.into()]
}

/// The cells of a RoleBinding or ClusterRoleBinding.
pub(super) fn role_binding(at: At, it: &Value) -> Vec<Value> {
    let named = |kind: &str| {
        let all = list(&it["subjects"]).iter().filter(|subject| subject["kind"] == kind);
        let names = all.map(|subject| match text(&subject["namespace"]) {
            "" => text(&subject["name"]).to_owned(),
            namespace => format!("{namespace}/{}", text(&subject["name"])),
        });
        Value::from(names.collect::<Vec<_>>().join(", "))
    };
    let role = format!("{}/{}", text(&it["roleRef"]["kind"]), text(&it["roleRef"]["name"]));
    vec![name(it), role.into(), at.age(it), named("User"), named("Group"), named("ServiceAccount")]
}

/// The cells of a webhook configuration.
pub(super) fn webhooks(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), list(&it["webhooks"]).len().into(), at.age(it)]
}
