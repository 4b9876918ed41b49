//! What the core wants done. Every effect is a command, and exactly one request.
//!
//! Whoever performs effects decides nothing: no retry, no back-off, no second request.

mod words;

use drawbridge_sim::{JobId, SlurmNode, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    input::{CallId, StreamId},
    slurm::{Submission, Via},
};

/// One command to the outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Send this to the Kubernetes API server; answer with
    /// [`Input::KubeReplied`](crate::Input::KubeReplied).
    Kube {
        /// Comes back with the reply.
        call: CallId,
        /// Until when it counts.
        limits: Limits,
        /// The request.
        request: KubeRequest,
    },
    /// Open this watch; answer with [`Input::Watched`](crate::Input::Watched) until it ends.
    /// A watch that can't be opened answers `Failed` or `Ended`.
    KubeWatch {
        /// Comes back with each event.
        stream: StreamId,
        /// The request; `watch=true` is in its query.
        request: KubeRequest,
    },
    /// Close this watch: nobody listens to it any more.
    Unwatch {
        /// The effect that opened it.
        stream: StreamId,
    },
    /// Send this to slurmrestd; answer with [`Input::SlurmReplied`](crate::Input::SlurmReplied).
    Slurm {
        /// Comes back with the reply.
        call: CallId,
        /// To which of them, and in which version of the API.
        via: Via,
        /// Until when it counts.
        limits: Limits,
        /// The request.
        request: SlurmRequest,
    },
    /// Give [`Input::Woke`](crate::Input::Woke) at this time. Replaces the wake-up asked for before.
    WakeAt(Time),
    /// Another leads now, or may: end this life, with its watches and requests, and begin the next.
    StepDown,
    /// Everything is done that had to be done before the process may end.
    Exit,
}

/// Until when a request counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// It must not be sent after this, because another may lead by then: answer that it wasn't.
    pub send_by: Time,
    /// After this nobody waits for the reply any more: give up, and hang up.
    pub reply_by: Time,
}

/// One HTTP request to the Kubernetes API server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeRequest {
    /// What to do.
    pub method: Method,
    /// For example `/api/v1/namespaces/a/pods/b/binding`.
    pub path: String,
    /// Query parameters, in order, not yet escaped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<(String, String)>,
    /// What to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

/// HTTP methods, with the patch types that we use as methods of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    /// Read, list or watch.
    Get,
    /// Create.
    Post,
    /// Replace.
    Put,
    /// `application/merge-patch+json`.
    MergePatch,
    /// `application/json-patch+json`.
    JsonPatch,
    /// `application/strategic-merge-patch+json`.
    StrategicPatch,
    /// Delete.
    Delete,
}

/// One request to slurmrestd, in our own terms; the wire form is the shell's business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SlurmRequest {
    /// Is this version served? Answered whatever the token.
    Ping,
    /// Is the token accepted? Something small that slurmctld itself answers.
    TestToken,
    /// Submit a job.
    Submit(Box<Submission>),
    /// Ids and states of all jobs.
    JobStates,
    /// One job in full.
    Job(JobId),
    /// All jobs in full.
    Jobs,
    /// Cancel a job, or send it a signal.
    Cancel {
        /// Which.
        job: JobId,
        /// `None` cancels; otherwise a name such as `USR1`.
        signal: Option<String>,
    },
    /// Write something else on a job of ours.
    Remark {
        /// Which.
        job: JobId,
        /// Its new `admin_comment`.
        admin_comment: String,
    },
    /// Make another request of a job that waits.
    Revise {
        /// Which.
        job: JobId,
        /// What was asked for before, where that is known: only what differs is sent.
        from: Option<Box<Submission>>,
        /// What it should be. Its script stays.
        to: Box<Submission>,
    },
    /// All nodes.
    Nodes,
    /// Change a node's state.
    UpdateNode {
        /// Which.
        node: SlurmNode,
        /// What to.
        state: NodeTarget,
        /// The reason to record.
        reason: String,
    },
    /// Make a node, in the words of slurm.conf.
    CreateNode {
        /// Which.
        node: SlurmNode,
        /// `NodeName=… CPUs=… State=External`.
        words: String,
    },
    /// Say something else about a node.
    DescribeNode {
        /// Which.
        node: SlurmNode,
        /// Its features, if they change.
        features: Option<Vec<String>>,
        /// Its place in the topology, if it changes.
        topology: Option<String>,
    },
    /// Delete a node that was made.
    DeleteNode(SlurmNode),
    /// All reservations.
    Reservations,
}

/// The node states that we ever ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeTarget {
    /// Take no new jobs.
    Drain,
    /// Take new jobs again, unless the node is down: who took it down brings it back.
    Undrain,
}
