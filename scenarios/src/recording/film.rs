//! A run as far as it is known: records, and every version of every row.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use drawbridge_sim::{JobId, Time};

use super::{Change, Chunk, Diary, Ending, RecordRef, Still, Versions};
use crate::frame::{Frame, JobRow, NodeRow, PodRow};

/// Everything that is known of a run. Only ever added to, but for [`Film::cut`].
#[derive(Clone, Debug, Default)]
pub struct Film {
    diary: Diary,
    pods: Versions<String, PodRow>,
    jobs: Versions<JobId, JobRow>,
    nodes: Versions<String, NodeRow>,
    /// Slots of nodes by Slurm's names for them.
    slurm_nodes: HashMap<String, u32>,
    altered: Vec<Altered>,
    bridge: Vec<(u64, bool)>,
    cycles: Vec<u64>,
    metrics: Vec<(u64, Arc<BTreeMap<String, u64>>)>,
    /// Pods by namespace, name and creation.
    pod_order: Vec<u32>,
    now: Time,
    ending: Option<Ending>,
    cuts: u64,
}

/// A row that became another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Altered {
    /// From how many records on.
    pub from: u64,
    /// What kind of row.
    pub kind: RowKind,
    /// Its slot.
    pub slot: u32,
    /// The number of its version.
    pub version: u32,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// A pod.
    Pod,
    /// A job.
    Job,
    /// A node.
    Node,
}

impl Film {
    /// Takes in what happened next.
    pub fn add(&mut self, chunk: Chunk) {
        let Chunk { records, changes, now, ending } = chunk;
        for record in records {
            self.diary.add(record);
        }
        let known = self.pods.len();
        for (from, change) in changes {
            self.change(from, change);
        }
        if known < self.pods.len() {
            self.order_pods(known);
        }
        self.now = self.now.max(now);
        self.ending = ending.or(self.ending.take());
    }

    fn change(&mut self, from: u64, change: Change) {
        let (kind, (slot, version)) = match change {
            Change::Pod(row) => (RowKind::Pod, self.pods.add(row.uid.clone(), from, Some(row))),
            Change::Job(row) => (RowKind::Job, self.jobs.add(row.job_id, from, Some(row))),
            Change::Node(row) => (RowKind::Node, self.add_node(from, row)),
            Change::NodeGone(name) => (RowKind::Node, self.nodes.add(name, from, None)),
            Change::Bridge(up) => return self.bridge.push((from, up)),
            // Several that ran at once are one step.
            Change::Cycles(_) if self.cycles.last() == Some(&from) => return,
            Change::Cycles(_) => return self.cycles.push(from),
            Change::Metrics(metrics) => return self.metrics.push((from, metrics)),
        };
        let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        self.altered.push(Altered { from, kind, slot: number(slot), version: number(version) });
    }

    fn add_node(&mut self, from: u64, row: Arc<NodeRow>) -> (usize, usize) {
        let slurm = row.slurm_name.clone();
        let added = self.nodes.add(row.name.clone(), from, Some(row));
        if let Some(name) = slurm {
            self.slurm_nodes.insert(name, u32::try_from(added.0).unwrap_or(u32::MAX));
        }
        added
    }

    /// Puts the pods from this slot on in their places.
    fn order_pods(&mut self, from: usize) {
        let new = from..self.pods.len();
        self.pod_order.extend(new.map(|slot| u32::try_from(slot).unwrap_or(u32::MAX)));
        let pods = &self.pods;
        let first = |slot: &u32| pods.of(*slot as usize).first().and_then(|it| it.1.as_deref());
        let key = |row: &PodRow| (row.namespace.clone(), row.name.clone(), row.created_ms);
        // What is in order already costs the sort next to nothing.
        self.pod_order.sort_by(|a, b| match (first(a), first(b)) {
            (Some(a), Some(b)) => {
                (&a.namespace, &a.name, a.created_ms).cmp(&(&b.namespace, &b.name, b.created_ms))
            }
            (a, b) => a.map(key).cmp(&b.map(key)),
        });
    }

