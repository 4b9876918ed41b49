//! What one attempt is to find: how many nodes and CPUs, and on which nodes it insists.

use crate::IndexSet;

use super::{Ask, Policy};

/// More nodes than anybody has.
const MOST: u32 = 500_000;

/// What one attempt is to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quest {
    pub(crate) min_nodes: u32,
    pub(crate) max_nodes: u32,
    /// As many nodes as the job would like.
    pub(crate) req_nodes: u32,
    pub(crate) min_cpus: u32,
    /// Tasks, where they are counted; 0 otherwise.
    pub(crate) tasks: u32,
    pub(crate) required: IndexSet,
}

/// Why a job's and its partition's numbers of nodes don't go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeCounts {
    /// It insists on more nodes than it takes.
    OfJob,
    /// The partition gives fewer nodes than it needs.
    OfPartition,
}

impl Quest {
    /// The whole job.
    pub(crate) fn new(ask: &Ask, policy: &Policy) -> Result<Self, NodeCounts> {
        let min_nodes = ask.min_nodes.max(policy.min_nodes);
        let required = u32::try_from(ask.required.len()).unwrap_or(u32::MAX);
        if ask.max_nodes.is_some_and(|most| most < required) {
            return Err(NodeCounts::OfJob);
        }
        let max_nodes = ask.max_nodes.unwrap_or(u32::MAX).min(policy.max_nodes).min(MOST);
        if max_nodes < min_nodes {
            return Err(NodeCounts::OfPartition);
        }
        let wants_most = ask.max_nodes.is_some() && !ask.use_min_nodes;
        Ok(Self {
            min_nodes,
            max_nodes,
            req_nodes: if wants_most { max_nodes } else { min_nodes },
            min_cpus: ask.min_cpus,
            tasks: ask.tasks,
            required: ask.required.clone(),
        })
    }

    /// So many of its nodes, of those that have some feature.
    pub(crate) fn counted(&self, ask: &Ask, count: u32) -> Self {
        let by_node = ask.ntasks_per_node;
        Self {
            min_nodes: count,
            max_nodes: self.max_nodes,
            req_nodes: count,
            min_cpus: count,
            tasks: if by_node == 0 { ask.tasks } else { count.saturating_mul(by_node) },
            required: IndexSet::new(),
        }
    }

    /// The whole job once nodes with some features are found, which it then insists on; `last` is
    /// how many of them the last search was for.
    pub(crate) fn with_found(&self, found: IndexSet, last: u32) -> Self {
        let n_found = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let min_nodes = self.min_nodes.max(n_found);
        Self {
            min_nodes,
            req_nodes: min_nodes.max(last),
            min_cpus: self.min_cpus.max(n_found),
            required: found,
            ..self.clone()
        }
    }
}
