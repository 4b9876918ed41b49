//! Jobs, and the Jobs that CronJobs make.

use serde_json::{Map, Value, json};

use super::workload::{template_defaults, template_errors};
use crate::{
    cluster::schedule_error,
    kube::{
        object::{self, at, items, text},
        selector::LabelSelector,
        validate::{FieldError, NameRule, qualified_error},
    },
};

/// Fills in what a Job left open.
pub(super) fn defaults(job: &mut Value) {
    let template = at(job, &["spec", "template", "metadata", "labels"]).cloned();
    if let (None, Some(labels)) = (at(job, &["metadata", "labels"]), template) {
        object::metadata_mut(job).insert("labels".into(), labels);
    }
    spec_defaults(object::map_mut(job, "spec"));
}

fn spec_defaults(spec: &mut Map<String, Value>) {
    if !spec.contains_key("parallelism") && !spec.contains_key("completions") {
        spec.insert("completions".into(), 1.into());
    }
    object::default(spec, "parallelism", 1);
    let each = spec.get("backoffLimitPerIndex").is_some_and(Value::is_u64);
    object::default(spec, "backoffLimit", if each { i32::MAX } else { 6 });
    object::default(spec, "completionMode", "NonIndexed");
    object::default(spec, "suspend", false);
    object::default(spec, "manualSelector", false);
    let judged = spec.get("podFailurePolicy").is_some_and(Value::is_object);
    let replaced = if judged { "Failed" } else { "TerminatingOrFailed" };
    object::default(spec, "podReplacementPolicy", replaced);
    template_defaults(spec);
}

/// A new Job selects its pods by its own uid.
pub(super) fn prepare(job: &mut Value) {
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
pub(super) fn validate(job: &Value) -> Vec<FieldError> {
    let spec = &job["spec"];
    let mut errors = spec_errors(spec, "spec");
    match LabelSelector::from_object(&spec["selector"]) {
        _ if at(spec, &["selector"]).is_none() => {
            errors.push(FieldError::required("spec.selector", ""));
        }
        Err(why) => errors.push(FieldError::invalid("spec.selector", &spec["selector"], &why)),
        Ok(selector) => {
            let labels = &spec["template"]["metadata"]["labels"];
            if !selector.matches(labels) {
                let why = "`selector` does not match template `labels`";
                let field = "spec.template.metadata.labels";
                errors.push(FieldError::invalid(field, labels, why));
            }
        }
    }
    if let (Some("Indexed"), Some(count @ 1..)) =
        (spec["completionMode"].as_str(), spec["completions"].as_i64())
    {
        let longest = format!("{}-{}", object::name(job), count - 1);
        if NameRule::Label.check(&longest).is_some() {
            let why = format!("will not able to create pod with invalid DNS label: {longest}");
            errors.push(FieldError::invalid("metadata.name", &object::name(job).into(), &why));
        }
    }
    errors
}

/// What is wrong with what a Job should do, alone or in a CronJob.
fn spec_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        errors.extend(super::workload::count_error(spec, key, field));
    }
    errors.extend(index_errors(spec, field));
    let policies = ["Failed", "TerminatingOrFailed"];
    let policies =
        if at(spec, &["podFailurePolicy"]).is_some() { &policies[..1] } else { &policies };
    let policy = text(spec, &["podReplacementPolicy"]);
    if !policy.is_empty() && !policies.contains(&policy) {
        let field = format!("{field}.podReplacementPolicy");
        errors.push(FieldError::unsupported(field, policy, policies));
    }
    errors.extend(failure_policy_errors(spec, &format!("{field}.podFailurePolicy.rules")));
    errors.extend(template_errors(spec, field));
    let at_policy = format!("{field}.template.spec.restartPolicy");
    match text(spec, &["template", "spec", "restartPolicy"]) {
        "" | "Always" => {
            let why = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required(at_policy, why));
        }
        "OnFailure" if at(spec, &["podFailurePolicy"]).is_some() => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(at_policy, &"OnFailure".into(), why));
        }
        _ => {}
    }
    errors
}

