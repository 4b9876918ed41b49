//! Which Slurm node is which Kubernetes node, and how we know.
//!
//! ```text
//!  label on the Kubernetes node ─┐
//!  NodeSet's worker pod ─────────┼─▶ one answer: mapped · two that differ: a conflict, never used
//!  comment of the Slurm node ────┘
//!  none of them ─▶ equal names
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use drawbridge_sim::SlurmNode;
use serde_json::Value;

use crate::{
    names::{KubeNode, ObjectKey, SLURM_NODE_LABEL},
    slurm::NodeInfo,
    store::Store,
};

/// Both names of every machine that has two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    to_kube: BTreeMap<SlurmNode, KubeNode>,
    to_slurm: BTreeMap<KubeNode, SlurmNode>,
    conflicts: BTreeMap<SlurmNode, Conflict>,
}

/// One answer to where a Slurm node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    node: KubeNode,
    evidence: Evidence,
}

/// How we know.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Evidence {
    Label,
    Worker(ObjectKey),
    Comment,
    EqualNames,
}

/// Answers that can't all be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Conflict {
    /// One Slurm node, two places.
    #[error("Slurm node {slurm} is {one} but {other}")]
    TwoPlaces { slurm: SlurmNode, one: Answer, other: Answer },
    /// Two Slurm nodes, one place.
    #[error("Slurm nodes {one} and {other} are both {answer}")]
    OnePlace { one: SlurmNode, other: SlurmNode, answer: Answer },
}

impl Mapping {
    /// Weighs all the evidence.
    pub(crate) fn of(store: &Store, slurm: &BTreeMap<SlurmNode, NodeInfo>) -> Self {
        let answers = answers(store, slurm);
        let mut mapping = Self::default();
        let mut taken: BTreeMap<KubeNode, (SlurmNode, Answer)> = BTreeMap::new();
        for (slurm, answers) in answers {
            match settle(&slurm, answers) {
                Err(conflict) => drop(mapping.conflicts.insert(slurm, conflict)),
                Ok(None) => {}
                Ok(Some(answer)) => mapping.claim(&mut taken, slurm, answer),
            }
        }
        for (kube, (slurm, _)) in taken {
            if !mapping.conflicts.contains_key(&slurm) {
                mapping.to_kube.insert(slurm.clone(), kube.clone());
                mapping.to_slurm.insert(kube, slurm);
            }
        }
        mapping
    }

    fn claim(
        &mut self,
        taken: &mut BTreeMap<KubeNode, (SlurmNode, Answer)>,
        slurm: SlurmNode,
        answer: Answer,
    ) {
        let Some((first, known)) = taken.get(&answer.node) else {
            taken.insert(answer.node.clone(), (slurm, answer));
            return;
        };
        // A name that merely looks the same gives way to evidence.
        match (known.evidence == Evidence::EqualNames, answer.evidence == Evidence::EqualNames) {
            (true, _) => drop(taken.insert(answer.node.clone(), (slurm, answer))),
            (false, true) => {}
            (false, false) => {
                let (one, other) = (first.clone(), slurm);
                let conflict =
                    Conflict::OnePlace { one: one.clone(), other: other.clone(), answer };
                self.conflicts.insert(one, conflict.clone());
                self.conflicts.insert(other, conflict);
            }
        }
    }

    pub(crate) fn kube(&self, slurm: &SlurmNode) -> Option<&KubeNode> {
        self.to_kube.get(slurm)
    }

    pub(crate) fn slurm(&self, kube: &KubeNode) -> Option<&SlurmNode> {
        self.to_slurm.get(kube)
    }

    /// The dispute that keeps a Kubernetes node out of use.
    pub(crate) fn conflict_about(&self, kube: &KubeNode) -> Option<&Conflict> {
        self.conflicts.values().find(|conflict| match conflict {
            Conflict::TwoPlaces { one, other, .. } => [&one.node, &other.node].contains(&kube),
            Conflict::OnePlace { answer, .. } => answer.node == *kube,
        })
    }

    pub(crate) fn conflicts(&self) -> &BTreeMap<SlurmNode, Conflict> {
        &self.conflicts
    }
}

/// All answers for every Slurm node, best evidence first.
fn answers(
    store: &Store,
    slurm: &BTreeMap<SlurmNode, NodeInfo>,
) -> BTreeMap<SlurmNode, Vec<Answer>> {
    let mut answers: BTreeMap<SlurmNode, Vec<Answer>> =
        slurm.keys().map(|name| (name.clone(), Vec::new())).collect();
    let mut add = |name: &str, node: KubeNode, evidence: Evidence| {
        if let Some(answers) = answers.get_mut(name) {
            answers.push(Answer { node, evidence });
        }
    };
    let mut labelled = BTreeSet::new();
    for node in store.nodes() {
        if let Some(name) = node.metadata.labels.get(SLURM_NODE_LABEL) {
            labelled.insert(node.name());
            add(name, node.name(), Evidence::Label);
        }
    }
    for worker in store.workers().filter(|worker| store.node(&worker.node).is_some()) {
        for name in &worker.names {
            add(name, worker.node.clone(), Evidence::Worker(worker.pod.clone()));
        }
    }
    for info in slurm.values() {
        if let Some(node) = node_in(&info.comment).filter(|node| store.node(node).is_some()) {
            add(info.name.as_str(), node, Evidence::Comment);
        }
    }
    for (name, answers) in &mut answers {
        let same = KubeNode::from(name.as_str());
        if answers.is_empty() && store.node(&same).is_some() && !labelled.contains(&same) {
            answers.push(Answer { node: same, evidence: Evidence::EqualNames });
        }
    }
    answers
}

