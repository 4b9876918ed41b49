//! Storage, networks and devices in one line each.

use serde_json::Value;

use super::{At, count, list, name, or, pairs, text, workloads::selector};

/// `RWO,ROX`: how a volume may be used.
fn modes(list_of: &Value) -> String {
    let short = |mode: &Value| match text(mode) {
        "ReadWriteOnce" => "RWO".to_owned(),
        "ReadOnlyMany" => "ROX".to_owned(),
        "ReadWriteMany" => "RWX".to_owned(),
        "ReadWriteOncePod" => "RWOP".to_owned(),
        other => other.to_owned(),
    };
    list(list_of).iter().map(short).collect::<Vec<_>>().join(",")
}

fn phase(it: &Value) -> &str {
    let deleting = !it["metadata"]["deletionTimestamp"].is_null();
    if deleting { "Terminating" } else { text(&it["status"]["phase"]) }
}

/// The cells of a PersistentVolumeClaim.
pub(super) fn claim(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let bound = !text(&spec["volumeName"]).is_empty();
    let (capacity, modes) = match bound {
        true => (text(&status["capacity"]["storage"]), modes(&status["accessModes"])),
        false => ("", String::new()),
    };
    vec![
        name(it),
        phase(it).into(),
        text(&spec["volumeName"]).into(),
        capacity.into(),
        modes.into(),
        text(&spec["storageClassName"]).into(),
        or(text(&spec["volumeAttributesClassName"]), "<unset>").into(),
        at.age(it),
        or(text(&spec["volumeMode"]), "<unset>").into(),
    ]
}

/// The cells of a PersistentVolume.
pub(super) fn volume(at: At, it: &Value) -> Vec<Value> {
    let spec = &it["spec"];
    let claim = match spec["claimRef"].is_null() {
        true => String::new(),
        false => {
            format!("{}/{}", text(&spec["claimRef"]["namespace"]), text(&spec["claimRef"]["name"]))
        }
    };
    vec![
        name(it),
        or(text(&spec["capacity"]["storage"]), "0").into(),
        modes(&spec["accessModes"]).into(),
        text(&spec["persistentVolumeReclaimPolicy"]).into(),
        phase(it).into(),
        claim.into(),
        text(&spec["storageClassName"]).into(),
        or(text(&spec["volumeAttributesClassName"]), "<unset>").into(),
        text(&it["status"]["reason"]).into(),
        at.age(it),
        or(text(&spec["volumeMode"]), "<unset>").into(),
    ]
}

/// The cells of a StorageClass.
pub(super) fn storage_class(at: At, it: &Value) -> Vec<Value> {
    let key = "storageclass.kubernetes.io/is-default-class";
    let mark = if it["metadata"]["annotations"][key] == "true" { " (default)" } else { "" };
    vec![
        format!("{}{mark}", text(&it["metadata"]["name"])).into(),
        text(&it["provisioner"]).into(),
        or(text(&it["reclaimPolicy"]), "Delete").into(),
        or(text(&it["volumeBindingMode"]), "Immediate").into(),
        (it["allowVolumeExpansion"] == true).into(),
        at.age(it),
    ]
}

/// The cells of a VolumeAttributesClass.
pub(super) fn attributes_class(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), text(&it["driverName"]).into(), at.age(it)]
}

/// The cells of a VolumeAttachment.
pub(super) fn attachment(at: At, it: &Value) -> Vec<Value> {
    let spec = &it["spec"];
    vec![
        name(it),
        text(&spec["attacher"]).into(),
        text(&spec["source"]["persistentVolumeName"]).into(),
        text(&spec["nodeName"]).into(),
        (it["status"]["attached"] == true).into(),
        at.age(it),
    ]
}

/// The cells of a CSIDriver.
pub(super) fn csi_driver(at: At, it: &Value) -> Vec<Value> {
    let spec = &it["spec"];
    let words = |value: &Value, key: Option<&str>, nothing: &str| -> Value {
        let word = |it: &Value| text(key.map_or(it, |key| &it[key])).to_owned();
        or(&list(value).iter().map(word).collect::<Vec<_>>().join(","), nothing).into()
    };
    vec![
        name(it),
        (spec["attachRequired"] != false).into(),
        (spec["podInfoOnMount"] == true).into(),
        (spec["storageCapacity"] == true).into(),
        words(&spec["tokenRequests"], Some("audience"), "<unset>"),
        (spec["requiresRepublish"] == true).into(),
        words(&spec["volumeLifecycleModes"], None, "<none>"),
        at.age(it),
    ]
}

/// The cells of a CSINode.
pub(super) fn csi_node(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), list(&it["spec"]["drivers"]).len().into(), at.age(it)]
}

/// The cells of a CSIStorageCapacity.
pub(super) fn capacity(_: At, it: &Value) -> Vec<Value> {
    let amount = or(text(&it["capacity"]), "<unset>");
    vec![name(it), text(&it["storageClassName"]).into(), amount.into()]
}

