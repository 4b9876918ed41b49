//! Counting a Job's pods.

use std::{collections::BTreeSet, fmt, sync::Arc};

use drawbridge_sim::{Epoch, Time};
use serde_json::Value;

use super::super::{
    object::{count, items, text, time},
    pod::{Phase, Pod},
    template::BURST,
};
use super::spec::Spec;

/// A Job's pods, sorted by what became of them.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) active: Vec<Arc<Pod>>,
    /// How many were asked to go and haven't ended.
    pub(super) terminating: usize,
    /// How many this decision creates.
    pub(super) created: usize,
    /// Counted for good.
    pub(super) counted: (u64, u64),
    /// Ended, and the status only knows the uid, or not even that.
    pub(super) new_succeeded: Vec<Arc<Pod>>,
    pub(super) new_failed: Vec<Arc<Pod>>,
    /// Uids that the status holds and whose pods were let go.
    pub(super) released: (u64, u64),
    /// The indexes that succeeded.
    pub(super) done: Indexes,
    ended: Vec<(Time, u64, bool)>,
}

/// A set of indexes, written `0-3,5`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeSet<u64>);

impl Tally {
    pub(super) fn of(epoch: Epoch, job: &Value, spec: &Spec, pods: &[Arc<Pod>]) -> Self {
        let status = &job["status"];
        let waiting = &status["uncountedTerminatedPods"];
        let mut tally = Self {
            active: vec![],
            terminating: 0,
            created: 0,
            counted: (count(&status["succeeded"]), count(&status["failed"])),
            new_succeeded: vec![],
            new_failed: vec![],
            released: (0, 0),
            done: Indexes::parse(text(&status["completedIndexes"])),
            ended: vec![],
        };
        let known = |list: &str| -> BTreeSet<String> {
            let uids = items(&waiting[list]).iter();
            uids.map(|uid| text(uid).to_owned()).collect()
        };
        let (mut succeeded, mut failed) = (known("succeeded"), known("failed"));
        for pod in pods {
            let listed = if pod.tracked {
                succeeded.remove(&*pod.uid);
                failed.remove(&*pod.uid);
                true
            } else {
                false
            };
            tally.sort_in(epoch, spec, pod, listed);
        }
        // Their pods are gone or let go: all that is left to do is to count them.
        tally.released = (succeeded.len() as u64, failed.len() as u64);
        tally
    }

    fn sort_in(&mut self, epoch: Epoch, spec: &Spec, pod: &Arc<Pod>, tracked: bool) {
        if pod.active() {
            self.active.push(pod.clone());
            return;
        }
        if pod.terminating() {
            self.terminating += 1;
        }
        let failed = pod.phase == Phase::Failed || (pod.terminating() && !spec.replace_only_ended);
        let succeeded = pod.phase == Phase::Succeeded;
        if succeeded || failed {
            let asked = || time(epoch, &pod.object["metadata"]["deletionTimestamp"]);
            let when = pod.finished.or_else(asked).unwrap_or_default();
            self.ended.push((when, pod.created, succeeded));
        }
        let room = self.new_succeeded.len() + self.new_failed.len() < BURST;
        match (tracked && room, succeeded, failed) {
            (true, true, _) => self.new_succeeded.push(pod.clone()),
            (true, false, true) => self.new_failed.push(pod.clone()),
            _ => {}
        }
        if succeeded && spec.indexed {
            self.done.0.extend(pod.index);
        }
    }

    /// Pods that ended and still have to be counted.
    pub(super) fn uncounted(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.new_succeeded.iter().chain(&self.new_failed)
    }

    /// Every uid became a number.
    pub(super) fn settle(&mut self) {
        let (succeeded, failed) = (self.succeeded_pods(), self.failed());
        self.counted = (succeeded, failed);
        self.new_succeeded.clear();
        self.new_failed.clear();
        self.released = (0, 0);
    }

    /// How many succeeded, counted or not; of an Indexed Job, how many indexes.
    pub(super) fn succeeded(&self) -> u64 {
        match self.done.0.len() as u64 {
            0 => self.succeeded_pods(),
            indexes => indexes,
        }
    }

    fn succeeded_pods(&self) -> u64 {
        self.counted.0 + self.released.0 + self.new_succeeded.len() as u64
    }

    /// How many failed, counted or not.
    pub(super) fn failed(&self) -> u64 {
        self.counted.1 + self.released.1 + self.new_failed.len() as u64
    }

    /// Whether none of its pods does anything any more.
    pub(super) fn quiet(&self) -> bool {
        self.active.is_empty() && self.terminating == 0 && self.uncounted().next().is_none()
    }

    /// How often containers of active pods restarted.
    pub(super) fn restarts(&self) -> u64 {
        self.active.iter().map(|pod| pod.restarts).sum()
    }

    /// How many pods failed since the last success, and when the last one did.
    pub(super) fn failures_in_a_row(&self) -> Option<(u64, Time)> {
        let mut ended = self.ended.clone();
        ended.sort_unstable();
        let failures = ended.iter().rev().take_while(|(_, _, succeeded)| !succeeded);
        let n = failures.count() as u64;
        let (last, _, _) = ended.last()?;
        (n > 0).then_some((n, *last))
    }
}

impl Indexes {
    fn parse(text: &str) -> Self {
        let ranges = text.split(',').filter(|part| !part.is_empty());
        let bounds = ranges.filter_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            Some((from.parse::<u64>().ok()?, to.parse::<u64>().ok()?))
        });
        Self(bounds.flat_map(|(from, to)| from..=to).collect())
    }

    pub(super) fn contains(&self, index: u64) -> bool {
        self.0.contains(&index)
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u64, u64)> = vec![];
        for index in &self.0 {
            match ranges.last_mut() {
                Some((_, to)) if *to + 1 == *index => *to = *index,
                _ => ranges.push((*index, *index)),
            }
        }
        let parts = ranges.iter().map(|(from, to)| match to - from {
            0 => from.to_string(),
            1 => format!("{from},{to}"),
            _ => format!("{from}-{to}"),
        });
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_ranges_and_read_back() {
        for (numbers, text) in [(vec![], ""), (vec![3], "3"), (vec![0, 1, 2, 5, 7, 8], "0-2,5,7,8")]
        {
            let set = Indexes(numbers.into_iter().collect());
            assert_eq!(set.to_string(), text);
            assert_eq!(Indexes::parse(text), set);
        }
    }
}
