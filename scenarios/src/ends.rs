//! What became of every workload that people made, as its owner would put it.
//!
//! ```text
//!   Pod         its phase; bound or not
//!   Job, JobSet Complete or Failed; else whether anything of it runs
//!   the others  all replicas ready: it runs; else it waits
//! ```
//!
//! What isn't there any more is in no map. A reference model predicts the same from the scenario alone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{object::Object, world::World};

/// How a workload ended, or how it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It did what it was to do.
    Succeeded,
    /// It failed.
    Failed,
    /// It runs, all of it.
    Runs,
    /// Some of it waits.
    Waits,
    /// It isn't there.
    Gone,
}

/// The kinds that people make, with the resource that holds them.
pub const KINDS: [(&str, &str); 7] = [
    ("Pod", "pods"),
    ("Job", "jobs.batch"),
    ("Deployment", "deployments.apps"),
    ("ReplicaSet", "replicasets.apps"),
    ("StatefulSet", "statefulsets.apps"),
    ("JobSet", "jobsets.jobset.x-k8s.io"),
    ("LeaderWorkerSet", "leaderworkersets.leaderworkerset.x-k8s.io"),
];

/// Whether a controller of the twin made it. Pods of other people's operators are given by hand.
fn is_made(object: Object<'_>) -> bool {
    let makes = |name: &str| {
        let kind = name.split('/').next().unwrap_or_default();
        ["DaemonSet", "CronJob"].contains(&kind) || KINDS.iter().any(|(known, _)| *known == kind)
    };
    object.controller().is_some_and(|(_, name)| makes(&name))
}

impl World {
    /// All workloads of these kinds that no controller made, as `Kind namespace/name`.
    pub fn ends(&self) -> BTreeMap<String, End> {
        let mut ends = BTreeMap::new();
        for (kind, resource) in KINDS {
            for object in self.cluster().api().list(resource).map(|object| Object(object)) {
                if !is_made(object) {
                    ends.insert(format!("{kind} {}", object.key()), self.end_of(kind, object));
                }
            }
        }
        ends
    }

    fn end_of(&self, kind: &str, object: Object<'_>) -> End {
        match kind {
            "Pod" => pod(object),
            "Job" | "JobSet" => {
                let holds = |kind: &str| {
                    object.condition(kind).is_some_and(|it| it.text(&["status"]) == Some("True"))
                };
                match () {
                    () if holds("Complete") || holds("Completed") => End::Succeeded,
                    () if holds("Failed") => End::Failed,
                    () if self.any_runs(object) => End::Runs,
                    () => End::Waits,
                }
            }
            _ => {
                let number = |path: &[&str]| object.at(path).and_then(Value::as_u64);
                let wanted = number(&["spec", "replicas"]).unwrap_or(1);
                let ready = number(&["status", "readyReplicas"]).unwrap_or(0);
                if wanted <= ready { End::Runs } else { End::Waits }
            }
        }
    }

    /// Whether a pod that it owns, or that something owns which it owns, runs.
    fn any_runs(&self, object: Object<'_>) -> bool {
        let owner = format!("/{}", object.name());
        let rows = self.frame().pods;
        rows.iter().any(|row| {
            row.namespace == object.namespace()
                && row.phase == "Running"
                && row.owner.as_ref().is_some_and(|it| it.ends_with(&owner))
        })
    }
}

fn pod(pod: Object<'_>) -> End {
    match (pod.phase(), pod.node()) {
        ("Succeeded", _) => End::Succeeded,
        ("Failed", _) => End::Failed,
        (_, Some(_)) => End::Runs,
        (_, None) => End::Waits,
    }
}
