//! What is refused, in the words that users of the existing bridge know.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{allow, guarded, refuse, scheduler_name, warnings};
use crate::{
    annotations::{self, Annotations},
    config::Config,
    names::WORKER_LABEL,
    permissions,
    translate::{self, Wanted},
    view::PodView,
};

/// Why a NodeSet's own worker pod can't go through the bridge.
pub(crate) const WORKER_REFUSED: &str = "a NodeSet's worker pod can't be scheduled by Slurm: it would wait for the capacity that it \
     itself provides; use another namespace or scheduler for it";

const RESIZE_REFUSED: &str = "can't resize a Slurm Bridge-managed pod";

pub(super) fn respond(config: &Config, me: &str, request: &Value) -> Value {
    if scheduler_name(&request["object"]) != config.scheduler_name {
        return allow();
    }
    let ours = request["userInfo"]["username"] == me;
    match (request["operation"].as_str(), request["subResource"].as_str()) {
        (_, Some("resize")) => refuse(403, RESIZE_REFUSED),
        (Some("CREATE"), _) => on_create(config, request),
        (Some("UPDATE"), _) if !ours => {
            on_update(config, request).map_or_else(allow, |fault| refuse(403, &fault))
        }
        (_, _) => allow(),
    }
}

fn on_create(config: &Config, request: &Value) -> Value {
    let object = &request["object"];
    let fault = if is_worker(object) { Some(WORKER_REFUSED.into()) } else { None };
    let fault = fault.or_else(|| guarded::on_create(object));
    if let Some(fault) = fault.or_else(|| bad_annotation(config, request)) {
        return refuse(403, &fault);
    }
    let Some(pod) = view(object) else {
        return allow();
    };
    match devices(config, &pod) {
        Err(fault) => refuse(403, &fault),
        Ok(wanted) => {
            let mut response = allow();
            let warnings = warnings::of(config, &pod, &wanted);
            if !warnings.is_empty() {
                response["warnings"] = json!(warnings);
            }
            response
        }
    }
}

/// The pod as translation will see it. It may have no uid yet.
fn view(object: &Value) -> Option<PodView> {
    let mut object = object.clone();
    for (key, value) in [("uid", "new"), ("name", "new")] {
        if object["metadata"][key].is_null() {
            object["metadata"][key] = value.into();
        }
    }
    PodView::deserialize(object).ok()
}

/// Devices that nobody could give it, whatever its owners' annotations say.
fn devices(config: &Config, pod: &PodView) -> Result<Wanted, String> {
    let wanted = translate::wanted(config, pod).map_err(|fault| fault.to_string())?;
    let said = Annotations::read(&[&pod.metadata.annotations]).map_err(|it| it.to_string())?;
    translate::conflict(pod, &wanted, &said).map_err(|fault| fault.to_string())?;
    // What the pod itself says counts more than what its owners say.
    let settled = said.exclusive.is_some() || pod.metadata.owner_references.is_empty();
    if settled && pod.group().is_none() {
        translate::exclusive(config, wanted.plugin.as_deref(), said.exclusive)
            .map_err(|fault| fault.to_string())?;
    }
    Ok(wanted)
}

fn on_update(config: &Config, request: &Value) -> Option<String> {
    let (new, old) = (&request["object"], &request["oldObject"]);
    if let Some(fault) = guarded::on_update(new, old) {
        return Some(fault);
    }
    // Whoever changes something else isn't asked to mend what was there before.
    let changed = new["metadata"]["annotations"] != old["metadata"]["annotations"];
    let leaving = !old["metadata"]["deletionTimestamp"].is_null();
    if changed && !leaving { bad_annotation(config, request) } else { None }
}

/// Keys that nobody reads, values that can't be used and what the namespace may not ask for. What
/// only an owner's annotations say is checked at translation.
fn bad_annotation(config: &Config, request: &Value) -> Option<String> {
    let pod = &request["object"];
    let namespace = request["namespace"].as_str().unwrap_or_default();
    let annotations = BTreeMap::deserialize(&pod["metadata"]["annotations"]).unwrap_or_default();
    let layers = [&annotations];
    let value = || Annotations::read(&layers).err().map(|fault| fault.to_string());
    let right =
        || permissions::check(config, namespace, &layers).err().map(|fault| fault.to_string());
    annotations::unknown(&annotations).or_else(value).or_else(right)
}

