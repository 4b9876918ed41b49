//! Controllers in one line each.

use serde_json::Value;

use super::{
    At,
    age::{between, human},
    count, is_true, list, name, or, pairs, text,
};

/// Names and images of a template's containers.
fn containers(spec: &Value) -> [Value; 2] {
    let column = |key: &str| {
        let all = list(&spec["containers"]).iter().map(|it| text(&it[key]));
        Value::from(all.collect::<Vec<_>>().join(","))
    };
    [column("name"), column("image")]
}

fn selector(spec: &Value) -> Value {
    let labels = pairs(&spec["selector"]["matchLabels"]);
    let rules = list(&spec["selector"]["matchExpressions"]).iter().map(|rule| {
        let values = list(&rule["values"]).iter().map(text).collect::<Vec<_>>().join(",");
        let key = text(&rule["key"]);
        match text(&rule["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        }
    });
    let first = Some(labels).filter(|labels| labels != "<none>");
    let all: Vec<String> = first.into_iter().chain(rules).collect();
    or(&all.join(","), "<none>").into()
}

/// The cells of a Deployment.
pub(super) fn deployment(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(it),
        format!("{}/{}", count(&status["readyReplicas"]), count(&spec["replicas"])).into(),
        count(&status["updatedReplicas"]).into(),
        count(&status["availableReplicas"]).into(),
        at.age(it),
        names,
        images,
        selector(spec),
    ]
}

/// The cells of a ReplicaSet.
pub(super) fn replica_set(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(it),
        count(&spec["replicas"]).into(),
        count(&status["replicas"]).into(),
        count(&status["readyReplicas"]).into(),
        at.age(it),
        names,
        images,
        selector(spec),
    ]
}

/// The cells of a StatefulSet.
pub(super) fn stateful_set(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    let ready = format!("{}/{}", count(&status["readyReplicas"]), count(&spec["replicas"]));
    vec![name(it), ready.into(), at.age(it), names, images]
}

/// The cells of a DaemonSet.
pub(super) fn daemon_set(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(it),
        count(&status["desiredNumberScheduled"]).into(),
        count(&status["currentNumberScheduled"]).into(),
        count(&status["numberReady"]).into(),
        count(&status["updatedNumberScheduled"]).into(),
        count(&status["numberAvailable"]).into(),
        pairs(&spec["template"]["spec"]["nodeSelector"]).into(),
        at.age(it),
        names,
        images,
        selector(spec),
    ]
}

/// The cells of a Job.
pub(super) fn job(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    let succeeded = count(&status["succeeded"]);
    let completions = match (spec["completions"].as_i64(), count(&spec["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, at_once) if at_once > 1 => format!("{succeeded}/1 of {at_once}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let duration = match (&status["startTime"], &status["completionTime"]) {
        (Value::Null, _) => String::new(),
        (from, Value::Null) => at.since(from),
        (from, to) => between(from, to).map(human).unwrap_or_default(),
    };
    vec![
        name(it),
        job_status(it).into(),
        completions.into(),
        duration.into(),
        at.age(it),
        names,
        images,
        selector(spec),
    ]
}

fn job_status(job: &Value) -> &'static str {
    let deleting = !job["metadata"]["deletionTimestamp"].is_null();
    let table = [
        (is_true(job, "Complete"), "Complete"),
        (is_true(job, "Failed"), "Failed"),
        (deleting, "Terminating"),
        (is_true(job, "Suspended"), "Suspended"),
        (is_true(job, "FailureTarget"), "FailureTarget"),
        (is_true(job, "SuccessCriteriaMet"), "SuccessCriteriaMet"),
    ];
    table.into_iter().find(|(holds, _)| *holds).map_or("Running", |(_, word)| word)
}

/// The cells of a CronJob.
pub(super) fn cron_job(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let [names, images] = containers(&spec["jobTemplate"]["spec"]["template"]["spec"]);
    let last = match status["lastScheduleTime"].is_null() {
        true => "<none>".to_owned(),
        false => at.since(&status["lastScheduleTime"]),
    };
    let suspended = if spec["suspend"] == true { "True" } else { "False" };
    vec![
        name(it),
        text(&spec["schedule"]).into(),
        or(text(&spec["timeZone"]), "<none>").into(),
        suspended.into(),
        list(&status["active"]).len().into(),
        last.into(),
        at.age(it),
        names,
        images,
        selector(&spec["jobTemplate"]["spec"]),
    ]
}
