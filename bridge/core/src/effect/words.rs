//! Requests in words, for logs and for dry runs.

use std::fmt;

use super::{KubeRequest, Method, NodeTarget, SlurmRequest};
use crate::explain;

/// How much of a body is shown.
const LONGEST: usize = 300;

impl SlurmRequest {
    /// Whether it only asks.
    pub fn reads_only(&self) -> bool {
        match self {
            Self::Ping
            | Self::TestToken
            | Self::JobStates
            | Self::Job(_)
            | Self::Jobs
            | Self::Nodes
            | Self::Reservations => true,
            Self::Submit(_)
            | Self::Cancel { .. }
            | Self::Remark { .. }
            | Self::Revise { .. }
            | Self::UpdateNode { .. }
            | Self::CreateNode { .. }
            | Self::DescribeNode { .. }
            | Self::DeleteNode(_) => false,
        }
    }
}

impl fmt::Display for SlurmRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ping => f.write_str("ping slurmrestd"),
            Self::TestToken => f.write_str("try the token"),
            Self::Submit(job) => {
                write!(f, "submit job {} ({})", job.name, explain::shape(job))?;
                if let Some(partition) = &job.partition {
                    write!(f, " to partition {partition}")?;
                }
                match &job.excluded_nodes[..] {
                    [] => Ok(()),
                    nodes => write!(f, " without {} nodes", nodes.len()),
                }
            }
            Self::JobStates => f.write_str("read the states of all jobs"),
            Self::Job(job) => write!(f, "read job {job}"),
            Self::Jobs => f.write_str("read all jobs"),
            Self::Cancel { job, signal: None } => write!(f, "cancel job {job}"),
            Self::Cancel { job, signal: Some(signal) } => write!(f, "send {signal} to job {job}"),
            Self::Remark { job, .. } => write!(f, "write on job {job} what became of its pods"),
            Self::Revise { job, to, .. } => write!(f, "change job {job} to {}", explain::shape(to)),
            Self::Nodes => f.write_str("read all Slurm nodes"),
            Self::UpdateNode { node, state: NodeTarget::Drain, reason } => {
                write!(f, "drain Slurm node {node}: {reason}")
            }
            Self::UpdateNode { node, state: NodeTarget::Undrain, .. } => {
                write!(f, "resume Slurm node {node}")
            }
            Self::CreateNode { words, .. } => write!(f, "create a Slurm node: {words}"),
            Self::DescribeNode { node, features, topology } => {
                write!(f, "describe Slurm node {node}:")?;
                if let Some(features) = features {
                    write!(f, " features {}", features.join(","))?;
                }
                topology.as_ref().map_or(Ok(()), |topology| write!(f, " topology {topology}"))
            }
            Self::DeleteNode(node) => write!(f, "delete Slurm node {node}"),
            Self::Reservations => f.write_str("read all reservations"),
        }
    }
}

impl KubeRequest {
    /// Whether it only asks.
    pub fn reads_only(&self) -> bool {
        self.method == Method::Get
    }
}

impl fmt::Display for KubeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.trim_start_matches("/apis/").trim_start_matches("/api/v1/");
        let verb = match self.method {
            Method::Get => "read",
            Method::Post => "create",
            Method::Put => "replace",
            Method::MergePatch | Method::JsonPatch | Method::StrategicPatch => "patch",
            Method::Delete => "delete",
        };
        match (path.strip_suffix("/binding"), &self.body) {
            (Some(pod), Some(body)) => {
                let node = body["target"]["name"].as_str().unwrap_or("a node");
                write!(f, "bind {pod} to {node}")
            }
            (_, Some(body)) if self.method != Method::Post => {
                let body = body.to_string();
                let shown: String = body.chars().take(LONGEST).collect();
                let rest = if shown.len() < body.len() { "…" } else { "" };
                write!(f, "{verb} {path} with {shown}{rest}")
            }
            (_, _) => write!(f, "{verb} {path}"),
        }
    }
}
