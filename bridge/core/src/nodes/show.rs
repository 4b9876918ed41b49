//! What a Kubernetes node shows of Slurm: taints, and conditions.
//!
//! ```text
//!   Slurm has it                          ─▶ taint managed-node, if it is configured
//!   drained or down, and not by us        ─▶ SlurmSchedulable=False, and a taint if it is configured
//!   in a maintenance reservation          ─▶ SlurmMaintenance=True, with the time
//!   is to be an external node             ─▶ SlurmRegistered, and why not
//! ```
//!
//! A condition is written when what it says changes, never because time passed.

use drawbridge_sim::{Epoch, SlurmNode, Time};

use super::{Scene, external, want};
use crate::{
    names::{
        MAINTENANCE_CONDITION, MANAGED_TAINT, NODE_CONDITION, REGISTERED_CONDITION,
        UNAVAILABLE_TAINT,
    },
    plants::Plant,
    slurm::{NodeInfo, Reservation},
    view::{NodeView, Taint},
};

/// A condition as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) kind: &'static str,
    pub(super) status: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// The taints that the node should have, if it has others.
pub(super) fn taints(
    scene: &Scene<'_>,
    node: &NodeView,
    slurm: Option<&NodeInfo>,
) -> Option<Vec<Taint>> {
    let config = scene.config;
    let taint = |key: &str, value: &str, effect: &str| Taint {
        key: key.into(),
        value: value.into(),
        effect: effect.into(),
        time_added: None,
    };
    let ours = [
        (
            taint(MANAGED_TAINT, &config.scheduler_name, "NoExecute"),
            config.taint_nodes && slurm.is_some(),
        ),
        (
            taint(UNAVAILABLE_TAINT, "", "NoSchedule"),
            config.nodes.taint_unavailable && slurm.is_some_and(|info| trouble(info).is_some()),
        ),
    ];
    let same = |one: &Taint, other: &Taint| one.key == other.key && one.effect == other.effect;
    let has = |ours: &Taint| {
        node.spec.taints.iter().any(|taint| same(taint, ours) && taint.value == ours.value)
    };
    if ours.iter().all(|(taint, wanted)| has(taint) == *wanted) {
        return None;
    }
    let foreign = |taint: &&Taint| !ours.iter().any(|(ours, _)| same(ours, taint));
    let others = node.spec.taints.iter().filter(foreign).cloned();
    let wanted = ours.iter().filter(|(_, wanted)| *wanted).map(|(taint, _)| taint.clone());
    Some(others.chain(wanted).collect())
}

/// The first condition that doesn't say what it should.
pub(super) fn condition(
    scene: &Scene<'_>,
    node: &NodeView,
    slurm: Option<&NodeInfo>,
) -> Option<Shown> {
    let all = [
        schedulable(scene, node, slurm),
        maintenance(scene, node, slurm),
        registered(scene, node, slurm),
    ];
    all.into_iter().flatten().find(|shown| {
        let known = node.condition(shown.kind);
        let status = if shown.status { "True" } else { "False" };
        known.is_none_or(|known| known.status != status || known.message != shown.message)
    })
}

/// Whether Slurm would place something there. Nothing is said of a node on which it always did.
fn schedulable(scene: &Scene<'_>, node: &NodeView, slurm: Option<&NodeInfo>) -> Option<Shown> {
    if scene.config.has(Plant::HidesDrains) {
        return None;
    }
    let known = node.condition(NODE_CONDITION).is_some();
    let says =
        |status, reason, message| Some(Shown { kind: NODE_CONDITION, status, reason, message });
    if let Some(conflict) = scene.mapping.conflict_about(&node.name()) {
        return says(false, "MappingConflict", conflict.to_string());
    }
    match slurm {
        Some(info) => match trouble(info) {
            Some(reason) => says(false, reason, sentence(info)),
            None if known => {
                says(true, "SlurmReady", format!("Slurm places jobs on node {}", info.name))
            }
            None => None,
        },
        None if known => says(false, "NotInSlurm", "Slurm has no node for this one".into()),
        None => None,
    }
}

/// Why Slurm places nothing there, unless it is because of us.
pub(super) fn trouble(info: &NodeInfo) -> Option<&'static str> {
    if ["DOWN", "FAIL", "NOT_RESPONDING"].iter().any(|flag| info.has(flag)) {
        return Some("SlurmDown");
    }
    (info.has("DRAIN") && !want::is_ours(info)).then_some("SlurmDrained")
}

fn sentence(info: &NodeInfo) -> String {
    let NodeInfo { name, state, reason, .. } = info;
    let state = state.join("+");
    let reason = if reason.is_empty() { "no reason given" } else { reason };
    format!("Slurm node {name} is {state}: {reason}")
}

