//! The objects that tell the API server when to call us.
//!
//! Two webhooks each: one for managed namespaces, one for pods elsewhere that name our scheduler.

use serde_json::{Value, json};

use super::{MUTATE_PATH, VALIDATE_PATH};
use crate::{config::Config, names::BRIDGE_NAMESPACE};

/// The Service, as namespace and name, behind which we answer.
pub const SERVICE: (&str, &str) = (BRIDGE_NAMESPACE, "drawbridge");
/// What both configurations are called.
pub const CONFIGURATION: &str = "slurm-bridge-admission";
/// The webhooks of each: for managed namespaces, and for pods that name our scheduler.
pub const WEBHOOKS: [&str; 2] = ["pods.slinky.slurm.net", "named.pods.slinky.slurm.net"];

const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The webhook configurations to install.
pub fn configurations(config: &Config) -> Vec<Value> {
    vec![
        configuration(config, "MutatingWebhookConfiguration", Calls::MUTATE),
        configuration(config, "ValidatingWebhookConfiguration", Calls::VALIDATE),
    ]
}

/// When the API server calls, and where.
#[derive(Clone, Copy)]
struct Calls {
    path: &'static str,
    operations: &'static [&'static str],
    resources: &'static [&'static str],
}

impl Calls {
    const MUTATE: Self = Self { path: MUTATE_PATH, operations: &["CREATE"], resources: &["pods"] };
    const VALIDATE: Self = Self {
        path: VALIDATE_PATH,
        operations: &["CREATE", "UPDATE"],
        resources: &["pods", "pods/resize"],
    };
}

fn configuration(config: &Config, kind: &str, calls: Calls) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": CONFIGURATION },
        "webhooks": [
            by_namespace(config, calls),
            by_scheduler(config, calls),
        ],
    })
}

fn by_namespace(config: &Config, calls: Calls) -> Value {
    let mut webhook = webhook(WEBHOOKS[0], calls);
    webhook["namespaceSelector"] = match config.namespace_selector() {
        Some(selector) => json!(selector),
        None => names(config, "In"),
    };
    webhook
}

fn by_scheduler(config: &Config, calls: Calls) -> Value {
    let mut webhook = webhook(WEBHOOKS[1], calls);
    if config.namespace_selector().is_none() {
        webhook["namespaceSelector"] = names(config, "NotIn");
    }
    webhook["matchConditions"] = json!([{
        "name": "names-our-scheduler",
        "expression": format!("object.spec.schedulerName == '{}'", config.scheduler_name),
    }]);
    webhook
}

fn names(config: &Config, operator: &str) -> Value {
    json!({ "matchExpressions": [{
        "key": NAMESPACE_NAME, "operator": operator, "values": config.managed_namespaces,
    }] })
}

fn webhook(name: &str, calls: Calls) -> Value {
    let Calls { path, operations, resources } = calls;
    json!({
        "name": name,
        "clientConfig": {
            "service": { "namespace": SERVICE.0, "name": SERVICE.1, "path": path },
        },
        "rules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": resources,
            "operations": operations, "scope": "Namespaced",
        }],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LabelSelector;

    fn scopes(config: &Config) -> String {
        let objects = configurations(config);
        let webhooks = objects.iter().flat_map(|object| object["webhooks"].as_array().unwrap());
        let line = |webhook: &Value| {
            let rule = &webhook["rules"][0]["operations"];
            let when = &webhook["matchConditions"][0]["expression"];
            format!("{} {rule} {} {when}", webhook["name"], webhook["namespaceSelector"])
        };
        webhooks.map(line).collect::<Vec<_>>().join("\n").replace('"', "")
    }

    #[test]
    fn an_outage_of_ours_stops_nobody_elses_pods() {
        insta::assert_snapshot!(scopes(&Config::as_shipped()), @"
        pods.slinky.slurm.net [CREATE] {matchExpressions:[{key:kubernetes.io/metadata.name,operator:In,values:[slurm-bridge]}]} null
        named.pods.slinky.slurm.net [CREATE] {matchExpressions:[{key:kubernetes.io/metadata.name,operator:NotIn,values:[slurm-bridge]}]} object.spec.schedulerName == 'slurm-bridge-scheduler'
        pods.slinky.slurm.net [CREATE,UPDATE] {matchExpressions:[{key:kubernetes.io/metadata.name,operator:In,values:[slurm-bridge]}]} null
        named.pods.slinky.slurm.net [CREATE,UPDATE] {matchExpressions:[{key:kubernetes.io/metadata.name,operator:NotIn,values:[slurm-bridge]}]} object.spec.schedulerName == 'slurm-bridge-scheduler'
        ");
    }

    #[test]
    fn a_selector_takes_the_place_of_the_list() {
        let selector = LabelSelector {
            match_labels: [("slurm".into(), "yes".into())].into(),
            match_expressions: Vec::new(),
        };
        let config = Config { managed_namespace_selector: Some(selector), ..Config::as_shipped() };
        insta::assert_snapshot!(scopes(&config), @"
        pods.slinky.slurm.net [CREATE] {matchLabels:{slurm:yes}} null
        named.pods.slinky.slurm.net [CREATE] null object.spec.schedulerName == 'slurm-bridge-scheduler'
        pods.slinky.slurm.net [CREATE,UPDATE] {matchLabels:{slurm:yes}} null
        named.pods.slinky.slurm.net [CREATE,UPDATE] null object.spec.schedulerName == 'slurm-bridge-scheduler'
        ");
    }
}
