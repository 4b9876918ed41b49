//! `NodeName` lines: what they say, and what Slurm makes of what they leave out or contradict.

use std::collections::BTreeMap;

use crate::{IndexSet, Release};

use super::{
    ConfError, NodeSpec, Note, gres, known,
    line::{Line, Place, Word},
    node::{GresSpec, InitialState, read_gres},
    shape::{Given, Shape},
    value,
};

/// Most CPUs of a node, and of each number that multiplies to them: Slurm counts in 16 bits.
const CPUS_MAX: u32 = 65_535;

/// What a line (and `NodeName=DEFAULT` before it) says.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFields {
    given: Given,
    memory_mib: Option<u64>,
    mem_spec_mib: u64,
    core_spec_count: Option<(u32, Place)>,
    cpu_spec_list: Option<(String, Place)>,
    spec_cores_first: bool,
    tmp_disk_mib: u32,
    gres: Vec<GresSpec>,
    gres_at: Option<Place>,
    features: Vec<String>,
    weight: Option<u32>,
    state: InitialState,
    reason: Option<String>,
    addresses: Vec<String>,
    hostnames: Vec<String>,
    ports: Vec<String>,
}

/// What reading needs beside the line.
pub(super) struct Context<'a> {
    pub(super) release: Release,
    /// `SchedulerParameters=spec_cores_first`.
    pub(super) spec_cores_first: bool,
    pub(super) defaults: &'a NodeFields,
}

pub(super) fn read_line(
    line: &Line,
    context: &Context<'_>,
    notes: &mut Vec<Note>,
) -> Result<NodeFields, ConfError> {
    let mut fields = context.defaults.clone();
    fields.spec_cores_first = context.spec_cores_first;
    let default = line.words[0].value.eq_ignore_ascii_case("default");
    for word in &line.words[1..] {
        let own = ["NodeAddr", "NodeHostname", "BcastAddr"].iter().any(|name| word.is(name));
        if default && own {
            let what = format!("{} can't stand on NodeName=DEFAULT", word.key);
            return Err(word.place.error(what, "give it on each node's own line"));
        }
        fields.read(word, context.release, notes)?;
    }
    Ok(fields)
}

impl NodeFields {
    fn read(
        &mut self,
        word: &Word,
        release: Release,
        notes: &mut Vec<Note>,
    ) -> Result<(), ConfError> {
        let count = || value::at_most(word, CPUS_MAX).map(Some);
        match word.key.to_ascii_lowercase().as_str() {
            "cpus" => self.given.cpus = count()?,
            "procs" => self.given.cpus = self.given.cpus.or(count()?),
            "boards" => self.given.boards = count()?,
            "sockets" => self.given.sockets = count()?,
            "socketsperboard" => self.given.sockets_per_board = count()?,
            "corespersocket" => self.given.cores = count()?,
            "threadspercore" => self.given.threads = count()?,
            "realmemory" => self.memory_mib = Some(value::megabytes(word)?),
            "memspeclimit" => self.mem_spec_mib = value::megabytes(word)?,
            "corespeccount" => {
                self.core_spec_count = Some((value::at_most(word, CPUS_MAX)?, word.value_place));
            }
            "cpuspeclist" => self.cpu_spec_list = Some((word.value.clone(), word.value_place)),
            "tmpdisk" => self.tmp_disk_mib = value::number(word)?,
            "gres" => (self.gres, self.gres_at) = (read_gres(word)?, Some(word.value_place)),
            "feature" | "features" => self.features = words(&word.value),
            // Slurm keeps the largest number for "without end".
            "weight" => self.weight = Some(value::number::<u32>(word)?.min(u32::MAX - 1)),
            "state" => self.state = read_state(word, release, notes)?,
            "reason" => self.reason = Some(word.value.clone()),
            "nodeaddr" => self.addresses = value::hostlist(word)?,
            "nodehostname" => self.hostnames = value::hostlist(word)?,
            "port" => self.ports = read_ports(word)?,
            // Where to send broadcasts, how tasks are bound, and which files the devices that `Gres` counts
            // have: nothing here depends on it.
            "bcastaddr" | "cpubind" | "gresconf" => {}
            _ => return known::refuse_or_note(word, known::NODE, "NodeName", notes),
        }
        Ok(())
    }

