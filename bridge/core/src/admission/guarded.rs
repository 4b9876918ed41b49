//! What is ours alone to write on a pod: its job's number, its node, its rank, our finalizer.
//!
//! Whoever wrote them could take another job's nodes, or leave a job behind that nobody ends. Only
//! the finalizer may be taken off by hand, from a pod that is being deleted: a pod must never depend
//! on our being there.

use serde_json::Value;

use crate::names::{FINALIZER, JOB_ID_LABEL, NODE_ANNOTATION, PLACED};

/// What is wrong with a new pod, if anything is.
pub(super) fn on_create(pod: &Value) -> Option<String> {
    if label(pod).is_some() {
        return Some("can't create a pod with a slurm external jobid label".into());
    }
    if annotation(pod, NODE_ANNOTATION).is_some() {
        return Some("can't create a pod with a slurm external node annotation".into());
    }
    if let Some(key) = PLACED.into_iter().find(|key| annotation(pod, key).is_some()) {
        return Some(format!("can't create a pod with the annotation {key}: the bridge writes it"));
    }
    if has_finalizer(pod) {
        let what = "the bridge sets it when the pod has a Slurm job";
        return Some(format!("can't create a pod with the finalizer {FINALIZER}: {what}"));
    }
    // Mutation takes it off; whoever put it back would go past Slurm.
    let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())?;
    Some(format!("can't create a pod with spec.nodeName `{node}`: Slurm chooses the node"))
}

/// What is wrong with a change by somebody else, if anything is.
pub(super) fn on_update(new: &Value, old: &Value) -> Option<String> {
    let running = if new["status"]["phase"] == "Running" { "running pod" } else { "pod" };
    if label(new) != label(old) {
        return Some(format!("can't update a {running}'s external jobid label"));
    }
    let changed = |key: &str| annotation(new, key) != annotation(old, key);
    if changed(NODE_ANNOTATION) {
        return Some(format!("can't update a {running}'s external node annotation"));
    }
    if let Some(key) = PLACED.into_iter().find(|key| changed(key)) {
        return Some(format!("can't update a {running}'s annotation {key}: the bridge writes it"));
    }
    let leaving = !old["metadata"]["deletionTimestamp"].is_null();
    match (has_finalizer(old), has_finalizer(new)) {
        (true, false) if !leaving => Some(format!(
            "can't take the finalizer {FINALIZER} off a pod that isn't being deleted: its Slurm job \
             would be left behind; delete the pod first"
        )),
        (false, true) => Some(format!(
            "can't put the finalizer {FINALIZER} on a pod: the bridge sets it when the pod has a \
             Slurm job"
        )),
        (true, true | false) | (false, false) => None,
    }
}

fn label(pod: &Value) -> Option<&str> {
    pod["metadata"]["labels"][JOB_ID_LABEL].as_str()
}

fn annotation<'a>(pod: &'a Value, key: &str) -> Option<&'a str> {
    pod["metadata"]["annotations"][key].as_str()
}

fn has_finalizer(pod: &Value) -> bool {
    let finalizers = pod["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|all| all.iter().any(|name| name == FINALIZER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_ours_can_not_be_there_before_we_write_it() {
        #[rustfmt::skip]
        let rows = [
            (json!({ "labels": { JOB_ID_LABEL: "7" } }),                 json!({}), "can't create a pod with a slurm external jobid label"),
            (json!({ "annotations": { NODE_ANNOTATION: "n" } }),         json!({}), "can't create a pod with a slurm external node annotation"),
            (json!({ "annotations": { "drawbridge.dev/rank": "0" } }),   json!({}), "can't create a pod with the annotation drawbridge.dev/rank: the bridge writes it"),
            (json!({ "finalizers": ["x", FINALIZER] }),                  json!({}), "can't create a pod with the finalizer scheduler.slinky.slurm.net/finalizer: the bridge sets it when the pod has a Slurm job"),
            (json!({ "finalizers": ["x"] }),                             json!({}), "allowed"),
            (json!({}), json!({ "nodeName": "n1" }),                                "can't create a pod with spec.nodeName `n1`: Slurm chooses the node"),
            (json!({}), json!({ "nodeName": "" }),                                  "allowed"),
        ];
        for (metadata, spec, expected) in rows {
            let pod = json!({ "metadata": metadata, "spec": spec });
            assert_eq!(on_create(&pod).as_deref().unwrap_or("allowed"), expected, "{pod}");
        }
    }

    #[test]
    fn what_is_ours_changes_only_by_us_in_every_phase() {
        let pod = |phase: &str, job: &str, node: &str, rank: &str, finalizers: &Value| {
            json!({
                "metadata": {
                    "labels": { JOB_ID_LABEL: job },
                    "annotations": { NODE_ANNOTATION: node, "drawbridge.dev/rank": rank },
                    "finalizers": finalizers,
                },
                "status": { "phase": phase },
            })
        };
        let held = json!([FINALIZER]);
        let old = pod("Pending", "7", "n", "0", &held);
        #[rustfmt::skip]
        let rows = [
            (pod("Running", "8", "n", "0", &held),      "can't update a running pod's external jobid label"),
            (pod("Pending", "8", "n", "0", &held),      "can't update a pod's external jobid label"),
            (pod("Running", "7", "m", "0", &held),      "can't update a running pod's external node annotation"),
            (pod("Succeeded", "7", "m", "0", &held),    "can't update a pod's external node annotation"),
            (pod("Pending", "7", "n", "1", &held),      "can't update a pod's annotation drawbridge.dev/rank: the bridge writes it"),
            (pod("Pending", "7", "n", "0", &json!([])), "can't take the finalizer scheduler.slinky.slurm.net/finalizer off a pod that isn't being deleted: its Slurm job would be left behind; delete the pod first"),
            (pod("Running", "7", "n", "0", &held),      "allowed"),
        ];
        for (new, expected) in rows {
            assert_eq!(on_update(&new, &old).as_deref().unwrap_or("allowed"), expected, "{new}");
        }
        let free = pod("Pending", "7", "n", "0", &json!([]));
        assert!(
            on_update(&old, &free)
                .is_some_and(|fault| fault.starts_with("can't put the finalizer"))
        );
        let mut leaving = old;
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(on_update(&free, &leaving), None, "nobody is locked in");
    }
}