    /// Forgets what came after so many records, the last thing that happened until `now`: what came
    /// then is about to be told anew.
    pub fn cut(&mut self, event: u64, now: Time) {
        self.diary.cut(usize::try_from(event).unwrap_or(usize::MAX));
        self.pods.cut(event);
        self.jobs.cut(event);
        self.nodes.cut(event);
        let (n_pods, n_nodes) = (self.pods.len(), self.nodes.len());
        self.slurm_nodes.retain(|_, slot| (*slot as usize) < n_nodes);
        self.pod_order.retain(|slot| (*slot as usize) < n_pods);
        self.altered.truncate(self.altered.partition_point(|it| it.from <= event));
        self.bridge.truncate(self.bridge.partition_point(|(from, _)| *from <= event));
        self.cycles.truncate(self.cycles.partition_point(|from| *from <= event));
        self.metrics.truncate(self.metrics.partition_point(|(from, _)| *from <= event));
        self.now = now;
        self.ending = None;
        self.cuts += 1;
    }

    /// How often it was cut: whoever keeps an index of it begins anew when this changes.
    pub const fn cuts(&self) -> u64 {
        self.cuts
    }

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.diary.len() as u64
    }

    /// Whether nothing happened at all.
    pub fn is_empty(&self) -> bool {
        self.diary.is_empty()
    }

    /// The time that is reached.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// How it ended; `None` as long as it goes on.
    pub const fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The records.
    pub const fn diary(&self) -> &Diary {
        &self.diary
    }

    /// One record.
    pub fn record(&self, seq: u64) -> Option<RecordRef<'_>> {
        self.diary.get(usize::try_from(seq).ok()?)
    }

    /// The number of records up to and including this time.
    pub fn event_at(&self, at: Time) -> u64 {
        self.diary.until(at) as u64
    }

    /// The time of the last of so many records.
    pub fn time_of(&self, event: u64) -> Time {
        let last = event.min(self.len()).checked_sub(1);
        last.and_then(|seq| self.record(seq)).map_or(Time::ZERO, |record| record.at)
    }

    /// Pods, by uid.
    pub const fn pods(&self) -> &Versions<String, PodRow> {
        &self.pods
    }

    /// Jobs, by number.
    pub const fn jobs(&self) -> &Versions<JobId, JobRow> {
        &self.jobs
    }

    /// Nodes, by name.
    pub const fn nodes(&self) -> &Versions<String, NodeRow> {
        &self.nodes
    }

    /// The slot of the node that Slurm calls so.
    pub fn slurm_node(&self, name: &str) -> Option<usize> {
        self.slurm_nodes.get(name).map(|slot| *slot as usize)
    }

    /// Slots of pods in the order in which they are listed.
    pub fn pod_order(&self) -> impl Iterator<Item = usize> {
        self.pod_order.iter().map(|slot| *slot as usize)
    }

    /// Every row that became another one, in order.
    pub fn altered(&self) -> &[Altered] {
        &self.altered
    }

    /// After how many records scheduling cycles ran, in order.
    pub fn cycles(&self) -> &[u64] {
        &self.cycles
    }

    /// Whether the bridge is alive after so many records; `None` without one.
    pub fn bridge_at(&self, event: u64) -> Option<bool> {
        last_until(&self.bridge, event).copied()
    }

    /// The counters after so many records, as they were last read.
    pub fn metrics_at(&self, event: u64) -> Option<&BTreeMap<String, u64>> {
        last_until(&self.metrics, event).map(AsRef::as_ref)
    }

    /// All there is to see after so many records.
    pub fn frame(&self, event: u64) -> Frame {
        let mut still = Still::default();
        still.seek(self, event.min(self.len()));
        let pods = self.pod_order().filter_map(|slot| still.pod(slot));
        Frame {
            now: self.time_of(event),
            events: event.min(self.len()),
            bridge_up: self.bridge_at(event),
            pods: pods.cloned().collect(),
            jobs: still.jobs().map(|(_, row)| row.clone()).collect(),
            nodes: still.nodes().map(|(_, row)| row.clone()).collect(),
            metrics: self.metrics_at(event).cloned().unwrap_or_default(),
        }
    }
}

fn last_until<T>(all: &[(u64, T)], event: u64) -> Option<&T> {
    let after = all.partition_point(|(from, _)| *from <= event);
    all.get(after.checked_sub(1)?).map(|(_, it)| it)
}
