//! What slurm.conf and a partition say about selection.

use crate::{Mutant, conf::ResourceUnit};

use super::Ask;

/// How nodes, cores and devices are given out in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) partition: usize,
    pub(crate) unit: ResourceUnit,
    /// Memory is given out too.
    pub(crate) memory: bool,
    /// Least loaded nodes first.
    pub(crate) lln: bool,
    /// Who takes one node takes the first that fits, by weight: since 26.05.
    pub(crate) first_of_one: bool,
    /// `CR_ONE_TASK_PER_CORE`.
    pub(crate) one_task_per_core: bool,
    /// `CR_CORE_DEFAULT_DIST_BLOCK`.
    pub(crate) block_cores: bool,
    pub(crate) share: Share,
    pub(crate) min_nodes: u32,
    pub(crate) max_nodes: u32,
    pub(crate) max_cpus_per_node: Option<u32>,
    pub(crate) max_cpus_per_socket: Option<u32>,
    /// A fault that the oracle put in.
    pub(crate) mutant: Option<Mutant>,
}

/// `OverSubscribe` of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Whole nodes only.
    Exclusive,
    No,
    /// So many jobs on a core, where they agree to it.
    Yes(u32),
    /// So many jobs on a core, whatever they say.
    Force(u32),
}

impl Policy {
    /// Whether the oracle put this fault in.
    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        cfg!(feature = "mutants") && self.mutant == Some(mutant)
    }

    pub(crate) fn exclusive(&self) -> bool {
        self.share == Share::Exclusive
    }

    /// Whether nobody else gets onto a job's nodes: not even `--exclusive` helps where jobs are made
    /// to share.
    pub(crate) const fn keeps_nodes(&self, ask: &Ask) -> bool {
        match self.share {
            Share::Exclusive => true,
            Share::Force(2..) => false,
            Share::No | Share::Yes(_) | Share::Force(_) => ask.exclusive,
        }
    }
}
