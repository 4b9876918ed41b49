//! Which Slurm nodes a workload must not use, and why.
//!
//! ```text
//!                        one predicate
//!  a job is drafted ───▶ fits(pod, node, around) ───▶ excluded_nodes, each with its obstacle
//!  Slurm has chosen ───▶ fits(pod, node, around) ───▶ bind, wait a little, or give the job back
//! ```
//!
//! They go to Slurm as `excluded_nodes`, never as `required_nodes`: Slurm checks a required list
//! again at every restart and would fail the job if one node were gone.

mod company;
mod crew;
mod demands;
mod labels;
mod obstacle;
mod peers;
#[cfg(test)]
mod tests;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::{SlurmNode, Time};

use crate::{
    mapping::Mapping,
    names::{KubeNode, Uid},
    refusals::Refusals,
    slurm::NodeInfo,
    storage::Storage,
    store::Store,
    tenants::Tenants,
    view::{NodeView, PodView},
};
pub(crate) use company::{Company, Mate, When};
use crew::Crew;
pub(crate) use crew::{Layout, Unkept};
pub(crate) use demands::{Around, Demands, fits};
pub(crate) use obstacle::Obstacle;
pub(crate) use volumes::{Hold, Rule, hand_out, own_rules};

/// What the choice is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) now: Time,
    pub(crate) store: &'a Store,
    pub(crate) mapping: &'a Mapping,
    pub(crate) slurm: &'a BTreeMap<SlurmNode, NodeInfo>,
    pub(crate) tenants: &'a Tenants,
    pub(crate) refusals: &'a Refusals,
    pub(crate) storage: &'a Storage,
}

/// A Slurm node that must not be used.
pub(crate) type Excluded = (SlurmNode, Obstacle);

impl<'a> Field<'a> {
    /// The Kubernetes node behind a Slurm node.
    pub(crate) fn node(self, slurm: &SlurmNode) -> Result<&'a NodeView, Obstacle> {
        if let Some(conflict) = self.mapping.conflicts().get(slurm) {
            return Err(Obstacle::Conflict(conflict.clone()));
        }
        let node = self.mapping.kube(slurm).and_then(|name: &KubeNode| self.store.node(name));
        node.map(AsRef::as_ref).ok_or(Obstacle::Unmapped)
    }

    /// Everybody who counts when a job for these pods is drafted.
    pub(crate) fn drafting(self, pods: &'a BTreeSet<Uid>, crew: &'a [&'a PodView]) -> Around<'a> {
        let company = Company {
            tenants: self.tenants,
            when: When::Drafted,
            without: pods,
            mates: &[],
            minds_mates: true,
            crew,
            without_leaving: false,
        };
        Around { field: self, company }
    }
}

/// What a draft comes to on the nodes that there are.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// Nodes that it must not use.
    pub(crate) excluded: Vec<Excluded>,
    /// How its pods go together on those that are left.
    pub(crate) layout: Layout,
    /// Demands that Slurm can't be told.
    pub(crate) unkept: Vec<Unkept>,
    /// Why it can't go anywhere, whatever the nodes.
    pub(crate) hold: Option<Hold>,
}

/// What is to be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Party<'a> {
    pub(crate) pods: &'a [&'a PodView],
    /// Of all partitions if none is named.
    pub(crate) partition: Option<&'a str>,
    pub(crate) cpus_per_task: u32,
    /// Nodes that were allocated before, in vain.
    pub(crate) tried: &'a BTreeMap<SlurmNode, String>,
}

/// Looks at every node of the partition: some pod can't use it, or all can.
pub(crate) fn choose(field: Field<'_>, party: Party<'_>) -> Choice {
    let Party { pods, partition, cpus_per_task, tried } = party;
    let uids = pods.iter().map(|pod| pod.uid().clone()).collect();
    let around = field.drafting(&uids, pods);
    let demands: Vec<_> = pods.iter().map(|pod| Demands::of(around, pod)).collect();
    let (mut excluded, mut left) = (Vec::new(), Vec::new());
    for info in in_question(field.slurm, partition) {
        let judged = field.node(&info.name).and_then(|node| {
            demands.iter().try_for_each(|pod| fits(pod, node, around))?;
            match tried.get(&info.name) {
                Some(why) => Err(Obstacle::Tried(why.clone())),
                None => Ok(()),
            }
        });
        // What may pass isn't out of the question.
        if judged.as_ref().err().is_none_or(Obstacle::is_passing) {
            left.extend(field.node(&info.name).map(|node| (info, node)));
        }
        excluded.extend(judged.err().map(|obstacle| (info.name.clone(), obstacle)));
    }
    let crew = Crew { pods: &demands, nodes: &left, company: around.company, cpus_per_task };
    let (layout, unkept) = crew.layout();
    let lonely = demands.iter().any(|pod| pod.peers.waits_for_company());
    let lonely = lonely.then(|| Hold::Wait("waiting for a pod that its affinity asks for".into()));
    let hold = demands.iter().find_map(|pod| pod.hold.clone()).or(lonely);
    let needed = layout.needed(pods.len());
    let excluded = keep_in_the_queue(field.slurm, excluded, partition, needed);
    Choice { excluded, layout, unkept, hold }
}

/// Leaves out of the list what may pass, if too few nodes would be left: a job that isn't in the
/// queue never gets its turn, and whether it fits is looked at again when it does.
fn keep_in_the_queue(
    slurm: &BTreeMap<SlurmNode, NodeInfo>,
    excluded: Vec<Excluded>,
    partition: Option<&str>,
    needed: usize,
) -> Vec<Excluded> {
    let left = in_question(slurm, partition).count().saturating_sub(excluded.len());
    if needed.max(1) <= left {
        return excluded;
    }
    excluded.into_iter().filter(|(_, obstacle)| !obstacle.is_passing()).collect()
}

/// Whether there are nodes left, and no slurmd on any of them.
pub(crate) fn none_has_slurmd(
    slurm: &BTreeMap<SlurmNode, NodeInfo>,
    excluded: &[SlurmNode],
    partition: Option<&str>,
) -> bool {
    let left = in_question(slurm, partition).filter(|info| !excluded.contains(&info.name));
    let mut left = left.peekable();
    left.peek().is_some() && left.all(NodeInfo::is_external)
}

/// The nodes of these partitions; all of them if none is named.
fn in_question<'a>(
    slurm: &'a BTreeMap<SlurmNode, NodeInfo>,
    partition: Option<&str>,
) -> impl Iterator<Item = &'a NodeInfo> {
    let asked: Option<Vec<String>> =
        partition.map(|names| names.split(',').map(str::to_owned).collect());
    slurm.values().filter(move |info| match &asked {
        None => true,
        Some(asked) => {
            asked.iter().any(|name| info.partitions.iter().any(|it| it.as_str() == name))
        }
    })
}
