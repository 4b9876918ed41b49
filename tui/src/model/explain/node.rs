//! A node of either side.

use drawbridge_scenarios::{Frame, NodeRow, Subject};

use super::{
    Explanation, both_names,
    waiting::{holders, some_of, unusable},
};

/// Explains a node.
pub(super) fn node(frame: &Frame, node: &NodeRow) -> Explanation {
    let mut facts = vec![("state", node.state.clone())];
    facts.extend(node.reason.clone().map(|reason| ("reason", reason)));
    facts.extend(node.cordoned.then(|| ("cordoned", "yes, in Kubernetes".to_owned())));
    facts.push(("CPUs", format!("{} of {}", node.cpus_alloc, node.cpus)));
    facts.push(("memory", format!("{} of {} MiB", node.memory_alloc_mb, node.memory_mb)));
    if !node.gres.is_empty() {
        let held = if node.gres_alloc.is_empty() { "none" } else { &node.gres_alloc };
        facts.push(("gres", format!("{held} of {}", node.gres)));
    }
    facts.extend((!node.pods.is_empty()).then(|| ("pods", some_of(node.pods.clone()).join(", "))));
    let slurm = node.slurm_name.clone();
    Explanation {
        title: format!("node {}", both_names(&node.name, slurm.as_ref())),
        why: node_why(frame, node),
        facts,
        subjects: [Subject::KubeNode(node.name.clone())]
            .into_iter()
            .chain(slurm.map(Subject::SlurmNode))
            .collect(),
        chain: Vec::new(),
    }
}

fn node_why(frame: &Frame, node: &NodeRow) -> Vec<String> {
    let here = std::slice::from_ref(node);
    let mut why = match node.slurm_name {
        Some(_) => unusable(here),
        None => vec!["Slurm doesn't know it; only the default scheduler uses it.".to_owned()],
    };
    why.extend(holders(frame, here));
    if why.is_empty() {
        why.push("It is free.".to_owned());
    }
    why
}
