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
//! becomes a number. With a limit for each index the last failed pod of an index is held until its
//! replacement has taken over the count.

mod indexes;
mod policy;
mod spec;
mod status;
mod tally;

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use self::{
    spec::Spec,
    status::Ending,
    tally::{FAILURES, IGNORED, Tally, finished, number},
};
use super::{
    LATENCY, adopt,
    controllers::Sight,
    memo::Memo,
    object::{Key, Moment, deleting, holds, items, text},
    plan::{Act, Plan, Subject, patch, pod_path},
    pod::{Pod, TRACKING, in_order_of_removal},
    template::{BURST, create, slow_start},
};
use crate::{Method, Request};

/// Who the Job controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:job-controller";
/// Who removes finished Jobs.
const TTL_USER: &str = "system:serviceaccount:kube-system:ttl-after-finished-controller";
/// Who tells its events.
const COMPONENT: &str = "job-controller";
/// Changes of pods are looked at together after this time, as the real controller does.
pub(crate) const BATCH: Span = Span::secs(1);
/// A failed pod is replaced after this time, doubled for each failure since the last success.
const BACK_OFF: Span = Span::secs(10);
/// The longest wait for a replacement.
const BACK_OFF_MAX: Span = Span::mins(10);

/// Decides what to do about a Job.
pub(crate) fn decide(sight: Sight<'_>, job: &Value) -> Plan {
    let at = sight.at;
    let spec = Spec::read(job);
    if spec.managed_elsewhere {
        return Plan::nothing();
    }
    let mut plan = Plan::nothing();
    let pods = adopt::claim(sight, &mut plan, USER, job);
    if holds(job, "Complete") || holds(job, "Failed") {
        let mut plan = release(&pods);
        expire(&mut plan, at, job, &spec);
        return plan;
    }
    let mut tally = Tally::of(at.epoch, job, &spec, &pods);
    let failures = Failures::of(at, sight.memo, &tally);
    plan.memo = failures.memo();
    let mut ending = status::ending(at, job, &spec, &tally);
    match &ending {
        Some(ending) => end(&mut plan, job, ending, &mut tally),
        None if deleting(job) => {}
        None => {
            manage(&mut plan, at, job, &spec, &mut tally, failures);
            tell_turn(&mut plan, job, &spec);
            let active = tally.active.len() + tally.created;
            ending = spec.satisfied(active, tally.succeeded(&spec)).then(Ending::complete);
        }
    }
    count(&mut plan, at, job, &spec, &mut tally, ending.as_ref());
    if let Some(deadline) = status::deadline(at, job, &spec).filter(|_| ending.is_none()) {
        plan.wake_at(deadline.max(at.now));
    }
    plan
}

/// How many pods failed since one last succeeded.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u32,
    last: Time,
}

impl Failures {
    /// What is remembered, and what ended since.
    fn of(at: Moment, memo: Option<&Memo>, tally: &Tally) -> Self {
        let before = match memo {
            Some(Memo::Failures(count, last)) => Self { count: *count, last: *last },
            _ => Self::default(),
        };
        let times = |pods: &[Arc<Pod>]| -> Vec<Time> {
            pods.iter().map(|pod| finished(at.epoch, pod)).collect()
        };
        let failed = times(&tally.new_failed);
        match times(&tally.new_succeeded).into_iter().max() {
            None => Self {
                count: before.count.saturating_add(failed.len().try_into().unwrap_or(u32::MAX)),
                last: failed.into_iter().max().unwrap_or(before.last),
            },
            Some(success) => {
                let since = || failed.iter().filter(|at| success < **at);
                let last = since().max().copied().unwrap_or_default();
                Self { count: since().count().try_into().unwrap_or(u32::MAX), last }
            }
        }
    }

    fn memo(self) -> Option<Memo> {
        (self.count > 0).then_some(Memo::Failures(self.count, self.last))
    }

