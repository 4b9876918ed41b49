//! What happened, in the past tense, for whoever tells the story.

use std::sync::Arc;

use serde::Serialize;

use crate::{Allocation, ExitCode, JobId, JobState, NodeState, Reason, SlurmNode, Time};

/// One thing that slurmctld did or saw.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "fact")]
pub enum Fact {
    /// A job was accepted.
    JobSubmitted {
        /// Which.
        job: JobId,
    },
    /// A waiting job's reason became another one.
    JobReasonChanged {
        /// Which.
        job: JobId,
        /// The new reason.
        reason: Reason,
    },
    /// Backfill expects a waiting job to start at another time than before.
    JobPlanned {
        /// Which.
        job: JobId,
        /// When.
        start: Time,
    },
    /// A job got its nodes.
    JobStarted {
        /// Which.
        job: JobId,
        /// What it got.
        allocation: Arc<Allocation>,
        /// Whether backfill started it past a blocked job.
        backfilled: bool,
    },
    /// A job ended; unless it is completing its nodes are free with the next fact.
    JobEnded {
        /// Which.
        job: JobId,
        /// How.
        state: JobState,
        /// How its script ended, as far as is known.
        exit: ExitCode,
        /// Whether it still holds its nodes.
        completing: bool,
    },
    /// A job's nodes became free.
    JobReleased {
        /// Which.
        job: JobId,
    },
    /// A task of an array got a record of its own.
    JobSplit {
        /// The task's number.
        job: JobId,
        /// The array's.
        array: JobId,
        /// Which task it is.
        task: u32,
    },
    /// A job went back to the queue.
    JobRequeued {
        /// Which.
        job: JobId,
        /// Not before.
        begin: Time,
    },
    /// A job was held or released, or its request changed.
    JobChanged {
        /// Which.
        job: JobId,
        /// What became of it, in words.
        change: String,
    },
    /// A finished job was forgotten.
    JobPurged {
        /// Which.
        job: JobId,
    },
    /// A node's state became another one.
    NodeChanged {
        /// Which.
        node: SlurmNode,
        /// As sinfo prints it: `mix`, `drng`.
        state: NodeState,
        /// Why it is drained or down; empty if it isn't.
        reason: String,
    },
}
