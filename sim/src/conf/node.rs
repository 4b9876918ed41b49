//! `NodeName` lines.

use std::{collections::BTreeMap, fmt};

use crate::{GresAsk, GresPer, SlurmNode};

use super::{
    ConfError, DeviceGroup, Note, gres, known,
    line::{Line, Place, Word},
    value,
};

/// Most of one generic resource on a node: they are kept one by one.
const GRES_MAX: u64 = 4096;
/// Most CPUs of a node, and of each number that multiplies to them: Slurm counts in 16 bits.
const CPUS_MAX: u32 = 65_535;

/// A node as `slurm.conf` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name.
    pub name: SlurmNode,
    /// Where to reach it.
    pub address: String,
    /// The machine's own name.
    pub hostname: String,
    /// Port of its slurmd.
    pub port: u32,
    /// CPUs: sockets, cores and threads, multiplied.
    pub cpus: u32,
    /// Boards.
    pub boards: u32,
    /// Sockets on all boards.
    pub sockets: u32,
    /// Cores of each socket.
    pub cores_per_socket: u32,
    /// Threads of each core.
    pub threads_per_core: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Generic resources.
    pub gres: Vec<GresSpec>,
    /// Their devices, as gres.conf describes them.
    pub devices: Vec<DeviceGroup>,
    /// How well devices of a name are linked with each other, where gres.conf says.
    pub links: BTreeMap<String, Vec<Vec<i64>>>,
    /// Features.
    pub features: Vec<String>,
    /// Lower is chosen first.
    pub weight: u32,
    /// `State=DOWN`.
    pub starts_down: bool,
    /// `State=DRAIN`.
    pub starts_drained: bool,
}

/// A generic resource of a node. Its devices are numbered from `first` within the resource's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GresSpec {
    /// `gpu`.
    pub name: String,
    /// `a100`, if the node says.
    pub kind: Option<String>,
    /// How many.
    pub count: usize,
    /// The index of the first.
    pub first: usize,
}

impl NodeSpec {
    /// Cores of the node.
    pub const fn cores(&self) -> u32 {
        self.sockets * self.cores_per_socket
    }

    /// How many devices of this name (and kind) it has.
    pub fn gres_count(&self, name: &str, kind: Option<&str>) -> usize {
        self.gres_of(name, kind).map(|gres| gres.count).sum()
    }

    /// The resources of this name, and of this kind if one is given.
    pub fn gres_of<'a>(
        &'a self,
        name: &'a str,
        kind: Option<&'a str>,
    ) -> impl Iterator<Item = &'a GresSpec> {
        self.gres.iter().filter(move |gres| {
            gres.name == name && (kind.is_none() || gres.kind.as_deref() == kind)
        })
    }
}

impl GresSpec {
    /// `gpu:a100:2` with another count.
    pub fn with_count(&self, count: usize) -> String {
        match &self.kind {
            Some(kind) => format!("{}:{kind}:{count}", self.name),
            None => format!("{}:{count}", self.name),
        }
    }
}

/// As Slurm prints it: `gpu:a100:4`.
impl fmt::Display for GresSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.with_count(self.count))
    }
}

/// What a line (and `NodeName=DEFAULT` before it) says.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFields {
    cpus: Option<u32>,
    boards: Option<u32>,
    sockets: Option<u32>,
    sockets_per_board: Option<u32>,
    cores_per_socket: Option<u32>,
    threads_per_core: Option<u32>,
    memory_mib: Option<u64>,
    gres: Vec<GresSpec>,
    gres_at: Option<Place>,
    features: Vec<String>,
    weight: Option<u32>,
    down: bool,
    drained: bool,
    addresses: Vec<String>,
    hostnames: Vec<String>,
    ports: Vec<String>,
}

pub(super) fn read_line(
    line: &Line,
    defaults: &NodeFields,
    notes: &mut Vec<Note>,
) -> Result<NodeFields, ConfError> {
    let mut fields = defaults.clone();
    for word in &line.words[1..] {
        fields.read(word, notes)?;
    }
    Ok(fields)
}

impl NodeFields {
    fn read(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        match word.key.to_ascii_lowercase().as_str() {
            "cpus" | "procs" => self.cpus = Some(value::up_to(word, CPUS_MAX)?),
            "boards" => self.boards = Some(value::up_to(word, CPUS_MAX)?),
            "sockets" => self.sockets = Some(value::up_to(word, CPUS_MAX)?),
            "socketsperboard" => self.sockets_per_board = Some(value::up_to(word, CPUS_MAX)?),
            "corespersocket" => self.cores_per_socket = Some(value::up_to(word, CPUS_MAX)?),
            "threadspercore" => self.threads_per_core = Some(value::up_to(word, CPUS_MAX)?),
            "realmemory" => self.memory_mib = Some(value::megabytes(word)?),
            "gres" => (self.gres, self.gres_at) = (read_gres(word)?, Some(word.value_place)),
            "feature" | "features" => self.features = words(&word.value),
            "weight" => self.weight = Some(value::number(word)?),
            "state" => self.state(word, notes)?,
            "nodeaddr" => self.addresses = value::hostlist(word)?,
            "nodehostname" => self.hostnames = value::hostlist(word)?,
            "port" => self.ports = read_ports(word)?,
            _ => return known::refuse_or_note(word, known::NODE, "NodeName", notes),
        }
        Ok(())
    }

    fn state(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        let states =
            ["UNKNOWN", "IDLE", "DOWN", "DRAIN", "FAIL", "FAILING", "CLOUD", "FUTURE", "EXTERNAL"];
        match value::one_of(word, &states)? {
            0 | 1 => (self.down, self.drained) = (false, false),
            2 => self.down = true,
            3 => self.drained = true,
            _ => {
                let text =
                    format!("State={} is not modelled; the node is taken as UNKNOWN", word.value);
                notes.push(word.place.note(text));
            }
        }
        Ok(())
    }

