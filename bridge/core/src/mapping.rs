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
    TwoPlaces {
        slurm: SlurmNode,
        one: Answer,
        other: Answer,
    },
    /// Two Slurm nodes, one place.
    #[error("Slurm nodes {one} and {other} are both {answer}")]
    OnePlace {
        one: SlurmNode,
        other: SlurmNode,
        answer: Answer,
    },
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
        match (
            known.evidence == Evidence::EqualNames,
            answer.evidence == Evidence::EqualNames,
        ) {
            (true, _) => drop(taken.insert(answer.node.clone(), (slurm, answer))),
            (false, true) => {}
            (false, false) => {
                let (one, other) = (first.clone(), slurm);
                let conflict = Conflict::OnePlace {
                    one: one.clone(),
                    other: other.clone(),
                    answer,
                };
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

    pub(crate) fn conflicts(&self) -> &BTreeMap<SlurmNode, Conflict> {
        &self.conflicts
    }
}

/// All answers for every Slurm node, best evidence first.
fn answers(
    store: &Store,
    slurm: &BTreeMap<SlurmNode, NodeInfo>,
) -> BTreeMap<SlurmNode, Vec<Answer>> {
    let mut answers: BTreeMap<SlurmNode, Vec<Answer>> = slurm
        .keys()
        .map(|name| (name.clone(), Vec::new()))
        .collect();
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
    for worker in store
        .workers()
        .filter(|worker| store.node(&worker.node).is_some())
    {
        for name in &worker.names {
            add(
                name,
                worker.node.clone(),
                Evidence::Worker(worker.pod.clone()),
            );
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
            answers.push(Answer {
                node: same,
                evidence: Evidence::EqualNames,
            });
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
        Some(other) => Err(Conflict::TwoPlaces {
            slurm: slurm.clone(),
            one,
            other,
        }),
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
