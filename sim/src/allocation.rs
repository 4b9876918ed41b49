//! What a job holds: which cores, how much memory and which devices, on which nodes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{IndexSet, SlurmNode, conf::natural, fold_hostlist, index_set::Part};

/// Everything that a job holds, nodes in slurm.conf's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// What it holds on each node.
    pub nodes: Vec<NodeShare>,
    /// The places of the nodes of which it holds cores, listed once: backfill looks at every running
    /// job's in every cycle.
    #[serde(skip)]
    pub(crate) with_cores: Box<[Part]>,
    /// And of those of which it holds none.
    #[serde(skip)]
    pub(crate) without_cores: Box<[Part]>,
}

/// What a job holds on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeShare {
    /// The node's name.
    pub node: SlurmNode,
    /// The node's place in slurm.conf.
    #[serde(skip)]
    pub index: usize,
    /// Tasks that run there.
    pub tasks: u32,
    /// CPUs that it may use there.
    pub cpus: u32,
    /// CPUs counted against the job there: with CR_Socket those of whole sockets.
    #[serde(skip)]
    pub counted_cpus: u32,
    /// The cores, by their index on the node.
    pub cores: IndexSet,
    /// The CPUs (hardware threads) of these cores, by their index on the node.
    pub cpu_ids: IndexSet,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Devices by resource name: `gpu` → `0-1`.
    pub gres: BTreeMap<String, IndexSet>,
    /// Other jobs may hold the same cores.
    #[serde(skip)]
    pub shared: bool,
    /// It would let them, whether or not its partition does.
    #[serde(skip)]
    pub sharing: bool,
}

impl Allocation {
    pub(crate) fn new(nodes: Vec<NodeShare>) -> Self {
        let list = |bare: bool| {
            let mut parts = vec![];
            let shares = nodes.iter().filter(|share| share.cores.is_empty() == bare);
            Part::list(shares.map(|share| share.index), &mut parts);
            parts.into()
        };
        let (with_cores, without_cores) = (list(false), list(true));
        Self { nodes, with_cores, without_cores }
    }

    /// The node names, in order.
    pub fn node_names(&self) -> Vec<&SlurmNode> {
        self.nodes.iter().map(|share| &share.node).collect()
    }

    /// The node list as Slurm prints it: `n[1-3]`. Dynamic nodes, which come last, are sorted in.
    pub fn node_list(&self) -> String {
        let mut names: Vec<_> = self.nodes.iter().map(|share| share.node.as_str()).collect();
        names.sort_by(|one, other| natural::compare(one, other));
        fold_hostlist(&names)
    }

    /// CPUs on all nodes.
    pub fn cpus(&self) -> u32 {
        self.nodes.iter().map(|share| share.counted_cpus).sum()
    }

    /// Memory on all nodes, MiB.
    pub fn memory_mib(&self) -> u64 {
        self.nodes.iter().map(|share| share.memory_mib).sum()
    }

    /// Tasks on all nodes.
    pub fn tasks(&self) -> u32 {
        self.nodes.iter().map(|share| share.tasks).sum()
    }
}