/// The maintenance that comes next, or goes on.
fn maintenance(scene: &Scene<'_>, node: &NodeView, slurm: Option<&NodeInfo>) -> Option<Shown> {
    let says = |status, reason, message| {
        Some(Shown { kind: MAINTENANCE_CONDITION, status, reason, message })
    };
    let next = slurm.and_then(|info| scene.next_maintenance(info));
    match next {
        Some(reservation) => says(true, "MaintenancePlanned", when(reservation)),
        None if node.condition(MAINTENANCE_CONDITION).is_some() => {
            says(false, "NoMaintenance", "no maintenance is planned".into())
        }
        None => None,
    }
}

/// `Slurm reservation kernel: from 2026-01-02T08:00:00Z to 2026-01-02T12:00:00Z`
fn when(reservation: &Reservation) -> String {
    let time = |secs: u64| Epoch::from_unix(secs).rfc3339(Time::ZERO);
    let Reservation { name, start_time, end_time, .. } = reservation;
    let end = end_time.map_or(String::new(), |end| format!(" to {}", time(end)));
    format!("Slurm reservation {name}: maintenance from {}{end}", time(*start_time))
}

/// Whether a node that is to be external is.
fn registered(scene: &Scene<'_>, node: &NodeView, slurm: Option<&NodeInfo>) -> Option<Shown> {
    let says = |status, reason, message| {
        Some(Shown { kind: REGISTERED_CONDITION, status, reason, message })
    };
    if !node.is_external() {
        let known = node.condition(REGISTERED_CONDITION).is_some_and(|it| it.status == "True");
        let gone = slurm.is_none_or(|info| !external::is_ours(scene.config, info));
        return (known && gone)
            .then(|| says(false, "NotExternal", "it is no external node of Slurm".into()))?;
    }
    let description = match external::Description::of(scene.config, node) {
        Ok(description) => description,
        Err(why) => return says(false, "CannotRegister", format!("Slurm can't have it: {why}")),
    };
    let name = SlurmNode::from(description.name.as_str());
    let info = scene.slurm.get(&name);
    if let Some(why) = scene.why_not(&name, info) {
        return says(false, "CannotRegister", why);
    }
    let info = info.filter(|info| external::is_ours(scene.config, info))?;
    says(true, "Registered", registered_as(info, node))
}

/// `Slurm node k1 has 8 CPUs and 31000 MiB in partitions gpu`, and partitions that don't have it.
fn registered_as(info: &NodeInfo, node: &NodeView) -> String {
    let NodeInfo { name, cpus, memory_mib, partitions, .. } = info;
    let listed = node.metadata.annotations.get(crate::names::EXTERNAL_PARTITIONS);
    let listed = listed.into_iter().flat_map(|csv| csv.split(',')).map(str::trim);
    let missing: Vec<&str> = listed
        .filter(|wanted| info.features.iter().any(|feature| feature == wanted))
        .filter(|wanted| !partitions.iter().any(|it| it.as_str() == *wanted))
        .collect();
    let missing = match missing[..] {
        [] => String::new(),
        _ => {
            format!("; not in {}, which no NodeSet gives nodes of this feature", missing.join(", "))
        }
    };
    let within: Vec<&str> = partitions.iter().map(|it| it.as_str()).collect();
    let within = if within.is_empty() { "no partition".to_owned() } else { within.join(",") };
    format!("Slurm node {name}: {cpus} CPUs, {memory_mib} MiB, in {within}{missing}")
}

impl Scene<'_> {
    /// The maintenance that comes next for a node, or goes on.
    fn next_maintenance(&self, info: &NodeInfo) -> Option<&Reservation> {
        let now = self.epoch.unix(self.now);
        let ahead = self.reservations.iter().filter(|it| {
            it.is_maintenance
                && it.nodes.contains(&info.name)
                && it.end_time.is_none_or(|end| now < end)
        });
        ahead.min_by_key(|it| (it.start_time, &it.name))
    }

    /// Why a node can't be registered under this name, if that is so.
    fn why_not(&self, name: &SlurmNode, info: Option<&NodeInfo>) -> Option<String> {
        let Some(info) = info else {
            let refused = self.memory.resting.get(name)?;
            return Some(format!("Slurm can't have it as an external node: {}", refused.said));
        };
        if !external::is_made(info) {
            return Some(format!(
                "Slurm has a node {name} that isn't external, or is in slurm.conf"
            ));
        }
        let other = external::marked_by_another(self.config, info)?;
        Some(format!("Slurm node {name} belongs to cluster {other}"))
    }
}
