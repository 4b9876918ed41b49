//! Which Kubernetes node is which Slurm node, as the twin itself knows it.
//!
//! Written apart from the core's mapping, so that the two check each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::Object;

/// Both names of every machine, by every kind of evidence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    by_kube: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    /// Learns from a Kubernetes node: its label, or its own name.
    pub(crate) fn learn_node(&mut self, node: Object<'_>) {
        let label = node.text(&["metadata", "labels", "slinky.slurm.net/slurm-nodename"]);
        self.insert(node.name(), label.unwrap_or(node.name()));
    }

    /// Learns from a pod, if it is a NodeSet's worker that runs somewhere.
    pub(crate) fn learn_worker(&mut self, pod: Object<'_>) {
        let label = pod.text(&["metadata", "labels", "nodeset.slinky.slurm.net/pod-hostname"]);
        if let (Some(slurm_name), Some(node)) = (label, pod.node()) {
            self.insert(node, slurm_name);
        }
    }

    fn insert(&mut self, kube: &str, slurm: &str) {
        self.by_kube.entry(kube.to_owned()).or_default().insert(slurm.to_owned());
    }

    /// The names that Slurm may know a Kubernetes node by.
    pub(crate) fn slurm_names(&self, kube: &str) -> impl Iterator<Item = &str> {
        self.by_kube.get(kube).into_iter().flatten().map(String::as_str)
    }

    /// Slurm's names to Kubernetes' names.
    pub(crate) fn by_slurm(&self) -> BTreeMap<&str, &str> {
        let pairs = self.by_kube.iter();
        pairs
            .flat_map(|(kube, all)| all.iter().map(|slurm| (slurm.as_str(), kube.as_str())))
            .collect()
    }
}
