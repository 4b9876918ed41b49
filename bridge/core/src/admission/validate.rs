//! What is refused, in the words that users of the existing bridge know.

use serde_json::Value;

use super::{allow, refuse, scheduler_name};
use crate::{
    config::Config,
    names::{BRIDGE_USER, JOB_ID_LABEL, NODE_ANNOTATION, WORKER_LABEL},
};

/// Why a NodeSet's own worker pod can't go through the bridge.
pub(crate) const WORKER_REFUSED: &str = "a NodeSet's worker pod can't be scheduled by Slurm: it would wait for the capacity that it \
     itself provides; use another namespace or scheduler for it";

pub(super) fn respond(config: &Config, request: &Value) -> Value {
    if scheduler_name(&request["object"]) != config.scheduler_name {
        return allow();
    }
    let fault = match request["operation"].as_str() {
        Some("CREATE") => on_create(&request["object"]),
        Some("UPDATE") => on_update(request),
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
    } else if pod["spec"]["resourceClaims"]
        .as_array()
        .is_some_and(|claims| !claims.is_empty())
    {
        "can't schedule a pod with a resourceclaim, use the annotation \
         slurmjob.slinky.slurm.net/gres to request devices instead"
    } else {
        return None;
    };
    Some(fault.into())
}

fn on_update(request: &Value) -> Option<String> {
    let (new, old) = (&request["object"], &request["oldObject"]);
    let ours = request["userInfo"]["username"] == BRIDGE_USER;
    if ours || new["status"]["phase"] != "Running" {
        return None;
    }
    if jobid(new) != jobid(old) {
        return Some("can't update a running pod's external jobid label".into());
    }
    (node(new) != node(old)).then(|| "can't update a running pod's external node annotation".into())
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
