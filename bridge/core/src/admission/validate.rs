//! What is refused, in the words that users of the existing bridge know.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{allow, refuse, scheduler_name};
use crate::{
    annotations::{self, Annotations},
    config::Config,
    names::{JOB_ID_LABEL, NODE_ANNOTATION, WORKER_LABEL},
};

/// Why a NodeSet's own worker pod can't go through the bridge.
pub(crate) const WORKER_REFUSED: &str = "a NodeSet's worker pod can't be scheduled by Slurm: it would wait for the capacity that it \
     itself provides; use another namespace or scheduler for it";

pub(super) fn respond(config: &Config, me: &str, request: &Value) -> Value {
    if scheduler_name(&request["object"]) != config.scheduler_name {
        return allow();
    }
    let fault = match request["operation"].as_str() {
        Some("CREATE") => on_create(&request["object"]),
        Some("UPDATE") => on_update(me, request),
        Some(_) | None => None,
    };
    fault.map_or_else(allow, |fault| refuse(403, &fault))
}

fn on_create(pod: &Value) -> Option<String> {
    let fault = if is_worker(pod) {
        WORKER_REFUSED
    } else if jobid(pod).is_some() {
        "can't create a pod with a slurm external jobid label"
    } else if node(pod).is_some() {
        "can't create a pod with a slurm external node annotation"
    } else if pod["spec"]["resourceClaims"].as_array().is_some_and(|claims| !claims.is_empty()) {
        "can't schedule a pod with a resourceclaim, use the annotation \
         slurmjob.slinky.slurm.net/gres to request devices instead"
    } else {
        return bad_annotation(pod);
    };
    Some(fault.into())
}

fn on_update(me: &str, request: &Value) -> Option<String> {
    let (new, old) = (&request["object"], &request["oldObject"]);
    let ours = request["userInfo"]["username"] == me;
    if ours || new["status"]["phase"] != "Running" {
        return None;
    }
    if jobid(new) != jobid(old) {
        return Some("can't update a running pod's external jobid label".into());
    }
    (node(new) != node(old)).then(|| "can't update a running pod's external node annotation".into())
}

/// Keys that nobody reads and values that can't be used. What only an owner's annotations say is
/// checked at translation.
fn bad_annotation(pod: &Value) -> Option<String> {
    let annotations = BTreeMap::deserialize(&pod["metadata"]["annotations"]).unwrap_or_default();
    let fault = || Annotations::read(&[&annotations]).err().map(|fault| fault.to_string());
    annotations::unknown(&annotations).or_else(fault)
}

fn is_worker(pod: &Value) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let by_nodeset =
        owners.is_some_and(|owners| owners.iter().any(|owner| owner["kind"] == "NodeSet"));
    by_nodeset || pod["metadata"]["labels"].get(WORKER_LABEL).is_some()
}

fn jobid(pod: &Value) -> Option<&str> {
    pod["metadata"]["labels"][JOB_ID_LABEL].as_str()
}

fn node(pod: &Value) -> Option<&str> {
    pod["metadata"]["annotations"][NODE_ANNOTATION].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::BRIDGE_USER;
    use serde_json::json;

    fn judged(request: &Value) -> String {
        let response = respond(&Config::as_shipped(), BRIDGE_USER, request);
        response["status"]["message"].as_str().unwrap_or("allowed").into()
    }

    fn created(metadata: &Value, claims: &Value) -> String {
        let spec = json!({ "schedulerName": "slurm-bridge-scheduler", "resourceClaims": claims });
        judged(&json!({ "operation": "CREATE", "object": { "metadata": metadata, "spec": spec } }))
    }

    #[test]
    fn what_may_not_be_created_is_refused_in_the_words_that_users_know() {
        let none = json!([]);
        #[rustfmt::skip]
        let rows = [
            (json!({}), &none, "allowed"),
            (json!({ "labels": { JOB_ID_LABEL: "7" } }), &none, "can't create a pod with a slurm external jobid label"),
            (json!({ "annotations": { NODE_ANNOTATION: "n" } }), &none, "can't create a pod with a slurm external node annotation"),
            (json!({}), &json!([{ "name": "gpu" }]), "can't schedule a pod with a resourceclaim, use the annotation slurmjob.slinky.slurm.net/gres to request devices instead"),
            (json!({ "labels": { WORKER_LABEL: "n" } }), &none, WORKER_REFUSED),
            (json!({ "ownerReferences": [{ "kind": "NodeSet" }] }), &none, WORKER_REFUSED),
            (json!({ "annotations": { "slinky.slurm.net/timelmit": "60" } }), &none, "annotation slinky.slurm.net/timelmit is unknown; did you mean slinky.slurm.net/timelimit? (known after slinky.slurm.net/ are: account, begin, comment, constraints, cpu-per-task, deadline, dependency, exclude, exclusive, gres, group-id, job-name, licenses, max-nodes, mem-per-node, min-nodes, nice, partition, prefer, priority, qos, reservation, signal, switches, timelimit, user-id, wckey)"),
            (json!({ "annotations": { "slinky.slurm.net/timelimit": "1h" } }), &none, "annotation slinky.slurm.net/timelimit is `1h`, but must be a whole number of minutes, at least 1"),
        ];
        for (metadata, claims, expected) in rows {
            assert_eq!(created(&metadata, claims), expected, "{metadata}");
        }
    }

    #[test]
    fn a_running_pods_job_and_node_change_only_by_us() {
        let pod = |job: &str, node: &str, phase: &str| {
            json!({
                "metadata": { "labels": { JOB_ID_LABEL: job }, "annotations": { NODE_ANNOTATION: node } },
                "spec": { "schedulerName": "slurm-bridge-scheduler" },
                "status": { "phase": phase },
            })
        };
        #[rustfmt::skip]
        let rows = [
            ("eve",       pod("8", "n", "Running"), "can't update a running pod's external jobid label"),
            ("eve",       pod("7", "m", "Running"), "can't update a running pod's external node annotation"),
            ("eve",       pod("7", "n", "Running"), "allowed"),
            ("eve",       pod("8", "m", "Pending"), "allowed"),
            (BRIDGE_USER, pod("8", "m", "Running"), "allowed"),
        ];
        for (user, object, expected) in rows {
            let request = json!({
                "operation": "UPDATE", "userInfo": { "username": user },
                "object": object, "oldObject": pod("7", "n", "Running"),
            });
            assert_eq!(judged(&request), expected, "{request}");
        }
    }

    #[test]
    fn pods_of_other_schedulers_are_none_of_our_business() {
        let object = json!({ "metadata": { "labels": { JOB_ID_LABEL: "7" } }, "spec": {} });
        assert_eq!(judged(&json!({ "operation": "CREATE", "object": object })), "allowed");
    }
}
