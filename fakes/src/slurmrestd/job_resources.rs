//! What a job holds, node by node and core by core.

use std::collections::BTreeMap;

use drawbridge_sim::{
    Allocation, GresPer, GresSpec, IndexSet, Job, MemoryAsk, Node, NodeShare, Slurmctld,
};
use serde_json::{Map, Value, json};

use super::{api::Version, tres::Tres};

/// The allocation as slurmrestd prints it.
pub(super) fn job_resources(
    ctld: &Slurmctld,
    version: Version,
    held: &Allocation,
    whole: bool,
) -> Value {
    let nodes = held.nodes.iter().enumerate();
    let mut resources = json!({
        "select_type": [if version == Version::V45 { "CR_CORE_MEMORY" } else { "CORE" }],
        "nodes": {
            "count": held.nodes.len(),
            "select_type": ["ONE_ROW"],
            "list": held.node_list(),
            "whole": whole,
        },
        "cpus": held.cpus(),
        "threads_per_core": null,
    });
    // What is large moves in: `json!` would make a copy.
    resources["nodes"]["allocation"] = nodes.map(|(at, share)| node(ctld, at, share)).collect();
    resources
}

fn node(ctld: &Slurmctld, at: usize, share: &NodeShare) -> Value {
    let (sockets, cores) = ctld.node(&share.node).map_or((1, share.cores.len()), |node| {
        let spec = &node.spec;
        (spec.sockets as usize, spec.cores_per_socket as usize)
    });
    let socket = |index: usize| {
        let mut socket = json!({ "index": index });
        socket["cores"] = socket_cores(share, index * cores, cores);
        socket
    };
    let mut node = json!({
        "index": at,
        "name": share.node,
        "cpus": { "count": share.cpus, "used": 0 },
        "memory": { "used": 0, "allocated": share.memory_mib },
    });
    node["sockets"] = (0..sockets).map(socket).collect();
    node
}

fn socket_cores(share: &NodeShare, first: usize, count: usize) -> Value {
    let word = |core: usize| match share.cores.contains(first + core) {
        true => "ALLOCATED",
        false => "UNALLOCATED",
    };
    let cores = (0..count).map(|core| json!({ "index": core, "status": [word(core)] }));
    cores.collect()
}

/// The same as v0.0.40 prints it: only what is held, and by number.
pub(super) fn old_job_resources(ctld: &Slurmctld, held: &Allocation) -> Value {
    let nodes = held.nodes.iter().map(|share| {
        let per_socket =
            ctld.node(&share.node).map_or(1, |node| node.spec.cores_per_socket as usize);
        let mut sockets = Map::new();
        for core in share.cores.iter() {
            let socket = sockets.entry((core / per_socket).to_string());
            let socket = socket.or_insert_with(|| json!({ "cores": {} }));
            socket["cores"][(core % per_socket).to_string()] = "allocated".into();
        }
        json!({
            "sockets": sockets,
            "nodename": share.node,
            "cpus_used": 0,
            "memory_used": 0,
            "memory_allocated": share.memory_mib,
        })
    });
    json!({
        "nodes": held.node_list(),
        "allocated_cores": held.cpus(),
        "allocated_cpus": 0,
        "allocated_hosts": held.nodes.len(),
        "allocated_nodes": nodes.collect::<Vec<_>>(),
    })
}

/// The devices on each node: `gpu:2(IDX:0-1)`; nodes without any aren't listed. Whoever asks for no
/// type gets an entry for each that a node has: `gpu:a100:1(IDX:0),gpu:h100:0(IDX:)`.
pub(super) fn gres_detail(ctld: &Slurmctld, job: &Job, held: &Allocation) -> Vec<String> {
    let texts = held.nodes.iter().map(|share| node_devices(ctld, job, share));
    texts.filter(|text| !text.is_empty()).collect()
}

fn node_devices(ctld: &Slurmctld, job: &Job, share: &NodeShare) -> String {
    let node = ctld.node(&share.node);
    let any =
        |name: &str| job.submission.gres.iter().any(|ask| ask.name == name && ask.kind.is_none());
    let parts = share.gres.iter().flat_map(|(name, devices)| match node {
        Some(node) => typed_devices(node, name, devices, any(name))
            .into_iter()
            .map(|(gres, own)| format!("{}(IDX:{own})", gres.with_count(own.len())))
            .collect(),
        None => vec![format!("{name}:{}(IDX:{devices})", devices.len())],
    });
    parts.collect::<Vec<_>>().join(",")
}

/// The devices of a name by type; types of which there are none only if asked for.
pub(super) fn typed_devices<'a>(
    node: &'a Node,
    name: &str,
    devices: &IndexSet,
    all: bool,
) -> Vec<(&'a GresSpec, IndexSet)> {
    let of_name = node.spec.gres.iter().filter(|gres| gres.name == name);
    let own = of_name.map(|gres| {
        let range = gres.first..gres.first + gres.count;
        (gres, devices.iter().filter(|at| range.contains(at)).collect::<IndexSet>())
    });
    own.filter(|(_, own)| all || !own.is_empty()).collect()
}

/// What an allocation adds up to.
pub(super) fn held_tres(held: &Allocation) -> Tres {
    let mut gres: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, devices) in held.nodes.iter().flat_map(|share| &share.gres) {
        *gres.entry(name).or_default() += devices.len() as u64;
    }
    Tres {
        cpus: held.cpus().into(),
        memory_mib: held.memory_mib(),
        nodes: Some(held.nodes.len() as u64),
        billing: true,
        gres: gres.into_iter().map(|(name, count)| (name.into(), count)).collect(),
    }
}

/// What a job asks for, as far as it can be said before it has nodes.
pub(super) fn asked_tres(ctld: &Slurmctld, job: &Job) -> Tres {
    let (cpus, nodes) = (asked_cpus(job), u64::from(job.min_nodes()));
    let asked = &job.submission;
    let memory_mib = match asked.memory {
        MemoryAsk::PerCpu(mib) if 0 < mib => mib * cpus,
        MemoryAsk::PerNode(mib) if 0 < mib => mib * nodes,
        MemoryAsk::Default | MemoryAsk::PerCpu(_) | MemoryAsk::PerNode(_) => {
            whole_node_memory(ctld, job) * nodes
        }
    };
    let mut gres: BTreeMap<&str, u64> = BTreeMap::new();
    for ask in &asked.gres {
        let times = match ask.per {
            GresPer::Node => nodes,
            GresPer::Socket => nodes * u64::from(asked.shape.sockets_per_node.unwrap_or(1)),
            GresPer::Task => job.tasks().into(),
            GresPer::Job => 1,
        };
        *gres.entry(&ask.name).or_default() += ask.count * times;
    }
    Tres {
        cpus,
        memory_mib,
        nodes: Some(nodes),
        billing: true,
        gres: gres.into_iter().map(|(name, count)| (name.into(), count)).collect(),
    }
}

fn asked_cpus(job: &Job) -> u64 {
    let cpus_per_task = job.submission.cpus_per_task.unwrap_or(1);
    u64::from(job.tasks()) * u64::from(cpus_per_task)
}

/// All the memory of a node of its partition: what a job gets that asks for none.
fn whole_node_memory(ctld: &Slurmctld, job: &Job) -> u64 {
    let config = ctld.config();
    let partition = config.partition(&job.partition);
    let first = partition.and_then(|partition| partition.nodes.first());
    let node = first.and_then(|place| config.nodes().get(*place));
    node.map_or(0, |node| node.memory_mib)
}
