//! `PartitionName` and `NodeSet` lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::{PartitionName, Span};

use super::{
    ConfError, MemoryDefault, NodeSpec, Note, known,
    line::{Line, Place, Word},
    value,
};

/// A partition as `slurm.conf` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// Its name.
    pub name: PartitionName,
    /// Its nodes, as places in the order of `slurm.conf`, ascending.
    pub nodes: Vec<usize>,
    /// `Nodes=` as it was written.
    pub nodes_text: String,
    /// Takes jobs that name no partition.
    pub default: bool,
    /// Longest limit; `None` is without one.
    pub max_time: Option<Span>,
    /// Limit of jobs that name none; `None` takes `max_time`.
    pub default_time: Option<Span>,
    /// Fewest nodes of a job.
    pub min_nodes: u32,
    /// Most nodes of a job.
    pub max_nodes: Option<u32>,
    /// Higher tiers are looked at first.
    pub priority_tier: u32,
    /// Weighs in multifactor priority.
    pub priority_job_factor: u32,
    /// Whether it takes and starts jobs.
    pub state: PartitionState,
    /// `OverSubscribe=EXCLUSIVE`: whole nodes only.
    pub exclusive: bool,
    /// Least loaded nodes first.
    pub lln: bool,
    /// Memory of jobs that name none.
    pub def_mem: Option<MemoryDefault>,
    /// Most memory that a job may name.
    pub max_mem: Option<MemoryDefault>,
}

/// Whether a partition takes and starts jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionState {
    /// Both.
    Up,
    /// Takes them only.
    Down,
    /// Starts them only.
    Drain,
    /// Neither.
    Inactive,
}

impl PartitionState {
    /// As sinfo spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "UP",
            Self::Down => "DOWN",
            Self::Drain => "DRAIN",
            Self::Inactive => "INACTIVE",
        }
    }
}

/// What a line (and `PartitionName=DEFAULT` before it) says.
#[derive(Clone, Debug, Default)]
pub(super) struct PartitionFields {
    pub(super) name: String,
    nodes: Option<(String, Place)>,
    /// Where `Default=YES` stands.
    pub(super) default_at: Option<Place>,
    max_time: Option<Span>,
    default_time: Option<Span>,
    min_nodes: u32,
    max_nodes: Option<u32>,
    priority_tier: Option<u32>,
    priority_job_factor: Option<u32>,
    state: Option<PartitionState>,
    exclusive: bool,
    lln: bool,
    def_mem: Option<MemoryDefault>,
    max_mem: Option<MemoryDefault>,
}

pub(super) fn read_line(
    line: &Line,
    defaults: &PartitionFields,
    notes: &mut Vec<Note>,
) -> Result<PartitionFields, ConfError> {
    let mut fields = defaults.clone();
    fields.name.clone_from(&line.words[0].value);
    if fields.name.is_empty() || fields.name.contains(',') {
        return Err(line.words[0].bad("write one name"));
    }
    for word in &line.words[1..] {
        fields.read(word, notes)?;
    }
    Ok(fields)
}

impl PartitionFields {
    fn read(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        match word.key.to_ascii_lowercase().as_str() {
            "nodes" => self.nodes = Some((word.value.clone(), word.value_place)),
            "default" => self.default_at = value::yes_no(word)?.then_some(word.place),
            "maxtime" => self.max_time = value::limit(word)?,
            "defaulttime" => self.default_time = value::limit(word)?,
            "minnodes" => self.min_nodes = value::number(word)?,
            "maxnodes" => self.max_nodes = value::count_or_unlimited(word)?,
            "prioritytier" => self.priority_tier = Some(value::number(word)?),
            "priorityjobfactor" => self.priority_job_factor = Some(value::number(word)?),
            "priority" => {
                self.priority_tier = Some(value::number(word)?);
                self.priority_job_factor = self.priority_tier;
            }
            "state" => self.state = Some(read_state(word)?),
            "oversubscribe" | "shared" => self.oversubscribe(word, notes)?,
            "exclusive" | "exclusivenodes" => self.exclusive = value::yes_no(word)?,
            "lln" => self.lln = value::yes_no(word)?,
            "defmempernode" => self.def_mem = MemoryDefault::per_node(value::megabytes(word)?),
            "defmempercpu" => self.def_mem = MemoryDefault::per_cpu(value::megabytes(word)?),
            "maxmempernode" => {
                self.max_mem = MemoryDefault::per_node(value::megabytes(word)?);
                notes.push(word.not_honoured());
            }
            "maxmempercpu" => {
                self.max_mem = MemoryDefault::per_cpu(value::megabytes(word)?);
                notes.push(word.not_honoured());
            }
            _ => return known::refuse_or_note(word, known::PARTITION, "PartitionName", notes),
        }
        Ok(())
    }

