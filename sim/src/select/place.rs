//! Which cores and devices of a node a job gets.

use std::collections::BTreeMap;

use crate::{
    GresAsk, GresPer, IndexSet, NodeShare,
    conf::{NodeSpec, ResourceUnit},
};

use super::{Ask, MemoryNeed, Policy, View, choose::Pick};

/// The job's share of one node; `None` if its devices are not there.
pub(super) fn place(
    view: &View<'_>,
    pick: &Pick,
    tasks: u32,
    per_job: Vec<u64>,
    ask: &Ask,
    policy: Policy,
) -> Option<NodeShare> {
    let (spec, usage) = (view.spec(pick.index), view.usage(pick.index));
    let whole = ask.exclusive || policy.exclusive;
    let asked = (tasks * ask.cpus_per_task).max(1);
    let n_cores = if whole { spec.cores() } else { asked.div_ceil(spec.threads_per_core) };
    let cpus = match policy.unit {
        ResourceUnit::Cpu if !whole => asked,
        ResourceUnit::Cpu | ResourceUnit::Core => n_cores * spec.threads_per_core,
    };
    let spread = 1 < tasks || !ask.gres.is_empty();
    let cores = pick_cores(spec, &usage.cores, n_cores as usize, spread);
    Some(NodeShare {
        node: spec.name.clone(),
        index: pick.index,
        tasks,
        cpus,
        cpu_ids: threads(&cores, spec.threads_per_core as usize),
        cores,
        memory_mib: memory(spec, ask, cpus),
        gres: if whole {
            all_devices(spec)
        } else {
            devices(view, pick.index, tasks, per_job, ask)?
        },
    })
}

fn memory(spec: &NodeSpec, ask: &Ask, cpus: u32) -> u64 {
    match ask.memory {
        MemoryNeed::Uncounted => 0,
        MemoryNeed::WholeNode => spec.memory_mib,
        MemoryNeed::PerNode(mib) => mib,
        MemoryNeed::PerCpu(mib) => mib.saturating_mul(cpus.into()).min(spec.memory_mib),
    }
}

/// Cores for one task lie on one socket if they fit; several tasks are spread round the sockets.
fn pick_cores(spec: &NodeSpec, used: &IndexSet, count: usize, spread: bool) -> IndexSet {
    let per_socket = spec.cores_per_socket as usize;
    let mut sockets: Vec<_> = (0..spec.sockets as usize)
        .map(|socket| {
            let cores = socket * per_socket..(socket + 1) * per_socket;
            cores.filter(|core| !used.contains(*core)).collect::<Vec<_>>()
        })
        .collect();
    if spread {
        return deal_cores(&sockets, count);
    }
    if let Some(fits) = sockets.iter().position(|free| count <= free.len()) {
        sockets.swap(0, fits);
        sockets.truncate(1);
    }
    sockets.into_iter().flatten().take(count).collect()
}

fn deal_cores(sockets: &[Vec<usize>], count: usize) -> IndexSet {
    let rounds = sockets.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| sockets.iter().filter_map(move |free| free.get(round).copied()))
        .take(count)
        .collect()
}

fn threads(cores: &IndexSet, per_core: usize) -> IndexSet {
    if per_core == 1 {
        return cores.clone();
    }
    cores.iter().flat_map(|core| core * per_core..(core + 1) * per_core).collect()
}

fn all_devices(spec: &NodeSpec) -> BTreeMap<String, IndexSet> {
    let mut all: BTreeMap<String, IndexSet> = BTreeMap::new();
    for gres in spec.gres.iter().filter(|gres| 0 < gres.count) {
        all.entry(gres.name.clone())
            .or_default()
            .add(&(gres.first..gres.first + gres.count).collect());
    }
    all
}

fn devices(
    view: &View<'_>,
    index: usize,
    tasks: u32,
    per_job: Vec<u64>,
    ask: &Ask,
) -> Option<BTreeMap<String, IndexSet>> {
    let mut given: BTreeMap<String, IndexSet> = BTreeMap::new();
    let mut per_job = per_job.into_iter();
    for gres in &ask.gres {
        let count = match gres.per {
            GresPer::Node => gres.count,
            GresPer::Task => gres.count.saturating_mul(tasks.into()),
            GresPer::Job => per_job.next()?,
        };
        let mine = given.entry(gres.name.clone()).or_default();
        let free = free_indices(view, index, gres).filter(|device| !mine.contains(*device));
        let picked: Vec<_> = free.take(usize::try_from(count).ok()?).collect();
        if (picked.len() as u64) < count {
            return None;
        }
        mine.add(&picked.into_iter().collect());
    }
    given.retain(|_, devices| !devices.is_empty());
    Some(given)
}

/// How many devices of that name and kind nobody holds.
pub(super) fn free_devices(view: &View<'_>, index: usize, gres: &GresAsk) -> u64 {
    free_indices(view, index, gres).count() as u64
}

fn free_indices<'a>(
    view: &'a View<'_>,
    index: usize,
    gres: &'a GresAsk,
) -> impl Iterator<Item = usize> + use<'a> {
    let used = view.usage(index).gres.get(&gres.name);
    view.spec(index)
        .gres_of(&gres.name, gres.kind.as_deref())
        .flat_map(|spec| spec.first..spec.first + spec.count)
        .filter(move |device| used.is_none_or(|used| !used.contains(*device)))
}
