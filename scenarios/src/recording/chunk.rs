//! A piece of a run: what happened, and what looks different since.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::Time;
use serde::{Deserialize, Serialize};

use crate::{
    expect::Outcome,
    frame::{JobRow, NodeRow, PodRow},
    record::Record,
};

/// A piece of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// What happened, in order.
    pub records: Vec<Record>,
    /// What changed, in order, each with the number of records after which it is seen.
    pub changes: Vec<(u64, Change)>,
    /// The time that the run has reached.
    pub now: Time,
    /// How it ended, in the last piece.
    pub ending: Option<Ending>,
}

/// Something that looks different now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A pod's row, new or anew.
    Pod(Arc<PodRow>),
    /// A job's row.
    Job(Arc<JobRow>),
    /// A node's row.
    Node(Arc<NodeRow>),
    /// The node of this name is no more.
    NodeGone(String),
    /// Whether the bridge process is alive.
    Bridge(bool),
    /// So many scheduling cycles have run since.
    Cycles(u64),
    /// Counters by name.
    Metrics(Arc<BTreeMap<String, u64>>),
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The hash over all records, as `run` prints it.
    pub hash: String,
    /// What was expected, and whether it came.
    pub expectations: Vec<Outcome>,
    /// Steps that were refused, each with its line.
    pub refused: Vec<String>,
    /// The laws that were broken.
    pub violations: Vec<String>,
}

impl Chunk {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.changes.is_empty() && self.ending.is_none()
    }
}