    fn oversubscribe(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        let mode = word.value.split(':').next().unwrap_or_default();
        match mode.to_ascii_lowercase().as_str() {
            "no" => self.exclusive = false,
            "exclusive" => self.exclusive = true,
            "yes" | "force" => {
                let text =
                    format!("{}={} is not honoured: no CPU is held twice", word.key, word.value);
                notes.push(word.place.note(text));
            }
            _ => return Err(word.bad("write NO, EXCLUSIVE, YES[:count] or FORCE[:count]")),
        }
        Ok(())
    }

    pub(super) fn spec(
        &self,
        nodes: &[NodeSpec],
        sets: &BTreeMap<String, Vec<String>>,
    ) -> Result<PartitionSpec, ConfError> {
        Ok(PartitionSpec {
            name: self.name.as_str().into(),
            nodes: self.node_places(nodes, sets)?,
            nodes_text: self.nodes.as_ref().map_or(String::new(), |(text, _)| text.clone()),
            default: self.default_at.is_some(),
            max_time: self.max_time,
            default_time: self.default_time,
            min_nodes: self.min_nodes,
            max_nodes: self.max_nodes,
            priority_tier: self.priority_tier.unwrap_or(1),
            priority_job_factor: self.priority_job_factor.unwrap_or(1),
            state: self.state.unwrap_or(PartitionState::Up),
            exclusive: self.exclusive,
            lln: self.lln,
            def_mem: self.def_mem,
            max_mem: self.max_mem,
        })
    }

    fn node_places(
        &self,
        nodes: &[NodeSpec],
        sets: &BTreeMap<String, Vec<String>>,
    ) -> Result<Vec<usize>, ConfError> {
        let Some((text, place)) = &self.nodes else {
            return Ok(vec![]);
        };
        let names = crate::expand_hostlist(text).map_err(|error| {
            place.error(error.to_string(), "write names such as `n[1-4]` or ALL")
        })?;
        let mut places = BTreeSet::new();
        for name in names {
            if name.eq_ignore_ascii_case("all") {
                places.extend(0..nodes.len());
                continue;
            }
            let members = sets.get(&name).cloned().unwrap_or_else(|| vec![name.clone()]);
            for member in members {
                places.insert(
                    place_of(&member, nodes)
                        .ok_or_else(|| unknown_node(&self.name, &member, nodes, *place))?,
                );
            }
        }
        Ok(places.into_iter().collect())
    }
}

fn place_of(name: &str, nodes: &[NodeSpec]) -> Option<usize> {
    nodes.iter().position(|node| node.name.as_str() == name)
}

fn unknown_node(partition: &str, name: &str, nodes: &[NodeSpec], place: Place) -> ConfError {
    let what =
        format!("partition `{partition}` names node `{name}`, which no NodeName line defines");
    let known: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
    place.error(what, format!("the nodes are {}", crate::fold_hostlist(&known)))
}

fn read_state(word: &Word) -> Result<PartitionState, ConfError> {
    let states =
        [PartitionState::Up, PartitionState::Down, PartitionState::Drain, PartitionState::Inactive];
    value::one_of(word, &states.map(PartitionState::as_str)).map(|at| states[at])
}

/// The nodes of a `NodeSet` line: those named, and those that have the feature.
pub(super) fn read_node_set(line: &Line, nodes: &[NodeSpec]) -> Result<Vec<String>, ConfError> {
    let mut names = vec![];
    for word in &line.words[1..] {
        if word.is("Nodes") {
            names.extend(value::hostlist(word)?);
        } else if word.is("Feature") || word.is("Features") {
            let having = nodes.iter().filter(|node| node.features.contains(&word.value));
            names.extend(having.map(|node| node.name.to_string()));
        } else {
            let what = format!("`{}` is not a part of a NodeSet line", word.key);
            return Err(word.place.error(what, "write Nodes= or Feature="));
        }
    }
    Ok(names)
}
