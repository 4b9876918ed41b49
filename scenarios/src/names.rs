//! Which Kubernetes node is which Slurm node, as the twin itself knows it.
//!
//! Written apart from the core's mapping, so that the two check each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::Object;

/// Both names of every machine, by every kind of evidence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    by_kube: BTreeMap<String, BTreeSet<String>>,
    by_slurm: BTreeMap<String, String>,
}

impl Names {
    /// Learns from a Kubernetes node: its label, or its own name.
    pub(crate) fn learn_node(&mut self, node: Object<'_>) {
        let label = node.text(&["metadata", "labels", "slinky.slurm.net/slurm-nodename"]);
        self.insert(node.name(), label.unwrap_or(node.name()));
    }

    /// Learns from a pod, if it is a NodeSet's worker that runs somewhere. Returns whether it is.
    pub(crate) fn learn_worker(&mut self, pod: Object<'_>) -> bool {
        let label = pod.text(&["metadata", "labels", "nodeset.slinky.slurm.net/pod-hostname"]);
        let (Some(slurm_name), Some(node)) = (label, pod.node()) else { return false };
        self.insert(node, slurm_name);
        true
    }

    fn insert(&mut self, kube: &str, slurm: &str) {
        if self.by_kube.entry(kube.to_owned()).or_default().insert(slurm.to_owned()) {
            // Of several that claim to be it, the last by name is.
            let last = self.by_slurm.entry(slurm.to_owned()).or_default();
            if last.as_str() < kube {
                kube.clone_into(last);
            }
        }
    }

    /// The names that Slurm may know a Kubernetes node by.
    pub(crate) fn slurm_names(&self, kube: &str) -> impl Iterator<Item = &str> {
        self.by_kube.get(kube).into_iter().flatten().map(String::as_str)
    }

    /// Slurm's names to Kubernetes' names.
    pub(crate) const fn by_slurm(&self) -> &BTreeMap<String, String> {
        &self.by_slurm
    }
}