    /// When the next pod may replace a failed one.
    fn until(self) -> Option<Time> {
        let doublings = self.count.checked_sub(1)?.min(20);
        Some(self.last + BACK_OFF.times(1 << doublings).min(BACK_OFF_MAX))
    }
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
fn count(
    plan: &mut Plan,
    at: Moment,
    job: &Value,
    spec: &Spec,
    tally: &mut Tally,
    ending: Option<&Ending>,
) {
    if tally.ended().next().is_some() {
        plan.acts.extend(status::write(at, job, spec, tally, ending, false));
        for pod in tally.ended() {
            plan.send(untrack(pod));
        }
    }
    tally.settle();
    plan.acts.extend(status::write(at, job, spec, tally, ending, true));
    if let Some(ending) = ending.filter(|_| tally.quiet()) {
        let about = Subject::of(job);
        plan.tell(match ending.failed {
            true => about.warns(COMPONENT, &ending.reason, ending.message.clone()),
            false => about.notes(COMPONENT, "Completed", "Job completed".into()),
        });
    }
}

/// Removes the pods that still run when the Job's fate is decided.
fn end(plan: &mut Plan, job: &Value, ending: &Ending, tally: &mut Tally) {
    for pod in &tally.active {
        plan.acts.push(delete(job, pod));
    }
    tally.end(ending.failed);
}

fn tell_turn(plan: &mut Plan, job: &Value, spec: &Spec) {
    let about = Subject::of(job);
    match status::turns(job, spec) {
        Some(true) => plan.tell(about.notes(COMPONENT, "Suspended", "Job suspended".into())),
        Some(false) => plan.tell(about.notes(COMPONENT, "Resumed", "Job resumed".into())),
        None => {}
    }
}

/// Brings the number of active pods to what it should be.
fn manage(
    plan: &mut Plan,
    at: Moment,
    job: &Value,
    spec: &Spec,
    tally: &mut Tally,
    failures: Failures,
) {
    let active = tally.active.len();
    let want = match spec.suspended {
        true => 0,
        false => spec.wanted(active, tally.succeeded(spec)),
    };
    let surplus = surplus(spec, tally, active.saturating_sub(want));
    if !surplus.is_empty() {
        remove(plan, job, &surplus, tally);
        return;
    }
    let replaced_late = if spec.replace_only_ended { tally.terminating.len() } else { 0 };
    let missing = want.saturating_sub(active + replaced_late);
    if missing == 0 {
        return;
    }
    let wait = failures.until().filter(|until| spec.per_index.is_none() && at.now < *until);
    if let Some(until) = wait {
        plan.wake_at(until);
        return;
    }
    let indexes = match spec.indexed {
        true => free_indexes(plan, at, spec, tally, missing),
        false => vec![None; missing.min(BURST)],
    };
    let batch = slow_start(active, indexes.len());
    if batch == 0 {
        return;
    }
    // The start is on record even if no pod can be created.
    if job["status"]["startTime"].is_null() {
        plan.acts.extend(status::write(at, job, spec, tally, None, false));
    }
    for index in &indexes[..batch] {
        plan.acts.push(create_pod(job, spec, *index, tally));
    }
    tally.created = batch;
    if batch < missing {
        plan.wake_at(at.now + LATENCY);
    }
}

/// The indexes that neither succeeded nor failed nor run, least first, and may have a pod now.
fn free_indexes(
    plan: &mut Plan,
    at: Moment,
    spec: &Spec,
    tally: &Tally,
    missing: usize,
) -> Vec<Option<u64>> {
    let going = tally.terminating.iter().filter(|_| spec.replace_only_ended);
    let taken: BTreeSet<u64> = tally.active.iter().chain(going).filter_map(|it| it.index).collect();
    let over = |index: u64| tally.failed_indexes.as_ref().is_some_and(|it| it.contains(index));
    let free = (0..spec.indexes())
        .filter(|index| !taken.contains(index) && !tally.done.contains(*index) && !over(*index));
    let until = |index: u64| {
        let pod = tally.held.get(&index)?;
        let count = number(pod, FAILURES) + number(pod, IGNORED) + 1;
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Failures { count, last: finished(at.epoch, pod) }.until()
    };
    let mut now = vec![];
    for index in free.take(missing.min(BURST)) {
        match until(index).filter(|until| at.now < *until) {
            Some(until) => plan.wake_at(until),
            None => now.push(Some(index)),
        }
    }
    now
}

/// The pods to remove: at least so many, and any that has no index of its own.
fn surplus(spec: &Spec, tally: &Tally, at_least: usize) -> Vec<Arc<Pod>> {
    let mut left = tally.active.clone();
    in_order_of_removal(&mut left, &[]);
    let mut gone = vec![];
    if spec.indexed {
        let mut seen = BTreeSet::new();
        // The one that would go last keeps its index.
        let mut kept: Vec<Arc<Pod>> = vec![];
        for pod in left.into_iter().rev() {
            let fresh = pod.index.is_some_and(|it| it < spec.indexes() && seen.insert(it));
            if fresh { kept.push(pod) } else { gone.push(pod) }
        }
        left = kept.into_iter().rev().collect();
    }
    let more = at_least.saturating_sub(gone.len());
    gone.extend(left.into_iter().take(more));
    gone.truncate(BURST);
    gone
}

/// Removes pods that aren't wanted any more. Uncounted: it isn't their fault.
fn remove(plan: &mut Plan, job: &Value, surplus: &[Arc<Pod>], tally: &mut Tally) {
    for pod in surplus {
        if pod.tracked {
            plan.send(untrack(pod));
        }
        plan.acts.push(delete(job, pod));
    }
    tally.dismiss(surplus);
}

fn delete(job: &Value, pod: &Pod) -> Act {
    Act::DeletePod {
        user: USER,
        component: COMPONENT,
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

fn create_pod(job: &Value, spec: &Spec, index: Option<u64>, tally: &Tally) -> Act {
    let name = text(&job["metadata"]["name"]);
    let prefix = match index {
        Some(index) => format!("{name}-{index}-"),
        None => format!("{name}-"),
    };
    create(USER, COMPONENT, job, &prefix, |pod| {
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
        let Some(index) = index else { return };
        if spec.per_index.is_some() {
            let replaced = tally.held.get(&index);
            let before = |name: &str| replaced.map_or(0, |pod| number(pod, name));
            let counts = replaced.is_some_and(|pod| policy::judge(&spec.rules, pod).counts());
            let ignored = before(IGNORED) + u64::from(replaced.is_some() && !counts);
            let failures = before(FAILURES) + u64::from(counts);
            metadata["annotations"][FAILURES] = failures.to_string().into();
            if ignored > 0 {
                metadata["annotations"][IGNORED] = ignored.to_string().into();
            }
        }
        spec::give_index(pod, name, index);
    })
}

/// The path of a Job.
fn path(job: &Value) -> String {
    let Key { namespace, name } = Key::of(job);
    format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
}
