//! Nodes as v0.0.42 describes and changes them.

use drawbridge_core::{NodeTarget, slurm::NodeInfo};
use drawbridge_sim::{PartitionName, SlurmNode};
use serde_json::{Value, json};

use crate::slurm::wire::{self, Garbled};

/// The body of a change. A resumed node keeps no reason: slurmctld clears it.
pub(super) fn update(state: NodeTarget, reason: &str) -> Value {
    match state {
        NodeTarget::Drain => json!({"state": ["DRAIN"], "reason": reason}),
        NodeTarget::Resume => json!({"state": ["RESUME"]}),
    }
}

/// The nodes of `nodes`.
pub(super) fn nodes(body: &Value) -> Result<Vec<NodeInfo>, Garbled> {
    let nodes = wire::list(body, "nodes")?.iter().enumerate();
    nodes.map(|(i, node)| one(node).map_err(|error| error.within(&format!("nodes[{i}]")))).collect()
}

fn one(node: &Value) -> Result<NodeInfo, Garbled> {
    Ok(NodeInfo {
        name: SlurmNode::from(wire::text(node, "name")?),
        state: wire::words(&node["state"]).map(str::to_owned).collect(),
        reason: wire::text_or_empty(node, "reason"),
        comment: wire::text_or_empty(node, "comment"),
        partitions: wire::words(&node["partitions"]).map(PartitionName::from).collect(),
        cpus: wire::small(node, "cpus")?,
        memory_mib: wire::number(&node["real_memory"])
            .ok_or_else(|| Garbled::new("real_memory", "a whole number"))?,
        gres: wire::text_or_empty(node, "gres"),
    })
}
