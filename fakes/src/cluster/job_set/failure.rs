//! What a JobSet does when a Job of it fails.

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::{
    super::object::{condition, count, items, text},
    children::{Children, group},
    status::Status,
};

/// Fails the set or restarts it, by the first rule that fits a failed Job.
pub(super) fn execute(it: &Value, children: &Children<'_>, status: &mut Status) {
    let policy = &it["spec"]["failurePolicy"];
    let first = children.failed.iter().min_by_key(|job| failed_at(job));
    let Some(first) = first else { return };
    if policy.is_null() {
        let message = with_job("jobset failed due to one or more job failures", first);
        return status.failed("FailedJobs", &message);
    }
    let rule = items(&policy["rules"]).iter().find_map(|rule| {
        let fits = children.failed.iter().filter(|job| applies(rule, job));
        Some((rule, fits.min_by_key(|job| failed_at(job))?))
    });
    let (action, job) = match rule {
        Some((rule, job)) => (text(&rule["action"]), job),
        None => ("RestartJobSet", first),
    };
    let reason = match rule {
        Some((rule, _)) => format!("FailurePolicy_{}", text(&rule["name"])),
        None => "DefaultFailurePolicy".into(),
    };
    let message = with_job(&format!("applying {action} failure policy action"), job);
    match action {
        "FailJobSet" => status.failed("FailJobSetFailurePolicyAction", &message),
        "RestartJobSet" if count(&policy["maxRestarts"]) <= status.counted => {
            let message = with_job("jobset failed due to reaching max number of restarts", job);
            status.failed("ReachedMaxRestarts", &message);
        }
        "RestartJobSet" => status.restart(true, &reason, action, &message),
        "RestartJobSetAndIgnoreMaxRestarts" => status.restart(false, &reason, action, &message),
        other => status.warn(
            "NotModelled",
            format!("failure policy action {other} needs a feature gate that is off by default"),
        ),
    }
}

/// When a Job failed; the names decide among those that failed in one second.
fn failed_at(job: &Value) -> (String, String) {
    let at = condition(job, "Failed").map(|it| text(&it["lastTransitionTime"]).to_owned());
    (at.unwrap_or_default(), text(&job["metadata"]["name"]).to_owned())
}

fn applies(rule: &Value, job: &Arc<Value>) -> bool {
    let Some(failed) = condition(job, "Failed") else { return false };
    let any = |list: &str, fits: &dyn Fn(&Value) -> bool| {
        let all = items(&rule[list]);
        all.is_empty() || all.iter().any(fits)
    };
    any("onJobFailureReasons", &|reason| *reason == failed["reason"])
        && any("onJobFailureMessagePatterns", &|pattern| {
            Regex::new(text(pattern)).is_ok_and(|it| it.is_match(text(&failed["message"])))
        })
        && any("targetReplicatedJobs", &|name| name == group(job))
}

fn with_job(message: &str, job: &Value) -> String {
    format!("{message} (first failed job: {})", text(&job["metadata"]["name"]))
}
