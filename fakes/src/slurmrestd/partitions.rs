//! Partitions, as slurm.conf describes them.

use std::collections::BTreeMap;

use drawbridge_sim::{
    MemoryDefault, OverSubscribe, PartitionSpec, Release, SlurmConfig, Span, fold_hostlist,
};
use serde_json::{Value, json};

use super::{
    api::{Version, infinite},
    call::{Answer, Call, UNREADABLE},
    reply::{Reply, Trouble, Warning},
    tres::Tres,
};

const REJECTED: &str = "Rejecting request. Failure parsing query";

/// `GET partitions`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let source = call.by_release("op_handler_partitions", "_partitions_get");
    let since = call.update_time(UNREADABLE, REJECTED, source)?;
    connect(call)?;
    if since.is_some_and(|since| call.partitions_changed() <= since) {
        return Ok(Reply::not_modified());
    }
    let (config, version) = (call.ctld.config(), call.version());
    let all = config.partitions().iter();
    let all: Vec<Value> = all.map(|it| partition_json(version, config, it)).collect();
    Ok(with_partitions(call, all))
}

/// `GET partition/{name}`.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let source = call.by_release("op_handler_partition", "_partition_get");
    let since = call.update_time(UNREADABLE, REJECTED, source)?;
    connect(call)?;
    if since.is_some_and(|since| call.partitions_changed() <= since) {
        return Ok(Reply::not_modified());
    }
    let (config, version) = (call.ctld.config(), call.version());
    let Some(partition) = config.partition(&call.name.into()) else {
        return Err(unknown(call, source));
    };
    Ok(with_partitions(call, vec![partition_json(version, config, partition)]))
}

/// slurmrestd forgets to say why.
fn connect(call: &Call<'_>) -> Result<(), Reply> {
    if call.trusted { Ok(()) } else { Err(Reply::status(511)) }
}

fn unknown(call: &Call<'_>, source: &str) -> Reply {
    let what = format!("Unable to find partition {}", call.name);
    match call.release() {
        Release::V24_11 => Reply::refused(422, Trouble::query(what, source)),
        Release::V26_05 => {
            let warning = Warning { description: what, source: source.into() };
            with_partitions(call, vec![]).warning(&warning)
        }
    }
}

fn with_partitions(call: &Call<'_>, partitions: Vec<Value>) -> Reply {
    let parser = "DATA_PARSER_OPENAPI_PARTITIONS_QUERY";
    Reply::ok()
        .with("partitions", partitions.into())
        .with("last_update", call.partitions_changed().into())
        .warnings(&call.query_warnings(parser))
}

fn partition_json(version: Version, config: &SlurmConfig, partition: &PartitionSpec) -> Value {
    let names = partition.nodes.iter().filter_map(|place| config.nodes().get(*place));
    let names: Vec<&str> = names.map(|node| node.name.as_str()).collect();
    let tres = configured(config, partition);
    let mut json = json!({
        "name": partition.name,
        "nodes": { "configured": fold_hostlist(&names), "total": names.len() },
        "node_sets": partition.nodes_text,
        "partition": {
            "state": [partition.state.as_str()],
            "exclusive": exclusive(partition),
            "oversubscribe": oversubscribe(partition),
        },
        "priority": {
            "job_factor": partition.priority_job_factor,
            "tier": partition.priority_tier,
        },
        "cpus": { "total": tres.cpus },
        "tres": { "configured": tres.text() },
        "defaults": defaults(partition),
        "maximums": maximums(version, partition),
        "minimums": { "nodes": partition.min_nodes },
        "accounts": {
            "allowed": words(partition.access.accounts.as_ref()),
            "deny": words(partition.access.denied_accounts.as_ref()),
        },
        "groups": { "allowed": words(partition.access.groups.as_ref()) },
        "qos": {
            "allowed": words(partition.access.qos.as_ref()),
            "deny": words(partition.access.denied_qos.as_ref()),
        },
        "alternate": partition.alternate,
        "grace_time": partition.grace_time.as_secs(),
    });
    if Version::V45 <= version {
        json["flags"] = flags(partition).into();
        json["preempt_mode"] = json!(["CLUSTER_GLOBAL"]);
        json["select_type"] = json!(["NONE"]);
    }
    json
}

fn words(list: Option<&Vec<String>>) -> String {
    list.map_or(String::new(), |list| list.join(","))
}

const fn exclusive(partition: &PartitionSpec) -> &'static str {
    match (partition.exclusive, partition.exclusive_user) {
        (true, _) => "NODE",
        (false, true) => "USER",
        (false, false) => "NO",
    }
}

const fn oversubscribe(partition: &PartitionSpec) -> &'static str {
    match partition.oversubscribe {
        OverSubscribe::No => "NO",
        OverSubscribe::Exclusive => "EXCLUSIVE",
        OverSubscribe::Yes(_) => "YES",
        OverSubscribe::Force(_) => "FORCE",
    }
}

/// How many jobs may share a core.
const fn shares(version: Version, partition: &PartitionSpec) -> u32 {
    match (partition.oversubscribe, version) {
        (OverSubscribe::No, Version::V45) | (OverSubscribe::Exclusive, _) => 0,
        (OverSubscribe::No, _older) => 1,
        (OverSubscribe::Yes(jobs) | OverSubscribe::Force(jobs), _) => jobs,
    }
}

const fn forced(partition: &PartitionSpec) -> &'static [&'static str] {
    match partition.oversubscribe {
        OverSubscribe::Force(_) => &["force"],
        OverSubscribe::No | OverSubscribe::Exclusive | OverSubscribe::Yes(_) => &[],
    }
}

fn flags(partition: &PartitionSpec) -> Vec<&'static str> {
    let flags = [
        ("DEFAULT", partition.default),
        ("HIDDEN", partition.hidden),
        ("ROOT_ONLY", partition.access.root_only),
        ("REQ_RESV", partition.access.needs_reservation),
        ("LLN", partition.lln),
    ];
    flags.into_iter().filter_map(|(word, set)| set.then_some(word)).collect()
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
        "time": partition.default_time.map(minutes),
    })
}

fn maximums(version: Version, partition: &PartitionSpec) -> Value {
    let (raw, per_cpu, per_node) = memory(partition.max_mem);
    json!({
        "cpus_per_node": partition.max_cpus_per_node.map_or_else(infinite, Into::into),
        "cpus_per_socket": partition.max_cpus_per_socket.map_or_else(infinite, Into::into),
        "memory_per_cpu": raw,
        "partition_memory_per_cpu": per_cpu,
        "partition_memory_per_node": per_node,
        "nodes": partition.max_nodes.map_or_else(infinite, Into::into),
        "shares": shares(version, partition),
        "oversubscribe": { "jobs": shares(version, partition), "flags": forced(partition) },
        "time": partition.max_time.map_or_else(infinite, |time| minutes(time).into()),
    })
}

/// The raw number (with Slurm's high bit for "per CPU"), per CPU, per node.
fn memory(default: Option<MemoryDefault>) -> (u64, Option<u64>, Option<u64>) {
    const PER_CPU: u64 = 0x8000_0000_0000_0000;
    match default {
        None => (0, None, Some(0)),
        Some(MemoryDefault::PerNode(mib)) => (mib, None, Some(mib)),
        Some(MemoryDefault::PerCpu(mib)) => (PER_CPU | mib, Some(mib), None),
    }
}

const fn minutes(span: Span) -> u64 {
    span.as_secs() / 60
}
