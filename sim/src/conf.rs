//! `slurm.conf` and `gres.conf`, read as Slurm reads them.
//!
//! ```text
//!   text ──▶ line: words with their places ──▶ node | partition | params | gres ──▶ SlurmConfig
//!                                                          │
//!                        known, not honoured yet ──▶ Note  └─ unknown, or wrong ──▶ ConfError
//! ```

mod down;
mod gres;
mod include;
mod known;
mod line;
pub(crate) mod natural;
mod node;
mod node_line;
mod node_set;
mod params;
mod partition;
mod partition_line;
mod priority;
mod reader;
mod scheduling;
mod shape;
mod value;
mod words;

use std::{collections::BTreeMap, fmt, sync::Arc};

pub use gres::DeviceGroup;
pub use include::ConfTexts;
pub use node::{GresSpec, InitialState, NodeSpec};
pub use node_set::NodeSet;
pub use params::{EnforcePartLimits, MemoryDefault, Params, ReconfigFlags, ResourceUnit};
pub use partition::{Access, OverSubscribe, OverTime, PartitionSpec, PartitionState};
pub use priority::{PriorityFlags, PriorityParams, PriorityType, TresWeights};
pub use scheduling::{BackfillParams, Defer, SchedulerType};

use crate::{Mutant, PartitionName, Release, SlurmNode};
pub(crate) use node_line::words as comma_words;
pub(crate) use node_set::{NodesError, resolve as resolve_nodes};
pub(crate) use value::parse_megabytes;

use reader::Reader;

/// A cluster as its configuration files describe it.
#[derive(Clone, Debug)]
pub struct SlurmConfig {
    release: Release,
    nodes: Arc<[Arc<NodeSpec>]>,
    partitions: Arc<[Arc<PartitionSpec>]>,
    node_sets: Arc<[NodeSet]>,
    params: Arc<Params>,
    /// A fault that the oracle put in.
    pub(crate) mutant: Option<Mutant>,
}

/// What [`SlurmConfig::parse`] read.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The cluster.
    pub config: SlurmConfig,
    /// What the files say and the model doesn't honour yet.
    pub notes: Vec<Note>,
}

/// A parameter that Slurm knows and the model doesn't honour yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Which file.
    pub file: ConfFile,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is not honoured.
    pub text: String,
}

/// The files that make up a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfFile {
    /// `slurm.conf`.
    SlurmConf,
    /// `gres.conf`.
    GresConf,
    /// A file that an `Include` line of slurm.conf names, by number. Nobody outside sees it: notes
    /// and errors stand at the `Include` line and name the file.
    Included(usize),
}

/// Why a configuration can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct ConfError {
    /// Which file.
    pub file: ConfFile,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub hint: String,
}

impl SlurmConfig {
    /// Reads `slurm.conf`, and `gres.conf` if there is one.
    pub fn parse(
        conf: &str,
        gres_conf: Option<&str>,
        release: Release,
    ) -> Result<Parsed, ConfError> {
        let includes = BTreeMap::new();
        Self::parse_texts(&ConfTexts { slurm_conf: conf, gres_conf, includes: &includes }, release)
    }

    /// The same, with the files that `Include` lines name.
    pub fn parse_texts(texts: &ConfTexts<'_>, release: Release) -> Result<Parsed, ConfError> {
        Reader::read(texts, release)
    }

    /// Which Slurm it is for.
    pub const fn release(&self) -> Release {
        self.release
    }

    /// The nodes, in the order in which Slurm keeps them: by name, numbers as numbers.
    pub fn nodes(&self) -> &[Arc<NodeSpec>] {
        &self.nodes
    }

    /// The nodes' names, in the same order.
    pub fn node_names(&self) -> impl Iterator<Item = &SlurmNode> {
        self.nodes.iter().map(|node| &node.name)
    }

    /// The sets of nodes, in the order of `slurm.conf`.
    pub fn node_sets(&self) -> &[NodeSet] {
        &self.node_sets
    }

    /// The partitions, in the order of `slurm.conf`.
    pub fn partitions(&self) -> &[Arc<PartitionSpec>] {
        &self.partitions
    }

    /// One partition.
    pub fn partition(&self, name: &PartitionName) -> Option<&Arc<PartitionSpec>> {
        self.partitions.iter().find(|partition| partition.name == *name)
    }

    /// The parameters that are honoured.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Another make of a node that there is, or the next new one.
    pub(crate) fn set_node(&mut self, place: usize, spec: Arc<NodeSpec>) {
        let mut nodes = self.nodes.to_vec();
        match nodes.get_mut(place) {
            Some(node) => *node = spec,
            None => nodes.push(spec),
        }
        self.nodes = nodes.into();
    }

    /// Other partitions.
    pub(crate) fn set_partitions(&mut self, partitions: Vec<Arc<PartitionSpec>>) {
        self.partitions = partitions.into();
    }
}

impl fmt::Display for ConfFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SlurmConf => "slurm.conf",
            Self::GresConf => "gres.conf",
            Self::Included(_) => "an included file",
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.text)
    }
}

#[cfg(test)]
mod tests;
