//! What one node could give a job.

use crate::{
    GresPer,
    conf::{NodeSpec, ResourceUnit},
    node::Usage,
};

use super::{Ask, MemoryNeed, Policy, View, place::free_devices};

/// A node that could hold at least one task of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) index: usize,
    pub(super) weight: u32,
    /// CPUs that the job could use there.
    pub(super) cpus: u32,
    /// CPUs that nobody holds there.
    pub(super) idle: u32,
    /// Free devices for each ask that is counted for the whole job, in order.
    pub(super) per_job: Vec<u64>,
}

/// `None` if not even the least that the job needs on a node is free there.
pub(super) fn offer(view: &View<'_>, index: usize, ask: &Ask, policy: Policy) -> Option<Offer> {
    let (spec, usage) = (view.spec(index), view.usage(index));
    let exclusive = ask.exclusive || policy.exclusive;
    if exclusive && *usage != Usage::default() {
        return None;
    }
    if !ask.features.matched_by(&spec.features) {
        return None;
    }
    let used = u32::try_from(usage.cores.len()).unwrap_or(u32::MAX);
    let idle = spec.cores().saturating_sub(used) * spec.threads_per_core;
    let by_memory = cpus_by_memory(spec, usage, ask, policy)?;
    let by_devices = tasks_by_devices(view, index, ask)?.saturating_mul(ask.cpus_per_task);
    let by_tasks = ask.ntasks_per_node.map_or(u32::MAX, |n| n.saturating_mul(ask.cpus_per_task));
    let cpus = idle.min(by_memory).min(by_devices).min(by_tasks);
    let cpus = cpus - cpus % ask.cpus_per_task;
    if cpus < ask.min_cpus_per_node() {
        return None;
    }
    let per_job: Vec<u64> = ask.per_job().map(|gres| free_devices(view, index, gres)).collect();
    if per_job.contains(&0) {
        return None;
    }
    Some(Offer { index, weight: spec.weight, cpus, idle, per_job })
}

fn cpus_by_memory(spec: &NodeSpec, usage: &Usage, ask: &Ask, policy: Policy) -> Option<u32> {
    let free = spec.memory_mib.saturating_sub(usage.memory_mib);
    match ask.memory {
        MemoryNeed::Uncounted => Some(u32::MAX),
        MemoryNeed::WholeNode => (usage.memory_mib == 0).then_some(u32::MAX),
        MemoryNeed::PerNode(mib) => (mib <= free).then_some(u32::MAX),
        MemoryNeed::PerCpu(mib) => {
            let cpus = u32::try_from(free / mib.max(1)).unwrap_or(u32::MAX);
            // A core's threads are counted together, and so is their memory.
            let step = match policy.unit {
                ResourceUnit::Core => spec.threads_per_core,
                ResourceUnit::Cpu => 1,
            };
            Some(cpus - cpus % step)
        }
    }
}

fn tasks_by_devices(view: &View<'_>, index: usize, ask: &Ask) -> Option<u32> {
    let mut tasks = u32::MAX;
    for gres in &ask.gres {
        let free = free_devices(view, index, gres);
        match gres.per {
            GresPer::Node if free < gres.count => return None,
            GresPer::Node | GresPer::Job => {}
            GresPer::Task => {
                let fit = free.checked_div(gres.count).unwrap_or(u64::MAX);
                tasks = tasks.min(u32::try_from(fit).unwrap_or(u32::MAX));
            }
        }
    }
    Some(tasks)
}
