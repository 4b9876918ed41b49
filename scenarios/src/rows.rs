//! Rows of the frame, kept current event by event.
//!
//! ```text
//!   facts of slurmctld, changes in the API server ──▶ rows ──▶ all of them: a frame
//!                                                      └────▶ those that changed: a recording
//! ```
//!
//! Pods that are gone and jobs that slurmctld has forgotten keep their last row: a report is about
//! everything that was there.

mod job;
mod node;
mod pod;

pub(crate) use node::{join, kube_node_row};
pub(crate) use pod::pod_row;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_fakes::{Behaviour, Change, ChangeKind, KubeApi};
use drawbridge_sim::{Fact, JobId, JobState, SlurmNode, Slurmctld, Time};

use crate::{
    frame::{JobRow, NodeRow, PodRow},
    names::Names,
    object::Object,
};

/// All rows, by uid and by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pods: BTreeMap<String, Arc<PodRow>>,
    jobs: BTreeMap<JobId, Arc<JobRow>>,
    /// Jobs that wait: their priority changes without anybody's doing.
    waiting: BTreeSet<JobId>,
    names: Names,
    /// The top of the owners of everything that has one, by uid.
    tops: BTreeMap<String, String>,
    /// Pods that are bound and have not ended, by node, then by uid.
    bound: BTreeMap<String, BTreeMap<String, String>>,
    behaviours: Arc<[Behaviour]>,
    /// Scheduling cycles so far.
    cycles: u64,
    touched: Option<Touched>,
}

/// What changed since somebody last asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) pods: BTreeSet<String>,
    pub(crate) jobs: BTreeSet<JobId>,
    pub(crate) slurm_nodes: BTreeSet<SlurmNode>,
    pub(crate) kube_nodes: BTreeSet<String>,
}

impl Rows {
    /// No rows, of pods that behave like this.
    pub(crate) fn new(behaviours: &[Behaviour]) -> Self {
        Self { behaviours: behaviours.into(), ..Self::default() }
    }

    /// Notes from now on what changes.
    pub(crate) fn note_changes(&mut self) {
        self.touched.get_or_insert_default();
    }

    /// These nodes are news.
    pub(crate) fn note_nodes(&mut self, nodes: BTreeSet<SlurmNode>) {
        self.touch(|it| it.slurm_nodes.extend(nodes));
    }

