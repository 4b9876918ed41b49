//! Nodes by feature: which may be used at all, which alternatives there are, and which counts must
//! be met before the rest is found.

use crate::{Allocation, IndexSet};

use super::{feature::Features, trial::Trial};

/// What the job would get of `candidates`, or `None` if they don't suffice.
pub(super) fn select(trial: &mut Trial<'_>, candidates: &IndexSet) -> Option<Allocation> {
    let (view, ask) = (trial.view, trial.ask);
    if trial.max_nodes < trial.min_nodes || trial.max_nodes < trial.required.len() as u32 {
        return None;
    }
    let nodes = usable(trial, candidates)?;
    let features = &ask.features;
    if features.counts() {
        return with_counts(trial, &nodes);
    }
    if !features.alternatives() {
        return trial.run(&nodes);
    }
    features.groups().iter().find_map(|group| {
        let matching = |index: &usize| group.matched_by(&view.spec(*index).features);
        trial.run(&nodes.iter().filter(matching).collect())
    })
}

/// The candidates that features leave; `None` if a required one isn't among them.
fn usable(trial: &Trial<'_>, candidates: &IndexSet) -> Option<IndexSet> {
    let ask = trial.ask;
    let free = ask.features.counts() || ask.features == Features::default();
    let mut nodes = if free {
        candidates.clone()
    } else {
        let matching =
            |index: &usize| ask.features.matched_by(&trial.view.spec(*index).active_features);
        candidates.iter().filter(matching).collect()
    };
    nodes.subtract(&ask.excluded);
    nodes.holds(&ask.required).then_some(nodes)
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
