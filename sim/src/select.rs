//! Which nodes, cores and devices a job gets: `select/cons_tres` as it was seen to choose.
//!
//! ```text
//!   candidates ──offer──▶ what each node could give ──choose──▶ nodes, CPUs to use on each
//!                                                        │
//!                Allocation ◀──place── cores, devices ◀──┘ tasks dealt round by round
//! ```
//!
//! Pure: it looks at a [`View`] of what is held, now or at some later time, and changes nothing.

mod ask;
mod choose;
mod feature;
mod offer;
mod place;

use std::{collections::BTreeMap, sync::Arc};

pub(crate) use ask::{Ask, MemoryNeed};

use crate::{
    Allocation, IndexSet, NodeShare,
    conf::{NodeSpec, ResourceUnit},
    node::{Node, Usage},
};

/// How nodes are chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) unit: ResourceUnit,
    /// Least loaded nodes first.
    pub(crate) lln: bool,
    /// Whole nodes, whatever the job says.
    pub(crate) exclusive: bool,
}

/// What is held of each node: as it is, but for the nodes that `changed` describes.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    nodes: &'a [Node],
    changed: BTreeMap<usize, Usage>,
}

impl<'a> View<'a> {
    pub(crate) const fn of(nodes: &'a [Node]) -> Self {
        Self { nodes, changed: BTreeMap::new() }
    }

    pub(crate) fn spec(&self, index: usize) -> &'a NodeSpec {
        &self.nodes[index].spec
    }

    pub(crate) fn usage(&self, index: usize) -> &Usage {
        self.changed.get(&index).unwrap_or(&self.nodes[index].usage)
    }

    pub(crate) fn take(&mut self, allocation: &Allocation) {
        for share in &allocation.nodes {
            self.usage_mut(share.index).take(share);
        }
    }

    pub(crate) fn give_back(&mut self, allocation: &Allocation) {
        for share in &allocation.nodes {
            self.usage_mut(share.index).give_back(share);
        }
    }

    /// The same nodes with nothing held.
    pub(crate) fn empty(nodes: &'a [Node]) -> Self {
        let busy = nodes.iter().enumerate().filter(|(_, node)| !node.jobs.is_empty());
        Self { nodes, changed: busy.map(|(index, _)| (index, Usage::default())).collect() }
    }

    fn usage_mut(&mut self, index: usize) -> &mut Usage {
        let usage = &self.nodes[index].usage;
        self.changed.entry(index).or_insert_with(|| usage.clone())
    }
}

/// What the job would get of `candidates`, or `None` if they don't suffice.
pub(crate) fn select(
    view: &View<'_>,
    candidates: &IndexSet,
    ask: &Ask,
    policy: Policy,
) -> Option<Arc<Allocation>> {
    if !candidates.holds(&ask.required) || candidates.len() < ask.min_nodes as usize {
        return None;
    }
    let offers: Vec<_> = candidates
        .iter()
        .filter(|index| !ask.excluded.contains(*index))
        .filter_map(|index| offer::offer(view, index, ask, policy))
        .collect();
    let mut chosen = choose::choose(&offers, ask, policy)?;
    chosen.sort_by_key(|pick| pick.index);
    let nodes: Option<Vec<NodeShare>> = deal(&chosen, ask)
        .into_iter()
        .zip(devices_for_job(view, &chosen, ask)?)
        .zip(&chosen)
        .map(|((tasks, devices), pick)| place::place(view, pick, tasks, devices, ask, policy))
        .collect();
    Some(Arc::new(Allocation { nodes: nodes? }))
}

/// Tasks for each chosen node, dealt one at a time round the nodes while they have CPUs to use.
fn deal(chosen: &[choose::Pick], ask: &Ask) -> Vec<u32> {
    let room: Vec<u32> = chosen.iter().map(|pick| pick.cpus / ask.cpus_per_task).collect();
    let mut dealt = vec![0; room.len()];
    let mut left = ask.tasks.min(room.iter().sum());
    while 0 < left {
        for (tasks, room) in dealt.iter_mut().zip(&room) {
            if *tasks < *room && 0 < left {
                *tasks += 1;
                left -= 1;
            }
        }
    }
    dealt
}

/// For each chosen node, how many of the job's devices it gives: `per_job` asks in order.
fn devices_for_job(view: &View<'_>, chosen: &[choose::Pick], ask: &Ask) -> Option<Vec<Vec<u64>>> {
    let mut given = vec![vec![]; chosen.len()];
    for gres in ask.per_job() {
        let mut left = gres.count;
        for (at, pick) in chosen.iter().enumerate() {
            let free = place::free_devices(view, pick.index, gres);
            // Every node of the job gets one at least, if there are so many.
            let later = (chosen.len() - at - 1) as u64;
            let count = free.min(left.saturating_sub(later).max(1)).min(left);
            given[at].push(count);
            left -= count;
        }
        if 0 < left {
            return None;
        }
    }
    Some(given)
}
