//! Volumes: free, bound, released; removed or kept when their claim is gone.

use serde_json::{Value, json};

use super::{
    claim::{self, PROVISIONED_BY, is_given_to, provisioner_user},
    controllers::Sight,
    object::{deleting, text},
    plan::{Plan, patch},
};
use crate::{Method, Request};

/// Decides what to do about a volume.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let mut plan = Plan::nothing();
    if deleting(it) {
        return plan;
    }
    let path = format!("/api/v1/persistentvolumes/{}", text(&it["metadata"]["name"]));
    let to = &it["spec"]["claimRef"];
    let phase = match to.is_object() {
        false => "Available",
        true => {
            let (namespace, name) = (text(&to["namespace"]), text(&to["name"]));
            let claimed = sight.api.get(claim::RESOURCE, namespace, name);
            match claimed.filter(|claimed| is_given_to(it, claimed)) {
                Some(claimed) if claim::is_bound(claimed) => "Bound",
                Some(_) => "Available",
                None if to["uid"].is_string() => "Released",
                None => "Available",
            }
        }
    };
    if text(&it["status"]["phase"]) != phase {
        plan.send(patch(
            claim::USER,
            path.clone() + "/status",
            json!({"status": {"phase": phase}}),
        ));
    }
    // What somebody made by hand stays: whoever made it may want it back.
    let by = it["metadata"]["annotations"][PROVISIONED_BY].as_str();
    let goes = it["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
    if let Some(by) = by.filter(|_| phase == "Released" && goes) {
        plan.send(Request::new(&provisioner_user(by), Method::Delete, path));
    }
    plan
}
