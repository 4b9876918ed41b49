//! What happened, one record at a time.
//!
//! Records are the run's only account of itself: the story that people read, the JSON lines of
//! `--events`, the events in the TUI and the hash chain are all made from them.

use std::fmt;

use drawbridge_sim::{JobId, Time};
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Counts from 0.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// Who did it.
    pub actor: Actor,
    /// Whether a person wants to read it.
    pub level: Level,
    /// What it was done to.
    pub subject: Subject,
    /// The sentence, in the past tense, without actor and time.
    pub text: String,
    /// A hash of everything that the sentence leaves out; 0 where it leaves nothing out.
    pub digest: u64,
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Actor {
    /// The person in the scenario: steps.
    User,
    /// The Kubernetes API server, its controllers and its default scheduler.
    Kube,
    /// A kubelet.
    Kubelet,
    /// The bridge.
    Bridge,
    /// slurmctld.
    Slurm,
    /// The twin itself: crashes, faults, violations.
    Twin,
}

/// How much a record matters to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// Part of the story.
    Story,
    /// Needed to follow causes: requests, polls, bookkeeping.
    Detail,
}

/// What a record is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    /// A pod.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A Slurm job.
    Job(JobId),
    /// A Kubernetes node.
    KubeNode(String),
    /// A Slurm node.
    SlurmNode(String),
    /// Any other Kubernetes object, as `kind namespace/name`.
    Object(String),
    /// The bridge process.
    Bridge,
    /// The twin.
    Twin,
}

impl Actor {
    /// The name that the story prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kube => "kube",
            Self::Kubelet => "kubelet",
            Self::Bridge => "bridge",
            Self::Slurm => "slurm",
            Self::Twin => "twin",
        }
    }
}

/// One line of the story.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {:<7}  {}", self.at, self.actor.name(), self.text)
    }
}