fn index_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let at_field = |key: &str| format!("{field}.{key}");
    let (mode, modes) = (text(spec, &["completionMode"]), ["NonIndexed", "Indexed"]);
    if !mode.is_empty() && !modes.contains(&mode) {
        errors.push(FieldError::unsupported(at_field("completionMode"), mode, &modes));
    }
    if mode == "Indexed" && at(spec, &["completions"]).is_none() {
        let why = "when completion mode is Indexed";
        errors.push(FieldError::required(at_field("completions"), why));
    }
    if at(spec, &["maxFailedIndexes"]).is_some() && at(spec, &["backoffLimitPerIndex"]).is_none() {
        let why = "when maxFailedIndexes is specified";
        errors.push(FieldError::required(at_field("backoffLimitPerIndex"), why));
    }
    if mode == "Indexed" {
        let count = |key: &str| spec[key].as_i64();
        if count("maxFailedIndexes").zip(count("completions")).is_some_and(|(most, all)| most > all)
        {
            let why = "must be less than or equal to completions";
            let value = &spec["maxFailedIndexes"];
            errors.push(FieldError::invalid(at_field("maxFailedIndexes"), value, why));
        }
        if at(spec, &["successPolicy"]).is_some()
            && items(spec, &["successPolicy", "rules"]).is_empty()
        {
            let why = "at least one rules must be specified when the successPolicy is specified";
            errors.push(FieldError::required(at_field("successPolicy.rules"), why));
        }
        return errors;
    }
    for key in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
        if let Some(value) = at(spec, &[key]) {
            let why = "requires indexed completion mode";
            errors.push(FieldError::invalid(at_field(key), value, why));
        }
    }
    errors
}

fn failure_policy_errors(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let rules = items(spec, &["podFailurePolicy", "rules"]);
    if rules.len() > 20 {
        errors.push(FieldError::too_many(field, rules.len(), 20));
    }
    let names = ["containers", "initContainers"];
    let template = &spec["template"]["spec"];
    let names: Vec<&str> = names
        .iter()
        .flat_map(|key| items(template, &[key]).iter().map(|it| text(it, &["name"])))
        .collect();
    for (index, rule) in rules.iter().enumerate() {
        errors.extend(rule_errors(spec, rule, &names, &format!("{field}[{index}]")));
    }
    errors
}

fn rule_errors(spec: &Value, rule: &Value, names: &[&str], field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
    let at_action = format!("{field}.action");
    match text(rule, &["action"]) {
        "" => {
            let why = format!("valid values: {actions:?}").replace(", ", " ");
            errors.push(FieldError::required(at_action, &why));
        }
        "FailIndex" if at(spec, &["backoffLimitPerIndex"]).is_none() => {
            let why = "requires the backoffLimitPerIndex to be set";
            errors.push(FieldError::invalid(at_action, &"FailIndex".into(), why));
        }
        action if !actions.contains(&action) => {
            errors.push(FieldError::unsupported(at_action, action, &actions));
        }
        _ => {}
    }
    let codes = at(rule, &["onExitCodes"]);
    let conditions = items(rule, &["onPodConditions"]);
    match (codes, conditions.is_empty()) {
        (Some(_), false) => {
            let why = "specifying both OnExitCodes and OnPodConditions is not supported";
            errors.push(FieldError::invalid_unshown(field, why));
        }
        (None, true) => {
            let why = "specifying one of OnExitCodes and OnPodConditions is required";
            errors.push(FieldError::invalid_unshown(field, why));
        }
        _ => {}
    }
    if let Some(codes) = codes {
        errors.extend(code_errors(codes, names, &format!("{field}.onExitCodes")));
    }
    for (index, condition) in conditions.iter().enumerate() {
        let field = format!("{field}.onPodConditions[{index}]");
        let kind = text(condition, &["type"]);
        if let Some(why) = qualified_error(kind) {
            errors.push(FieldError::invalid(format!("{field}.type"), &kind.into(), &why));
        }
        let (status, known) = (text(condition, &["status"]), ["False", "True", "Unknown"]);
        if !status.is_empty() && !known.contains(&status) {
            errors.push(FieldError::unsupported(format!("{field}.status"), status, &known));
        }
    }
    errors
}