    /// The generic resources that the line names, and where.
    pub(super) fn gres_names(&self) -> impl Iterator<Item = (String, Place)> {
        let named = self.gres.iter().map(|gres| gres.name.clone());
        named.zip(std::iter::repeat(self.gres_at).flatten())
    }

    /// One specification for each name that the line gives.
    pub(super) fn specs(&self, name: &Word) -> Result<Vec<NodeSpec>, ConfError> {
        let names = value::hostlist(name)?;
        if names.is_empty() {
            return Err(name.bad("name at least one node"));
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
        let shape = self.shape(name)?;
        Ok(names.iter().enumerate().map(|(at, name)| self.spec(at, name, shape)).collect())
    }

    fn spec(&self, at: usize, name: &str, shape: Shape) -> NodeSpec {
        let pick = |list: &[String]| list.get(at).or_else(|| list.first()).cloned();
        NodeSpec {
            name: name.into(),
            address: pick(&self.addresses).unwrap_or_else(|| name.into()),
            hostname: pick(&self.hostnames).unwrap_or_else(|| name.into()),
            port: pick(&self.ports).and_then(|port| port.parse().ok()).unwrap_or(6818),
            cpus: shape.cpus,
            boards: self.boards.unwrap_or(1),
            sockets: shape.sockets,
            cores_per_socket: shape.cores_per_socket,
            threads_per_core: shape.threads_per_core,
            memory_mib: self.memory_mib.unwrap_or(1),
            gres: self.gres.clone(),
            devices: gres::plain(&self.gres),
            links: BTreeMap::new(),
            features: self.features.clone(),
            weight: self.weight.unwrap_or(1),
            starts_down: self.down,
            starts_drained: self.drained,
        }
    }

    /// CPUs alone make that many sockets of one core; a shape alone makes the CPUs.
    fn shape(&self, name: &Word) -> Result<Shape, ConfError> {
        let (cores, threads) =
            (self.cores_per_socket.unwrap_or(1), self.threads_per_core.unwrap_or(1));
        let sockets = self.all_sockets(cores, threads);
        let all_cores = sockets.and_then(|sockets| sockets.checked_mul(cores));
        let all_threads = all_cores.and_then(|cores| cores.checked_mul(threads));
        let all = sockets.zip(all_cores).zip(all_threads.filter(|cpus| *cpus <= CPUS_MAX));
        let Some(((sockets, all_cores), all_threads)) = all else {
            let what = format!("boards, sockets, cores and threads make more than {CPUS_MAX} CPUs");
            return Err(name.place.error(what, "make their product smaller"));
        };
        match self.cpus {
            None => Ok(Shape::new(all_threads, sockets, cores, threads)),
            Some(cpus) if cpus == all_threads => Ok(Shape::new(cpus, sockets, cores, threads)),
            // One CPU for each core: Slurm then takes a core for what is allocated.
            Some(cpus) if cpus == all_cores => Ok(Shape::new(cpus, sockets, cores, 1)),
            Some(cpus) => Err(name.place.error(
                format!("CPUs={cpus} fits neither {all_cores} cores nor {all_threads} threads"),
                "make CPUs the product of sockets, cores and threads, or leave it out",
            )),
        }
    }

    /// Sockets on all boards; `None` where they are more than can be counted.
    fn all_sockets(&self, cores: u32, threads: u32) -> Option<u32> {
        let on_a_board = self.sockets_per_board;
        match (self.sockets, on_a_board, self.cpus) {
            (Some(sockets), _, _) => Some(sockets),
            (None, Some(sockets), _) => sockets.checked_mul(self.boards.unwrap_or(1)),
            (None, None, Some(cpus)) => Some((cpus / cores.checked_mul(threads)?).max(1)),
            (None, None, None) => Some(1),
        }
    }
}

#[derive(Clone, Copy)]
struct Shape {
    cpus: u32,
    sockets: u32,
    cores_per_socket: u32,
    threads_per_core: u32,
}

impl Shape {
    const fn new(cpus: u32, sockets: u32, cores_per_socket: u32, threads_per_core: u32) -> Self {
        Self { cpus, sockets, cores_per_socket, threads_per_core }
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(Into::into).collect()
}

fn read_ports(word: &Word) -> Result<Vec<String>, ConfError> {
    // `[7001-7032]` is a hostlist without a prefix.
    let ports = value::hostlist(word)?;
    let sound = ports.iter().all(|port| port.parse::<u16>().is_ok());
    sound.then_some(ports).ok_or_else(|| word.bad("write ports such as `6818` or `[7001-7004]`"))
}

fn read_gres(word: &Word) -> Result<Vec<GresSpec>, ConfError> {
    let hint = "write Gres=name[:type][:count], such as gpu:a100:4";
    let asks = GresAsk::parse_list(&word.value, GresPer::Node)
        .map_err(|what| word.value_place.error(what, hint))?;
    let mut all: Vec<GresSpec> = vec![];
    for ask in asks {
        if GRES_MAX < ask.count {
            let what =
                format!("{} of {} are more than the model keeps ({GRES_MAX})", ask.count, ask.name);
            return Err(word.value_place.error(what, "leave this resource out"));
        }
        let first = all.iter().filter(|gres| gres.name == ask.name).map(|gres| gres.count).sum();
        all.push(GresSpec {
            name: ask.name,
            kind: ask.kind,
            count: usize::try_from(ask.count).unwrap_or_default(),
            first,
        });
    }
    Ok(all)
}
