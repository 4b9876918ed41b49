//! Jobs, Deployments, ReplicaSets: controllers' instructions with a pod template inside.

use serde_json::{Map, Value, json};

use super::pod_spec;
use crate::kube::{
    object::{self, at, text},
    selector::LabelSelector,
    validate::{FieldError, labels},
};

fn template_defaults(spec: &mut Map<String, Value>) {
    if let Some(template) = spec.get_mut("template") {
        pod_spec::defaults(object::map_mut(template, "spec"));
        let metadata = template.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.remove("creationTimestamp");
        }
    }
}

/// Fills in what a Job left open.
pub(super) fn job_defaults(job: &mut Value) {
    let template = at(job, &["spec", "template", "metadata", "labels"]).cloned();
    if let (None, Some(labels)) = (at(job, &["metadata", "labels"]), template) {
        object::metadata_mut(job).insert("labels".into(), labels);
    }
    let spec = object::map_mut(job, "spec");
    if !spec.contains_key("parallelism") && !spec.contains_key("completions") {
        spec.insert("completions".into(), 1.into());
    }
    object::default(spec, "parallelism", 1);
    object::default(spec, "backoffLimit", 6);
    object::default(spec, "completionMode", "NonIndexed");
    object::default(spec, "suspend", false);
    object::default(spec, "manualSelector", false);
    object::default(spec, "podReplacementPolicy", "TerminatingOrFailed");
    template_defaults(spec);
}

/// A new Job selects its pods by its own uid.
pub(super) fn job_prepare(job: &mut Value) {
    job["status"] = json!({});
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (object::uid(job).to_owned(), object::name(job).to_owned());
    let template = &job["spec"]["template"]["metadata"]["labels"];
    // Without labels of its own the Job got its template's, and keeps looking like it.
    let alike = template.is_object() && job["metadata"]["labels"] == *template;
    let key = "batch.kubernetes.io/controller-uid";
    let generated = [
        (key, &uid),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("job-name", &name),
    ];
    let spec = object::map_mut(job, "spec");
    spec.insert("selector".into(), json!({"matchLabels": {key: uid}}));
    let template = spec.entry("template").or_insert(json!({}));
    let labels = object::metadata_mut(template).entry("labels").or_insert(json!({}));
    for (key, value) in generated {
        labels[key] = value.as_str().into();
    }
    let labels = labels.clone();
    if alike {
        object::metadata_mut(job).insert("labels".into(), labels);
    }
}

/// What is wrong with a Job.
pub(super) fn job_validate(job: &Value) -> Vec<FieldError> {
    let spec = &job["spec"];
    let mut errors = vec![];
    for key in ["parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished"] {
        errors.extend(count_error(spec, key));
    }
    let (mode, modes) = (text(spec, &["completionMode"]), ["NonIndexed", "Indexed"]);
    if !modes.contains(&mode) {
        errors.push(FieldError::unsupported("spec.completionMode", mode, &modes));
    }
    if mode == "Indexed" && at(spec, &["completions"]).is_none() {
        let why = "when completion mode is Indexed";
        errors.push(FieldError::required("spec.completions", why));
    }
    errors.extend(template_errors(spec));
    let field = "spec.template.spec.restartPolicy";
    if text(spec, &["template", "spec", "restartPolicy"]) == "Always" {
        let why = "valid values: \"OnFailure\", \"Never\"";
        errors.push(FieldError::required(field, why));
    }
    errors
}

/// What is wrong with a change of a Job.
pub(super) fn job_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&new["spec"], &old["spec"]);
    let mut errors = vec![];
    let elastic = text(old, &["completionMode"]) == "Indexed"
        && new["completions"] == new["parallelism"]
        && old["completions"] == old["parallelism"];
    let mut fixed = vec!["selector", "completionMode"];
    if !elastic {
        fixed.push("completions");
    }
    if old["suspend"] != true {
        fixed.push("template");
    }
    for key in fixed {
        if new[key] != old[key] {
            let field = format!("spec.{key}");
            errors.push(FieldError::invalid(field, &new[key], "field is immutable"));
        }
    }
    errors
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
            object::default(update, "rollingUpdate", json!({"partition": 0}));
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
            object::default(update, "rollingUpdate", json!({"maxUnavailable": 1, "maxSurge": 0}));
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

/// What is wrong with a Deployment or ReplicaSet.
pub(super) fn set_validate(set: &Value) -> Vec<FieldError> {
    let spec = &set["spec"];
    let mut errors: Vec<FieldError> = count_error(spec, "replicas").into_iter().collect();
    match LabelSelector::from_object(&spec["selector"]) {
        _ if at(spec, &["selector"]).is_none() => {
            errors.push(FieldError::required("spec.selector", ""));
        }
        Err(why) => errors.push(FieldError::invalid("spec.selector", &spec["selector"], &why)),
        Ok(selector) if selector.is_empty() => {
            let why = "empty selector is invalid for deployment";
            errors.push(FieldError::invalid("spec.selector", &spec["selector"], why));
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
    errors.extend(template_errors(spec));
    let policy = text(spec, &["template", "spec", "restartPolicy"]);
    if policy != "Always" {
        let field = "spec.template.spec.restartPolicy";
        errors.push(FieldError::unsupported(field, policy, &["Always"]));
    }
    errors
}

/// What is wrong with a change of a Deployment or ReplicaSet.
pub(super) fn set_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    match new == old {
        true => vec![],
        false => vec![FieldError::invalid("spec.selector", new, "field is immutable")],
    }
}

fn template_errors(spec: &Value) -> Vec<FieldError> {
    let Some(template) = at(spec, &["template"]) else {
        return vec![FieldError::required("spec.template", "")];
    };
    let mut errors = labels(at(template, &["metadata", "labels"]), "spec.template.metadata.labels");
    errors.extend(pod_spec::validate(&template["spec"], "spec.template.spec"));
    errors
}

fn count_error(spec: &Value, key: &str) -> Option<FieldError> {
    let value = at(spec, &[key])?;
    let range = 0..=i64::from(i32::MAX);
    let good = value.as_i64().is_some_and(|value| range.contains(&value));
    let why = "must be greater than or equal to 0";
    (!good).then(|| FieldError::invalid(format!("spec.{key}"), value, why))
}
