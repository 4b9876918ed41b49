//! I6: nothing is cancelled, drained, undrained, described or deleted that isn't ours.
//!
//! ```text
//!   slurmctld answers ──▶ the bridge decides ──▶ the request arrives
//!        └─ as of then nobody else had it         └─ and now somebody has
//! ```
//!
//! Looked at when the request arrives, against what is true there and then. Slurm's requests carry no
//! precondition, so what somebody else did after slurmctld gave the answer that the request was decided
//! on can't be known, and isn't held against the bridge. What it did before can be, and is.

use std::collections::BTreeMap;

use drawbridge_core::{CallId, Effect, NodeTarget, SlurmReply, SlurmRequest, names::REASON_PREFIX};
use drawbridge_sim::{JobId, SlurmNode, Slurmctld, Time};
use serde_json::Value;

use crate::world::process::Life;

/// The law, with the mark by which our jobs are known.
#[derive(Clone)]
pub(super) struct Ownership {
    cluster: String,
    /// When slurmctld answered a question whose answer is on its way.
    answered: BTreeMap<(Life, CallId), Time>,
    /// As of when a replica knows the nodes.
    nodes: BTreeMap<Life, Time>,
    /// As of when it knows a job.
    jobs: BTreeMap<(Life, JobId), Time>,
    /// As of when what a request is about was known to its sender, for those that are on their way.
    decided: BTreeMap<(Life, CallId), Time>,
}

impl Ownership {
    pub(super) fn new(cluster: &str) -> Self {
        Self {
            cluster: cluster.to_owned(),
            answered: BTreeMap::new(),
            nodes: BTreeMap::new(),
            jobs: BTreeMap::new(),
            decided: BTreeMap::new(),
        }
    }

    /// A replica heard an answer.
    pub(super) fn told(&mut self, life: Life, call: CallId, reply: &SlurmReply) {
        let Some(at) = self.answered.remove(&(life, call)) else { return };
        match reply {
            SlurmReply::Nodes(_) => drop(self.nodes.insert(life, at)),
            SlurmReply::Job(Some(job)) => drop(self.jobs.insert((life, job.id), at)),
            SlurmReply::Job(None)
            | SlurmReply::Jobs(_)
            | SlurmReply::Submitted { .. }
            | SlurmReply::States(_)
            | SlurmReply::Reservations(_)
            | SlurmReply::Done => {}
        }
    }

    /// A replica sends a request.
    pub(super) fn sends(&mut self, life: Life, effect: &Effect) {
        let Effect::Slurm { call, request, .. } = effect else { return };
        let known = match request {
            SlurmRequest::UpdateNode { .. }
            | SlurmRequest::DescribeNode { .. }
            | SlurmRequest::DeleteNode(_) => self.nodes.get(&life),
            SlurmRequest::Cancel { job, .. }
            | SlurmRequest::Remark { job, .. }
            | SlurmRequest::Revise { job, .. } => self.jobs.get(&(life, *job)),
            SlurmRequest::Submit(_)
            | SlurmRequest::CreateNode { .. }
            | SlurmRequest::Reservations
            | SlurmRequest::Ping
            | SlurmRequest::TestToken
            | SlurmRequest::JobStates
            | SlurmRequest::Job(_)
            | SlurmRequest::Jobs
            | SlurmRequest::Nodes => None,
        };
        if let Some(at) = known {
            self.decided.insert((life, *call), *at);
        }
    }

    /// A request arrives.
    pub(super) fn arrives(
        &mut self,
        now: Time,
        life: Life,
        effect: &Effect,
        slurm: &Slurmctld,
    ) -> Option<String> {
        let Effect::Slurm { call, request, .. } = effect else { return None };
        // What nobody is known to have asked for was decided on what is true now.
        let as_of = self.decided.get(&(life, *call)).copied().unwrap_or(now);
        match request {
            SlurmRequest::Cancel { job, .. }
            | SlurmRequest::Remark { job, .. }
            | SlurmRequest::Revise { job, .. } => self.job(*job, as_of, slurm),
            SlurmRequest::UpdateNode { node, state, .. } => Self::node(node, *state, as_of, slurm),
            SlurmRequest::DescribeNode { node, .. } => self.external(node, "described", slurm),
            SlurmRequest::DeleteNode(node) => self.external(node, "deleted", slurm),
            SlurmRequest::Nodes | SlurmRequest::Job(_) => {
                self.answered.insert((life, *call), now);
                None
            }
            SlurmRequest::Submit(_)
            | SlurmRequest::CreateNode { .. }
            | SlurmRequest::Reservations
            | SlurmRequest::Ping
            | SlurmRequest::TestToken
            | SlurmRequest::JobStates
            | SlurmRequest::Jobs => None,
        }
    }

    /// An external node that was made at run time, with our feature. One without any may be adopted,
    /// and is never deleted.
    fn external(&self, node: &SlurmNode, verb: &str, slurm: &Slurmctld) -> Option<String> {
        let found = slurm.node(node)?;
        let marks: Vec<&str> =
            found.spec.features.iter().filter_map(|it| it.strip_prefix("drawbridge-")).collect();
        let adopts = verb == "described" && marks.is_empty();
        let is_ours = found.is_external()
            && found.state_flags().contains(&"DYNAMIC_NORM")
            && (adopts || marks == [self.cluster.as_str()]);
        (!is_ours).then(|| format!("I6: the bridge {verb} node {node}, which is not its own"))
    }

    fn job(&self, job: JobId, as_of: Time, slurm: &Slurmctld) -> Option<String> {
        let found = slurm.job(job)?;
        let is_ours = is_marked(&found.submission.admin_comment, &self.cluster);
        // A number that was given out anew after the job was read.
        let is_news = as_of < found.submit_time;
        (!is_ours && !is_news)
            .then(|| format!("I6: the bridge ended or changed job {job}, which is not its own"))
    }

    fn node(node: &SlurmNode, state: NodeTarget, as_of: Time, slurm: &Slurmctld) -> Option<String> {
        // The reason stays where it is when a node comes back.
        let found = slurm.node(node).filter(|node| node.is_drained() || node.is_down())?;
        let reason = found.reason.as_ref()?;
        let text = &reason.text;
        let is_foreign = !text.is_empty() && !text.starts_with(REASON_PREFIX);
        let is_news = as_of < reason.at;
        let verb = match state {
            NodeTarget::Drain => "drained",
            NodeTarget::Undrain => "undrained",
        };
        (is_foreign && !is_news).then(|| {
            format!("I6: the bridge {verb} node {node}, which somebody else had taken out: {text}")
        })
    }
}

/// What a job's `admin_comment` says, if it is a mark of some bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) cluster: String,
    pub(crate) workload: String,
    pub(crate) pods: Vec<String>,
}

/// Whether a job's `admin_comment` is a mark of this bridge. Reads no more than it needs.
pub(super) fn is_marked(comment: &str, cluster: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Owner<'a> {
        #[serde(borrow)]
        cluster: std::borrow::Cow<'a, str>,
    }
    serde_json::from_str::<Owner<'_>>(comment).is_ok_and(|owner| owner.cluster == cluster)
}

/// Reads a mark. Written apart from the core's own reader, so that they check each other.
pub(crate) fn mark(comment: &str) -> Option<Mark> {
    let value: Value = serde_json::from_str(comment).ok()?;
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let pods = value["pods"].as_array()?.iter().filter_map(Value::as_str);
    let pods = pods.map(str::to_owned).collect();
    Some(Mark { cluster: text("cluster")?, workload: text("workload")?, pods })
}
