//! What one node could give a job.

use crate::{IndexSet, conf::NodeSpec};

use super::{
    Ask, MemoryNeed,
    gres::{self, Supply},
    room::Room,
    trial::Trial,
};

/// Where the nearness of devices to cores isn't counted, and the most of it.
const FAR: u64 = 0xff;

/// A node that could hold some of the job.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) index: usize,
    /// The node's weight, and behind it how few of the devices are near free cores.
    pub(super) weight: u64,
    /// CPUs that the job could use there; once it is taken, those to use at most.
    pub(super) cpus: u32,
    /// CPUs of free cores.
    pub(super) max_cpus: u32,
    /// CPUs and GPUs together.
    pub(super) size: u64,
    pub(super) gpus: u64,
    /// CPUs that its devices need at least.
    pub(super) gres_min_cpus: u32,
    /// Tasks that its devices allow; 0 is without limit.
    pub(super) max_tasks: u32,
    /// Cores and devices, where devices are asked for.
    pub(super) near: Option<Box<Near>>,
}

/// Cores and devices of a node, narrowed down to those that go together.
#[derive(Clone, Debug)]
pub(super) struct Near {
    pub(super) cores: IndexSet,
    /// `cores`, before nodes were compared.
    pub(super) all_cores: IndexSet,
    pub(super) per_socket: Vec<u32>,
    pub(super) supplies: Vec<Supply>,
}

/// `None` if not even the least that the job needs on a node is free there.
pub(super) fn offer(trial: &Trial<'_>, index: usize) -> Option<Offer> {
    let view = trial.view;
    let spec = view.spec(index);
    if view.is_barred(index) || !is_big_enough(trial.ask, spec) || !stands(trial, index) {
        return None;
    }
    let taken = trial.taken_on(index);
    let used = u32::try_from(taken.len()).unwrap_or(u32::MAX);
    if trial.whole && 0 < used {
        return None;
    }
    if trial.ask.gres.is_empty() {
        let room = if trial.counts_suffice() {
            trial.room_by_count(spec, spec.n_usable_cores().saturating_sub(used))?
        } else {
            trial.room(index, &mut free_cores(spec, &taken), &[])?
        };
        let cpus = cpus(trial, spec, view.held_memory(index), room)?;
        return Some(Offer::plain(index, view.weight(index), cpus, room.max_cpus));
    }
    with_devices(trial, index, u64::from(view.weight(index)) << 8)
}

impl Offer {
    /// CPUs, and nothing else.
    pub(super) fn plain(index: usize, weight: u32, cpus: u32, max_cpus: u32) -> Self {
        Self {
            index,
            weight: u64::from(weight) << 8 | FAR,
            cpus,
            max_cpus,
            size: cpus.into(),
            gpus: 0,
            gres_min_cpus: 0,
            max_tasks: 0,
            near: None,
        }
    }
}

/// Whether what others hold of the node leaves it to the job at all, cores aside.
pub(super) fn stands(trial: &Trial<'_>, index: usize) -> bool {
    let (spec, usage) = (trial.view.spec(index), trial.view.usage(index));
    // Cores that are shared and cores that aren't don't go together on a node.
    let mixed = if trial.shares() {
        usage.n_alone != 0
    } else {
        trial.view.is_shared(index, trial.policy.partition)
    };
    let mixed = mixed || (trial.policy.exclusive() && usage.n_alone != 0);
    let in_use = trial.whole && !usage.gres.is_empty();
    !mixed && !in_use && memory_fits(trial, spec, usage.memory_mib)
}

fn with_devices(trial: &Trial<'_>, index: usize, weight: u64) -> Option<Offer> {
    let (spec, usage) = (trial.view.spec(index), trial.view.usage(index));
    if !gres::enough_in_all(spec, &trial.ask.gres) {
        return None;
    }
    let mut cores = free_cores(spec, &trial.taken_on(index));
    let (mut supplies, wanted) = gres::supplies(trial, spec, &usage, &mut cores)?;
    let room = trial.room(index, &mut cores, &wanted)?;
    if room.cpus < trial.least_on_a_node() {
        return None;
    }
    let memory = trial.policy.memory.then(|| free_memory(spec, usage.memory_mib));
    let usable = gres::usable(trial, spec, &mut supplies, &cores, room.cpus, memory)?;
    let cpus = cpus(trial, spec, usage.memory_mib, room)?;
    let size = spec.cores_per_socket as usize;
    let per_socket = (0..spec.sockets as usize)
        .map(|socket| cores.count_in(socket * size, (socket + 1) * size) as u32)
        .collect();
    Some(Offer {
        index,
        weight: weight | (FAR - usable.near),
        cpus,
        max_cpus: room.max_cpus,
        size: u64::from(cpus) + usable.gpus,
        gpus: usable.gpus,
        gres_min_cpus: 0,
        max_tasks: 0,
        near: Some(Box::new(Near { all_cores: cores.clone(), cores, per_socket, supplies })),
    })
}

