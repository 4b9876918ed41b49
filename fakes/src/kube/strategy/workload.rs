//! Deployments, ReplicaSets, StatefulSets, DaemonSets: instructions with a pod template inside.

use serde_json::{Map, Value, json};

use super::{budget::share_errors, pod_spec};
use crate::kube::{
    object::{self, at, text},
    selector::LabelSelector,
    validate::{FieldError, labels},
};

/// Fills in what the template of a workload left open.
pub(super) fn template_defaults(spec: &mut Map<String, Value>) {
    if let Some(template) = spec.get_mut("template") {
        pod_spec::defaults(object::map_mut(template, "spec"));
        let metadata = template.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.remove("creationTimestamp");
        }
    }
}

/// Fills in what a Deployment left open.
pub(super) fn deployment_defaults(deployment: &mut Value) {
    let spec = object::map_mut(deployment, "spec");
    object::default(spec, "replicas", 1);
    object::default(spec, "revisionHistoryLimit", 10);
    object::default(spec, "progressDeadlineSeconds", 600);
    let strategy = spec.entry("strategy").or_insert(json!({}));
    if let Some(strategy) = strategy.as_object_mut() {
        object::default(strategy, "type", "RollingUpdate");
        if strategy["type"] == "RollingUpdate" {
            let rolling = strategy.entry("rollingUpdate").or_insert(json!({}));
            if let Some(rolling) = rolling.as_object_mut() {
                object::default(rolling, "maxUnavailable", "25%");
                object::default(rolling, "maxSurge", "25%");
            }
        }
    }
    template_defaults(spec);
}

/// Fills in what a ReplicaSet left open.
pub(super) fn replica_set_defaults(set: &mut Value) {
    let spec = object::map_mut(set, "spec");
    object::default(spec, "replicas", 1);
    template_defaults(spec);
}

/// Fills in what a StatefulSet left open.
pub(super) fn stateful_set_defaults(set: &mut Value) {
    let spec = object::map_mut(set, "spec");
    object::default(spec, "replicas", 1);
    object::default(spec, "podManagementPolicy", "OrderedReady");
    object::default(spec, "revisionHistoryLimit", 10);
    object::default(spec, "updateStrategy", json!({}));
    object::default(
        spec,
        "persistentVolumeClaimRetentionPolicy",
        json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
    );
    if let Some(update) = spec.get_mut("updateStrategy").and_then(Value::as_object_mut) {
        object::default(update, "type", "RollingUpdate");
        if update["type"] == "RollingUpdate" {
            let rolling = update.entry("rollingUpdate").or_insert(json!({}));
            if let Some(rolling) = rolling.as_object_mut() {
                object::default(rolling, "partition", 0);
            }
        }
    }
    template_defaults(spec);
}

/// Fills in what a DaemonSet left open.
pub(super) fn daemon_set_defaults(set: &mut Value) {
    let spec = object::map_mut(set, "spec");
    object::default(spec, "revisionHistoryLimit", 10);
    object::default(spec, "updateStrategy", json!({}));
    if let Some(update) = spec.get_mut("updateStrategy").and_then(Value::as_object_mut) {
        object::default(update, "type", "RollingUpdate");
        if update["type"] == "RollingUpdate" {
            let rolling = update.entry("rollingUpdate").or_insert(json!({}));
            if let Some(rolling) = rolling.as_object_mut() {
                object::default(rolling, "maxUnavailable", 1);
                object::default(rolling, "maxSurge", 0);
            }
        }
    }
    template_defaults(spec);
}

/// A new Deployment or ReplicaSet has done nothing yet.
pub(super) fn set_prepare(set: &mut Value) {
    set["status"] = match set["kind"] == "ReplicaSet" {
        true => json!({"replicas": 0}),
        false => json!({}),
    };
}

/// What is wrong with a Deployment, ReplicaSet, StatefulSet or DaemonSet.
pub(super) fn set_validate(set: &Value) -> Vec<FieldError> {
    let spec = &set["spec"];
    let mut errors = vec![];
    for key in ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        errors.extend(count_error(spec, key, "spec"));
    }
    match LabelSelector::from_object(&spec["selector"]) {
        _ if at(spec, &["selector"]).is_none() => {
            errors.push(FieldError::required("spec.selector", ""));
        }
        Err(why) => errors.push(FieldError::invalid("spec.selector", &spec["selector"], &why)),
        Ok(selector) if selector.is_empty() => {
            let kind = text(set, &["kind"]).to_lowercase();
            let why = format!("empty selector is invalid for {kind}");
            errors.push(FieldError::invalid("spec.selector", &spec["selector"], &why));
        }
        Ok(selector) => {
            let labels = &spec["template"]["metadata"]["labels"];
            if !selector.matches(labels) {
                let why = "`selector` does not match template `labels`";
                let field = "spec.template.metadata.labels";
                errors.push(FieldError::invalid(field, labels, why));
            }
        }
    }
    errors.extend(template_errors(spec, "spec"));
    let policy = text(spec, &["template", "spec", "restartPolicy"]);
    if policy != "Always" {
        let field = "spec.template.spec.restartPolicy";
        errors.push(FieldError::unsupported(field, policy, &["Always"]));
    }
    errors
}

