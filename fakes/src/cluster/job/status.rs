//! The status of a Job, and how a Job ends.

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::super::{
    object::{Moment, condition, holds, items, prune, set_condition, text, time},
    plan::{Act, patch},
};
use super::{USER, path, spec::Spec, started, tally::Tally};

/// The condition of a Job that asks for what isn't modelled.
pub(super) const NOT_MODELLED: &str = "drawbridge.dev/NotModelled";

/// How a Job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) failed: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// Whether the Job's fate is decided. Once it is, it stays so.
pub(super) fn ending(at: Moment, job: &Value, spec: &Spec, tally: &Tally) -> Option<Ending> {
    let restarted =
        spec.restarts_in_place && tally.restarts() > 0 && spec.backoff_limit <= tally.restarts();
    let failing = condition(job, "FailureTarget").map(|it| text(&it["reason"]));
    let too_many = spec.backoff_limit < tally.failed() || restarted;
    let too_late = deadline(at, job, spec).is_some_and(|deadline| deadline <= at.now);
    if failing == Some("BackoffLimitExceeded") || (failing.is_none() && too_many) {
        return Some(failure(
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        ));
    }
    if failing.is_some() || (too_late && !spec.suspended) {
        return Some(failure("DeadlineExceeded", "Job was active longer than specified deadline"));
    }
    let enough = spec.satisfied(tally.active.len(), tally.succeeded());
    (holds(job, "SuccessCriteriaMet") || enough).then(|| Ending {
        failed: false,
        reason: "CompletionsReached",
        message: "Reached expected number of succeeded pods".into(),
    })
}

fn failure(reason: &'static str, message: &str) -> Ending {
    Ending { failed: true, reason, message: message.into() }
}

/// When the Job must be over.
pub(super) fn deadline(at: Moment, job: &Value, spec: &Spec) -> Option<Time> {
    let secs = spec.deadline_seconds?;
    Some(started(at, job)? + Span::secs(secs))
}

/// When a finished Job may be removed.
pub(super) fn expiry(at: Moment, job: &Value, spec: &Spec) -> Option<Time> {
    let ttl = spec.ttl_seconds?;
    let last = condition(job, "Complete").or_else(|| condition(job, "Failed"))?;
    Some(time(at.epoch, &last["lastTransitionTime"])? + Span::secs(ttl))
}

/// Writes the status, if it differs from what is there.
pub(super) fn write(
    at: Moment,
    job: &Value,
    spec: &Spec,
    tally: &Tally,
    ending: Option<&Ending>,
) -> Option<Act> {
    let status = compute(at, job, spec, tally, ending);
    // What the same numbers say already need not be said again.
    let changed = status.as_object()?.iter().any(|(field, value)| {
        let (old, new) = (&job["status"][field], prune(value.clone()));
        let empty = new.is_null() || new == json!(0) || new == json!({}) || new == json!("");
        *old != new && !(old.is_null() && empty)
    });
    let body = json!({"status": status});
    changed.then(|| Act::Send(patch(USER, path(job) + "/status", body)))
}

fn compute(at: Moment, job: &Value, spec: &Spec, tally: &Tally, ending: Option<&Ending>) -> Value {
    let ready = tally.active.iter().filter(|pod| pod.ready.is_some());
    let mut status = json!({
        "active": tally.active.len() + tally.created,
        "ready": ready.count(),
        "terminating": tally.terminating,
        "succeeded": tally.counted.0,
        "failed": tally.counted.1,
        "uncountedTerminatedPods": uncounted(tally),
    });
    if spec.indexed {
        status["completedIndexes"] = tally.done.to_string().into();
    }
    let mut conditions = items(&job["status"]["conditions"]).to_vec();
    suspension(at, spec, &mut conditions, &mut status, job);
    if let Some(ending) = ending {
        end(at, ending, tally.quiet(), &mut conditions, &mut status);
    }
    if !conditions.is_empty() {
        status["conditions"] = conditions.into();
    }
    status
}

fn uncounted(tally: &Tally) -> Value {
    let mut lists = json!({});
    for (list, pods) in [("succeeded", &tally.new_succeeded), ("failed", &tally.new_failed)] {
        // A null removes the list: this goes out as a merge patch.
        lists[list] = match pods.as_slice() {
            [] => Value::Null,
            pods => pods.iter().map(|pod| json!(&*pod.uid)).collect(),
        };
    }
    lists
}

fn suspension(
    at: Moment,
    spec: &Spec,
    conditions: &mut Vec<Value>,
    status: &mut Value,
    job: &Value,
) {
    let suspended = conditions.iter().any(|it| it["type"] == "Suspended" && it["status"] == "True");
    let resumed = suspended && !spec.suspended;
    if spec.suspended != suspended {
        let (is, reason, message) = if spec.suspended {
            ("True", "JobSuspended", "Job suspended")
        } else {
            ("False", "JobResumed", "Job resumed")
        };
        let new = json!({
            "type": "Suspended", "status": is, "reason": reason, "message": message,
        });
        set_condition(conditions, new, &at.stamp());
    }
    if spec.suspended {
        status["startTime"] = Value::Null;
    } else if resumed || started(at, job).is_none() {
        status["startTime"] = at.stamp().into();
    }
}

fn end(at: Moment, ending: &Ending, quiet: bool, conditions: &mut Vec<Value>, status: &mut Value) {
    let (target, last) = if ending.failed {
        ("FailureTarget", "Failed")
    } else {
        ("SuccessCriteriaMet", "Complete")
    };
    let stages = if quiet { vec![target, last] } else { vec![target] };
    for stage in stages {
        let new = json!({
            "type": stage, "status": "True",
            "reason": ending.reason, "message": ending.message,
        });
        set_condition(conditions, new, &at.stamp());
    }
    if quiet && !ending.failed {
        status["completionTime"] = at.stamp().into();
    }
}

/// The status of a Job that isn't run.
pub(super) fn refused(at: Moment, job: &Value, message: &str) -> crate::Request {
    let mut conditions = items(&job["status"]["conditions"]).to_vec();
    let new = json!({
        "type": NOT_MODELLED, "status": "True", "reason": "NotModelled", "message": message,
    });
    set_condition(&mut conditions, new, &at.stamp());
    let body = json!({"status": {"conditions": conditions}});
    patch(USER, path(job) + "/status", body)
}
