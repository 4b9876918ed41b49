//! `slurm.conf` and `gres.conf`, read as Slurm reads them.
//!
//! ```text
//!   text ──▶ line: words with their places ──▶ node | partition | params | gres ──▶ SlurmConfig
//!                                                          │
//!                        known, not honoured yet ──▶ Note  └─ unknown, or wrong ──▶ ConfError
//! ```

mod down;
mod gres;
mod known;
mod line;
mod node;
mod params;
mod partition;
mod priority;
mod scheduling;
mod value;

use std::{collections::BTreeMap, fmt, sync::Arc};

pub use gres::DeviceGroup;
pub use node::{GresSpec, NodeSpec};
pub use params::{MemoryDefault, Params, ResourceUnit};
pub use partition::{PartitionSpec, PartitionState};
pub use priority::{PriorityFlags, PriorityParams, PriorityType, TresWeights};
pub use scheduling::{BackfillParams, Defer, SchedulerType};

use crate::{Mutant, PartitionName, Release, SlurmNode};
pub(crate) use value::parse_megabytes;

use line::Line;

/// A cluster as its configuration files describe it.
#[derive(Clone, Debug)]
pub struct SlurmConfig {
    release: Release,
    nodes: Arc<[Arc<NodeSpec>]>,
    partitions: Arc<[Arc<PartitionSpec>]>,
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
        let mut reader = Reader::new(ConfFile::SlurmConf, release);
        for line in line::lines(ConfFile::SlurmConf, conf)? {
            reader.slurm_conf_line(&line)?;
        }
        if let Some(text) = gres_conf {
            let mut records = vec![];
            for line in line::lines(ConfFile::GresConf, text)? {
                records.extend(gres::read_line(&line, &mut reader.notes)?);
            }
            gres::attach(&mut reader.nodes, &records)?;
        }
        reader.finish()
    }

    /// Which Slurm it is for.
    pub const fn release(&self) -> Release {
        self.release
    }

    /// The nodes, in the order of `slurm.conf`.
    pub fn nodes(&self) -> &[Arc<NodeSpec>] {
        &self.nodes
    }

    /// The nodes' names, in the order of `slurm.conf`.
    pub fn node_names(&self) -> impl Iterator<Item = &SlurmNode> {
        self.nodes.iter().map(|node| &node.name)
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
}

/// The state of reading: what earlier lines defined.
struct Reader {
    release: Release,
    nodes: Vec<NodeSpec>,
    node_defaults: node::NodeFields,
    gres_used: Vec<(String, line::Place)>,
    node_sets: BTreeMap<String, Vec<String>>,
    partition_defaults: partition::PartitionFields,
    partitions: Vec<partition::PartitionFields>,
    params: Params,
    job_ids_at: Option<line::Place>,
    notes: Vec<Note>,
    end: line::Place,
}

impl Reader {
    fn new(file: ConfFile, release: Release) -> Self {
        Self {
            release,
            nodes: vec![],
            node_defaults: node::NodeFields::default(),
            gres_used: vec![],
            node_sets: BTreeMap::new(),
            partition_defaults: partition::PartitionFields::default(),
            partitions: vec![],
            params: Params::as_shipped(),
            job_ids_at: None,
            notes: vec![],
            end: line::Place { file, line: 1, column: 1 },
        }
    }

    fn slurm_conf_line(&mut self, line: &Line) -> Result<(), ConfError> {
        let first = &line.words[0];
        self.end = first.place;
        match first.key.to_ascii_lowercase().as_str() {
            "nodename" => self.node_line(line),
            "partitionname" => self.partition_line(line),
            "nodeset" => self.node_set_line(line),
            "downnodes" => down::read_line(line, &mut self.nodes, &mut self.notes),
            "frontendname" | "switchname" => {
                let what = format!("{} is not modelled", first.key);
                self.notes.push(first.place.note(what));
                Ok(())
            }
            _ => line.words.iter().try_for_each(|word| self.param(word)),
        }
    }

