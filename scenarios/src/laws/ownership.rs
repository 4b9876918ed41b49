//! I6: nothing is cancelled, drained, resumed, described or deleted that isn't ours.
//!
//! Looked at when the request arrives, against what is true there and then.

use drawbridge_core::{NodeTarget, SlurmRequest, names::REASON_PREFIX};
use drawbridge_sim::{JobId, SlurmNode, Slurmctld};
use serde_json::Value;

/// The law, with the mark by which our jobs are known.
#[derive(Clone)]
pub(super) struct Ownership {
    cluster: String,
}

impl Ownership {
    pub(super) fn new(cluster: &str) -> Self {
        Self { cluster: cluster.to_owned() }
    }

    pub(super) fn check(&self, request: &SlurmRequest, slurm: &Slurmctld) -> Option<String> {
        match request {
            SlurmRequest::Cancel { job, .. }
            | SlurmRequest::Remark { job, .. }
            | SlurmRequest::Revise { job, .. } => self.job(*job, slurm),
            SlurmRequest::UpdateNode { node, state, .. } => Self::node(node, *state, slurm),
            SlurmRequest::DescribeNode { node, .. } => self.external(node, "described", slurm),
            SlurmRequest::DeleteNode(node) => self.external(node, "deleted", slurm),
            SlurmRequest::Submit(_)
            | SlurmRequest::CreateNode { .. }
            | SlurmRequest::Reservations
            | SlurmRequest::Ping
            | SlurmRequest::TestToken
            | SlurmRequest::JobStates
            | SlurmRequest::Job(_)
            | SlurmRequest::Jobs
            | SlurmRequest::Nodes => None,
        }
    }

    fn job(&self, job: JobId, slurm: &Slurmctld) -> Option<String> {
        let comment = &slurm.job(job)?.submission.admin_comment;
        let is_ours = is_marked(comment, &self.cluster);
        (!is_ours)
            .then(|| format!("I6: the bridge ended or changed job {job}, which is not its own"))
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

    fn node(node: &SlurmNode, state: NodeTarget, slurm: &Slurmctld) -> Option<String> {
        // The reason stays where it is when a node comes back.
        let found = slurm.node(node).filter(|node| node.is_drained() || node.is_down())?;
        let reason = &found.reason.as_ref()?.text;
        let is_foreign = !reason.is_empty() && !reason.starts_with(REASON_PREFIX);
        let verb = match state {
            NodeTarget::Drain => "drained",
            NodeTarget::Resume => "resumed",
        };
        is_foreign.then(|| {
            format!(
                "I6: the bridge {verb} node {node}, which somebody else had taken out: {reason}"
            )
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
