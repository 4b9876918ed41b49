//! A line of `sinfo`: nodes of a partition that look alike in what is shown.

use std::{collections::BTreeMap, rc::Rc};

use drawbridge_bridge::slurm::types::{Node, Number, Partition};
use drawbridge_sim::Release;

use super::options::Options;
use crate::{
    amounts::Shorten,
    format::Format,
    hosts,
    moments::Clock,
    states::node::{Length, NodeState},
};

/// What all lines have in common.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The time, and how it is printed.
    pub(crate) clock: Clock,
    /// Whose `sinfo` it is.
    pub(crate) release: Release,
    /// Whether amounts get larger units.
    pub(crate) shorten: Shorten,
    /// Numbers of users who gave reasons, where the system knows them.
    pub(crate) users: BTreeMap<String, u32>,
}

/// Nodes to show in one line.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) partition: Rc<Partition>,
    /// Its place among partitions.
    pub(crate) place: usize,
    pub(crate) nodes: Vec<Rc<Node>>,
    pub(crate) view: Rc<View>,
}

/// Puts nodes of every partition into lines.
pub(crate) fn rows(
    options: &Options,
    format: &Format<Row>,
    view: &Rc<View>,
    partitions: &[Rc<Partition>],
    nodes: &[Rc<Node>],
) -> Vec<Row> {
    let wanted = |partition: &Partition| {
        options.partitions.as_ref().is_none_or(|names| names.contains(&partition.name))
    };
    let row = |place: usize, partition: &Rc<Partition>| Row {
        partition: Rc::clone(partition),
        place,
        nodes: vec![],
        view: Rc::clone(view),
    };
    let shown: Vec<&'static str> =
        format.columns.iter().filter_map(|column| column.field).map(|field| field.name).collect();
    let mut rows = vec![];
    let by_partition = shown.contains(&"Partition") || shown.contains(&"PartitionName");
    let all = || partitions.iter().enumerate().filter(|(_, partition)| wanted(partition));
    if !options.by_node && by_partition {
        rows.extend(all().map(|(place, partition)| row(place, partition)));
    }
    for (place, partition) in all() {
        let members = hosts::expand(&partition.nodes.configured);
        for node in nodes.iter().filter(|node| members.contains(&node.name)) {
            let fits = |row: &Row| {
                (options.reasons || row.has_partition(&shown, partition))
                    && (row.nodes.is_empty() || row.has_alike(options, &shown, node))
            };
            let at = rows.iter().position(fits).unwrap_or_else(|| {
                rows.push(row(place, partition));
                rows.len() - 1
            });
            if !rows[at].nodes.iter().any(|other| other.name == node.name) {
                rows[at].nodes.push(Rc::clone(node));
            }
        }
    }
    rows
}

impl Row {
    /// The node that stands for the others.
    pub(crate) fn first(&self) -> Option<&Node> {
        self.nodes.first().map(Rc::as_ref)
    }

    /// The state that its nodes have in common.
    pub(crate) fn state(&self) -> NodeState {
        self.first().map(NodeState::of).unwrap_or_default()
    }

    /// The least and the most of something.
    pub(crate) fn range(&self, of: impl Fn(&Node) -> u64) -> (u64, u64) {
        let all = || self.nodes.iter().map(|node| of(node));
        (all().min().unwrap_or(0), all().max().unwrap_or(0))
    }

    /// How many nodes work, do nothing, and can't.
    pub(crate) fn node_counts(&self) -> (usize, usize, usize) {
        let mut counts = (0, 0, 0);
        for node in &self.nodes {
            let state = NodeState::of(node);
            let base = state.base();
            let completes = state.has(crate::states::node::COMPLETING);
            if base == NodeState::ALLOCATED || base == NodeState::MIXED || completes {
                counts.0 += 1;
            } else if is_out(state) {
                counts.2 += 1;
            } else {
                counts.1 += 1;
            }
        }
        counts
    }

    /// CPUs that work, do nothing, can't, and all.
    pub(crate) fn cpu_counts(&self) -> (i64, i64, i64, i64) {
        let mut counts = (0, 0, 0, 0);
        for node in &self.nodes {
            let rest = i64::from(node.cpus) - node.alloc_cpus;
            counts.0 += node.alloc_cpus;
            counts.3 += i64::from(node.cpus);
            if is_out(NodeState::of(node)) { counts.2 += rest } else { counts.1 += rest }
        }
        counts
    }

