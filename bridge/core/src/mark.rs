//! The mark on our Slurm jobs: `admin_comment` as JSON.
//!
//! A job is ours by cluster id and workload uid, never by its number: numbers come back after
//! Slurm lost its state, and other clusters have jobs of their own on the same Slurm.

use serde::{Deserialize, Serialize};

use crate::{
    gang::Gang,
    names::{ObjectKey, Uid},
};

/// The mark's version that we write and read.
const VERSION: u32 = 1;

/// What we write on a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The Kubernetes cluster.
    pub(crate) cluster: String,
    /// CPUs of each task: how the allocation divides among the pods.
    pub(crate) cpus: u32,
    /// Ranks go round the nodes instead of filling one after the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cyclic: bool,
    /// It has no script, so it hears no signals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) external: bool,
    /// What binds its pods together; nothing if there is one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gang: Option<Gang>,
    /// So many of its pods must start together; all of them if it doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) minimum: Option<usize>,
    /// At most so many tasks on one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) per_node: Option<u32>,
    /// How the pods of an external job ended: Slurm itself only knows that it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Outcome>,
    /// The pods, in rank order.
    pub(crate) pods: Vec<ObjectKey>,
    /// What was asked for, in short: tells whether the job is still as it should be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) request: String,
    version: u32,
    /// The pod's uid, or the group's.
    pub(crate) workload: Uid,
}

/// How a workload ended, or that its job didn't serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    /// We cancelled the job ourselves, because its nodes were of no use; the pods still wait.
    GivenBack,
}

impl Mark {
    pub(crate) fn new(cluster: &str, workload: Uid, pods: Vec<ObjectKey>, cpus: u32) -> Self {
        Self {
            cluster: cluster.into(),
            cpus,
            cyclic: false,
            external: false,
            gang: None,
            minimum: None,
            per_node: None,
            outcome: None,
            pods,
            request: String::new(),
            version: VERSION,
            workload,
        }
    }

    /// The same mark, on a gang's job.
    pub(crate) fn gang(self, gang: Option<Gang>, minimum: usize) -> Self {
        let minimum = gang.as_ref().map(|_| minimum).filter(|it| *it < self.pods.len());
        Self { gang, minimum, ..self }
    }

    /// The same mark, on a job that was asked for so.
    pub(crate) fn request(self, request: String) -> Self {
        Self { request, ..self }
    }

    /// The same mark, with other pods.
    pub(crate) fn pods(self, pods: Vec<ObjectKey>) -> Self {
        Self { pods, ..self }
    }

    /// How many of its pods must start together.
    pub(crate) fn minimum(&self) -> usize {
        self.minimum.unwrap_or(self.pods.len()).max(1)
    }

    /// The same mark, on a job with or without a script.
    pub(crate) fn external(self, external: bool) -> Self {
        Self { external, ..self }
    }

    /// The same mark, with how it ended.
    pub(crate) fn ended(self, outcome: Outcome) -> Self {
        Self { outcome: Some(outcome), ..self }
    }

    /// The same mark, with ranks that go round the nodes.
    pub(crate) fn cyclic(self, cyclic: bool) -> Self {
        Self { cyclic, ..self }
    }

    /// The same mark, with a bound on tasks on one node.
    pub(crate) fn per_node(self, per_node: Option<u32>) -> Self {
        Self { per_node, ..self }
    }

    /// Reads a mark of this cluster. Anything else is somebody else's and none of our business.
    pub(crate) fn read(admin_comment: &str, cluster: &str) -> Option<Self> {
        let mark: Self = serde_json::from_str(admin_comment).ok()?;
        (mark.cluster == cluster && mark.version == VERSION).then_some(mark)
    }

    pub(crate) fn text(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_as_it_was_written() {
        let mark = Mark::new("c1", "u1".into(), vec![ObjectKey::new("a", "b")], 4);
        insta::assert_snapshot!(mark.text(), @r#"{"cluster":"c1","cpus":4,"pods":["a/b"],"version":1,"workload":"u1"}"#);
        assert_eq!(Mark::read(&mark.text(), "c1"), Some(mark.clone()));
        let over = mark.external(true).ended(Outcome::Failed);
        insta::assert_snapshot!(over.text(), @r#"{"cluster":"c1","cpus":4,"external":true,"outcome":"failed","pods":["a/b"],"version":1,"workload":"u1"}"#);
        assert_eq!(Mark::read(&over.text(), "c1"), Some(over));
    }

    #[test]
    fn what_is_not_our_mark_is_nobodys_business() {
        let ours = Mark::new("c1", "u1".into(), vec![], 1).text();
        let rows = [
            ("another cluster's job", ours.clone(), "c2"),
            ("an empty object", "{}".into(), "c1"),
            ("the existing bridge's mark", r#"{"pods":["a/b"]}"#.into(), "c1"),
            ("text", "do not touch".into(), "c1"),
            ("nothing", String::new(), "c1"),
            ("a newer mark", ours.replace(r#""version":1"#, r#""version":2"#), "c1"),
        ];
        for (what, text, cluster) in rows {
            assert_eq!(Mark::read(&text, cluster), None, "{what}");
        }
    }
}
