//! Which devices of a node a job can use with the CPUs and memory that are left there.

use crate::{
    IndexSet,
    conf::NodeSpec,
    select::{ask::GresNeed, trial::Trial},
};

use super::Supply;

/// GPUs that a node has for a job.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::select) struct Usable {
    pub(in crate::select) gpus: u64,
    /// Those on sockets with free cores.
    pub(in crate::select) near: u64,
}

/// Bounds the supplies by CPUs and memory; `None` if one comes to too little.
pub(in crate::select) fn usable(
    trial: &Trial<'_>,
    spec: &NodeSpec,
    supplies: &mut [Supply],
    cores: &IndexSet,
    cpus: u32,
    memory: Option<u64>,
) -> Option<Usable> {
    let mut found = Usable::default();
    for supply in supplies {
        let need = &trial.ask.gres[supply.need];
        let least = least_on_node(trial, supply, need);
        let cpus_per = cpus_per_device(need, trial.ask.cpus_per_task);
        if let Some(most) = cpus.checked_div(cpus_per).map(u64::from) {
            let at_once = need.per_node.max(need.per_task).max(need.per_socket).max(1);
            (at_once <= most).then_some(())?;
        }
        let by_memory = match memory.filter(|_| need.memory_per != 0) {
            Some(memory) => Some(memory / need.memory_per).filter(|most| *most != 0)?,
            None => 0,
        };
        if by_memory != 0 {
            supply.most = by_memory;
        }
        let near = near_cores(trial, spec, supply, cores);
        bound(trial, spec, supply, need, cores, cpus_per)?;
        if by_memory != 0 {
            supply.total = supply.total.min(by_memory);
        }
        let enough = least <= supply.total && (supply.most == 0 || least <= supply.most);
        enough.then_some(())?;
        if need.name == "gpu" {
            found.gpus += supply.total;
            let near = if supply.most == 0 { near } else { near.min(supply.most) };
            found.near = (found.near + near).min(0xff);
        }
    }
    Some(found)
}

/// CPUs that go with each device.
const fn cpus_per_device(need: &GresNeed, cpus_per_task: u32) -> u32 {
    let own = need.own_cpus_per(cpus_per_task);
    if own == 0 { need.default_cpus_per } else { own }
}

fn least_on_node(trial: &Trial<'_>, supply: &Supply, need: &GresNeed) -> u64 {
    let node = if trial.whole { supply.total } else { need.per_node.max(1) };
    let sockets = trial.sockets.map_or(1, u64::from);
    node.max(need.per_socket * sockets).max(need.per_task * u64::from(trial.ask.ntasks_per_node))
}

/// Devices on sockets with free cores; without them the others don't count, if that is demanded.
fn near_cores(trial: &Trial<'_>, spec: &NodeSpec, supply: &mut Supply, cores: &IndexSet) -> u64 {
    let per_socket = spec.cores_per_socket as usize;
    let closed: Vec<usize> = (0..supply.by_socket.len())
        .filter(|socket| cores.count_in(socket * per_socket, (socket + 1) * per_socket) == 0)
        .collect();
    let far: u64 = closed.iter().map(|socket| supply.by_socket[*socket]).sum();
    let near = supply.total - far;
    if trial.ask.enforce_binding {
        supply.total = near;
        for socket in closed {
            supply.by_socket[socket] = 0;
        }
    }
    near
}

/// No more on this node than the node's or the job's count, and the CPUs that go with them.
fn bound(
    trial: &Trial<'_>,
    spec: &NodeSpec,
    supply: &mut Supply,
    need: &GresNeed,
    cores: &IndexSet,
    cpus_per: u32,
) -> Option<()> {
    let tighter =
        |supply: &Supply, most: u64| most != 0 && (supply.most == 0 || most < supply.most);
    if !trial.whole {
        if tighter(supply, need.per_node) {
            supply.most = need.per_node;
        } else if tighter(supply, need.per_job) {
            supply.most = need.per_job;
        }
    }
    if cpus_per != 0 && (need.tasks_per == 0 || !trial.whole) {
        let cpus = cores.len() as u64 * u64::from(spec.threads_per_core);
        let most = cpus / u64::from(cpus_per);
        (most != 0).then_some(())?;
        if tighter(supply, most) {
            supply.most = most;
        }
    }
    Some(())
}
