//! What the bridge did, in the past tense, for whoever tells the story.

use std::fmt;

use drawbridge_sim::{JobId, SlurmNode};
use serde::{Deserialize, Serialize};

use crate::names::{KubeNode, ObjectKey};

/// One thing that the bridge did or came to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeFact {
    /// What it is about.
    pub subject: FactSubject,
    /// Whether it is told elsewhere too.
    pub weight: Weight,
    /// The sentence, without a subject: `submitted job 7 for pod a/b`.
    pub text: String,
}

/// Whether a fact is the first that one hears of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    /// Only the bridge can tell it.
    News,
    /// An object in Kubernetes shows it as well.
    Echo,
}

/// What a fact is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FactSubject {
    /// A pod, by `namespace/name`.
    Pod(ObjectKey),
    /// A gang, by its group's `namespace/name`.
    Gang(ObjectKey),
    /// A Slurm job.
    Job(JobId),
    /// A Kubernetes node.
    KubeNode(KubeNode),
    /// A Slurm node.
    SlurmNode(SlurmNode),
    /// The bridge itself.
    Bridge,
}

impl fmt::Display for BridgeFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for FactSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(key) => write!(f, "pod {key}"),
            Self::Gang(key) => write!(f, "gang {key}"),
            Self::Job(job) => write!(f, "job {job}"),
            Self::KubeNode(node) => write!(f, "node {node}"),
            Self::SlurmNode(node) => write!(f, "Slurm node {node}"),
            Self::Bridge => f.write_str("the bridge"),
        }
    }
}
