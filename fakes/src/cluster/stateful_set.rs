//! The StatefulSet controller: pods with names that stay, one after the other.
//!
//! ```text
//!   OrderedReady  n starts when 0..n are available; the last goes first, alone
//!   Parallel      all start and go at once
//!   template      from the highest ordinal down to `partition`, the next when the last is well;
//!                 OnDelete: a pod that somebody deletes comes back new
//! ```
//!
//! `rollingUpdate.maxUnavailable` counts as 1, as with the defaults of Kubernetes 1.36.

mod claims;
mod pods;

use std::{cmp::Reverse, collections::BTreeSet, ops::Range, sync::Arc};

use serde_json::{Value, json};

use super::{
    adopt,
    controllers::Sight,
    object::{Key, changed, count, deleting, some, text},
    plan::{Act, Plan, Subject, delete_pod, patch},
    pod::{Phase, Pod},
    replica_set::{available, next_available, replicas},
    revision::{self, History, Revision},
};

/// Who the StatefulSet controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:statefulset-controller";
const COMPONENT: &str = "statefulset-controller";

/// Decides what to do about a StatefulSet.
pub(crate) fn decide(sight: Sight<'_>, set: &Value) -> Plan {
    let mut plan = Plan::nothing();
    let claimed = adopt::claim(sight, &mut plan, USER, set);
    let pods: Vec<Arc<Pod>> =
        claimed.into_iter().filter(|pod| ordinal_of(set, pod).is_some()).collect();
    if let Some(next) = next_available(sight.at, set, &pods) {
        plan.wake_at(next);
    }
    let history = History::of(sight, set);
    let update = history.today(&mut plan, USER, set);
    let current = history.find(text(&set["status"]["currentRevision"])).unwrap_or(&update).clone();
    let mut round = Round { sight, set, pods: &pods, current, update, plan, gone: 0 };
    if !deleting(set) {
        round.go();
    }
    let Round { current, update, mut plan, gone, .. } = round;
    plan.acts.extend(status(sight, set, &pods, [&current, &update], gone));
    let live = pods.iter().map(|pod| revision::label(&pod.object));
    let used: BTreeSet<&str> = live.chain([current.name.as_str(), update.name.as_str()]).collect();
    history.truncate(&mut plan, USER, set, &used);
    plan
}

/// The ordinal in a pod's name.
fn ordinal_of(set: &Value, pod: &Pod) -> Option<u64> {
    let rest = pod.key.name.strip_prefix(text(&set["metadata"]["name"]))?;
    rest.strip_prefix('-')?.parse().ok()
}

/// The ordinals that should have pods.
fn wanted(set: &Value) -> Range<u64> {
    let first = count(&set["spec"]["ordinals"]["start"]);
    first..first + replicas(set)
}

/// One look at the set, from the lowest ordinal on.
struct Round<'a> {
    sight: Sight<'a>,
    set: &'a Value,
    pods: &'a [Arc<Pod>],
    current: Revision,
    update: Revision,
    plan: Plan,
    /// How many pods of the current revision this look removes.
    gone: u64,
}

/// Whether the look may go on to the next pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Go,
    Wait,
}