fn code_errors(codes: &Value, names: &[&str], field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let (operator, known) = (text(codes, &["operator"]), ["In", "NotIn"]);
    if !known.contains(&operator) {
        errors.push(FieldError::unsupported(format!("{field}.operator"), operator, &known));
    }
    let container = text(codes, &["containerName"]);
    if !container.is_empty() && !names.contains(&container) {
        let why = "must be one of the container or initContainer names in the pod template";
        let field = format!("{field}.containerName");
        errors.push(FieldError::invalid(field, &container.into(), why));
    }
    let values: Vec<i64> = items(codes, &["values"]).iter().filter_map(Value::as_i64).collect();
    let at_values = format!("{field}.values");
    if values.is_empty() {
        let why = "at least one value is required";
        errors.push(FieldError::invalid(at_values.clone(), &json!([]), why));
    }
    for (index, value) in values.iter().enumerate() {
        let field = format!("{at_values}[{index}]");
        if operator == "In" && *value == 0 {
            let why = "must not be 0 for the In operator";
            errors.push(FieldError::invalid(field.clone(), &0.into(), why));
        }
        if values[..index].contains(value) {
            errors.push(FieldError::duplicate_value(field, &(*value).into()));
        }
    }
    if !values.is_sorted() {
        errors.push(FieldError::invalid(at_values, &codes["values"], "must be ordered"));
    }
    errors
}

/// What is wrong with a change of a Job.
pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&new["spec"], &old["spec"]);
    let mut errors = vec![];
    let elastic = text(old, &["completionMode"]) == "Indexed"
        && new["completions"] == new["parallelism"]
        && old["completions"] == old["parallelism"];
    let mut fixed = vec![
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ];
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

/// Fills in what a CronJob left open.
pub(super) fn cron_defaults(cron: &mut Value) {
    let spec = object::map_mut(cron, "spec");
    object::default(spec, "concurrencyPolicy", "Allow");
    object::default(spec, "suspend", false);
    object::default(spec, "successfulJobsHistoryLimit", 3);
    object::default(spec, "failedJobsHistoryLimit", 1);
    if let Some(template) = spec.get_mut("jobTemplate") {
        let metadata = template.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.remove("creationTimestamp");
        }
        let inner = object::map_mut(template, "spec");
        if let Some(template) = inner.get_mut("template") {
            super::pod_spec::defaults(object::map_mut(template, "spec"));
        }
        if let Some(metadata) = inner.get_mut("template").and_then(|it| it.get_mut("metadata"))
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("creationTimestamp");
        }
    }
}

/// A new CronJob has made no Job.
pub(super) fn cron_prepare(cron: &mut Value) {
    cron["status"] = json!({});
}

/// What is wrong with a CronJob.
pub(super) fn cron_validate(cron: &Value) -> Vec<FieldError> {
    let spec = &cron["spec"];
    let mut errors = vec![];
    let name = object::name(cron);
    if name.len() > 52 {
        let why = "must be no more than 52 characters";
        errors.push(FieldError::invalid("metadata.name", &name.into(), why));
    }
    let schedule = text(spec, &["schedule"]);
    if schedule.is_empty() {
        errors.push(FieldError::required("spec.schedule", ""));
    } else if let Some(why) = schedule_error(schedule, text(spec, &["timeZone"])) {
        let (field, value) = match why.1 {
            true => ("spec.timeZone", &spec["timeZone"]),
            false => ("spec.schedule", &spec["schedule"]),
        };
        errors.push(FieldError::invalid(field, value, &why.0));
    }
    for key in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        errors.extend(super::workload::count_error(spec, key, "spec"));
    }
    let (policy, known) = (text(spec, &["concurrencyPolicy"]), ["Allow", "Forbid", "Replace"]);
    if !known.contains(&policy) {
        errors.push(FieldError::unsupported("spec.concurrencyPolicy", policy, &known));
    }
    let template = &spec["jobTemplate"]["spec"];
    if template["manualSelector"] == true {
        let field = "spec.jobTemplate.spec.manualSelector";
        errors.push(FieldError::unsupported(field, "true", &["nil", "false"]));
    }
    errors.extend(spec_errors(template, "spec.jobTemplate.spec"));
    errors
}