/// The Kubernetes node that a NodeSet's operator wrote into the Slurm node's comment.
fn node_in(comment: &str) -> Option<KubeNode> {
    let comment: Value = serde_json::from_str(comment).ok()?;
    Some(comment.get("node")?.as_str()?.into())
}

fn settle(slurm: &SlurmNode, answers: Vec<Answer>) -> Result<Option<Answer>, Conflict> {
    let mut answers = answers.into_iter();
    let Some(one) = answers.next() else {
        return Ok(None);
    };
    match answers.find(|other| other.node != one.node) {
        None => Ok(Some(one)),
        Some(other) => Err(Conflict::TwoPlaces { slurm: slurm.clone(), one, other }),
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = &self.node;
        match &self.evidence {
            Evidence::Label => write!(f, "{node} by that node's label"),
            Evidence::Worker(pod) => write!(f, "{node} by worker pod {pod}"),
            Evidence::Comment => write!(f, "{node} by its comment in Slurm"),
            Evidence::EqualNames => write!(f, "{node} by its name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Kubernetes nodes as `name` or `name=label`, workers as `slurm@node`, Slurm nodes as `name`
    /// or `name:node in its comment`.
    fn mapped(nodes: &str, workers: &str, slurm: &str) -> String {
        let mut store = Store::default();
        for node in nodes.split_whitespace() {
            let (name, label) = node.split_once('=').unzip();
            let name = name.unwrap_or(node);
            let labels = label.map_or(json!({}), |label| json!({ SLURM_NODE_LABEL: label }));
            let meta = json!({ "name": name, "uid": name, "labels": labels });
            store.put_node(serde_json::from_value(json!({ "metadata": meta })).unwrap());
        }
        for worker in workers.split_whitespace() {
            let (slurm, node) = worker.split_once('@').unwrap();
            let labels = json!({ crate::names::WORKER_LABEL: slurm });
            let name = format!("worker-{slurm}");
            let meta = json!({ "name": name, "namespace": "s", "uid": worker, "labels": labels });
            let pod = json!({ "metadata": meta, "spec": { "nodeName": node } });
            store.put_worker(&serde_json::from_value(pod).unwrap());
        }
        let infos = slurm.split_whitespace().map(|node| {
            let (name, comment) = node.split_once(':').unzip();
            let name = SlurmNode::from(name.unwrap_or(node));
            let comment = comment.map_or(String::new(), |at| json!({ "node": at }).to_string());
            (name.clone(), info(name, comment))
        });
        let mapping = Mapping::of(&store, &infos.collect());
        let pairs = mapping.to_kube.iter().map(|(slurm, kube)| format!("{slurm}={kube}"));
        let conflicts: BTreeSet<_> = mapping.conflicts.values().map(ToString::to_string).collect();
        pairs.chain(conflicts).collect::<Vec<_>>().join("; ")
    }

    fn info(name: SlurmNode, comment: String) -> NodeInfo {
        NodeInfo {
            name,
            state: Vec::new(),
            reason: String::new(),
            comment,
            partitions: Vec::new(),
            cpus: 1,
            memory_mib: 1,
            gres: String::new(),
            features: Vec::new(),
            topology: String::new(),
        }
    }

    #[test]
    fn the_best_evidence_counts_and_answers_that_differ_are_an_error() {
        #[rustfmt::skip]
        let rows = [
            // Kubernetes    workers     Slurm     mapping
            ("n1 n2",        "",         "n1 n3",  "n1=n1"),
            ("k1=n1",        "",         "n1",     "n1=k1"),
            ("k1",           "n1@k1",    "n1",     "n1=k1"),
            ("k1",           "",         "n1:k1",  "n1=k1"),
            ("k1=n1",        "n1@k1",    "n1:k1",  "n1=k1"),
            ("n1 k1",        "n1@k1",    "n1",     "n1=k1"),
            ("n1=n2 n2=n1",  "",         "n1 n2",  "n1=n2; n2=n1"),
            ("k1",           "n1@gone",  "n1",     ""),
            ("k1=n1 k2",     "n1@k2",    "n1",     "Slurm node n1 is k1 by that node's label but k2 by worker pod s/worker-n1"),
            ("k1=n1 k2=n1",  "",         "n1",     "Slurm node n1 is k1 by that node's label but k2 by that node's label"),
            ("k1 k2",        "n1@k1",    "n1:k2",  "Slurm node n1 is k1 by worker pod s/worker-n1 but k2 by its comment in Slurm"),
            ("k1",           "n1@k1 n2@k1", "n1 n2", "Slurm nodes n1 and n2 are both k1 by worker pod s/worker-n2"),
            ("n1",           "n2@n1",    "n1 n2",  "n2=n1"),
        ];
        for (nodes, workers, slurm, expected) in rows {
            assert_eq!(mapped(nodes, workers, slurm), expected, "{nodes} | {workers} | {slurm}");
        }
    }
}
