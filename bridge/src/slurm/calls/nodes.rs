//! Nodes: listed, read, changed, created, deleted.

use drawbridge_core::{SlurmFault, slurm::ApiVersion};
use serde::Serialize;
use serde_json::json;

use super::{Call, Listed, Listing, Unserved, list, served, slurm};
use crate::slurm::{
    http::{HttpRequest, escape},
    reply::{Envelope, Reply},
    types::{Node, Number},
};

/// All nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes;

/// One node; `None` if slurmctld doesn't know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeByName(pub String);

/// Changes a node: only what is set.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateNode {
    /// Which; a host list is allowed.
    pub node: String,
    /// How it shall be.
    pub change: NodeChange,
}

/// How a node shall be.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "named as on the wire")]
pub struct NodeChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features_act: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gres: Option<String>,
    /// `DRAIN`, `RESUME`, `DOWN` …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it is in the topology; since v0.0.43.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_str: Option<String>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_after: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Number>,
}

/// Creates a node from a line as `slurm.conf` has it: `NodeName=ext1 CPUs=8 State=EXTERNAL`. Served
/// since v0.0.44.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateNode(pub String);

/// Deletes a node that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteNode(pub String);

impl Call for Nodes {
    type Answer = Listing<Node>;
    const NAME: &'static str = "nodes";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, "nodes")))
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?)
    }
}

impl Listed for Nodes {
    type Item = Node;
}

impl Call for NodeByName {
    type Answer = Option<Node>;
    const NAME: &'static str = "node";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::get(slurm(version, &format!("node/{}", escape(&self.0)))))
    }

    /// An unknown node gets status 200 and an error without a number.
    fn despite(&self, reply: &Reply<'_>, envelope: &Envelope) -> Option<Self::Answer> {
        let unknown = reply.is_good() && envelope.errors.first()?.error_number == 0;
        unknown.then_some(None)
    }

    fn read(&self, reply: &Reply<'_>) -> Result<Self::Answer, SlurmFault> {
        Ok(list(reply)?.items.into_iter().next())
    }
}

impl Call for UpdateNode {
    type Answer = ();
    const NAME: &'static str = "node.update";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        if self.change.topology_str.is_some() {
            served::since(served::TOPOLOGY, version)?;
        }
        let path = slurm(version, &format!("node/{}", escape(&self.node)));
        Ok(HttpRequest::post(path, json!(self.change)))
    }

    fn read(&self, _reply: &Reply<'_>) -> Result<(), SlurmFault> {
        Ok(())
    }
}

impl Call for CreateNode {
    type Answer = ();
    const NAME: &'static str = "node.create";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        served::since(served::NEW_NODE, version)?;
        Ok(HttpRequest::post(slurm(version, "new/node/"), json!({"node_conf": self.0})))
    }

    fn read(&self, _reply: &Reply<'_>) -> Result<(), SlurmFault> {
        Ok(())
    }
}

impl Call for DeleteNode {
    type Answer = ();
    const NAME: &'static str = "node.delete";

    fn request(&self, version: ApiVersion) -> Result<HttpRequest, Unserved> {
        Ok(HttpRequest::delete(slurm(version, &format!("node/{}", escape(&self.0)))))
    }

    fn read(&self, _reply: &Reply<'_>) -> Result<(), SlurmFault> {
        Ok(())
    }
}
