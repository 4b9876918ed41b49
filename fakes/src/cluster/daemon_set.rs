//! The DaemonSet controller: one pod on every node that fits.
//!
//! ```text
//!   node fits, no pod       ──▶ create one that only this node can take; the scheduler binds it
//!   node doesn't fit, a pod ──▶ delete it, unless only NoSchedule taints stand against it
//!   template changes        ──▶ maxUnavailable at a time go and come back, or with maxSurge the
//!                               new pod comes first
//! ```

mod place;
mod rolling;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_sim::Span;
use serde_json::{Value, json};

use super::{
    LATENCY, adopt,
    controllers::Sight,
    memo::Memo,
    object::{Key, changed, deleting, some, text},
    plan::{Act, Plan, Subject, patch},
    pod::{Phase, Pod},
    replica_set::{available, next_available},
    revision::{self, History},
    template::{BURST, slow_start},
};

/// Who the DaemonSet controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:daemon-set-controller";
const COMPONENT: &str = "daemonset-controller";
/// A failed pod is removed at once; the next one on the same node this much later, and so on.
const BACK_OFF: Span = Span::secs(1);
const BACK_OFF_MAX: Span = Span::mins(15);

type ByNode = BTreeMap<Arc<str>, Vec<Arc<Pod>>>;

/// Decides what to do about a DaemonSet.
pub(crate) fn decide(sight: Sight<'_>, set: &Value) -> Plan {
    let mut plan = Plan::nothing();
    if deleting(set) {
        return plan;
    }
    let pods = adopt::claim(sight, &mut plan, USER, set);
    if let Some(next) = next_available(sight.at, set, &pods) {
        plan.wake_at(next);
    }
    let history = History::of(sight, set);
    let today = history.today(&mut plan, USER, set);
    let by_node = place::by_node(&pods);
    let wanted = place::Wanted::read(set);
    let mut round = Round::new(sight, set, &today.hash, &by_node, &wanted, plan);
    round.manage();
    if round.is_idle() && set["spec"]["updateStrategy"]["type"] != "OnDelete" {
        round.roll();
    }
    let hashes = pods.iter().map(|pod| revision::label(&pod.object));
    let used: BTreeSet<&str> = hashes.chain([today.hash.as_str()]).collect();
    let names = history.all.iter().filter(|it| used.contains(it.hash.as_str()));
    let used: BTreeSet<&str> =
        names.map(|it| it.name.as_str()).chain([today.name.as_str()]).collect();
    let status = status(sight, set, &by_node, &wanted, &today.hash);
    let mut plan = round.finish();
    plan.acts.extend(status);
    history.truncate(&mut plan, USER, set, &used);
    plan
}

/// One look at the set: what to create and what to remove.
struct Round<'a> {
    sight: Sight<'a>,
    set: &'a Value,
    hash: &'a str,
    by_node: &'a ByNode,
    wanted: &'a place::Wanted,
    plan: Plan,
    create: Vec<Arc<str>>,
    remove: Vec<Arc<Pod>>,
    failed: BTreeMap<Arc<str>, (drawbridge_sim::Time, Span)>,
}

impl<'a> Round<'a> {
    fn new(
        sight: Sight<'a>,
        set: &'a Value,
        hash: &'a str,
        by_node: &'a ByNode,
        wanted: &'a place::Wanted,
        plan: Plan,
    ) -> Self {
        let failed = match sight.memo {
            Some(Memo::Daemons(failed)) => failed.clone(),
            _ => BTreeMap::new(),
        };
        Self { sight, set, hash, by_node, wanted, plan, create: vec![], remove: vec![], failed }
    }

    fn is_idle(&self) -> bool {
        self.create.is_empty() && self.remove.is_empty()
    }

    fn on(&self, node: &str) -> &'a [Arc<Pod>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// Sees to it that every node has what it should have.
    fn manage(&mut self) {
        let surges = rolling::surge(self.set, 1) > 0;
        for (node, _) in self.sight.index.nodes() {
            let (run, stay) = self.wanted.fits(node);
            let pods = self.on(&node.name);
            if run && pods.is_empty() {
                self.create.push(node.name.clone());
            } else if stay {
                self.tidy(&node.name, run, surges);
            } else {
                self.remove.extend(pods.iter().filter(|pod| pod.deleting.is_none()).cloned());
            }
        }
        let homeless =
            self.by_node.iter().filter(|(node, _)| self.sight.index.node(node).is_none());
        let unbound = homeless.flat_map(|(_, pods)| pods);
        self.remove
            .extend(unbound.filter(|pod| pod.node.is_none() && pod.deleting.is_none()).cloned());
    }

