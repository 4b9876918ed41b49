//! Which rows each tab shows, in which order, and which one is selected.
//!
//! A selection is remembered by what it is, not by where it stands: rows come and go as time
//! moves, and a pod that isn't there yet is selected again once it is.

use std::collections::BTreeMap;

use drawbridge_scenarios::{Frame, JobRow, NodeRow, PodRow, Record};
use drawbridge_sim::JobId;

use super::{Tab, log::holds};

/// The rows of one tab, as indexes into the frame or the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Of the pods.
    Pods(Vec<PodLine>),
    /// Of the jobs.
    Jobs(Vec<usize>),
    /// Of the nodes.
    Nodes(Vec<usize>),
    /// Of the records.
    Events(Vec<usize>),
}

/// A row among the pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodLine {
    /// A gang, above its members.
    Gang(Vec<usize>),
    /// A pod.
    Pod {
        /// Which.
        index: usize,
        /// Listed below its gang.
        member: bool,
    },
}

/// What a row is, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A pod, by uid.
    Pod(String),
    /// A gang, by namespace and name.
    Gang(String, String),
    /// A job.
    Job(JobId),
    /// A node, by the name that the frame gives it.
    Node(String),
    /// A record, by its number.
    Record(u64),
}

/// One tab's filter and selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// What the user typed.
    pub(crate) filter: String,
    /// The row that the user chose; `None` until they do.
    pub(crate) wanted: Option<Key>,
    /// Where the selection stands; 0 where there are no rows.
    pub(crate) at: usize,
}

impl List {
    /// The filter's words, in lower case.
    pub(crate) fn words(&self) -> Vec<String> {
        self.filter.to_lowercase().split_whitespace().map(str::to_owned).collect()
    }
}

impl Rows {
    /// The rows of a tab. Pods that are gone and jobs that ended are there only if `all` are.
    pub(crate) fn of(tab: Tab, frame: &Frame, words: &[String], all: bool) -> Self {
        match tab {
            Tab::Pods => Self::Pods(pod_lines(frame, words, all)),
            Tab::Jobs => Self::Jobs(numbered(&frame.jobs, |job| {
                (all || active(job)) && job_holds(job, words)
            })),
            Tab::Nodes => Self::Nodes(numbered(&frame.nodes, |node| node_holds(node, words))),
            Tab::Events => Self::Events(Vec::new()),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Pods(lines) => lines.len(),
            Self::Jobs(rows) | Self::Nodes(rows) | Self::Events(rows) => rows.len(),
        }
    }

    /// What the row at this place is.
    pub(crate) fn key(&self, frame: &Frame, records: &[Record], at: usize) -> Option<Key> {
        Some(match self {
            Self::Pods(lines) => line_key(frame, lines.get(at)?),
            Self::Jobs(rows) => Key::Job(frame.jobs[*rows.get(at)?].job_id),
            Self::Nodes(rows) => Key::Node(frame.nodes[*rows.get(at)?].name.clone()),
            Self::Events(rows) => Key::Record(records[*rows.get(at)?].seq),
        })
    }

    /// Where the row that is this stands now.
    pub(crate) fn position(&self, frame: &Frame, records: &[Record], key: &Key) -> Option<usize> {
        if let (Self::Events(rows), Key::Record(seq)) = (self, key) {
            return rows.binary_search_by_key(seq, |&i| records[i].seq).ok();
        }
        (0..self.len()).find(|&at| self.key(frame, records, at).as_ref() == Some(key))
    }
}

/// Whether squeue would show it without being asked for more.
pub(crate) fn active(job: &JobRow) -> bool {
    job.end_ms.is_none()
}

fn line_key(frame: &Frame, line: &PodLine) -> Key {
    match line {
        PodLine::Pod { index, .. } => Key::Pod(frame.pods[*index].uid.clone()),
        PodLine::Gang(members) => {
            let first = &frame.pods[members[0]];
            Key::Gang(first.namespace.clone(), first.gang.clone().unwrap_or_default())
        }
    }
}

/// Pods in the frame's order; a gang stands where its first member would.
fn pod_lines(frame: &Frame, words: &[String], all: bool) -> Vec<PodLine> {
    let shown =
        numbered(&frame.pods, |pod| (all || pod.phase != "Deleted") && pod_holds(pod, words));
    let mut gangs: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for &index in &shown {
        if let Some(gang) = gang_of(&frame.pods[index]) {
            gangs.entry(gang).or_default().push(index);
        }
    }
    let mut lines = Vec::with_capacity(shown.len());
    for &index in &shown {
        let Some(gang) = gang_of(&frame.pods[index]) else {
            let member = false;
            lines.push(PodLine::Pod { index, member });
            continue;
        };
        // Taken out where the first member stands, so that the others find nothing to list.
        let members = gangs.remove(&gang).unwrap_or_default();
        let member = true;
        let below = members.iter().map(|&index| PodLine::Pod { index, member });
        let below: Vec<PodLine> = below.collect();
        lines.extend((!members.is_empty()).then_some(PodLine::Gang(members)));
        lines.extend(below);
    }
    lines
}

fn gang_of(pod: &PodRow) -> Option<(&str, &str)> {
    pod.gang.as_deref().map(|gang| (pod.namespace.as_str(), gang))
}

fn pod_holds(pod: &PodRow, words: &[String]) -> bool {
    let job = pod.job_id.map(|job| job.to_string()).unwrap_or_default();
    let texts = [
        &pod.namespace,
        &pod.name,
        &pod.phase,
        pod.reason.as_deref().unwrap_or_default(),
        pod.node.as_deref().unwrap_or_default(),
        pod.slurm_node.as_deref().unwrap_or_default(),
        pod.gang.as_deref().unwrap_or_default(),
        &job,
    ];
    holds(words, &texts)
}

fn job_holds(job: &JobRow, words: &[String]) -> bool {
    let number = job.job_id.to_string();
    let reason = job.reason.as_deref().unwrap_or_default();
    let texts = [&number, &job.name, &job.user, &job.partition, &job.state, &job.nodes, reason];
    holds(words, &texts)
}

fn node_holds(node: &NodeRow, words: &[String]) -> bool {
    let slurm_name = node.slurm_name.as_deref().unwrap_or_default();
    let reason = node.reason.as_deref().unwrap_or_default();
    let cordoned = if node.cordoned { "cordoned" } else { "" };
    holds(words, &[&node.name, slurm_name, &node.state, reason, &node.gres, cordoned])
}

fn numbered<T>(rows: &[T], wanted: impl Fn(&T) -> bool) -> Vec<usize> {
    (0..rows.len()).filter(|&i| wanted(&rows[i])).collect()
}
