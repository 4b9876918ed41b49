//! What is changed: the scheduler's name, the node's name, the toleration for Slurm's nodes, and
//! Slurm's variables in the containers of ranks.

use serde_json::{Value, json};

use super::{allow, environment, in_managed_namespace, scheduler_name};
use crate::{base64, config::Config, names::MANAGED_TAINT};

const DEFAULT_SCHEDULER: &str = "default-scheduler";
const NODE_NAME: &str = "/spec/nodeName";

pub(super) fn respond(config: &Config, request: &Value) -> Value {
    if request["operation"] != "CREATE" {
        return allow();
    }
    let patch = patch(config, request);
    if patch.is_empty() {
        return allow();
    }
    let warnings = warnings(&patch, &request["object"]);
    let text = Value::Array(patch).to_string();
    let mut response = json!({ "allowed": true, "patchType": "JSONPatch", "patch": base64::encode(text.as_bytes()) });
    if !warnings.is_empty() {
        response["warnings"] = json!(warnings);
    }
    response
}

/// What whoever created the pod would not expect.
fn warnings(patch: &[Value], pod: &Value) -> Vec<String> {
    let removed = patch.iter().any(|op| op["op"] == "remove" && op["path"] == NODE_NAME);
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    let warning =
        || format!("spec.nodeName `{node}` was removed: Slurm chooses the node of this pod");
    removed.then(warning).into_iter().collect()
}

fn patch(config: &Config, request: &Value) -> Vec<Value> {
    let pod = &request["object"];
    let asked = scheduler_name(pod);
    let takes_over =
        in_managed_namespace(config, request) && (asked.is_empty() || asked == DEFAULT_SCHEDULER);
    if !takes_over && asked != config.scheduler_name {
        return Vec::new();
    }
    let mut patch = Vec::new();
    if takes_over {
        patch.push(json!({
            "op": "add", "path": "/spec/schedulerName", "value": config.scheduler_name,
        }));
    }
    if pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty()) {
        patch.push(json!({ "op": "remove", "path": NODE_NAME }));
    }
    patch.extend(toleration(config, &pod["spec"]["tolerations"]));
    patch.extend(environment::variables(config, pod));
    patch
}

/// Adds the toleration unless the pod has it.
fn toleration(config: &Config, present: &Value) -> Option<Value> {
    let ours = json!({
        "key": MANAGED_TAINT, "operator": "Equal",
        "value": config.scheduler_name, "effect": "NoExecute",
    });
    match present.as_array() {
        Some(present) if present.contains(&ours) => None,
        Some(_) => Some(json!({ "op": "add", "path": "/spec/tolerations/-", "value": ours })),
        None => Some(json!({ "op": "add", "path": "/spec/tolerations", "value": [ours] })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutated(namespace: &str, pod: &Value) -> String {
        let request = json!({ "operation": "CREATE", "namespace": namespace, "object": pod });
        let lines: Vec<_> = patch(&Config::as_shipped(), &request)
            .iter()
            .map(|op| format!("{} {} {}", op["op"], op["path"], op["value"]))
            .collect();
        lines.join("\n").replace('"', "")
    }

    #[test]
    fn a_pod_of_a_managed_namespace_becomes_ours_and_tolerates_slurms_nodes() {
        let pod = json!({ "spec": { "schedulerName": "default-scheduler", "nodeName": "n1" } });
        insta::assert_snapshot!(mutated("slurm-bridge", &pod), @"
        add /spec/schedulerName slurm-bridge-scheduler
        remove /spec/nodeName null
        add /spec/tolerations [{effect:NoExecute,key:slinky.slurm.net/managed-node,operator:Equal,value:slurm-bridge-scheduler}]
        ");
    }

    #[test]
    fn whoever_names_a_node_is_warned_that_it_was_removed() {
        let warned = |namespace: &str, spec: Value| {
            let object = json!({ "spec": spec });
            let request =
                json!({ "operation": "CREATE", "namespace": namespace, "object": object });
            respond(&Config::as_shipped(), &request)["warnings"].to_string()
        };
        let node = json!({ "nodeName": "n1" });
        insta::assert_snapshot!(warned("slurm-bridge", node.clone()), @r#"["spec.nodeName `n1` was removed: Slurm chooses the node of this pod"]"#);
        assert_eq!(warned("slurm-bridge", json!({})), "null", "nothing was removed");
        assert_eq!(warned("elsewhere", node), "null", "and there it stays");
    }

    #[test]
    fn another_scheduler_and_another_namespace_are_left_alone() {
        let other = json!({ "spec": { "schedulerName": "volcano" } });
        assert_eq!(mutated("slurm-bridge", &other), "");
        let default = json!({ "spec": { "schedulerName": "default-scheduler" } });
        assert_eq!(mutated("elsewhere", &default), "");
    }

    #[test]
    fn a_pod_that_names_us_anywhere_gets_only_the_toleration() {
        let pod =
            json!({ "spec": { "schedulerName": "slurm-bridge-scheduler", "tolerations": [] } });
        insta::assert_snapshot!(mutated("elsewhere", &pod), @"add /spec/tolerations/- {effect:NoExecute,key:slinky.slurm.net/managed-node,operator:Equal,value:slurm-bridge-scheduler}");
    }
}
