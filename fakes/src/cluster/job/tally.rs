//! Counting a Job's pods.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_sim::{Epoch, Span, Time};
use serde_json::Value;

use super::{
    super::{
        object::{condition, count, items, text, time},
        pod::{Phase, Pod},
        template::BURST,
    },
    indexes::Indexes,
    policy::{self, Action},
    spec::Spec,
};

/// How often pods of this index failed before this one, and how often that didn't count.
pub(super) const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
pub(super) const IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// A Job's pods, sorted by what became of them.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) active: Vec<Arc<Pod>>,
    /// Those that were asked to go and haven't ended.
    pub(super) terminating: Vec<Arc<Pod>>,
    /// How many this decision creates.
    pub(super) created: usize,
    /// Counted for good.
    pub(super) counted: (u64, u64),
    /// Ended, and the status only knows the uid, or not even that.
    pub(super) new_succeeded: Vec<Arc<Pod>>,
    pub(super) new_failed: Vec<Arc<Pod>>,
    /// Ended in a way that doesn't count.
    ignored: Vec<Arc<Pod>>,
    /// The indexes that succeeded.
    pub(super) done: Indexes,
    /// The indexes that failed for good, if that can be.
    pub(super) failed_indexes: Option<Indexes>,
    /// The last failed pod of each index that will get another: it's held until that one is there,
    /// to pass on how often the index failed.
    pub(super) held: BTreeMap<u64, Arc<Pod>>,
    /// Why the failure policy fails the Job.
    pub(super) fatal: Option<String>,
    /// More pods ended than one status should name.
    pub(super) too_many: bool,
}

impl Tally {
    pub(super) fn of(epoch: Epoch, job: &Value, spec: &Spec, pods: &[Arc<Pod>]) -> Self {
        let status = &job["status"];
        let indexes = |text: &Value| Indexes::parse(text.as_str().unwrap_or(""), spec.indexes());
        let mut tally = Self {
            active: vec![],
            terminating: vec![],
            created: 0,
            counted: (count(&status["succeeded"]), count(&status["failed"])),
            new_succeeded: vec![],
            new_failed: vec![],
            ignored: vec![],
            done: indexes(&status["completedIndexes"]),
            failed_indexes: spec.per_index.map(|_| indexes(&status["failedIndexes"])),
            held: BTreeMap::new(),
            fatal: None,
            too_many: false,
        };
        let known = |list: &str| -> BTreeSet<&str> {
            items(&status["uncountedTerminatedPods"][list]).iter().map(text).collect()
        };
        let (mut succeeded, mut failed) = (known("succeeded"), known("failed"));
        for pod in pods {
            if pod.tracked {
                succeeded.remove(&*pod.uid);
                failed.remove(&*pod.uid);
            }
            tally.sort_in(spec, pod);
        }
        // Their pods are gone or let go: they are numbers from now on, in whatever is written next.
        tally.counted.0 += succeeded.len() as u64;
        tally.counted.1 += failed.len() as u64;
        if spec.per_index.is_some() {
            tally.hold(epoch);
        }
        tally
    }

    fn sort_in(&mut self, spec: &Spec, pod: &Arc<Pod>) {
        if pod.active() {
            self.active.push(pod.clone());
            return;
        }
        if pod.terminating() {
            self.terminating.push(pod.clone());
        }
        let failed = pod.phase == Phase::Failed || (pod.terminating() && !spec.replace_only_ended);
        let valid = !spec.indexed || pod.index.is_some_and(|index| index < spec.indexes());
        if !pod.tracked || !valid {
            return;
        }
        if BURST <= self.new_succeeded.len() + self.new_failed.len() {
            self.too_many = true;
        } else if pod.phase == Phase::Succeeded {
            self.new_succeeded.push(pod.clone());
        } else if failed {
            self.sort_failed(spec, pod);
        }
        if pod.phase == Phase::Succeeded && spec.indexed {
            pod.index.into_iter().for_each(|index| self.done.insert(index));
        }
    }

    fn sort_failed(&mut self, spec: &Spec, pod: &Arc<Pod>) {
        let verdict = policy::judge(&spec.rules, pod);
        if self.fatal.is_none() {
            self.fatal = verdict.message.clone();
        }
        if let (Some(limit), Some(failed), Some(index)) =
            (spec.per_index, &mut self.failed_indexes, pod.index)
        {
            let over = verdict.counts() && limit <= number(pod, FAILURES);
            if over || verdict.action == Some(Action::FailIndex) {
                failed.insert(index);
            }
        }
        match verdict.counts() {
            true => self.new_failed.push(pod.clone()),
            false => self.ignored.push(pod.clone()),
        }
    }

