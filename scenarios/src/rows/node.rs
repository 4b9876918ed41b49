//! One machine, as both sides know it.

use drawbridge_sim::{JobId, Node, Slurmctld};
use serde_json::Value;

use crate::{frame::NodeRow, object::Object};

/// The annotation by which the operators say where in the network a node is: `topo-switch:s2,…`.
const TOPOLOGY: &str = "topology.slinky.slurm.net/spec";
/// Labels that name a rack, the first that is there counts.
const RACKS: [&str; 2] = ["topology.kubernetes.io/rack", "topology.nebius.com/tier-1"];

pub(super) fn slurm_node_row(node: &Node, kube: Option<Object<'_>>, slurm: &Slurmctld) -> NodeRow {
    let slurm_name = node.name().as_str().to_owned();
    let mut cpu_holders = vec![None; node.spec.cpus as usize];
    let mut gpu_holders =
        vec![None; node.spec.gres.iter().filter(|it| it.name == "gpu").map(|it| it.count).sum()];
    let shares = node.jobs.iter().filter_map(|id| slurm.job(*id)).filter_map(|job| {
        let share =
            job.allocation.as_ref()?.nodes.iter().find(|share| share.node == *node.name())?;
        Some((job.id, share.clone()))
    });
    for (job, share) in shares {
        let gpus = share.gres.get("gpu");
        hold(&mut cpu_holders, share.cpu_ids.iter(), job);
        hold(&mut gpu_holders, gpus.into_iter().flat_map(|it| it.iter()), job);
    }
    NodeRow {
        name: kube.map_or(slurm_name.clone(), |node| node.name().to_owned()),
        slurm_name: Some(slurm_name),
        state: node.sinfo_state().to_string(),
        reason: node.reason.as_ref().map(|reason| reason.text.clone()),
        cordoned: kube.is_some_and(Object::is_cordoned),
        partitions: node.partitions.iter().map(|it| it.as_str().to_owned()).collect(),
        switch: kube.and_then(switch),
        conditions: kube.map(Object::slurm_conditions).unwrap_or_default(),
        taints: kube.map(Object::taints).unwrap_or_default(),
        cpus: node.spec.cpus,
        cpus_alloc: node.usage.cpus,
        memory_mb: node.spec.memory_mib,
        memory_alloc_mb: node.usage.memory_mib,
        gres: node.gres(),
        gres_alloc: held_gres(node),
        cpu_holders,
        gpu_holders,
        pods: vec![],
    }
}

/// What jobs hold of a node's generic resources; what nobody holds isn't listed.
fn held_gres(node: &Node) -> String {
    let used = node.gres_used();
    used.split(',').filter(|it| !it.ends_with(":0")).collect::<Vec<_>>().join(",")
}

fn hold(holders: &mut [Option<JobId>], slots: impl Iterator<Item = usize>, job: JobId) {
    for slot in slots {
        if let Some(holder) = holders.get_mut(slot) {
            *holder = Some(job);
        }
    }
}

/// A node that only Kubernetes knows.
pub(crate) fn kube_node_row(node: Object<'_>) -> NodeRow {
    let capacity = |name: &str| {
        let value = node.at(&["status", "capacity"]).and_then(|it| it.get(name));
        value.and_then(Value::as_str).and_then(|text| drawbridge_sim::Quantity::parse(text).ok())
    };
    NodeRow {
        name: node.name().to_owned(),
        slurm_name: None,
        state: "-".to_owned(),
        reason: None,
        cordoned: node.is_cordoned(),
        partitions: vec![],
        switch: switch(node),
        conditions: node.slurm_conditions(),
        taints: node.taints(),
        cpus: capacity("cpu").map_or(0, |cpus| cpus.ceil_units().try_into().unwrap_or(u32::MAX)),
        cpus_alloc: 0,
        memory_mb: capacity("memory").map_or(0, drawbridge_sim::Quantity::ceil_mib),
        memory_alloc_mb: 0,
        gres: String::new(),
        gres_alloc: String::new(),
        cpu_holders: vec![],
        gpu_holders: vec![],
        pods: vec![],
    }
}

/// Puts what Kubernetes says of a machine beside what Slurm says.
pub(crate) fn join(row: &mut NodeRow, kube: Object<'_>) {
    row.name = kube.name().to_owned();
    row.cordoned = kube.is_cordoned();
    row.conditions = kube.slurm_conditions();
    row.taints = kube.taints();
    row.switch = switch(kube).or(row.switch.take());
}

/// Where it hangs, if somebody has written it down.
fn switch(node: Object<'_>) -> Option<String> {
    let first = node.annotation(TOPOLOGY).and_then(|spec| spec.split(',').next());
    let named = first.and_then(|place| place.rsplit(':').next());
    let rack = || RACKS.iter().find_map(|label| node.label(label));
    named.filter(|name| !name.is_empty()).or_else(rack).map(str::to_owned)
}
