//! What a scenario's two clusters have: the names that the rest of the file may use.

use std::collections::BTreeSet;

use crate::{expect::Glob, format::suggest};

/// Names that exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) partitions: Vec<String>,
    pub(crate) slurm_nodes: Vec<String>,
    pub(crate) kube_nodes: Vec<String>,
    pub(crate) namespaces: BTreeSet<String>,
}

/// What is wrong, and what would be right.
pub(crate) type Wrong = (String, String);

impl Known {
    pub(crate) fn partition(&self, name: &str) -> Result<(), Wrong> {
        one_of("partition", name, &self.partitions)
    }

    pub(crate) fn slurm_node(&self, name: &str) -> Result<(), Wrong> {
        one_of("Slurm node", name, &self.slurm_nodes)
    }

    pub(crate) fn kube_node(&self, name: &str) -> Result<(), Wrong> {
        one_of("Kubernetes node", name, &self.kube_nodes)
    }

    pub(crate) fn namespace(&self, name: &str) -> Result<(), Wrong> {
        let names: Vec<String> = self.namespaces.iter().cloned().collect();
        one_of("namespace", name, &names)
    }

    pub(crate) fn namespaces_like(&self, glob: &Glob) -> Result<(), Wrong> {
        let names: Vec<String> = self.namespaces.iter().cloned().collect();
        some_like("namespace", glob, &names)
    }

    /// A pattern that fits nothing can't be what was meant.
    pub(crate) fn kube_nodes_like(&self, glob: &Glob) -> Result<(), Wrong> {
        some_like("Kubernetes node", glob, &self.kube_nodes)
    }

    pub(crate) fn slurm_nodes_like(&self, glob: &Glob) -> Result<(), Wrong> {
        some_like("Slurm node", glob, &self.slurm_nodes)
    }

    pub(crate) fn any_nodes_like(&self, glob: &Glob) -> Result<(), Wrong> {
        let all = [self.kube_nodes.as_slice(), self.slurm_nodes.as_slice()].concat();
        some_like("node", glob, &all)
    }
}

/// Checks a word against the right ones.
pub(crate) fn one_of(noun: &str, word: &str, right: &[impl AsRef<str>]) -> Result<(), Wrong> {
    if right.iter().any(|it| it.as_ref() == word) {
        return Ok(());
    }
    let hint = suggest::one_of(word, right.iter().map(AsRef::as_ref));
    Err((format!("there is no {noun} `{word}`"), hint))
}

fn some_like(noun: &str, glob: &Glob, right: &[String]) -> Result<(), Wrong> {
    if right.iter().any(|it| glob.matches(it)) {
        return Ok(());
    }
    one_of(noun, glob.as_str(), right)
}