/// The cores of a node that aren't taken.
pub(super) fn free_cores(spec: &NodeSpec, taken: &IndexSet) -> IndexSet {
    let mut cores = IndexSet::below(spec.cores() as usize);
    cores.subtract(taken);
    cores.subtract(&spec.spec_cores);
    cores
}

pub(super) const fn free_memory(spec: &NodeSpec, held: u64) -> u64 {
    spec.usable_memory_mib().saturating_sub(held)
}

/// Whether a node, as slurm.conf describes it, is big enough for the least of a job.
pub(crate) fn is_big_enough(ask: &Ask, spec: &NodeSpec) -> bool {
    let shape = &ask.shape;
    let by_cores = shape
        .ntasks_per_core
        .map_or(0, |n| spec.cores().saturating_mul(n).saturating_mul(ask.cpus_per_task));
    let memory = match ask.memory {
        MemoryNeed::PerNode(mib) | MemoryNeed::PerCpu(mib) => mib,
        MemoryNeed::WholeNode => 0,
    };
    ask.min_cpus_per_node <= spec.cpus.max(by_cores)
        && memory <= spec.memory_mib
        && shape.sockets_per_node.unwrap_or(0) <= spec.sockets
        && shape.cores_per_socket.unwrap_or(0) <= spec.cores_per_socket
        && shape.threads_per_core.unwrap_or(0) <= spec.threads_per_core
}

/// The same, as backfill sees it: a task for each core makes no CPUs, and memory for each CPU
/// counts for all that it needs.
pub(crate) fn fits_size(ask: &Ask, spec: &NodeSpec) -> bool {
    let memory = match ask.memory {
        MemoryNeed::PerCpu(mib) => mib.saturating_mul(ask.min_cpus_per_node.into()),
        MemoryNeed::PerNode(_) | MemoryNeed::WholeNode => 0,
    };
    ask.min_cpus_per_node <= spec.cpus && memory <= spec.memory_mib && is_big_enough(ask, spec)
}

/// Memory by device replaces what slurm.conf gives.
pub(super) fn memory_by_device(trial: &Trial<'_>) -> bool {
    !trial.ask.memory_given && trial.ask.memory_per_device() != 0
}

/// Whether the least that the job could use there is free.
pub(super) fn memory_fits(trial: &Trial<'_>, spec: &NodeSpec, held: u64) -> bool {
    if !trial.policy.memory {
        return true;
    }
    let ask = trial.ask;
    let least = match ask.memory {
        _ if memory_by_device(trial) => ask.memory_per_device(),
        MemoryNeed::PerNode(mib) => mib,
        MemoryNeed::PerCpu(mib) => {
            let cpus = ask.ntasks_per_node.max(ask.min_cpus_per_node).max(ask.cpus_per_task).max(1);
            mib.saturating_mul(cpus.into())
        }
        MemoryNeed::WholeNode => return held == 0,
    };
    least <= free_memory(spec, held)
}

/// The CPUs that the job could use, once their memory is counted.
pub(super) fn cpus(
    trial: &Trial<'_>,
    spec: &NodeSpec,
    held_memory: u64,
    room: Room,
) -> Option<u32> {
    let ask = trial.ask;
    if room.cpus == 0 || room.cpus < trial.least_on_a_node() {
        return None;
    }
    let (true, false, MemoryNeed::PerCpu(mib)) =
        (trial.policy.memory, memory_by_device(trial), ask.memory)
    else {
        return Some(room.cpus);
    };
    let free = free_memory(spec, held_memory);
    let most = u32::try_from(free / mib.max(1)).unwrap_or(u32::MAX);
    let mut cpus = room.cpus;
    if most < cpus {
        if trial.whole {
            return None;
        }
        cpus = trial.fewer_cpus(spec, cpus, most);
    } else if trial.counts_cores() {
        cpus = trial.fewer_cpus(spec, cpus, most);
    }
    cpus -= cpus % ask.cpus_per_task;
    (cpus != 0 && ask.ntasks_per_node <= cpus).then_some(cpus)
}

impl Trial<'_> {
    /// One task to a core: CPUs then stand for cores, and their memory for all threads of them.
    fn counts_cores(&self) -> bool {
        self.policy.unit != crate::conf::ResourceUnit::Cpu
            && self.ask.shape.ntasks_per_core == Some(1)
            && self.ask.cpus_per_task == 1
    }

    /// So many fewer CPUs, a unit at a time, that `most` of them have memory.
    fn fewer_cpus(&self, spec: &NodeSpec, cpus: u32, most: u32) -> u32 {
        if self.counts_cores() {
            return cpus.min(most / spec.threads_per_core);
        }
        let unit = self.unit_size(spec).max(1);
        let missing = (cpus - most).div_ceil(unit) * unit;
        cpus.saturating_sub(missing)
    }
}
