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

/// A selector as text.
pub(super) fn selector(selector: &Value) -> Value {
    let labels = pairs(&selector["matchLabels"]);
    let rules = list(&selector["matchExpressions"]).iter().map(|rule| {
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
        selector(&spec["selector"]),
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
        selector(&spec["selector"]),
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
        selector(&spec["selector"]),
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
        selector(&spec["selector"]),
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
        selector(&spec["jobTemplate"]["spec"]["selector"]),
    ]
}

/// The cells of a ControllerRevision.
pub(super) fn revision(at: At, it: &Value) -> Vec<Value> {
    let owners = list(&it["metadata"]["ownerReferences"]);
    let owner = owners.iter().find(|owner| owner["controller"] == true);
    let owner = owner.map_or("<none>".to_owned(), |owner| {
        let group = text(&owner["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
        let kind = text(&owner["kind"]).to_lowercase();
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group}/{}", text(&owner["name"]))
    });
    vec![name(it), owner.into(), count(&it["revision"]).into(), at.age(it)]
}

/// The cells of a PodTemplate.
pub(super) fn pod_template(_: At, it: &Value) -> Vec<Value> {
    let [names, images] = containers(&it["template"]["spec"]);
    vec![name(it), names, images, super::stored::labels(&it["template"]["metadata"]["labels"])]
}

/// The cells of a PodGroup of `scheduling.k8s.io`, in whichever version.
pub(super) fn pod_group(at: At, it: &Value) -> Vec<Value> {
    let spec = &it["spec"];
    let policy = if spec["schedulingPolicy"]["gang"].is_null() { "Basic" } else { "Gang" };
    let workload = match text(&spec["podGroupTemplateRef"]["workload"]["workloadName"]) {
        "" => text(&spec["workloadRef"]["workloadName"]),
        name => name,
    };
    let find = |kind: &str| super::condition(it, kind);
    let status = match (find("DisruptionTarget"), find("PodGroupScheduled")) {
        (Some(target), _) => text(&target["reason"]),
        (None, Some(scheduled)) if scheduled["status"] == "True" => "Scheduled",
        (None, Some(_)) => "Unschedulable",
        (None, None) => "Pending",
    };
    vec![name(it), policy.into(), or(workload, "<none>").into(), status.into(), at.age(it)]
}

/// The cells of a HorizontalPodAutoscaler.
pub(super) fn autoscaler(at: At, it: &Value) -> Vec<Value> {
    let (spec, status) = (&it["spec"], &it["status"]);
    let of = &spec["scaleTargetRef"];
    let least = match spec["minReplicas"].as_i64() {
        Some(least) => least.to_string(),
        None => "<unset>".to_owned(),
    };
    vec![
        name(it),
        format!("{}/{}", text(&of["kind"]), text(&of["name"])).into(),
        metrics(list(&spec["metrics"]), list(&status["currentMetrics"])).into(),
        least.into(),
        count(&spec["maxReplicas"]).into(),
        count(&status["currentReplicas"]).into(),
        at.age(it),
    ]
}

/// `cpu: 30%/80%, memory: 1Gi/2Gi`: what is, and what should be.
fn metrics(wanted: &[Value], current: &[Value]) -> String {
    let mut all = vec![];
    for (place, metric) in wanted.iter().enumerate() {
        let (part, label) = match text(&metric["type"]) {
            "Resource" => ("resource", format!("{}: ", text(&metric["resource"]["name"]))),
            "ContainerResource" => {
                ("containerResource", format!("{}: ", text(&metric["containerResource"]["name"])))
            }
            "Pods" => ("pods", String::new()),
            "Object" => ("object", String::new()),
            "External" => ("external", String::new()),
            _ => {
                all.push("<unknown type>".to_owned());
                continue;
            }
        };
        let target = &metric[part]["target"];
        let is = current.get(place).map_or(&Value::Null, |it| &it[part]["current"]);
        let key = match text(&target["type"]) {
            "Utilization" => "averageUtilization",
            "AverageValue" => "averageValue",
            _ => "value",
        };
        let mark = if key == "averageValue" && part != "resource" { " (avg)" } else { "" };
        let (is, should) = (amount(is, key, "<unknown>"), amount(target, key, "<auto>"));
        all.push(format!("{label}{is}/{should}{mark}"));
    }
    match all.len() {
        0 => "<none>".to_owned(),
        n if n > 2 => format!("{} + {} more...", all[..2].join(", "), n - 2),
        _ => all.join(", "),
    }
}

/// An amount of a metric, or a share of one.
fn amount(of: &Value, key: &str, nothing: &str) -> String {
    match (of[key].as_i64(), of[key].as_str()) {
        (Some(share), _) if key == "averageUtilization" => format!("{share}%"),
        (Some(number), _) => number.to_string(),
        (None, Some(amount)) => amount.to_owned(),
        (None, None) => nothing.to_owned(),
    }
}
