//! What the core is told. Every input is news: a reply, a watch event, the passing of time.
//!
//! Inputs and effects are serialisable: a journal of them replays a process exactly.

use std::sync::Arc;

use drawbridge_sim::JobId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::slurm::{NodeInfo, ObservedJob, ObservedState, Reservation};

/// Ties a reply to the effect that asked for it. Unique within one process's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u64);

/// Ties watch events to the effect that opened the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StreamId(pub u64);

/// One piece of news.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    /// The process began. Always the first input, given once.
    Started,
    /// The process is told to end. [`Effect::Exit`](crate::Effect::Exit) says when it may.
    Stopping,
    /// A point in time that [`Effect::WakeAt`](crate::Effect::WakeAt) asked for has come.
    Woke,
    /// The Kubernetes API server answered, or the request or its reply was lost.
    KubeReplied {
        /// The effect that asked.
        call: CallId,
        /// The answer, if one came.
        outcome: Result<KubeReply, Lost>,
    },
    /// An open watch said something.
    Watched {
        /// The effect that opened the watch.
        stream: StreamId,
        /// What it said.
        event: WatchEvent,
    },
    /// slurmrestd answered, refused, or could not be heard.
    SlurmReplied {
        /// The effect that asked.
        call: CallId,
        /// The answer.
        outcome: Result<SlurmReply, SlurmFault>,
    },
}

/// A reply of the Kubernetes API server, whatever its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KubeReply {
    /// HTTP status.
    pub status: u16,
    /// The object, list or `Status`.
    pub body: Arc<Value>,
}

/// No reply came: the request may or may not have taken effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// What the transport said.
    pub why: String,
}

/// One line of a watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchEvent {
    /// An object appeared.
    Added(Arc<Value>),
    /// An object changed.
    Modified(Arc<Value>),
    /// An object went away; this is its last state.
    Deleted(Arc<Value>),
    /// Nothing happened up to this resourceVersion.
    Bookmark(String),
    /// The server gave up on the watch (410 when the history is too short).
    Failed(u16),
    /// The stream ended without an error.
    Ended,
}

/// What slurmrestd answered to a [`SlurmRequest`](crate::SlurmRequest), in our own terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SlurmReply {
    /// The job was accepted under this number.
    Submitted {
        /// Its number.
        job: JobId,
    },
    /// Ids and states of every job that slurmctld remembers.
    States(Vec<(JobId, ObservedState)>),
    /// One job in full; `None` if slurmctld doesn't know it.
    Job(Option<Box<ObservedJob>>),
    /// Every job in full.
    Jobs(Vec<ObservedJob>),
    /// Every node.
    Nodes(Vec<NodeInfo>),
    /// Every reservation.
    Reservations(Vec<Reservation>),
    /// A change was made, or a question answered that asks for no more.
    Done,
}

/// Why there is no [`SlurmReply`]. Of the first four, nothing was done; of the last two nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SlurmFault {
    /// slurmctld said no.
    Refused {
        /// Slurm's error number, 0 where it gave none.
        number: i64,
        /// Slurm's own words.
        text: String,
    },
    /// The token is missing, expired or somebody else's.
    Unauthorized {
        /// Slurm's own words.
        why: String,
    },
    /// The server doesn't know the path: it serves other versions.
    NotServed {
        /// What it said.
        why: String,
    },
    /// slurmrestd, or slurmctld behind it, could not be reached.
    Unreachable {
        /// What the transport or slurmrestd said.
        why: String,
    },
    /// The reply isn't what the API promises; the request may have taken effect.
    Unintelligible {
        /// What was wrong with it.
        why: String,
    },
    /// No reply came; the request may have taken effect.
    Lost {
        /// What the transport said.
        why: String,
    },
}

impl SlurmFault {
    /// Whether the request may have taken effect nevertheless.
    pub fn leaves_doubt(&self) -> bool {
        match self {
            Self::Refused { .. }
            | Self::Unauthorized { .. }
            | Self::NotServed { .. }
            | Self::Unreachable { .. } => false,
            Self::Unintelligible { .. } | Self::Lost { .. } => true,
        }
    }
}

impl std::fmt::Display for SlurmFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { number: 0, text } => f.write_str(text),
            Self::Refused { number, text } => write!(f, "{text} (error {number})"),
            Self::Unauthorized { why } => write!(f, "the token is not accepted: {why}"),
            Self::NotServed { why } => write!(f, "not served: {why}"),
            Self::Unreachable { why } => write!(f, "out of reach: {why}"),
            Self::Unintelligible { why } => write!(f, "not understood: {why}"),
            Self::Lost { why } => write!(f, "no reply: {why}"),
        }
    }
}

impl std::error::Error for SlurmFault {}