    /// The short form of a name of each node.
    pub(crate) fn names(&self, of: impl Fn(&Node) -> &str) -> String {
        let mut names: Vec<String> = vec![];
        for node in &self.nodes {
            let name = of(node).to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        hosts::ranged(names)
    }

    pub(crate) fn is_default(&self) -> bool {
        self.flagged("DEFAULT")
    }

    pub(crate) fn flagged(&self, flag: &str) -> bool {
        self.partition.flags.iter().any(|word| word == flag)
    }

    pub(crate) fn partition_width(&self) -> usize {
        self.partition.name.len() + usize::from(self.is_default())
    }

    pub(crate) fn nodes_width(&self) -> usize {
        self.names(|node| &node.name).len()
    }

    /// Whether nodes of this partition may stand here: what is shown of it is the same.
    fn has_partition(&self, shown: &[&str], other: &Rc<Partition>) -> bool {
        let own = &self.partition;
        let same = |name: &&str| match *name {
            "Partition" | "PartitionName" => own.name == other.name,
            "Available" => own.partition.state == other.partition.state,
            "Groups" => own.groups.allowed == other.groups.allowed,
            "Size" => {
                own.minimums.nodes == other.minimums.nodes
                    && own.maximums.nodes == other.maximums.nodes
            }
            "DefaultTime" => own.defaults.time == other.defaults.time,
            "Time" => own.maximums.time == other.maximums.time,
            "Root" => {
                own.flags.contains(&ROOT.to_owned()) == other.flags.contains(&ROOT.to_owned())
            }
            "Share" => own.maximums.shares == other.maximums.shares,
            "PriorityTier" => own.priority.tier == other.priority.tier,
            "PriorityJobFactor" => own.priority.job_factor == other.priority.job_factor,
            "MaxCPUsPerNode" => own.maximums.cpus_per_node == other.maximums.cpus_per_node,
            _ => true,
        };
        Rc::ptr_eq(own, other) || shown.iter().all(same)
    }

    /// Whether a node may stand here: what is shown of it is the same.
    fn has_alike(&self, options: &Options, shown: &[&str], node: &Node) -> bool {
        let Some(own) = self.first().filter(|_| !options.by_node) else { return false };
        shown.iter().all(|name| {
            self.is_alike(name, own, node) && (!options.exact || is_exactly(name, own, node))
        })
    }

    fn is_alike(&self, name: &str, own: &Node, node: &Node) -> bool {
        let states = (NodeState::of(own), NodeState::of(node));
        let word = |state: NodeState| state.word(Length::Long, self.view.release);
        match name {
            "NodeHost" => self.nodes.iter().any(|other| other.hostname == node.hostname),
            "NodeAddr" => self.nodes.iter().any(|other| other.address == node.address),
            "Extra" => own.extra == node.extra,
            "Features" => own.features == node.features,
            "features_act" => own.active_features == node.active_features,
            "Gres" => own.gres == node.gres,
            "GresUsed" => own.gres_used == node.gres_used,
            "Comment" => own.comment == node.comment,
            "Reason" => own.reason == node.reason,
            "TimeStamp" => own.reason_changed_at == node.reason_changed_at,
            "User" | "UserLong" => own.reason_set_by_user == node.reason_set_by_user,
            "Reservation" => own.reservation == node.reservation,
            "StateCompact" | "StateLong" => word(states.0) == word(states.1),
            "StateComplete" => states.0.complete() == states.1.complete(),
            "AllocMem" => {
                self.nodes.last().is_some_and(|last| last.alloc_memory == node.alloc_memory)
            }
            _ => true,
        }
    }
}

const ROOT: &str = "ROOT_ONLY";

/// What must be the same with `--exact` alone.
fn is_exactly(name: &str, own: &Node, node: &Node) -> bool {
    let shape = |node: &Node| (node.sockets, node.cores, node.threads);
    match name {
        "CPUs" | "CPUsState" => own.cpus == node.cpus,
        "Sockets" => own.sockets == node.sockets,
        "Cores" => own.cores == node.cores,
        "Threads" => own.threads == node.threads,
        "SocketCoreThread" => shape(own) == shape(node),
        "Disk" => own.temporary_disk == node.temporary_disk,
        "Memory" => own.real_memory == node.real_memory,
        "Weight" => own.weight == node.weight,
        "CPUsLoad" => own.cpu_load == node.cpu_load,
        "FreeMem" => own.free_mem == node.free_mem,
        "Port" => own.port == node.port,
        // Slurm compares where the texts are, which is never the same.
        "Version" => false,
        _ => true,
    }
}

/// Whether it takes no jobs.
fn is_out(state: NodeState) -> bool {
    state.has(crate::states::node::DRAIN) || state.base() == NodeState::DOWN
}

/// A number that is the largest where it isn't known.
pub(crate) fn or_most(number: Number) -> u64 {
    number.get().unwrap_or(u64::MAX)
}