/// A few of many, and how many more there are.
fn few(all: &[String], most: usize) -> String {
    match all.len() {
        0 => "<none>".to_owned(),
        n if n > most => format!("{} + {} more...", all[..most].join(","), n - most),
        _ => all.join(","),
    }
}

/// The cells of an Ingress.
pub(super) fn ingress(at: At, it: &Value) -> Vec<Value> {
    let spec = &it["spec"];
    let hosts: Vec<String> = list(&spec["rules"])
        .iter()
        .map(|rule| text(&rule["host"]).to_owned())
        .filter(|host| !host.is_empty())
        .collect();
    let hosts = if hosts.is_empty() { "*".to_owned() } else { few(&hosts, 3) };
    let addresses = list(&it["status"]["loadBalancer"]["ingress"]).iter().map(|place| {
        let ip = text(&place["ip"]);
        if ip.is_empty() { text(&place["hostname"]) } else { ip }
    });
    let ports = if list(&spec["tls"]).is_empty() { "80" } else { "80, 443" };
    vec![
        name(it),
        or(text(&spec["ingressClassName"]), "<none>").into(),
        hosts.into(),
        addresses.collect::<Vec<_>>().join(",").into(),
        ports.into(),
        at.age(it),
    ]
}

/// The cells of an IngressClass.
pub(super) fn ingress_class(at: At, it: &Value) -> Vec<Value> {
    let of = &it["spec"]["parameters"];
    let parameters = match (of.is_null(), text(&of["apiGroup"])) {
        (true, _) => "<none>".to_owned(),
        (false, "") => format!("{}/{}", text(&of["kind"]), text(&of["name"])),
        (false, group) => format!("{}.{group}/{}", text(&of["kind"]), text(&of["name"])),
    };
    vec![name(it), text(&it["spec"]["controller"]).into(), parameters.into(), at.age(it)]
}

/// The cells of a NetworkPolicy.
pub(super) fn network_policy(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), selector(&it["spec"]["podSelector"]), at.age(it)]
}

/// The cells of an IPAddress.
pub(super) fn ip_address(_: At, it: &Value) -> Vec<Value> {
    let of = &it["spec"]["parentRef"];
    let words = ["group", "resource", "namespace", "name"].map(|key| text(&of[key]));
    let parent = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("/");
    vec![name(it), or(&parent, "<none>").into()]
}

/// The cells of Endpoints.
pub(super) fn endpoints(at: At, it: &Value) -> Vec<Value> {
    let mut all = vec![];
    for subset in list(&it["subsets"]) {
        let ports = list(&subset["ports"]);
        for address in list(&subset["addresses"]) {
            let ip = text(&address["ip"]);
            all.extend(ports.iter().map(|port| format!("{ip}:{}", count(&port["port"]))));
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
        }
    }
    vec![name(it), few(&all, 3).into(), at.age(it)]
}

/// The cells of an EndpointSlice.
pub(super) fn endpoint_slice(at: At, it: &Value) -> Vec<Value> {
    let port = |port: &Value| match port["port"].as_i64() {
        Some(port) => port.to_string(),
        None => "*".to_owned(),
    };
    let ports: Vec<String> = list(&it["ports"]).iter().map(port).collect();
    let ports = if ports.is_empty() { "<unset>".to_owned() } else { few(&ports, 3) };
    let addresses = list(&it["endpoints"]).iter().flat_map(|it| list(&it["addresses"]));
    let addresses: Vec<String> = addresses.map(|it| text(it).to_owned()).collect();
    let addresses = if addresses.is_empty() { "<unset>".to_owned() } else { few(&addresses, 3) };
    vec![name(it), text(&it["addressType"]).into(), ports.into(), addresses.into(), at.age(it)]
}

/// The cells of a RuntimeClass.
pub(super) fn runtime_class(at: At, it: &Value) -> Vec<Value> {
    vec![name(it), text(&it["handler"]).into(), at.age(it)]
}

/// The cells of a ResourceClaim.
pub(super) fn device_claim(at: At, it: &Value) -> Vec<Value> {
    let status = &it["status"];
    let mut states = vec![];
    if !it["metadata"]["deletionTimestamp"].is_null() {
        states.push("deleted");
    }
    match status["allocation"].is_null() {
        true if it["metadata"]["deletionTimestamp"].is_null() => states.push("pending"),
        true => {}
        false => {
            states.push("allocated");
            if !list(&status["reservedFor"]).is_empty() {
                states.push("reserved");
            }
        }
    }
    vec![name(it), states.join(",").into(), at.age(it)]
}

/// The cells of a ResourceSlice.
pub(super) fn device_slice(at: At, it: &Value) -> Vec<Value> {
    let spec = &it["spec"];
    vec![
        name(it),
        text(&spec["nodeName"]).into(),
        text(&spec["driver"]).into(),
        text(&spec["pool"]["name"]).into(),
        at.age(it),
    ]
}

/// `key=value` pairs of a map, for those who print labels.
pub(super) fn labels(map: &Value) -> Value {
    pairs(map).into()
}
