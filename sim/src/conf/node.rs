//! A node as its `NodeName` line describes it.

use std::{collections::BTreeMap, fmt};

use crate::{GresAsk, GresPer, IndexSet, NodeFlags, SlurmNode, node::Service};

use super::{ConfError, DeviceGroup, line::Word};

/// Most of one generic resource on a node: they are kept one by one.
const GRES_MAX: u64 = 4096;

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
    /// CPUs: a core or a thread each.
    pub cpus: u32,
    /// Boards.
    pub boards: u32,
    /// Sockets on all boards.
    pub sockets: u32,
    /// Cores of each socket.
    pub cores_per_socket: u32,
    /// Threads of each core that are CPUs: 1 where `CPUs` counts cores.
    pub threads_per_core: u32,
    /// `ThreadsPerCore` as configured.
    pub threads: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// `MemSpecLimit`: memory that no job gets, MiB.
    pub mem_spec_mib: u64,
    /// `CoreSpecCount`, `CpuSpecList`: cores that no job gets.
    pub spec_cores: IndexSet,
    /// `TmpDisk`, MiB.
    pub tmp_disk_mib: u32,
    /// Generic resources.
    pub gres: Vec<GresSpec>,
    /// Their devices, as gres.conf describes them.
    pub devices: Vec<DeviceGroup>,
    /// How well devices of a name are linked with each other, where gres.conf says.
    pub links: BTreeMap<String, Vec<Vec<i64>>>,
    /// Features.
    pub features: Vec<String>,
    /// Features that jobs can have now: all of them, unless an operator says otherwise.
    pub active_features: Vec<String>,
    /// Lower is chosen first.
    pub weight: u32,
    /// `State`: how it starts.
    pub initial_state: InitialState,
    /// `Reason`.
    pub reason: Option<String>,
}

/// `State=` of a NodeName or DownNodes line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialState {
    /// Whatever its slurmd says when it registers: idle.
    #[default]
    Unknown,
    /// In service.
    Idle,
    /// Out of service.
    Down,
    /// In service, but takes no jobs.
    Drain,
    /// In service, about to fail, and takes no jobs.
    Fail,
    /// Not there yet.
    Future,
    /// From a cloud. There is no power saving yet, so it is up.
    Cloud,
    /// 26.05: without a slurmd.
    External,
}

impl InitialState {
    /// Every slurmd is taken to register as the controller starts.
    pub(crate) const fn service_and_flags(self) -> (Service, NodeFlags) {
        match self {
            Self::Unknown | Self::Idle => (Service::Up, NodeFlags::NONE),
            Self::Down => (Service::Down, NodeFlags::NONE),
            Self::Drain => (Service::Up, NodeFlags::DRAIN),
            Self::Fail => (Service::Up, NodeFlags::FAIL),
            Self::Future => (Service::Future, NodeFlags::NONE),
            Self::Cloud => (Service::Up, NodeFlags::CLOUD),
            Self::External => (Service::Up, NodeFlags::EXTERNAL),
        }
    }
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

    /// Cores that jobs get.
    pub fn usable_cores(&self) -> usize {
        (self.cores() as usize).saturating_sub(self.spec_cores.len())
    }

    pub(crate) fn n_usable_cores(&self) -> u32 {
        u32::try_from(self.usable_cores()).unwrap_or(u32::MAX)
    }

    /// CPUs that jobs get: Slurm's `CPUEfctv`.
    pub fn effective_cpus(&self) -> u32 {
        let kept = u32::try_from(self.spec_cores.len()).unwrap_or(u32::MAX);
        self.cpus.saturating_sub(kept.saturating_mul(self.threads_per_core))
    }

    /// The CPUs of the cores that no job gets: `15-16`, empty if there are none.
    pub fn spec_cpus(&self) -> String {
        let per_core = self.threads_per_core as usize;
        let threads = |core: usize| core * per_core..(core + 1) * per_core;
        let cpus: IndexSet = self.spec_cores.iter().flat_map(threads).collect();
        if cpus.is_empty() { String::new() } else { cpus.to_string() }
    }

    /// Memory that jobs get, MiB.
    pub const fn usable_memory_mib(&self) -> u64 {
        self.memory_mib.saturating_sub(self.mem_spec_mib)
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

pub(super) fn read_gres(word: &Word) -> Result<Vec<GresSpec>, ConfError> {
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
