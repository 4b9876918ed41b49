//! The Job controller: runs pods until enough of them succeeded.
//!
//! ```text
//!   pods ──tally──▶ enough? ──yes──▶ SuccessCriteriaMet ──all gone──▶ Complete
//!                   too many failures, too late? ──▶ FailureTarget ──▶ Failed
//!                   else ──▶ create what is missing, remove what is too many
//! ```
//!
//! A pod that ended keeps a finalizer until the status has counted it, so that none is lost and
//! none is counted twice: its uid goes to `uncountedTerminatedPods`, the finalizer goes, the uid
//! becomes a number.

mod spec;
mod status;
mod tally;

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use self::{spec::Spec, status::Ending, tally::Tally};
use crate::{Method, Request};

use super::{
    object::{Key, Moment, deleting, holds, items, text, time},
    plan::{Act, Plan, Subject, patch, pod_path},
    pod::{Pod, TRACKING, in_order_of_removal},
    template::{BURST, create, slow_start},
};

/// Who the Job controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:job-controller";
/// Who removes finished Jobs.
const TTL_USER: &str = "system:serviceaccount:kube-system:ttl-after-finished-controller";
/// Who tells its events.
pub(crate) const COMPONENT: &str = "job-controller";
/// Changes of pods are looked at together after this time, as the real controller does.
pub(crate) const BATCH: Span = Span::secs(1);
/// A failed pod is replaced after this time, doubled for each failure since the last success.
const BACK_OFF: Span = Span::secs(10);
/// The longest wait for a replacement.
const BACK_OFF_MAX: Span = Span::mins(10);

/// Decides what to do about a Job whose pods are these.
pub(crate) fn decide(at: Moment, job: &Value, pods: &[Arc<Pod>]) -> Plan {
    let spec = Spec::read(job);
    if spec.managed_elsewhere {
        return Plan::nothing();
    }
    if let Some(field) = spec.unmodelled {
        return refuse(at, job, field);
    }
    if holds(job, "Complete") || holds(job, "Failed") {
        let mut plan = release(pods);
        expire(&mut plan, at, job, &spec);
        return plan;
    }
    let mut tally = Tally::of(at.epoch, job, &spec, pods);
    let mut plan = Plan::default();
    count(&mut plan, at, job, &spec, &mut tally);
    let ending = status::ending(at, job, &spec, &tally);
    match &ending {
        Some(ending) => {
            end(&mut plan, job, &tally);
            tell_end(&mut plan, job, ending, &tally);
        }
        None if deleting(job) => {}
        None if spec.suspended => {
            let all = tally.active.clone();
            remove(&mut plan, job, &all, &mut tally);
        }
        None => manage(&mut plan, at, job, &spec, &mut tally),
    }
    let last = status::write(at, job, &spec, &tally, ending.as_ref());
    plan.acts.extend(last);
    if let Some(deadline) = status::deadline(at, job, &spec).filter(|_| ending.is_none()) {
        plan.wake_at(deadline);
    }
    plan
}

/// Lets go of the pods of a Job that is finished or gone.
pub(crate) fn release(pods: &[Arc<Pod>]) -> Plan {
    let mut plan = Plan::nothing();
    for pod in pods.iter().filter(|pod| pod.tracked).take(BURST) {
        plan.send(untrack(pod));
    }
    plan
}

/// Removes a finished Job when its time is up.
fn expire(plan: &mut Plan, at: Moment, job: &Value, spec: &Spec) {
    match status::expiry(at, job, spec).filter(|_| !deleting(job)) {
        Some(expiry) if at.now < expiry => plan.wake_at(expiry),
        Some(_) => plan.send(
            Request::new(TTL_USER, Method::Delete, path(job))
                .with_query("propagationPolicy", "Foreground"),
        ),
        None => {}
    }
}

/// Counts pods that ended: first their uids, then their finalizers, then the numbers.
fn count(plan: &mut Plan, at: Moment, job: &Value, spec: &Spec, tally: &mut Tally) {
    if tally.uncounted().next().is_some() {
        plan.acts.extend(status::write(at, job, spec, tally, None));
        for pod in tally.uncounted() {
            plan.send(untrack(pod));
        }
    }
    tally.settle();
}

/// Removes the pods that still run when the Job's fate is decided.
fn end(plan: &mut Plan, job: &Value, tally: &Tally) {
    for pod in tally.active.iter().take(BURST) {
        plan.acts.push(delete(job, pod));
    }
}

fn tell_end(plan: &mut Plan, job: &Value, ending: &Ending, tally: &Tally) {
    let about = Subject::of(job);
    let told = if ending.failed {
        (!holds(job, "FailureTarget"))
            .then(|| about.warns(COMPONENT, ending.reason, ending.message.clone()))
    } else {
        tally.quiet().then(|| about.notes(COMPONENT, "Completed", "Job completed".into()))
    };
    plan.acts.extend(told.map(Act::Tell));
}