    fn param(&mut self, word: &line::Word) -> Result<(), ConfError> {
        if word.is("FirstJobId") || word.is("MaxJobId") {
            self.job_ids_at = Some(word.value_place);
        }
        params::read(&mut self.params, word, &mut self.notes)
    }

    fn node_line(&mut self, line: &Line) -> Result<(), ConfError> {
        let fields = node::read_line(line, &self.node_defaults, &mut self.notes)?;
        if line.words[0].value.eq_ignore_ascii_case("default") {
            self.node_defaults = fields;
            return Ok(());
        }
        self.gres_used.extend(fields.gres_names());
        for spec in fields.specs(&line.words[0])? {
            if self.nodes.iter().any(|node| node.name == spec.name) {
                let what = format!("node `{}` is defined twice", spec.name);
                return Err(line.words[0].value_place.error(what, "name each node once"));
            }
            self.nodes.push(spec);
        }
        Ok(())
    }

    fn partition_line(&mut self, line: &Line) -> Result<(), ConfError> {
        let fields = partition::read_line(line, &self.partition_defaults, &mut self.notes)?;
        if line.words[0].value.eq_ignore_ascii_case("default") {
            self.partition_defaults = fields;
            return Ok(());
        }
        if self.partitions.iter().any(|other| other.name == fields.name) {
            let what = format!("partition `{}` is defined twice", fields.name);
            return Err(line.words[0].value_place.error(what, "name each partition once"));
        }
        self.one_default(&fields);
        self.partitions.push(fields);
        Ok(())
    }

    /// As in Slurm, the last one wins.
    fn one_default(&mut self, fields: &partition::PartitionFields) {
        let Some(place) = fields.default_at else {
            return;
        };
        for other in &mut self.partitions {
            if let Some(before) = other.default_at.take() {
                let text = format!(
                    "partition `{}` is the default instead of `{}` (line {}): the last one wins",
                    fields.name, other.name, before.line
                );
                self.notes.push(place.note(text));
            }
        }
    }

    fn node_set_line(&mut self, line: &Line) -> Result<(), ConfError> {
        let names = partition::read_node_set(line, &self.nodes)?;
        self.node_sets.insert(line.words[0].value.clone(), names);
        Ok(())
    }

    /// What only the whole file can tell.
    fn check(&self) -> Result<(), ConfError> {
        let types = &self.params.gres_types;
        if let Some((name, place)) = self.gres_used.iter().find(|(name, _)| !types.contains(name)) {
            let what = format!("GresTypes does not list `{name}`");
            let all: Vec<_> = types.iter().chain([name]).map(String::as_str).collect();
            return Err(place.error(what, format!("add GresTypes={}", all.join(","))));
        }
        let Params { first_job_id, max_job_id, .. } = self.params;
        match self.job_ids_at {
            Some(place) if max_job_id < first_job_id => Err(place.error(
                format!("FirstJobId={first_job_id} is larger than MaxJobId={max_job_id}"),
                "make FirstJobId the smaller one",
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn finish(self) -> Result<Parsed, ConfError> {
        if self.nodes.is_empty() {
            let hint = "add a line such as `NodeName=n[1-4] CPUs=16 RealMemory=64000`";
            return Err(self.end.error("no node is defined", hint));
        }
        if self.partitions.is_empty() {
            let hint = "add a line such as `PartitionName=main Nodes=ALL Default=YES`";
            return Err(self.end.error("no partition is defined", hint));
        }
        self.check()?;
        let partitions: Vec<_> = self
            .partitions
            .iter()
            .map(|fields| fields.spec(&self.nodes, &self.node_sets).map(Arc::new))
            .collect::<Result<_, _>>()?;
        let config = SlurmConfig {
            release: self.release,
            nodes: self.nodes.into_iter().map(Arc::new).collect(),
            partitions: partitions.into(),
            params: Arc::new(self.params),
            mutant: None,
        };
        Ok(Parsed { config, notes: self.notes })
    }
}

impl fmt::Display for ConfFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SlurmConf => "slurm.conf",
            Self::GresConf => "gres.conf",
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