impl Round<'_> {
    fn go(&mut self) {
        let parallel = self.set["spec"]["podManagementPolicy"] == "Parallel";
        for ordinal in wanted(self.set) {
            if self.replica(ordinal, parallel) == Next::Wait && !parallel {
                return;
            }
        }
        let mut condemned: Vec<&Arc<Pod>> = self
            .pods
            .iter()
            .filter(|pod| {
                ordinal_of(self.set, pod).is_some_and(|it| !wanted(self.set).contains(&it))
            })
            .collect();
        condemned.sort_by_key(|pod| Reverse(ordinal_of(self.set, pod)));
        for pod in &condemned {
            claims::settle(&mut self.plan, self.sight, self.set, pod, false);
        }
        let first_unwell = self.first_unwell(&condemned);
        for pod in condemned {
            if self.condemn(pod, first_unwell.as_ref(), parallel) == Next::Wait && !parallel {
                return;
            }
        }
        if self.set["spec"]["updateStrategy"]["type"] != "OnDelete" {
            self.roll();
        }
    }

    fn pod(&self, ordinal: u64) -> Option<Arc<Pod>> {
        self.pods.iter().find(|pod| ordinal_of(self.set, pod) == Some(ordinal)).cloned()
    }

    fn is_well(&self, pod: &Pod) -> bool {
        available(self.sight.at.now, self.set, pod) && pod.deleting.is_none()
    }

    /// Sees to the pod of one ordinal that should be there.
    fn replica(&mut self, ordinal: u64, parallel: bool) -> Next {
        let Some(pod) = self.pod(ordinal) else {
            self.create(ordinal);
            return Next::Wait;
        };
        if pod.terminal() {
            if pod.deleting.is_none() {
                self.remove(&pod);
            }
            return Next::Wait;
        }
        if pod.phase == Phase::Pending {
            claims::make_missing(&mut self.plan, self.sight, self.set, ordinal);
        }
        if !parallel && !self.is_well(&pod) {
            return Next::Wait;
        }
        claims::settle(&mut self.plan, self.sight, self.set, &pod, true);
        Next::Go
    }

    fn create(&mut self, ordinal: u64) {
        let name = pods::name(self.set, ordinal);
        // A claim that waits to go with its last pod would go under the new one.
        if claims::is_stale(self.sight, self.set, ordinal) {
            return;
        }
        claims::make_missing(&mut self.plan, self.sight, self.set, ordinal);
        let partition = &self.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"];
        let first = count(&self.set["spec"]["ordinals"]["start"]);
        let rolling = self.set["spec"]["updateStrategy"]["type"] != "OnDelete";
        let kept = rolling && ordinal < first + count(partition);
        let revision = if kept { &self.current } else { &self.update };
        let request = pods::create(self.set, ordinal, revision);
        let set = text(&self.set["metadata"]["name"]);
        let about = Subject::of(self.set);
        let done = format!("Create Pod {name} in StatefulSet {set} successful");
        let failed = format!("Create Pod {name} in StatefulSet {set} failed error: ");
        let done = about.notes(COMPONENT, "SuccessfulCreate", done);
        let failed = about.warns(COMPONENT, "FailedCreate", failed);
        self.plan.send_telling(request, done, failed);
    }

    fn remove(&mut self, pod: &Pod) {
        let (set, name) = (text(&self.set["metadata"]["name"]), &pod.key.name);
        let about = Subject::of(self.set);
        let done = format!("Delete Pod {name} in StatefulSet {set} successful");
        let failed = format!("Delete Pod {name} in StatefulSet {set} failed error: ");
        let done = about.notes(COMPONENT, "SuccessfulDelete", done);
        let failed = about.warns(COMPONENT, "FailedDelete", failed);
        self.plan.send_telling(delete_pod(USER, &pod.key, &pod.uid, None), done, failed);
    }

    fn first_unwell(&self, condemned: &[&Arc<Pod>]) -> Option<Arc<Pod>> {
        let wanted = wanted(self.set).filter_map(|ordinal| self.pod(ordinal));
        let condemned = condemned.iter().rev().map(|pod| Arc::clone(pod));
        wanted.chain(condemned).find(|pod| !self.is_well(pod))
    }

    /// Sees to a pod that shouldn't be there.
    fn condemn(&mut self, pod: &Pod, first_unwell: Option<&Arc<Pod>>, parallel: bool) -> Next {
        if pod.deleting.is_some() {
            return Next::Wait;
        }
        let first = first_unwell.is_some_and(|it| it.uid == pod.uid);
        if parallel || first || self.is_well(pod) {
            self.remove(pod);
        }
        Next::Wait
    }

    /// Replaces the highest pod of an earlier template, once those above it are well.
    fn roll(&mut self) {
        let partition = &self.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"];
        let all = wanted(self.set);
        for ordinal in (all.start + count(partition)..all.end).rev() {
            let Some(pod) = self.pod(ordinal) else { return };
            if revision::label(&pod.object) != self.update.name && pod.deleting.is_none() {
                self.remove(&pod);
                self.gone += 1;
                return;
            }
            if !self.is_well(&pod) {
                return;
            }
        }
    }
}

/// Writes the status, if it differs from what is there.
fn status(
    sight: Sight<'_>,
    set: &Value,
    pods: &[Arc<Pod>],
    [current, update]: [&Revision; 2],
    gone: u64,
) -> Option<Act> {
    let ready = pods.iter().filter(|pod| pod.phase == Phase::Running && pod.ready.is_some());
    let available = pods.iter().filter(|pod| available(sight.at.now, set, pod)).count();
    let of = |revision: &Revision| {
        let made = |pod: &&Arc<Pod>| {
            pod.deleting.is_none() && revision::label(&pod.object) == revision.name
        };
        pods.iter().filter(made).count() as u64
    };
    let ready = ready.count();
    let (mut current_name, mut of_current) = (&current.name, of(current).saturating_sub(gone));
    let of_update = of(update);
    let rolling = set["spec"]["updateStrategy"]["type"] != "OnDelete";
    let all = [of_update, ready as u64, pods.len() as u64];
    if rolling && all.iter().all(|count| *count == replicas(set)) {
        (current_name, of_current) = (&update.name, of_update);
    }
    let new = json!({
        "replicas": pods.len(),
        "readyReplicas": some(ready),
        "availableReplicas": available,
        "currentReplicas": some(of_current),
        "updatedReplicas": some(of_update),
        "currentRevision": current_name,
        "updateRevision": update.name,
        "collisionCount": count(&set["status"]["collisionCount"]),
        "observedGeneration": set["metadata"]["generation"],
    });
    let Key { namespace, name } = Key::of(set);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/status");
    changed(&set["status"], &new).then(|| Act::Send(patch(USER, path, json!({"status": new}))))
}