    /// The generic resources that the line names, and where.
    pub(super) fn gres_names(&self) -> impl Iterator<Item = (String, Place)> {
        let named = self.gres.iter().map(|gres| gres.name.clone());
        named.zip(std::iter::repeat(self.gres_at).flatten())
    }

    /// One specification for each name that the line gives.
    pub(super) fn specs(
        &self,
        name: &Word,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<NodeSpec>, ConfError> {
        let names = value::hostlist(name)?;
        if names.is_empty() {
            return Err(name.bad("name at least one node"));
        }
        if names.iter().any(|name| name.eq_ignore_ascii_case("all")) {
            return Err(name.bad("ALL stands for every node; call this one something else"));
        }
        for (what, list) in [
            ("NodeAddr", &self.addresses),
            ("NodeHostname", &self.hostnames),
            ("Port", &self.ports),
        ] {
            if 1 < list.len() && list.len() != names.len() {
                let what = format!("{what} gives {} values for {} nodes", list.len(), names.len());
                return Err(name.value_place.error(what, "give one, or one for each node"));
            }
        }
        let shape = self.given.shape(name, CPUS_MAX, notes)?;
        let common = self.common(name, shape, notes);
        Ok(names.iter().enumerate().map(|(at, name)| self.spec(at, name, &common)).collect())
    }

    fn spec(&self, at: usize, name: &str, common: &NodeSpec) -> NodeSpec {
        let pick = |list: &[String]| list.get(at).or_else(|| list.first()).cloned();
        let hostname = pick(&self.hostnames).unwrap_or_else(|| name.into());
        NodeSpec {
            name: name.into(),
            address: pick(&self.addresses).unwrap_or_else(|| hostname.clone()),
            hostname,
            port: pick(&self.ports).and_then(|port| port.parse().ok()).unwrap_or(6818),
            ..common.clone()
        }
    }

    /// What all nodes of the line have in common.
    fn common(&self, name: &Word, shape: Shape, notes: &mut Vec<Note>) -> NodeSpec {
        let memory_mib = self.memory_mib.unwrap_or(1);
        let mut mem_spec_mib = self.mem_spec_mib;
        if memory_mib <= mem_spec_mib && mem_spec_mib != 0 {
            let text = format!(
                "MemSpecLimit={mem_spec_mib} leaves nothing of RealMemory={memory_mib}: \
                 it is taken as 0"
            );
            notes.push(name.place.note(text));
            mem_spec_mib = 0;
        }
        NodeSpec {
            name: "".into(),
            address: String::new(),
            hostname: String::new(),
            port: 0,
            cpus: shape.cpus,
            boards: shape.boards,
            sockets: shape.sockets,
            cores_per_socket: shape.cores,
            threads_per_core: shape.cpus_per_core(),
            threads: shape.threads,
            memory_mib,
            mem_spec_mib,
            spec_cores: self.spec_cores(shape, notes),
            tmp_disk_mib: self.tmp_disk_mib,
            gres: self.gres.clone(),
            devices: gres::plain(&self.gres),
            links: BTreeMap::new(),
            features: self.features.clone(),
            active_features: self.features.clone(),
            weight: self.weight.unwrap_or(1),
            initial_state: self.state,
            reason: self.reason.clone(),
        }
    }

    /// Cores that are kept from jobs: the last of each socket in turn, or those that are listed.
    fn spec_cores(&self, shape: Shape, notes: &mut Vec<Note>) -> IndexSet {
        let listed = self.cpu_spec_list.as_ref().and_then(|(list, place)| {
            let cpus = listed_cpus(list, shape.cpus);
            if cpus.is_none() {
                let text = format!(
                    "CpuSpecList={list} isn't a list of CPUs below {}: it is left out",
                    shape.cpus
                );
                notes.push(place.note(text));
            }
            cpus
        });
        let count = self.core_spec_count.filter(|(count, _)| *count != 0);
        match (listed, count) {
            (Some(cpus), count) => {
                if let Some((_, place)) = count {
                    notes.push(place.note("CoreSpecCount is left out beside CpuSpecList"));
                }
                let per_core = shape.cpus_per_core() as usize;
                cpus.into_iter().map(|cpu| cpu / per_core).collect()
            }
            (None, Some((count, place))) => {
                let cores = shape.sockets * shape.cores;
                let kept = if count < cores { count } else { 1 };
                if kept != count {
                    let text = format!(
                        "CoreSpecCount={count} leaves none of {cores} cores: it is taken as 1"
                    );
                    notes.push(place.note(text));
                }
                shape.spec_cores(if kept < cores { kept } else { 0 }, self.spec_cores_first)
            }
            (None, None) => IndexSet::new(),
        }
    }
}

fn read_state(
    word: &Word,
    release: Release,
    notes: &mut Vec<Note>,
) -> Result<InitialState, ConfError> {
    const STATES: [(&str, InitialState); 8] = [
        ("UNKNOWN", InitialState::Unknown),
        ("IDLE", InitialState::Idle),
        ("DOWN", InitialState::Down),
        ("DRAIN", InitialState::Drain),
        ("FAIL", InitialState::Fail),
        ("FUTURE", InitialState::Future),
        ("CLOUD", InitialState::Cloud),
        ("EXTERNAL", InitialState::External),
    ];
    let upper = word.value.to_ascii_uppercase();
    // Slurm reads no further than these.
    let word_of = |name: &str| matches!(name, "DRAIN" | "FAIL" | "CLOUD");
    let found = STATES
        .into_iter()
        .find(|(name, _)| upper == *name || (word_of(name) && upper.starts_with(name)));
    match found {
        Some((_, InitialState::External)) if release == Release::V24_11 => {
            let what = "State=EXTERNAL needs Slurm 26.05 and this is 24.11";
            Err(word.value_place.error(what, "choose release 26.05, or another state"))
        }
        Some((_, state)) => {
            if state == InitialState::Cloud {
                let text =
                    "State=CLOUD: power saving is not modelled, the node is up from the start";
                notes.push(word.place.note(text));
            }
            Ok(state)
        }
        None => Err(word.bad(format!("write one of {}", STATES.map(|(name, _)| name).join(", ")))),
    }
}

/// `DOWN`, `DRAIN`, `FAIL` of a DownNodes line.
pub(super) fn read_down_state(word: &Word, release: Release) -> Result<InitialState, ConfError> {
    read_state(word, release, &mut vec![])
}

/// `0,2-3`: numbers below `cpus`.
fn listed_cpus(list: &str, cpus: u32) -> Option<Vec<usize>> {
    let mut all = vec![];
    for part in list.split(',').map(str::trim) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        if to < from || cpus <= to {
            return None;
        }
        all.extend((from..=to).map(|cpu| cpu as usize));
    }
    Some(all)
}

pub(crate) fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(Into::into).collect()
}

fn read_ports(word: &Word) -> Result<Vec<String>, ConfError> {
    // `[7001-7032]` is a hostlist without a prefix, and so is `7001-7032`.
    let ports = if word.value.starts_with('[') || !word.value.contains(['-', ',']) {
        value::hostlist(word)?
    } else {
        value::hostlist(&Word { value: format!("[{}]", word.value), ..word.clone() })?
    };
    let sound = ports.iter().all(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
    sound.then_some(ports).ok_or_else(|| word.bad("write ports such as `6818` or `[7001-7004]`"))
}
