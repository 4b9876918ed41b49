//! One node as slurmrestd prints it, every field of the recording.

use std::collections::BTreeMap;

use drawbridge_sim::{Node, Time};
use serde_json::{Value, json};

use super::{
    api::{Version, infinite},
    call::Call,
    meta,
    reply::merged,
    tres::Tres,
};

/// The node.
pub(super) fn node_json(call: &Call<'_>, node: &Node) -> Value {
    merged([hardware(call, node), held(node), service(call, node)])
}

/// What it is made of. What the model doesn't know has the recording's value.
fn hardware(call: &Call<'_>, node: &Node) -> Value {
    let spec = &node.spec;
    // What only a slurmd could tell.
    let told = |text: &str| if node.is_external() { String::new() } else { text.to_owned() };
    json!({
        "name": spec.name,
        "address": spec.address,
        "hostname": spec.hostname,
        "port": spec.port,
        "version": told(&meta::full(call.release())),
        "architecture": told("x86_64"),
        "operating_system": told("Linux"),
        "boards": spec.boards,
        "sockets": spec.sockets,
        "cores": spec.cores_per_socket,
        "threads": spec.threads,
        "cpus": spec.cpus,
        "effective_cpus": spec.effective_cpus(),
        "specialized_cores": spec.spec_cores.len(),
        "specialized_cpus": spec.spec_cpus(),
        "specialized_memory": spec.mem_spec_mib,
        "real_memory": spec.memory_mib,
        "temporary_disk": spec.tmp_disk_mib,
        "weight": spec.weight,
        "features": spec.features,
        "active_features": spec.active_features,
        "gres": node.gres(),
        "gres_drained": "N/A",
        "tres": configured(node).text(),
    })
}

/// What is held of it.
fn held(node: &Node) -> Value {
    let (spec, usage) = (&node.spec, &node.usage);
    let free = Some(spec.memory_mib.saturating_sub(usage.memory_mib));
    json!({
        "alloc_cpus": usage.cpus,
        "alloc_idle_cpus": spec.effective_cpus().saturating_sub(usage.cpus),
        "alloc_memory": usage.memory_mib,
        "gres_used": node.gres_used(),
        "tres_used": used(node).text(),
        "tres_weighted": f64::from(usage.cpus),
        "cpu_load": if node.is_external() { 0 } else { usage.cpus * 100 },
        "free_mem": free.filter(|_| !node.is_external()),
        "energy": { "current_watts": 0 },
    })
}

/// How it serves.
fn service(call: &Call<'_>, node: &Node) -> Value {
    let began = if node.is_external() { 0 } else { call.unix(Time::ZERO) };
    let mut state = node.state_flags();
    // The oldest version that 26.05 serves has no word for it.
    state.retain(|word| *word != "EXTERNAL" || Version::V43 <= call.version());
    let reason = node.reason.as_ref();
    json!({
        "state": state,
        "next_state_after_reboot": ["INVALID"],
        "reason": reason.map_or("", |reason| reason.text.as_str()),
        "reason_set_by_user": reason.map_or("", |reason| reason.by.as_str()),
        "reason_changed_at": reason.map_or(0, |reason| call.unix(reason.at)),
        "comment": node.comment,
        "extra": node.extra,
        "partitions": *node.partitions,
        "resume_after": 0,
        "tls_cert_last_renewal": 0,
        "suspend_time": infinite(),
        "boot_time": began,
        "slurmd_start_time": began,
        "last_busy": began,
    })
}

fn configured(node: &Node) -> Tres {
    let mut gres: BTreeMap<&str, u64> = BTreeMap::new();
    for each in &node.spec.gres {
        *gres.entry(&each.name).or_default() += each.count as u64;
    }
    Tres {
        cpus: node.spec.cpus.into(),
        memory_mib: node.spec.memory_mib,
        nodes: None,
        billing: true,
        gres: gres.into_iter().map(|(name, count)| (name.into(), count)).collect(),
    }
}

fn used(node: &Node) -> Tres {
    let gres = node.usage.gres.iter();
    Tres {
        cpus: node.usage.cpus.into(),
        memory_mib: node.usage.memory_mib,
        nodes: None,
        billing: false,
        gres: gres.map(|(name, devices)| (name.clone(), devices.len() as u64)).collect(),
    }
}
