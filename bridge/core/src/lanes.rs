//! So many jobs of one controller at a time: the annotation `array-throttle`.
//!
//! ```text
//!   Job with throttle 2    ┌ in Slurm: pod-0, pod-1
//!                          └ in line:  pod-2, pod-3 …   in the order of their indices
//! ```
//!
//! Who is in Slurm is never written down: it follows from the workloads' stages, and after a crash
//! from the jobs that Slurm has for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    names::Uid,
    view::{OwnerRef, PodView},
};

/// Where a pod stands in line.
type Turn = (u64, String, Uid);

/// One controller's jobs.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// Workloads with a job in Slurm, or on its way there.
    inside: BTreeSet<Uid>,
    line: BTreeSet<Turn>,
    /// As the annotation last said.
    limit: usize,
    /// `Job train`.
    name: String,
}

/// All controllers that throttle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    lanes: BTreeMap<Uid, Lane>,
    /// Whose lane a workload is in.
    homes: BTreeMap<Uid, Uid>,
    turns: BTreeMap<Uid, Turn>,
    /// Lanes with room and somebody in line.
    open: BTreeSet<Uid>,
}

impl Lanes {
    /// Whether a workload may submit now; if not, it is put in line and named when its turn comes.
    pub(crate) fn admits(&mut self, workload: &Uid, pod: &PodView, limit: u32) -> bool {
        let Some(owner) = pod.metadata.controller() else {
            return true;
        };
        self.place(workload, owner);
        let lane = self.lanes.entry(owner.uid.clone()).or_default();
        lane.limit = limit as usize;
        lane.name = format!("{} {}", owner.kind, owner.name);
        if lane.inside.contains(workload) || lane.inside.len() < lane.limit {
            return true;
        }
        let turn = turn(workload, pod);
        lane.line.insert(turn.clone());
        self.turns.insert(workload.clone(), turn);
        false
    }

    /// A workload's controller, for whom it takes up room while it has a job.
    pub(crate) fn place(&mut self, workload: &Uid, owner: &OwnerRef) {
        self.homes.insert(workload.clone(), owner.uid.clone());
    }

    /// A workload has a job, or has none any more.
    pub(crate) fn settle(&mut self, workload: &Uid, has_job: bool) {
        let Some(owner) = self.homes.get(workload).cloned() else {
            return;
        };
        let lane = self.lanes.entry(owner.clone()).or_default();
        if has_job {
            lane.inside.insert(workload.clone());
            self.step_out(workload);
        } else {
            lane.inside.remove(workload);
        }
        self.look(&owner);
    }

    /// A workload is no more.
    pub(crate) fn forget(&mut self, workload: &Uid) {
        self.settle(workload, false);
        self.step_out(workload);
        if let Some(owner) = self.homes.remove(workload) {
            self.look(&owner);
        }
    }

    /// Whose turn it is. Who is called and no longer wants to submit has left the line.
    pub(crate) fn call(&mut self) -> Option<Uid> {
        let owner = self.open.first()?.clone();
        let next = self.lanes.get(&owner).and_then(|lane| lane.line.first()).cloned();
        let workload = next.map(|(_, _, workload)| workload);
        match &workload {
            Some(workload) => self.step_out(workload),
            None => drop(self.open.remove(&owner)),
        }
        self.look(&owner);
        workload
    }

    /// Why a workload waits in line, if it does.
    pub(crate) fn words(&self, workload: &Uid) -> Option<String> {
        self.turns.get(workload)?;
        let Lane { inside, limit, name, .. } = self.lanes.get(self.homes.get(workload)?)?;
        let n = inside.len();
        Some(format!(
            "waiting for other jobs of {name}: {n} are in Slurm, array-throttle is {limit}"
        ))
    }

    fn step_out(&mut self, workload: &Uid) {
        if let Some(turn) = self.turns.remove(workload)
            && let Some(lane) = self.homes.get(workload).and_then(|it| self.lanes.get_mut(it))
        {
            lane.line.remove(&turn);
        }
    }

    /// Notes whether a lane has room and somebody in line; forgets one that nobody is in.
    fn look(&mut self, owner: &Uid) {
        let Some(lane) = self.lanes.get(owner) else {
            return;
        };
        if lane.inside.len() < lane.limit && !lane.line.is_empty() {
            self.open.insert(owner.clone());
        } else {
            self.open.remove(owner);
        }
        if lane.inside.is_empty() && lane.line.is_empty() {
            self.lanes.remove(owner);
        }
    }
}

/// By index, then by name.
fn turn(workload: &Uid, pod: &PodView) -> Turn {
    let index = pod.metadata.labels.get("batch.kubernetes.io/job-completion-index");
    let index = index.and_then(|index| index.parse().ok()).unwrap_or(u64::MAX);
    (index, pod.metadata.name.clone(), workload.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, index: Option<u32>) -> PodView {
        let labels = index.map_or(
            json!({}),
            |index| json!({ "batch.kubernetes.io/job-completion-index": index.to_string() }),
        );
        let owner = json!({ "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true });
        serde_json::from_value(json!({ "metadata": {
            "name": name, "namespace": "a", "uid": name, "labels": labels, "ownerReferences": [owner],
        } }))
        .unwrap()
    }

    #[test]
    fn the_next_is_called_when_one_has_left() {
        let mut lanes = Lanes::default();
        let id = |name: &str| Uid::from(name);
        let pods: Vec<_> = [("p-9", 3), ("p-a", 2), ("p-b", 1), ("p-c", 0)]
            .map(|(name, index)| pod(name, Some(index)))
            .into();
        assert!(lanes.admits(&id("p-9"), &pods[0], 2));
        lanes.settle(&id("p-9"), true);
        assert!(lanes.admits(&id("p-a"), &pods[1], 2));
        lanes.settle(&id("p-a"), true);
        assert!(!lanes.admits(&id("p-b"), &pods[2], 2) && !lanes.admits(&id("p-c"), &pods[3], 2));
        assert_eq!(lanes.call(), None);
        assert_eq!(
            lanes.words(&id("p-b")).unwrap(),
            "waiting for other jobs of Job j: 2 are in Slurm, array-throttle is 2"
        );
        lanes.forget(&id("p-9"));
        assert_eq!(lanes.call(), Some(id("p-c")), "the lower index goes first");
        assert!(lanes.admits(&id("p-c"), &pods[3], 2));
        lanes.settle(&id("p-c"), true);
        assert_eq!((lanes.call(), lanes.words(&id("p-c"))), (None, None));
    }

    #[test]
    fn who_is_called_and_is_gone_makes_way_for_the_next() {
        let mut lanes = Lanes::default();
        let id = |name: &str| Uid::from(name);
        assert!(lanes.admits(&id("a"), &pod("a", None), 1));
        lanes.settle(&id("a"), true);
        for name in ["b", "c"] {
            assert!(!lanes.admits(&id(name), &pod(name, None), 1));
        }
        lanes.forget(&id("b"));
        lanes.settle(&id("a"), false);
        assert_eq!(lanes.call(), Some(id("c")));
        assert_eq!(lanes.call(), None);
    }

    #[test]
    fn a_pod_without_a_controller_waits_for_nobody() {
        let mut alone = pod("p", None);
        alone.metadata.owner_references.clear();
        let mut lanes = Lanes::default();
        assert!(lanes.admits(&"p".into(), &alone, 1) && lanes.admits(&"q".into(), &alone, 1));
    }
}