    /// Holds the last failed pod of every index that gets another.
    fn hold(&mut self, epoch: Epoch) {
        let running: BTreeSet<u64> = self.active.iter().filter_map(|pod| pod.index).collect();
        let mut held: BTreeMap<u64, Arc<Pod>> = BTreeMap::new();
        for pod in self.new_failed.iter().chain(&self.ignored) {
            let Some(index) = pod.index.filter(|index| !running.contains(index)) else { continue };
            let over = self.failed_indexes.as_ref().is_some_and(|failed| failed.contains(index));
            if over || self.done.contains(index) {
                continue;
            }
            let rank =
                |pod: &Pod| (number(pod, FAILURES) + number(pod, IGNORED), finished(epoch, pod));
            let last = held.entry(index).or_insert_with(|| pod.clone());
            if rank(last) <= rank(pod) {
                *last = pod.clone();
            }
        }
        let kept: BTreeSet<Arc<str>> = held.values().map(|pod| pod.uid.clone()).collect();
        self.new_failed.retain(|pod| !kept.contains(&pod.uid));
        self.ignored.retain(|pod| !kept.contains(&pod.uid));
        self.held = held;
    }

    /// The Job's fate is decided: its active pods go. If it failed, all that go count as failures.
    pub(super) fn end(&mut self, failed: bool) {
        let going = self.active.drain(..).chain(std::mem::take(&mut self.held).into_values());
        let going: Vec<Arc<Pod>> = going.collect();
        let known: BTreeSet<Arc<str>> = self.new_failed.iter().map(|pod| pod.uid.clone()).collect();
        let ended: Vec<Arc<Pod>> = going.iter().filter(|pod| pod.terminal()).cloned().collect();
        self.terminating.extend(going.into_iter().filter(|pod| !pod.terminal()));
        let all = self.terminating.iter().chain(&ended).filter(|pod| pod.tracked);
        for pod in all.filter(|pod| !known.contains(&pod.uid)).cloned().collect::<Vec<_>>() {
            match failed || pod.phase == Phase::Failed {
                true => self.new_failed.push(pod),
                false => self.ignored.push(pod),
            }
        }
    }

    /// Pods that aren't wanted any more leave, uncounted.
    pub(super) fn dismiss(&mut self, surplus: &[Arc<Pod>]) {
        let gone: BTreeSet<&str> = surplus.iter().map(|pod| &*pod.uid).collect();
        self.active.retain(|pod| !gone.contains(&*pod.uid));
        self.terminating.extend(surplus.iter().cloned());
    }

    /// Pods that ended and may be let go once the status names those that count.
    pub(super) fn ended(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.new_succeeded.iter().chain(&self.new_failed).chain(&self.ignored)
    }

    /// Every uid became a number.
    pub(super) fn settle(&mut self) {
        self.counted = (self.succeeded_pods(), self.failed());
        self.new_succeeded.clear();
        self.new_failed.clear();
        self.ignored.clear();
    }

    /// How many succeeded, counted or not; of an Indexed Job, how many indexes.
    pub(super) fn succeeded(&self, spec: &Spec) -> u64 {
        if spec.indexed { self.done.len() } else { self.succeeded_pods() }
    }

    fn succeeded_pods(&self) -> u64 {
        self.counted.0 + self.new_succeeded.len() as u64
    }

    /// How many failed, counted or not.
    pub(super) fn failed(&self) -> u64 {
        self.counted.1 + self.new_failed.len() as u64
    }

    /// Whether none of its pods does anything any more.
    pub(super) fn quiet(&self) -> bool {
        self.active.is_empty()
            && self.terminating.is_empty()
            && self.ended().next().is_none()
            && !self.too_many
    }

    /// How often containers of its pods restarted.
    pub(super) fn restarts(&self) -> u64 {
        self.active.iter().chain(&self.terminating).map(|pod| pod.restarts).sum()
    }
}

/// A number that a pod is annotated with.
pub(super) fn number(pod: &Pod, annotation: &str) -> u64 {
    text(&pod.object["metadata"]["annotations"][annotation]).parse().unwrap_or(0)
}

/// When a pod ended: by its containers, by its condition, or when it was asked to go.
pub(super) fn finished(epoch: Epoch, pod: &Pod) -> Time {
    let unready = || {
        let ready = condition(&pod.object, "Ready").filter(|it| it["status"] == "False")?;
        time(epoch, &ready["lastTransitionTime"])
    };
    let asked = || {
        let end = time(epoch, &pod.object["metadata"]["deletionTimestamp"])?;
        let grace = Span::secs(pod.deleting.unwrap_or(0));
        Some(Time::from_ms(end.as_ms().saturating_sub(grace.as_ms())))
    };
    let ended = pod.finished.filter(|_| pod.terminal());
    let created = || time(epoch, &pod.object["metadata"]["creationTimestamp"]);
    ended.or_else(unready).or_else(asked).or_else(created).unwrap_or_default()
}
