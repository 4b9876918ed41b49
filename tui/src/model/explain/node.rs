//! A node of either side.

use drawbridge_scenarios::{NodeRow, Subject};

use super::{
    Explanation, both_names,
    waiting::{holders, some_of, unusable},
};
use crate::model::scene::Scene;

/// Explains a node.
pub(super) fn node(scene: Scene<'_>, node: &NodeRow) -> Explanation {
    let mut facts = vec![("state", node.state.clone())];
    facts.extend(node.reason.clone().map(|reason| ("reason", reason)));
    facts.extend(node.cordoned.then(|| ("cordoned", "yes, in Kubernetes".to_owned())));
    facts.push(("CPUs", format!("{} of {}", node.cpus_alloc, node.cpus)));
    facts.push(("memory", format!("{} of {} MiB", node.memory_alloc_mb, node.memory_mb)));
    if !node.gres.is_empty() {
        let held = if node.gres_alloc.is_empty() { "none" } else { &node.gres_alloc };
        facts.push(("gres", format!("{held} of {}", node.gres)));
    }
    let listed = |what: &'static str, all: &[String]| {
        let text = some_of(all.iter().cloned()).join(", ");
        (!all.is_empty()).then_some((what, text))
    };
    facts.extend(listed("partitions", &node.partitions));
    facts.extend(node.switch.clone().map(|switch| ("switch", switch)));
    facts.extend(listed("pods", &node.pods));
    let slurm = node.slurm_name.clone();
    Explanation {
        title: format!("node {}", both_names(&node.name, slurm.as_ref())),
        why: node_why(scene, &[node]),
        facts,
        subjects: [Subject::KubeNode(node.name.clone())]
            .into_iter()
            .chain(slurm.map(Subject::SlurmNode))
            .collect(),
        ..Explanation::default()
    }
}

fn node_why(scene: Scene<'_>, nodes: &[&NodeRow]) -> Vec<String> {
    let mut why = match nodes.iter().any(|node| node.slurm_name.is_some()) {
        true => unusable(nodes),
        false => vec!["Slurm doesn't know it; only the default scheduler uses it.".to_owned()],
    };
    why.extend(holders(scene, nodes));
    if why.is_empty() {
        why.push("It is free.".to_owned());
    }
    why
}