/// Brings the number of active pods to what it should be.
fn manage(plan: &mut Plan, at: Moment, job: &Value, spec: &Spec, tally: &mut Tally) {
    let active = tally.active.len();
    let want = spec.wanted(active, tally.succeeded());
    if want < active {
        let mut surplus = tally.active.clone();
        in_order_of_removal(&mut surplus);
        surplus.truncate((active - want).min(BURST));
        remove(plan, job, &surplus, tally);
        return;
    }
    let replaced_late = if spec.replace_only_ended { tally.terminating } else { 0 };
    let missing = want.saturating_sub(active + replaced_late);
    if missing == 0 {
        return;
    }
    if let Some(until) = back_off(tally).filter(|until| at.now < *until) {
        plan.wake_at(until);
        return;
    }
    // The start is on record even if no pod can be created.
    plan.acts.extend(status::write(at, job, spec, tally, None));
    let batch = slow_start(active, missing);
    let indexes = spec.indexed.then(|| free_indexes(spec, tally));
    for n in 0..batch {
        let index = indexes.as_ref().and_then(|free| free.get(n).copied());
        plan.acts.push(create_pod(job, spec, index));
    }
    tally.created = batch;
    if batch < missing {
        plan.wake_at(at.now + super::LATENCY);
    }
}

/// When the next pod may replace a failed one.
fn back_off(tally: &Tally) -> Option<Time> {
    let (failures, last) = tally.failures_in_a_row()?;
    let doublings = u32::try_from(failures - 1).unwrap_or(u32::MAX).min(20);
    let wait = BACK_OFF.times(1 << doublings).min(BACK_OFF_MAX);
    Some(last + wait)
}

/// The indexes that neither succeeded nor run, least first.
fn free_indexes(spec: &Spec, tally: &Tally) -> Vec<u64> {
    let taken: BTreeSet<u64> = tally.active.iter().filter_map(|pod| pod.index).collect();
    (0..spec.completions.unwrap_or(0))
        .filter(|index| !taken.contains(index) && !tally.done.contains(*index))
        .take(BURST)
        .collect()
}

/// Removes pods that aren't wanted any more. Uncounted: it isn't their fault.
fn remove(plan: &mut Plan, job: &Value, surplus: &[Arc<Pod>], tally: &mut Tally) {
    for pod in surplus {
        if pod.tracked {
            plan.send(untrack(pod));
        }
        plan.acts.push(delete(job, pod));
    }
    let gone: BTreeSet<&str> = surplus.iter().map(|pod| &*pod.uid).collect();
    tally.active.retain(|pod| !gone.contains(&*pod.uid));
    tally.terminating += surplus.len();
}

fn delete(job: &Value, pod: &Pod) -> Act {
    Act::DeletePod {
        user: USER,
        owner: Subject::of(job),
        pod: pod.key.clone(),
        uid: pod.uid.to_string(),
    }
}

fn untrack(pod: &Pod) -> Request {
    let kept: Vec<&Value> =
        items(&pod.object["metadata"]["finalizers"]).iter().filter(|it| *it != TRACKING).collect();
    let body = json!({"metadata": {"uid": &*pod.uid, "finalizers": kept}});
    patch(USER, pod_path(&pod.key), body)
}

fn create_pod(job: &Value, spec: &Spec, index: Option<u64>) -> Act {
    let name = text(&job["metadata"]["name"]);
    let prefix = match index {
        Some(index) => format!("{name}-{index}-"),
        None => format!("{name}-"),
    };
    create(USER, job, &prefix, |pod| {
        let metadata = &mut pod["metadata"];
        for (label, value) in [
            ("controller-uid", &job["metadata"]["uid"]),
            ("batch.kubernetes.io/controller-uid", &job["metadata"]["uid"]),
            ("job-name", &job["metadata"]["name"]),
            ("batch.kubernetes.io/job-name", &job["metadata"]["name"]),
        ] {
            metadata["labels"][label] = value.clone();
        }
        let mut finalizers = items(&metadata["finalizers"]).to_vec();
        finalizers.push(TRACKING.into());
        metadata["finalizers"] = finalizers.into();
        if let Some(index) = index {
            spec::give_index(pod, name, index);
        }
        if spec.restarts_nothing {
            pod["spec"]["restartPolicy"] = "Never".into();
        }
    })
}

/// Says that the Job asks for something that isn't modelled, and runs nothing.
fn refuse(at: Moment, job: &Value, field: &str) -> Plan {
    let mut plan = Plan::nothing();
    let message = format!("spec.{field} is not modelled; the job isn't run");
    if holds(job, status::NOT_MODELLED) {
        return plan;
    }
    plan.tell(Subject::of(job).warns(COMPONENT, "NotModelled", message.clone()));
    plan.send(status::refused(at, job, &message));
    plan
}

/// The path of a Job.
fn path(job: &Value) -> String {
    let Key { namespace, name } = Key::of(job);
    format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
}

/// When the Job started, if it did.
fn started(at: Moment, job: &Value) -> Option<Time> {
    time(at.epoch, &job["status"]["startTime"])
}
