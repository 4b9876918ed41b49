//! Partitions, as slurm.conf describes them.

use std::collections::BTreeMap;

use drawbridge_sim::{MemoryDefault, PartitionSpec, SlurmConfig, Span, fold_hostlist};
use serde_json::{Value, json};

use super::{
    call::{Call, UNREADABLE},
    number::{infinite, number, unset},
    reply::{Reply, Trouble},
    tres::Tres,
};

/// `GET partitions`.
pub(super) fn list(call: &mut Call<'_>) -> Reply {
    let since = match call.update_time() {
        Ok(since) => since,
        Err(trouble) => {
            let rejected = "Rejecting request. Failure parsing query";
            return Reply::refused(UNREADABLE, trouble)
                .error(UNREADABLE, Trouble::query(rejected, "op_handler_partitions"));
        }
    };
    if since.is_some_and(|since| changed(call) <= since) {
        return Reply::not_modified();
    }
    let config = call.ctld.config();
    let all = config.partitions().iter();
    let partitions: Vec<Value> = all.map(|partition| partition_json(config, partition)).collect();
    with_partitions(call, partitions)
}

/// `GET partition/{name}`.
pub(super) fn one(call: &mut Call<'_>, name: &str) -> Reply {
    let config = call.ctld.config();
    let Some(partition) = config.partition(&name.into()) else {
        let what = format!("Unable to find partition {name}");
        return Reply::refused(422, Trouble::query(what, "op_handler_partition"));
    };
    let since = call.update_time().ok().flatten();
    if since.is_some_and(|since| changed(call) <= since) {
        return Reply::not_modified();
    }
    with_partitions(call, vec![partition_json(config, partition)])
}

/// Partitions don't change: they are as old as the run.
fn changed(call: &Call<'_>) -> u64 {
    call.unix(drawbridge_sim::Time::ZERO)
}

fn with_partitions(call: &Call<'_>, partitions: Vec<Value>) -> Reply {
    let parser = "DATA_PARSER_OPENAPI_PARTITIONS_QUERY";
    Reply::ok()
        .with("partitions", partitions.into())
        .with("last_update", number(changed(call)))
        .warnings(&call.query_warnings(parser, &["update_time", "flags"]))
}

fn partition_json(config: &SlurmConfig, partition: &PartitionSpec) -> Value {
    let names = partition.nodes.iter().filter_map(|place| config.nodes().get(*place));
    let names: Vec<&str> = names.map(|node| node.name.as_str()).collect();
    let tres = configured(config, partition);
    json!({
        "name": partition.name,
        "nodes": {
            "allowed_allocation": "",
            "configured": fold_hostlist(&names),
            "total": names.len(),
        },
        "node_sets": partition.nodes_text,
        "partition": { "state": [partition.state.as_str()] },
        "priority": {
            "job_factor": partition.priority_job_factor,
            "tier": partition.priority_tier,
        },
        "cpus": { "task_binding": 0, "total": tres.cpus },
        "tres": { "billing_weights": "", "configured": tres.text() },
        "defaults": defaults(partition),
        "maximums": maximums(partition),
        "minimums": { "nodes": partition.min_nodes },
        "accounts": { "allowed": "", "deny": "" },
        "groups": { "allowed": "" },
        "qos": { "allowed": "", "deny": "", "assigned": "" },
        "alternate": "",
        "cluster": "",
        "select_type": [],
        "grace_time": 0,
        "timeouts": { "resume": unset(), "suspend": unset() },
        "suspend_time": unset(),
    })
}

fn configured(config: &SlurmConfig, partition: &PartitionSpec) -> Tres {
    let mut tres =
        Tres { nodes: Some(partition.nodes.len() as u64), billing: true, ..Tres::default() };
    let mut gres: BTreeMap<&str, u64> = BTreeMap::new();
    for node in partition.nodes.iter().filter_map(|place| config.nodes().get(*place)) {
        tres.cpus += u64::from(node.cpus);
        tres.memory_mib += node.memory_mib;
        for each in &node.gres {
            *gres.entry(&each.name).or_default() += each.count as u64;
        }
    }
    tres.gres = gres.into_iter().map(|(name, count)| (name.into(), count)).collect();
    tres
}

fn defaults(partition: &PartitionSpec) -> Value {
    let (raw, per_cpu, per_node) = memory(partition.def_mem);
    json!({
        "memory_per_cpu": raw,
        "partition_memory_per_cpu": per_cpu,
        "partition_memory_per_node": per_node,
        "time": partition.default_time.map_or_else(unset, |time| number(minutes(time))),
        "job": "",
    })
}

fn maximums(partition: &PartitionSpec) -> Value {
    let (raw, per_cpu, per_node) = memory(partition.max_mem);
    json!({
        "cpus_per_node": infinite(),
        "cpus_per_socket": infinite(),
        "memory_per_cpu": raw,
        "partition_memory_per_cpu": per_cpu,
        "partition_memory_per_node": per_node,
        "nodes": partition.max_nodes.map_or_else(infinite, |nodes| number(nodes.into())),
        "shares": if partition.exclusive { 0 } else { 1 },
        "oversubscribe": { "jobs": if partition.exclusive { 0 } else { 1 }, "flags": [] },
        "time": partition.max_time.map_or_else(infinite, |time| number(minutes(time))),
        "over_time_limit": unset(),
    })
}

/// The raw number (with Slurm's high bit for "per CPU"), per CPU, per node.
fn memory(default: Option<MemoryDefault>) -> (u64, Value, Value) {
    const PER_CPU: u64 = 0x8000_0000_0000_0000;
    match default {
        None => (0, unset(), number(0)),
        Some(MemoryDefault::PerNode(mib)) => (mib, unset(), number(mib)),
        Some(MemoryDefault::PerCpu(mib)) => (PER_CPU | mib, number(mib), unset()),
    }
}

const fn minutes(span: Span) -> u64 {
    span.as_secs() / 60
}