    /// Removes what has ended on a node, and what is too many there.
    fn tidy(&mut self, node: &Arc<str>, run: bool, surges: bool) {
        let mut running = vec![];
        for pod in self.on(node).iter().filter(|pod| pod.deleting.is_none()) {
            match pod.phase {
                Phase::Failed => self.bury(node, pod),
                Phase::Succeeded => {
                    let message = format!(
                        "Found succeeded daemon pod {} on node {node}, will try to delete it",
                        pod.key
                    );
                    let about = Subject::of(self.set);
                    self.plan.tell(about.notes(COMPONENT, "SucceededDaemonPod", message));
                    self.remove.push(pod.clone());
                }
                Phase::Pending | Phase::Running => running.push(pod.clone()),
            }
        }
        place::oldest_first(&mut running);
        if !surges {
            self.remove.extend(running.into_iter().skip(1));
        } else if running.is_empty() && run {
            self.create.push(node.clone());
        } else if running.len() > 1 {
            self.keep_two(running);
        }
    }

    /// While surging, an old pod and a new one may share a node until the new one is available.
    fn keep_two(&mut self, running: Vec<Arc<Pod>>) {
        let (mut new, mut old): (Vec<Arc<Pod>>, Vec<Arc<Pod>>) =
            running.into_iter().partition(|pod| revision::label(&pod.object) == self.hash);
        self.remove.extend(new.drain(new.len().min(1)..));
        self.remove.extend(old.drain(old.len().min(1)..));
        if let (Some(new), Some(old)) = (new.first(), old.first())
            && (old.ready.is_none() || available(self.sight.at.now, self.set, new))
        {
            self.remove.push(old.clone());
        }
    }

    /// Removes a failed pod, later each time: a kubelet may refuse it again and again.
    fn bury(&mut self, node: &Arc<str>, pod: &Arc<Pod>) {
        let now = self.sight.at.now;
        let last = self.failed.get(node).copied();
        if let Some((since, wait)) = last
            && now < since + wait
        {
            self.plan.wake_at(since + wait);
            return;
        }
        // Long after the last failure it counts as the first again.
        let wait = match last {
            Some((since, wait)) if now < since + BACK_OFF_MAX.times(2) => wait.times(2),
            _ => BACK_OFF,
        };
        self.failed.insert(node.clone(), (now, wait.min(BACK_OFF_MAX)));
        let message =
            format!("Found failed daemon pod {} on node {node}, will try to kill it", pod.key);
        let about = Subject::of(self.set);
        self.plan.tell(about.warns(COMPONENT, "FailedDaemonPod", message));
        self.remove.push(pod.clone());
    }

    fn finish(mut self) -> Plan {
        let there = self.by_node.len();
        let batch = slow_start(there, self.create.len());
        for node in self.create.iter().take(batch) {
            self.plan.acts.push(place::create(self.set, self.hash, node));
        }
        if batch < self.create.len() {
            self.plan.wake_at(self.sight.at.now + LATENCY);
        }
        for pod in self.remove.iter().take(BURST) {
            self.plan.acts.push(Act::DeletePod {
                user: USER,
                component: COMPONENT,
                owner: Subject::of(self.set),
                pod: pod.key.clone(),
                uid: pod.uid.to_string(),
            });
        }
        self.plan.memo = (!self.failed.is_empty()).then_some(Memo::Daemons(self.failed));
        self.plan
    }
}

/// Writes the status, if it differs from what is there.
fn status(
    sight: Sight<'_>,
    set: &Value,
    by_node: &ByNode,
    wanted: &place::Wanted,
    hash: &str,
) -> Option<Act> {
    let (mut desired, mut current, mut strays) = (0_u64, 0_u64, 0_u64);
    let (mut ready, mut usable, mut updated) = (0_u64, 0_u64, 0_u64);
    for (node, _) in sight.index.nodes() {
        let mut pods = by_node.get(&node.name).cloned().unwrap_or_default();
        place::oldest_first(&mut pods);
        let (run, _) = wanted.fits(node);
        match (run, pods.first()) {
            (true, Some(pod)) => {
                desired += 1;
                current += 1;
                ready += u64::from(pod.ready.is_some());
                usable += u64::from(available(sight.at.now, set, pod));
                updated += u64::from(revision::label(&pod.object) == hash);
            }
            (true, None) => desired += 1,
            (false, Some(_)) => strays += 1,
            (false, None) => {}
        }
    }
    let new = json!({
        "desiredNumberScheduled": desired,
        "currentNumberScheduled": current,
        "numberMisscheduled": strays,
        "numberReady": ready,
        "updatedNumberScheduled": some(updated),
        "numberAvailable": some(usable),
        "numberUnavailable": some(desired - usable),
        "observedGeneration": set["metadata"]["generation"],
    });
    let Key { namespace, name } = Key::of(set);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}/status");
    changed(&set["status"], &new).then(|| Act::Send(patch(USER, path, json!({"status": new}))))
}

/// The generation of the template, which pods carry for old clients.
fn generation(set: &Value) -> &str {
    text(&set["metadata"]["annotations"]["deprecated.daemonset.template.generation"])
}
