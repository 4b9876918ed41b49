//! The status of a Job, and how a Job ends.

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::{
    super::{
        object::{
            Moment, changed, condition, holds, items, prune, set_condition, some, text, time,
        },
        plan::{Act, patch},
    },
    USER, path, policy,
    spec::Spec,
    tally::Tally,
};

/// How a Job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) failed: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Ending {
    fn failure(reason: &str, message: &str) -> Self {
        Self { failed: true, reason: reason.into(), message: message.into() }
    }

    fn success(reason: &str, message: &str) -> Self {
        Self { failed: false, ..Self::failure(reason, message) }
    }

    /// All completions were reached.
    pub(super) fn complete() -> Self {
        Self::success("CompletionsReached", "Reached expected number of succeeded pods")
    }
}

/// Whether the Job's fate is decided, other than by reaching its completions. Once it is, it stays
/// so.
pub(super) fn ending(at: Moment, job: &Value, spec: &Spec, tally: &Tally) -> Option<Ending> {
    let said = |kind: &str| {
        let it = condition(job, kind).filter(|it| it["status"] == "True")?;
        Some((text(&it["reason"]), text(&it["message"])))
    };
    if let Some((reason, message)) = said("SuccessCriteriaMet") {
        return Some(Ending::success(reason, message));
    }
    if let Some((reason, message)) = said("FailureTarget") {
        return Some(Ending::failure(reason, message));
    }
    if let Some(message) = &tally.fatal {
        return Some(Ending::failure("PodFailurePolicy", message));
    }
    let restarts = tally.restarts();
    let restarted = spec.restarts_in_place && restarts > 0 && spec.backoff_limit <= restarts;
    if spec.backoff_limit < tally.failed() || restarted {
        let message = "Job has reached the specified backoff limit";
        return Some(Ending::failure("BackoffLimitExceeded", message));
    }
    if deadline(at, job, spec).is_some_and(|deadline| deadline <= at.now) && !spec.suspended {
        let message = "Job was active longer than specified deadline";
        return Some(Ending::failure("DeadlineExceeded", message));
    }
    by_index(spec, tally)
}

/// What the indexes that failed or succeeded decide.
fn by_index(spec: &Spec, tally: &Tally) -> Option<Ending> {
    if !spec.indexed {
        return None;
    }
    let failed = tally.failed_indexes.as_ref().map_or(0, |failed| failed.len());
    if spec.max_failed_indexes.is_some_and(|most| most < failed) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Ending::failure("MaxFailedIndexesExceeded", message));
    }
    if failed > 0 && spec.indexes() <= failed + tally.done.len() {
        return Some(Ending::failure("FailedIndexes", "Job has failed indexes"));
    }
    let met = policy::success(&spec.success_policy, spec.indexes(), &tally.done)?;
    Some(Ending::success("SuccessPolicy", &met))
}

/// When the Job must be over.
pub(super) fn deadline(at: Moment, job: &Value, spec: &Spec) -> Option<Time> {
    let secs = spec.deadline_seconds?;
    Some(started(at, job)? + Span::secs(secs))
}

/// When the Job started, if it did.
fn started(at: Moment, job: &Value) -> Option<Time> {
    time(at.epoch, &job["status"]["startTime"])
}

/// When a finished Job may be removed.
pub(super) fn expiry(at: Moment, job: &Value, spec: &Spec) -> Option<Time> {
    let ttl = spec.ttl_seconds?;
    let last = condition(job, "Complete").or_else(|| condition(job, "Failed"))?;
    Some(time(at.epoch, &last["lastTransitionTime"])? + Span::secs(ttl))
}

/// Whether the Job is being suspended (true) or resumed (false) by this look.
pub(super) fn turns(job: &Value, spec: &Spec) -> Option<bool> {
    (spec.suspended != holds(job, "Suspended")).then_some(spec.suspended)
}

/// Writes the status, if it differs from what is there. Unless it's the `last` word, it leaves out
/// what can only be said once all pods are let go.
pub(super) fn write(
    at: Moment,
    job: &Value,
    spec: &Spec,
    tally: &Tally,
    ending: Option<&Ending>,
    last: bool,
) -> Option<Act> {
    let status = compute(at, job, spec, tally, ending, last);
    let mut seen = status.clone();
    seen["uncountedTerminatedPods"] = prune(seen["uncountedTerminatedPods"].take());
    let body = json!({"status": status});
    changed(&job["status"], &seen).then(|| Act::Send(patch(USER, path(job) + "/status", body)))
}

fn compute(
    at: Moment,
    job: &Value,
    spec: &Spec,
    tally: &Tally,
    ending: Option<&Ending>,
    last: bool,
) -> Value {
    let ready = tally.active.iter().filter(|pod| pod.ready.is_some());
    let succeeded = if spec.indexed { tally.done.len() } else { tally.counted.0 };
    let mut status = json!({
        "active": some(tally.active.len() + tally.created),
        "ready": ready.count(),
        "terminating": tally.terminating.len(),
        "succeeded": some(succeeded),
        "failed": some(tally.counted.1),
        "uncountedTerminatedPods": uncounted(spec, tally),
    });
    if spec.indexed {
        let done = tally.done.to_string();
        status["completedIndexes"] = if done.is_empty() { Value::Null } else { done.into() };
        status["failedIndexes"] = tally.failed_indexes.as_ref().map(ToString::to_string).into();
    }
    let mut conditions = items(&job["status"]["conditions"]).to_vec();
    if ending.is_none() {
        suspension(at, spec, &mut conditions, &mut status, job);
    } else if started(at, job).is_none() && !spec.suspended {
        status["startTime"] = at.stamp().into();
    }
    if let Some(ending) = ending {
        end(at, ending, last && tally.quiet(), &mut conditions, &mut status);
    }
    if !conditions.is_empty() {
        status["conditions"] = conditions.into();
    }
    status
}

/// The uids of pods that ended and aren't numbers yet.
fn uncounted(spec: &Spec, tally: &Tally) -> Value {
    let mut lists = json!({});
    for (list, pods) in [("succeeded", &tally.new_succeeded), ("failed", &tally.new_failed)] {
        // An index that succeeded is enough of a record.
        let counts = !(spec.indexed && list == "succeeded");
        // A null removes the list: this goes out as a merge patch.
        lists[list] = match pods.as_slice() {
            [_, ..] if counts => pods.iter().map(|pod| json!(&*pod.uid)).collect(),
            _ => Value::Null,
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
    let turn = turns(job, spec);
    if let Some(suspended) = turn {
        let (is, reason, message) = if suspended {
            ("True", "JobSuspended", "Job suspended")
        } else {
            ("False", "JobResumed", "Job resumed")
        };
        let new = json!({
            "type": "Suspended", "status": is, "reason": reason, "message": message,
            "lastProbeTime": at.stamp(),
        });
        set_condition(conditions, new, &at.stamp());
    }
    if spec.suspended {
        status["startTime"] = Value::Null;
    } else if turn == Some(false) || started(at, job).is_none() {
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
        if conditions.iter().any(|it| it["type"] == stage) {
            continue;
        }
        let new = json!({
            "type": stage, "status": "True", "lastProbeTime": at.stamp(),
            "reason": ending.reason, "message": ending.message,
        });
        set_condition(conditions, new, &at.stamp());
    }
    if quiet && !ending.failed {
        status["completionTime"] = at.stamp().into();
    }
}