/// What is wrong with a Deployment.
pub(super) fn deployment_validate(deployment: &Value) -> Vec<FieldError> {
    let mut errors = set_validate(deployment);
    let strategy = &deployment["spec"]["strategy"];
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, &["type"]) {
        "Recreate" if !rolling.is_null() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(FieldError::forbidden("spec.strategy.rollingUpdate", why));
        }
        "Recreate" => {}
        "RollingUpdate" => errors.extend(rolling_errors(rolling, "spec.strategy.rollingUpdate")),
        other => {
            let known = ["Recreate", "RollingUpdate"];
            errors.push(FieldError::unsupported("spec.strategy.type", other, &known));
        }
    }
    errors
}

fn rolling_errors(rolling: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in ["maxUnavailable", "maxSurge"] {
        let value = &rolling[key];
        let field = format!("{field}.{key}");
        // More than all may be made at once, but not more than all be missing.
        let over = key == "maxSurge" && value.as_str().is_some_and(|it| it.ends_with('%'));
        let found = share_errors(value, &field);
        errors.extend(found.into_iter().filter(|it| !over || !it.to_string().contains("100%")));
    }
    let nothing = |key: &str| rolling[key] == 0 || rolling[key] == "0%";
    if nothing("maxUnavailable") && nothing("maxSurge") {
        let why = "may not be 0 when `maxSurge` is 0";
        let field = format!("{field}.maxUnavailable");
        errors.push(FieldError::invalid(field, &rolling["maxUnavailable"], why));
    }
    errors
}

/// What is wrong with a StatefulSet.
pub(super) fn stateful_set_validate(set: &Value) -> Vec<FieldError> {
    let spec = &set["spec"];
    let mut errors = set_validate(set);
    let rows: [(&[&str], &[&str]); 4] = [
        (&["podManagementPolicy"], &["OrderedReady", "Parallel"]),
        (&["updateStrategy", "type"], &["OnDelete", "RollingUpdate"]),
        (&["persistentVolumeClaimRetentionPolicy", "whenDeleted"], &["Delete", "Retain"]),
        (&["persistentVolumeClaimRetentionPolicy", "whenScaled"], &["Delete", "Retain"]),
    ];
    for (path, known) in rows {
        let word = text(spec, path);
        if !known.contains(&word) {
            let field = format!("spec.{}", path.join("."));
            errors.push(FieldError::unsupported(field, word, known));
        }
    }
    let partition = &spec["updateStrategy"]["rollingUpdate"]["partition"];
    if partition.as_i64().is_some_and(|count| count < 0) {
        let field = "spec.updateStrategy.rollingUpdate.partition";
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(field, partition, why));
    }
    errors
}

const STATEFUL: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
     'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' \
     and 'minReadySeconds' are forbidden";

/// What may not change in a StatefulSet.
pub(super) fn stateful_set_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let fixed = |set: &Value| {
        let mut spec = set["spec"].clone();
        for key in [
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
        ] {
            spec.as_object_mut().and_then(|map| map.remove(key));
        }
        spec
    };
    match fixed(new) == fixed(old) {
        true => vec![],
        false => vec![FieldError::forbidden("spec", STATEFUL)],
    }
}

/// What is wrong with a DaemonSet.
pub(super) fn daemon_set_validate(set: &Value) -> Vec<FieldError> {
    let mut errors = set_validate(set);
    let update = &set["spec"]["updateStrategy"];
    match text(update, &["type"]) {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = &update["rollingUpdate"];
            let field = "spec.updateStrategy.rollingUpdate";
            for key in ["maxUnavailable", "maxSurge"] {
                errors.extend(share_errors(&rolling[key], &format!("{field}.{key}")));
            }
            let some = |key: &str| rolling[key] != 0 && rolling[key] != "0%";
            let why = match (some("maxUnavailable"), some("maxSurge")) {
                (true, true) => Some("may not be set when maxUnavailable is non-zero"),
                (false, false) => Some("cannot be 0 when maxUnavailable is 0"),
                _ => None,
            };
            errors.extend(why.map(|why| {
                FieldError::invalid(format!("{field}.maxSurge"), &rolling["maxSurge"], why)
            }));
        }
        other => {
            let known = ["OnDelete", "RollingUpdate"];
            errors.push(FieldError::unsupported("spec.updateStrategy.type", other, &known));
        }
    }
    errors
}

/// What may not change in a Deployment, ReplicaSet or DaemonSet.
pub(super) fn set_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    match new == old {
        true => vec![],
        false => vec![FieldError::invalid("spec.selector", new, "field is immutable")],
    }
}

/// What is wrong with the template of a workload.
pub(super) fn template_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let field = format!("{field}.template");
    let Some(template) = at(spec, &["template"]) else {
        return vec![FieldError::required(field, "")];
    };
    let at_labels = format!("{field}.metadata.labels");
    let mut errors = labels(at(template, &["metadata", "labels"]), &at_labels);
    errors.extend(pod_spec::validate(&template["spec"], &format!("{field}.spec")));
    errors
}

/// What is wrong with a count.
pub(super) fn count_error(spec: &Value, key: &str, field: &str) -> Option<FieldError> {
    let value = at(spec, &[key])?;
    let range = 0..=i64::from(i32::MAX);
    let good = value.as_i64().is_some_and(|value| range.contains(&value));
    let why = "must be greater than or equal to 0";
    (!good).then(|| FieldError::invalid(format!("{field}.{key}"), value, why))
}

/// Fills in what a template of pods that stands alone left open.
pub(super) fn pod_template_defaults(template: &mut Value) {
    if let Some(map) = template.as_object_mut() {
        template_defaults(map);
    }
}

/// What is wrong with a template of pods that stands alone.
pub(super) fn pod_template_validate(template: &Value) -> Vec<FieldError> {
    pod_spec::validate(&template["template"]["spec"], "template.spec")
}
