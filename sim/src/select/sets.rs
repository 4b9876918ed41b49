//! Nodes by feature: which may be used at all, which alternatives there are, and which counts must
//! be met before the rest is found.

use crate::{Allocation, IndexSet};

use super::{Ask, MemoryNeed, Policy, View, trial::Trial};

/// What the job would get of `candidates`, or `None` if they don't suffice.
pub(super) fn select(
    view: &View<'_>,
    candidates: &IndexSet,
    ask: &Ask,
    policy: &Policy,
) -> Option<Allocation> {
    let mut trial = Trial::new(view, ask, policy);
    if trial.max_nodes < trial.min_nodes || trial.max_nodes < trial.required.len() as u32 {
        return None;
    }
    let nodes = usable(&trial, candidates)?;
    let features = &ask.features;
    if features.counts() {
        return with_counts(&mut trial, &nodes);
    }
    if !features.alternatives() {
        return trial.run(&nodes);
    }
    features.groups().iter().find_map(|group| {
        let matching = |index: &usize| group.matched_by(&view.spec(*index).features);
        trial.run(&nodes.iter().filter(matching).collect())
    })
}

/// The candidates whose description doesn't rule them out; `None` if a required one isn't among
/// them.
fn usable(trial: &Trial<'_>, candidates: &IndexSet) -> Option<IndexSet> {
    let ask = trial.ask;
    let free = ask.features.counts() || ask.features == super::feature::Features::default();
    let all_fit = candidates.iter().all(|index| fits(trial, index));
    let mut nodes = if free && all_fit {
        candidates.clone()
    } else {
        let matching = |index: &usize| {
            let spec = trial.view.spec(*index);
            fits(trial, *index) && (free || ask.features.matched_by(&spec.features))
        };
        candidates.iter().filter(matching).collect()
    };
    nodes.subtract(&ask.excluded);
    nodes.holds(&ask.required).then_some(nodes)
}

/// Whether the node, as slurm.conf describes it, is big enough for the least of the job.
fn fits(trial: &Trial<'_>, index: usize) -> bool {
    let (ask, spec) = (trial.ask, trial.view.spec(index));
    let by_cores = ask
        .shape
        .ntasks_per_core
        .map_or(0, |n| spec.cores().saturating_mul(n).saturating_mul(ask.cpus_per_task));
    let memory = match ask.memory {
        MemoryNeed::PerNode(mib) | MemoryNeed::PerCpu(mib) => mib,
        MemoryNeed::WholeNode => 0,
    };
    ask.min_cpus_per_node <= spec.cpus.max(by_cores)
        && memory <= spec.memory_mib
        && ask.shape.sockets_per_node.unwrap_or(0) <= spec.sockets
        && ask.shape.cores_per_socket.unwrap_or(0) <= spec.cores_per_socket
        && ask.shape.threads_per_core.unwrap_or(0) <= spec.threads_per_core
}

/// Finds the counted nodes first, group by group; they are then required.
fn with_counts(trial: &mut Trial<'_>, nodes: &IndexSet) -> Option<Allocation> {
    let ask = trial.ask;
    let mut found = ask.required.clone();
    let mut within = nodes.clone();
    for group in ask.features.groups() {
        let matching = |index: &usize| {
            group.matched_by(&trial.view.spec(*index).features)
                && !(group.apart && found.contains(*index))
        };
        let members: IndexSet = nodes.iter().filter(matching).collect();
        trial.required = IndexSet::new();
        (trial.min_nodes, trial.req_nodes) = (group.count, group.count);
        trial.min_cpus = group.count;
        if ask.ntasks_per_node != 0 {
            trial.tasks = group.count.saturating_mul(ask.ntasks_per_node);
        }
        let part = trial.run(&members)?;
        trial.tasks = ask.tasks;
        found.extend(part.nodes.iter().map(|share| share.index));
        within.add(&members);
    }
    let whole = Trial::new(trial.view, ask, trial.policy);
    let n_found = u32::try_from(found.len()).unwrap_or(u32::MAX);
    trial.min_cpus = whole.min_cpus.max(n_found);
    trial.min_nodes = whole.min_nodes.max(n_found);
    trial.req_nodes = whole.req_nodes.max(trial.min_nodes);
    trial.required = found;
    if trial.max_nodes < trial.req_nodes {
        return None;
    }
    trial.run(&within)
}
