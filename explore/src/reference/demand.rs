//! What workloads want of the cluster, and whether it has that for all of them at once.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_scenarios::Scenario;
use drawbridge_sim::{Quantity, Span};
use serde_json::Value;

use super::people::Deeds;

/// One workload, as its manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) kind: &'static str,
    pub(super) program: Program,
    /// What each of its pods wants, if that is all that they want.
    pub(super) each: Option<Amount>,
    /// Whether its pods may run for ever.
    pub(super) is_endless: bool,
    /// How many pods it has at a time, at most.
    pub(super) pods: u64,
    pub(super) gang: Option<String>,
    pub(super) is_deleted: bool,
    /// It is removed by itself when it is over.
    pub(super) is_tidied_up: bool,
    /// It may run longer than Slurm lets it.
    pub(super) runs_out: bool,
}

/// What the pods of a workload do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// More than this model knows.
    Unknown,
    Forever,
    /// They exit with this code, and aren't started again.
    Ends(i32),
}

/// CPUs and MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) cpus: u64,
    pub(super) mib: u64,
}

impl Amount {
    pub(super) fn times(self, n: u64) -> Self {
        Self { cpus: self.cpus.saturating_mul(n), mib: self.mib.saturating_mul(n) }
    }

    fn plus(self, other: Self) -> Self {
        Self { cpus: self.cpus.saturating_add(other.cpus), mib: self.mib.saturating_add(other.mib) }
    }

    fn fits(self, node: Self) -> bool {
        self.cpus <= node.cpus && self.mib <= node.mib
    }

    /// What the containers of a pod ask for, in whole CPUs; `None` if that isn't all they ask for.
    pub(super) fn of(pod: &Value) -> Option<Self> {
        let mut all = Self::default();
        for container in pod["containers"].as_array()? {
            let asked = container["resources"]["requests"].as_object()?;
            if !container["resources"]["limits"].is_null() {
                return None;
            }
            let mut each = Self::default();
            for (name, amount) in asked {
                let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
                let amount = Quantity::parse(&text).ok()?;
                match name.as_str() {
                    "cpu" => each.cpus = amount.ceil_units(),
                    "memory" => each.mib = amount.ceil_mib(),
                    _ => return None,
                }
            }
            all = all.plus(each);
        }
        (0 < all.cpus && 0 < all.mib).then_some(all)
    }
}

/// The nodes that are left in the end.
pub(super) struct Cluster {
    nodes: Option<Vec<Amount>>,
}

impl Cluster {
    /// The nodes of the default partition that people leave in service; none if more would have to be
    /// known than this model knows.
    pub(super) fn of(scenario: &Scenario, deeds: &Deeds) -> Self {
        Self { nodes: plain_nodes(scenario, &deeds.out) }
    }

    /// Whether every workload finds room in the end, whoever is there before it for ever.
    pub(super) fn has_room_for_all(&self, workloads: &BTreeMap<String, Workload>) -> bool {
        let Some(nodes) = &self.nodes else { return false };
        let endless = workloads.values().filter(|it| it.is_endless && !it.is_deleted);
        let Some(held) = sum(endless) else { return false };
        workloads
            .values()
            .all(|it| it.wants(workloads).is_some_and(|wanted| has_room(nodes, wanted, held)))
    }
}

impl Workload {
    /// What must be free on one node for it: all of a gang, to be on the safe side.
    fn wants(&self, workloads: &BTreeMap<String, Self>) -> Option<Amount> {
        let Some(gang) = &self.gang else { return self.each };
        sum(workloads.values().filter(|it| it.gang.as_ref() == Some(gang)))
    }
}

/// What all pods of these want together, if that is known.
fn sum<'a>(mut of: impl Iterator<Item = &'a Workload>) -> Option<Amount> {
    of.try_fold(Amount::default(), |all, it| Some(all.plus(it.each?.times(it.pods))))
}

/// Whether so much can't keep somebody off every node, however it is spread. To block a node, all but
/// less than what he wants must be taken, of CPUs or of memory.
fn has_room(nodes: &[Amount], wanted: Amount, held: Amount) -> bool {
    let fitting: Vec<&Amount> = nodes.iter().filter(|node| wanted.fits(**node)).collect();
    let least = |left: fn(&Amount, Amount) -> u64| {
        fitting.iter().map(|node| left(node, wanted) + 1).min().unwrap_or(1)
    };
    let by_cpus = held.cpus / least(|node, wanted| node.cpus - wanted.cpus);
    let by_memory = held.mib / least(|node, wanted| node.mib - wanted.mib);
    by_cpus + by_memory < fitting.len() as u64
}

fn plain_nodes(scenario: &Scenario, out: &BTreeSet<String>) -> Option<Vec<Amount>> {
    let config = scenario.bridge.as_ref()?;
    let mut partitions = scenario.slurm.partitions().iter();
    let partition = partitions.find(|it| match &config.partition {
        Some(name) => it.name.as_str() == name,
        None => it.default,
    })?;
    let plain = !config.exclusive
        && partition.max_nodes.is_none()
        && partition.max_cpus_per_node.is_none()
        && partition.max_mem.is_none()
        && !partition.exclusive
        && !partition.exclusive_user;
    if !plain {
        return None;
    }
    let specs = partition.nodes.iter().filter_map(|place| scenario.slurm.nodes().get(*place));
    let mut nodes = vec![];
    for spec in specs {
        let is_known = |object: &Value| {
            object["kind"] == "Node"
                && object["metadata"]["name"] == spec.name.as_str()
                && object["spec"]["taints"].is_null()
        };
        if !scenario.objects.iter().any(is_known) || spec.threads != 1 {
            return None;
        }
        let amount = Amount { cpus: spec.cpus.into(), mib: spec.memory_mib };
        nodes.extend((!out.contains(spec.name.as_str())).then_some(amount));
    }
    Some(nodes)
}

/// The longest that a job of the bridge may run, if there is a limit.
pub(super) fn limit(scenario: &Scenario) -> Option<Span> {
    let partitions = scenario.slurm.partitions().iter();
    partitions.filter_map(|it| it.default_time.or(it.max_time)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_certain_only_if_nobody_can_be_kept_off_every_node() {
        let amount = |cpus, mib| Amount { cpus, mib };
        let two = [amount(4, 100), amount(4, 100)];
        #[rustfmt::skip]
        let rows = [
            // wanted         held              certain
            (amount(2, 10),   amount(0, 0),     true),
            (amount(5, 10),   amount(0, 0),     false),
            (amount(2, 10),   amount(5, 50),    true),
            (amount(2, 10),   amount(6, 50),    false),
            (amount(4, 10),   amount(1, 1),     true),
            (amount(4, 10),   amount(2, 2),     false),
            (amount(2, 60),   amount(3, 41),    false),
            (amount(2, 60),   amount(2, 41),    true),
        ];
        for (wanted, held, certain) in rows {
            assert_eq!(has_room(&two, wanted, held), certain, "{wanted:?} {held:?}");
        }
    }
}