    /// What changed since the last call. Nothing unless [`Self::note_changes`] was called.
    pub(crate) fn take_touched(&mut self) -> Touched {
        self.touched.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn touch(&mut self, note: impl FnOnce(&mut Touched)) {
        if let Some(touched) = &mut self.touched {
            note(touched);
        }
    }

    /// A job or a node did something.
    pub(crate) fn slurm_fact(&mut self, now: Time, fact: &Fact, slurm: &Slurmctld) {
        match fact {
            Fact::JobSubmitted { job }
            | Fact::JobReasonChanged { job, .. }
            | Fact::JobPlanned { job, .. }
            | Fact::JobStarted { job, .. }
            | Fact::JobEnded { job, .. }
            | Fact::JobReleased { job }
            | Fact::JobSplit { job, .. }
            | Fact::JobRequeued { job, .. }
            | Fact::JobChanged { job, .. } => {
                let by_backfill = matches!(fact, Fact::JobStarted { backfilled: true, .. });
                self.job(now, *job, slurm, by_backfill);
            }
            Fact::NodeChanged { node, .. } => self.touch(|it| {
                it.slurm_nodes.insert(node.clone());
            }),
            Fact::JobPurged { .. } => {}
        }
    }

    fn job(&mut self, now: Time, id: JobId, slurm: &Slurmctld, by_backfill: bool) {
        let Some(job) = slurm.job(id) else { return };
        let mut row = job::job_row(now, job, slurm);
        let before = self.jobs.get(&id).filter(|before| before.start_ms == row.start_ms);
        row.backfilled = by_backfill || before.is_some_and(|before| before.backfilled);
        match job.state == JobState::Pending {
            true => self.waiting.insert(id),
            false => self.waiting.remove(&id),
        };
        self.jobs.insert(id, Arc::new(row));
        self.touch(|it| {
            it.jobs.insert(id);
            let nodes = job.allocation.iter().flat_map(|held| held.node_names());
            it.slurm_nodes.extend(nodes.cloned());
        });
    }

    /// Scheduling cycles may have weighed the jobs that wait anew. Returns how many there were.
    pub(crate) fn cycled(&mut self, now: Time, slurm: &Slurmctld) -> u64 {
        let stats = slurm.stats();
        let cycles = stats.main_cycles + stats.backfill_cycles;
        let since = cycles - std::mem::replace(&mut self.cycles, cycles);
        if since != 0 {
            let moved = |id: &&JobId| {
                let row = self.jobs.get(id).map(|row| (row.priority, row.expected_start_ms));
                slurm.job(**id).map(|job| (job.priority, job.expected_start)) != row
            };
            let moved: Vec<JobId> = self.waiting.iter().filter(moved).copied().collect();
            moved.into_iter().for_each(|id| self.job(now, id, slurm, false));
        }
        since
    }

    /// An object changed.
    pub(crate) fn kube_change(&mut self, now: Time, change: &Change) {
        let object = Object(&change.object);
        match change.resource {
            "nodes" => {
                self.names.learn_node(object);
                self.touch_kube_node(object.name());
            }
            "pods" => {
                if self.names.learn_worker(object) {
                    object.node().into_iter().for_each(|node| self.touch_kube_node(node));
                }
                self.pod(now, object, change.kind);
            }
            _ => self.learn_owner(object),
        }
    }

    fn touch_kube_node(&mut self, name: &str) {
        let slurm: Vec<SlurmNode> = self.names.slurm_names(name).map(SlurmNode::from).collect();
        self.touch(|it| {
            it.kube_nodes.insert(name.to_owned());
            it.slurm_nodes.extend(slurm);
        });
    }

    fn learn_owner(&mut self, object: Object<'_>) {
        if let Some(top) = self.top(object) {
            self.tops.insert(object.uid().to_owned(), top);
        }
    }

    /// The controller at the top of an object's owners, as far as they are known.
    fn top(&self, object: Object<'_>) -> Option<String> {
        let (uid, name) = object.controller()?;
        Some(self.tops.get(uid).cloned().unwrap_or(name))
    }

    fn pod(&mut self, now: Time, pod: Object<'_>, kind: ChangeKind) {
        let before = self.pods.get(pod.uid()).cloned();
        let before = before.as_deref();
        let mut row = pod::pod_row(pod);
        row.owner = self.top(pod);
        row.mpi = pod::mpi(pod, before.and_then(|row| row.mpi.as_ref()), &self.behaviours);
        row.created_ms = before.map_or(now, |row| row.created_ms);
        let once = |was: Option<Time>, is_so: bool| was.or_else(|| is_so.then_some(now));
        row.bound_ms = once(before.and_then(|row| row.bound_ms), row.node.is_some());
        row.started_ms = once(before.and_then(|row| row.started_ms), pod.phase() == "Running");
        row.finished_ms = once(before.and_then(|row| row.finished_ms), pod.is_terminal());
        if kind == ChangeKind::Deleted {
            row.phase = "Deleted".to_owned();
            row.terminating = false;
        }
        self.place(&row);
        self.touch(|it| {
            it.pods.insert(row.uid.clone());
        });
        self.pods.insert(row.uid.clone(), Arc::new(row));
    }

    /// Keeps who is on which node.
    fn place(&mut self, row: &PodRow) {
        let Some(node) = &row.node else { return };
        let pods = self.bound.entry(node.clone()).or_default();
        let is_there = matches!(row.phase.as_str(), "Pending" | "Running");
        let changed = match is_there {
            true => {
                let name = format!("{}/{}", row.namespace, row.name);
                pods.insert(row.uid.clone(), name).is_none()
            }
            false => pods.remove(&row.uid).is_some(),
        };
        if changed {
            self.touch_kube_node(node);
        }
    }

    /// The Kubernetes node that a Slurm node is.
    pub(crate) fn kube_name(&self, slurm: &SlurmNode) -> String {
        let name = self.names.by_slurm().get(slurm.as_str());
        name.map_or_else(|| slurm.to_string(), Clone::clone)
    }

    /// One pod.
    pub(crate) fn pod_row(&self, uid: &str) -> Option<&Arc<PodRow>> {
        self.pods.get(uid)
    }

    /// One job.
    pub(crate) fn job_row(&self, id: JobId) -> Option<&Arc<JobRow>> {
        self.jobs.get(&id)
    }

    /// Pods by namespace, name and creation.
    pub(crate) fn pods(&self) -> Vec<PodRow> {
        let mut rows: Vec<PodRow> = self.pods.values().map(|row| (**row).clone()).collect();
        rows.sort_by(|a, b| {
            (&a.namespace, &a.name, a.created_ms).cmp(&(&b.namespace, &b.name, b.created_ms))
        });
        rows
    }

    /// Jobs by number.
    pub(crate) fn jobs(&self) -> Vec<JobRow> {
        self.jobs.values().map(|row| (**row).clone()).collect()
    }

    /// Slurm's nodes in slurm.conf's order, then Kubernetes' others by name.
    pub(crate) fn nodes(&self, slurm: &Slurmctld, api: &KubeApi) -> Vec<NodeRow> {
        let known = slurm.nodes().filter_map(|it| self.slurm_node(it.name(), slurm, api));
        let mut rows: Vec<NodeRow> = known.collect();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let others = api.list("nodes").map(|node| Object(node).name());
        let others: Vec<&str> = others.filter(|name| !names.contains(name)).collect();
        rows.extend(others.into_iter().filter_map(|name| self.kube_node(name, api)));
        rows
    }

    /// A node of Slurm's, if it has it.
    pub(crate) fn slurm_node(
        &self,
        name: &SlurmNode,
        slurm: &Slurmctld,
        api: &KubeApi,
    ) -> Option<NodeRow> {
        let node = slurm.node(name)?;
        let kube = self.names.by_slurm().get(name.as_str());
        let kube = kube.and_then(|name| api.get("nodes", "", name));
        Some(self.inhabited(node::slurm_node_row(node, kube.map(|node| Object(node)), slurm)))
    }

    /// A node of Kubernetes', if it has it.
    pub(crate) fn kube_node(&self, name: &str, api: &KubeApi) -> Option<NodeRow> {
        api.get("nodes", "", name).map(|node| self.inhabited(node::kube_node_row(Object(node))))
    }

    fn inhabited(&self, mut row: NodeRow) -> NodeRow {
        let pods = self.bound.get(&row.name).into_iter().flat_map(BTreeMap::values);
        row.pods = pods.cloned().collect();
        row.pods.sort();
        row
    }

    /// Whether a node of Kubernetes' is one of Slurm's as well.
    pub(crate) fn is_in_slurm(&self, kube: &str, slurm: &Slurmctld) -> bool {
        let is_one = |name: &str| {
            slurm.node(&SlurmNode::from(name)).is_some()
                && self.names.by_slurm().get(name).is_some_and(|other| other == kube)
        };
        self.names.slurm_names(kube).any(is_one)
    }
}
