//! `GET resources/{id}`: what a job holds on each node. Served from v0.0.44 on.

use drawbridge_sim::{IndexSet, NodeShare, SlurmError};
use serde_json::{Value, json};

use super::{
    call::{Answer, Call},
    job_resources::typed_devices,
    reply::{Reply, Trouble},
};

/// The layout of a job's allocation.
pub(super) fn of_job(call: &mut Call<'_>) -> Answer {
    let target = call.job_target("op_handler_resources")?;
    let what = format!("Unable to query JobId={}", target.job());
    call.connect(Reply::ok(), &what, "_handle_get")?;
    let held = call.ctld.jobs_of(&target).find(|job| job.holds_nodes());
    let Some(held) = held.and_then(|job| job.allocation.as_ref()) else {
        let error = SlurmError::InvalidJobId;
        return Err(Reply::refused(404, Trouble::slurm(error, what, "_handle_get")));
    };
    let nodes: Vec<Value> = held.nodes.iter().map(|share| layout(call, share)).collect();
    Ok(Reply::ok().with("nodes", nodes.into()))
}

fn layout(call: &Call<'_>, share: &NodeShare) -> Value {
    let spec = call.ctld.node(&share.node).map(|node| &node.spec);
    let (sockets, cores) = spec.map_or((1, 1), |spec| (spec.sockets, spec.cores_per_socket));
    let gres = call.ctld.node(&share.node).into_iter().flat_map(|node| {
        let typed = share.gres.iter();
        typed.flat_map(|(name, devices)| typed_devices(node, name, devices, false))
    });
    let gres = gres.map(|(gres, devices)| {
        json!({
            "name": gres.name, "type": gres.kind, "count": devices.len(),
            "index": devices.to_string(),
        })
    });
    json!({
        "node": share.node,
        "sockets_per_node": sockets,
        "cores_per_socket": cores,
        "mem_alloc": share.memory_mib,
        "core_bitmap": bitmap(&share.cores, (sockets * cores) as usize),
        "gres": gres.collect::<Vec<_>>(),
    })
}

/// `0x0003`: a bit for each core, the first the lowest.
fn bitmap(cores: &IndexSet, count: usize) -> String {
    let digit = |at: usize| {
        let bits = (0..4).filter(|bit| cores.contains(4 * at + bit)).map(|bit| 1 << bit);
        char::from_digit(bits.sum(), 16).unwrap_or('0').to_ascii_uppercase()
    };
    let digits: String = (0..count.div_ceil(4)).rev().map(digit).collect();
    format!("0x{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_for_each_core() {
        let cores: IndexSet = [0, 1, 8, 15].into_iter().collect();
        assert_eq!(bitmap(&cores, 16), "0x8103");
        assert_eq!(bitmap(&IndexSet::new(), 5), "0x00");
    }
}