fn is_worker(pod: &Value) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let by_nodeset =
        owners.is_some_and(|owners| owners.iter().any(|owner| owner["kind"] == "NodeSet"));
    by_nodeset || pod["metadata"]["labels"].get(WORKER_LABEL).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{BRIDGE_USER, JOB_ID_LABEL};
    use serde_json::json;

    fn judged(config: &Config, request: &Value) -> String {
        let response = respond(config, BRIDGE_USER, request);
        let refused = response["status"]["message"].as_str();
        let warned = response["warnings"].as_array().map(|all| format!("allowed, with {all:?}"));
        refused.map(Into::into).or(warned).unwrap_or_else(|| "allowed".into())
    }

    fn created(metadata: &Value, limits: &Value) -> String {
        let containers = json!([{ "name": "c", "resources": { "limits": limits } }]);
        let spec = json!({ "schedulerName": "slurm-bridge-scheduler", "containers": containers });
        let request = json!({
            "operation": "CREATE", "namespace": "a",
            "object": { "metadata": metadata, "spec": spec },
        });
        judged(&Config::as_shipped(), &request)
    }

    #[test]
    fn what_may_not_be_created_is_refused_in_words_that_say_what_is_right() {
        let none = json!({});
        let annotated = |key: &str, value: &str| json!({ "annotations": { format!("slurmjob.slinky.slurm.net/{key}"): value } });
        let class = |class: &str| format!("deviceclass.resource.kubernetes.io/{class}");
        #[rustfmt::skip]
        let rows = [
            (json!({}),                                             none.clone(), "allowed"),
            (json!({ "labels": { JOB_ID_LABEL: "7" } }),            none.clone(), "can't create a pod with a slurm external jobid label"),
            (json!({ "labels": { WORKER_LABEL: "n" } }),            none.clone(), WORKER_REFUSED),
            (json!({ "ownerReferences": [{ "kind": "NodeSet" }] }), none.clone(), WORKER_REFUSED),
            (annotated("timelimit", "1h"),                          none.clone(), "annotation slurmjob.slinky.slurm.net/timelimit is `1h`, but must be a whole number of minutes, at least 1"),
            (annotated("user-id", "root"),                          none.clone(), "annotation slurmjob.slinky.slurm.net/user-id is `root`, but namespace a allows no other than its own; an administrator may add to namespaces.a.allowedUsers of the bridge's configuration"),
            (json!({}), json!({ "rdma/hca": 1 }),                                 "Slurm doesn't know the resource rdma/hca; add it to devices.resources of the bridge's configuration, or to devices.kubernetesOnly if Slurm needn't count it"),
            (json!({}), json!({ class("dra.cpu"): 2, "cpu": 1 }),                 "can't specify both native \"cpu\" and CPU DRA resource \"deviceclass.resource.kubernetes.io/dra.cpu\""),
            (annotated("cpu-per-task", "2"), json!({ class("dra.cpu"): 2 }),      "annotation \"slurmjob.slinky.slurm.net/cpu-per-task\" conflicts with CPU DRA resource \"deviceclass.resource.kubernetes.io/dra.cpu\": explicit DRA requests are authoritative"),
            (annotated("gres", "gpu:1"), json!({ class("gpu.nvidia.com"): 2 }),   "annotation \"slurmjob.slinky.slurm.net/gres\" conflicts with DRA device requests: explicit DRA requests are authoritative"),
            (json!({}), json!({ class("gpu.nvidia.com"): 1 }),                    "allowed"),
        ];
        for (metadata, limits, expected) in rows {
            assert_eq!(created(&metadata, &limits), expected, "{metadata} {limits}");
        }
        let slip = json!({ "annotations": { "slinky.slurm.net/timelmit": "60" } });
        assert!(created(&slip, &none).starts_with("annotation slinky.slurm.net/timelmit is unknown; did you mean slinky.slurm.net/timelimit? (known after"));
        let shared = created(&annotated("exclusive", "false"), &json!({ "nvidia.com/gpu": 1 }));
        assert!(
            shared.starts_with("the kubelet chooses the devices of nvidia.com/gpu"),
            "{shared}"
        );
    }

    #[test]
    fn a_pod_may_not_become_what_it_may_not_be_created_as() {
        let pod = |key: &str, value: &str, deletion: Value| {
            json!({
                "metadata": { "annotations": { key: value }, "deletionTimestamp": deletion },
                "spec": { "schedulerName": "slurm-bridge-scheduler" },
                "status": { "phase": "Pending" },
            })
        };
        let (key, alive) = ("slurmjob.slinky.slurm.net/user-id", Value::Null);
        let denied = "annotation slurmjob.slinky.slurm.net/user-id is `root`, but namespace a allows no other than its own; an administrator may add to namespaces.a.allowedUsers of the bridge's configuration";
        #[rustfmt::skip]
        let rows = [
            ("eve",       pod("x", "y", alive.clone()),          pod(key, "root", alive.clone()),                   denied),
            (BRIDGE_USER, pod("x", "y", alive.clone()),          pod(key, "root", alive.clone()),                   "allowed"),
            ("eve",       pod(key, "root", alive.clone()),       pod(key, "root", alive),                           "allowed"),
            ("eve",       pod("x", "y", json!("2026-01-01T00:00:00Z")), pod(key, "root", json!("2026-01-01T00:00:00Z")), "allowed"),
        ];
        for (user, old, new, expected) in rows {
            let request = json!({
                "operation": "UPDATE", "namespace": "a", "userInfo": { "username": user },
                "object": new, "oldObject": old,
            });
            assert_eq!(judged(&Config::as_shipped(), &request), expected, "{request}");
        }
    }

    #[test]
    fn nobody_resizes_a_pod_of_ours() {
        let pod =
            |scheduler: &str| json!({ "metadata": {}, "spec": { "schedulerName": scheduler } });
        let resize = |scheduler: &str| {
            let request = json!({
                "operation": "UPDATE", "subResource": "resize", "userInfo": { "username": "eve" },
                "object": pod(scheduler), "oldObject": pod(scheduler),
            });
            judged(&Config::as_shipped(), &request)
        };
        assert_eq!(resize("slurm-bridge-scheduler"), "can't resize a Slurm Bridge-managed pod");
        assert_eq!(resize("default-scheduler"), "allowed");
    }

    #[test]
    fn pods_of_other_schedulers_are_none_of_our_business() {
        let object = json!({ "metadata": { "labels": { JOB_ID_LABEL: "7" } }, "spec": {} });
        let request = json!({ "operation": "CREATE", "object": object });
        assert_eq!(judged(&Config::as_shipped(), &request), "allowed");
    }
}
