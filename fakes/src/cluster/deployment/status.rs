//! The status of a Deployment: counts, and whether it's available and progressing.

use std::sync::Arc;

use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use super::{
    super::{
        object::{Moment, count, items, some, text, time},
        replica_set::replicas,
    },
    limits,
};

/// The status that is being worked out.
#[derive(Clone, Debug)]
pub(super) struct Status<'a> {
    at: Moment,
    it: &'a Value,
    pub(super) conditions: Vec<Value>,
}

/// `progressDeadlineSeconds` of a Deployment that has none.
const NO_DEADLINE: u64 = i32::MAX as u64;

impl<'a> Status<'a> {
    pub(super) fn of(at: Moment, it: &'a Value) -> Self {
        Self { at, it, conditions: items(&it["status"]["conditions"]).to_vec() }
    }

    fn condition(&self, kind: &str) -> Option<&Value> {
        self.conditions.iter().find(|it| it["type"] == kind)
    }

    fn reason(&self) -> &str {
        self.condition("Progressing").map_or("", |it| text(&it["reason"]))
    }

    /// Sets a condition, unless its status and reason are there already. What changed is last.
    fn set(&mut self, kind: &str, is: &str, reason: &str, message: &str) {
        let same = |it: &&Value| it["status"] == is && it["reason"] == reason;
        if self.condition(kind).filter(same).is_none() {
            self.put(kind, is, reason, message);
        }
    }

    fn put(&mut self, kind: &str, is: &str, reason: &str, message: &str) {
        let stamp = Value::from(self.at.stamp());
        let old = self.condition(kind).filter(|it| it["status"] == is);
        let since = old.map_or(stamp.clone(), |it| it["lastTransitionTime"].clone());
        self.remove(kind);
        self.conditions.push(json!({
            "type": kind, "status": is, "reason": reason, "message": message,
            "lastUpdateTime": stamp, "lastTransitionTime": since,
        }));
    }

    fn remove(&mut self, kind: &str) {
        self.conditions.retain(|it| it["type"] != kind);
    }

    fn deadline_seconds(&self) -> Option<u64> {
        let secs = self.it["spec"]["progressDeadlineSeconds"].as_u64().unwrap_or(600);
        (secs != NO_DEADLINE).then_some(secs)
    }

    /// A paused Deployment makes no progress, and isn't late for it.
    pub(super) fn pause(&mut self) {
        let late = self.reason() == "ProgressDeadlineExceeded";
        if self.deadline_seconds().is_none() || late {
            return;
        }
        let told = self.reason() == "DeploymentPaused";
        match (self.it["spec"]["paused"] == true, told) {
            (true, false) => {
                self.set("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused");
            }
            (false, true) => {
                let message = "Deployment is resumed";
                self.set("Progressing", "Unknown", "DeploymentResumed", message);
            }
            (true, true) | (false, false) => {}
        }
    }

    /// The ReplicaSet of today's template was found where nothing was said of it yet.
    pub(super) fn found(&mut self, set: &Value) {
        if self.deadline_seconds().is_some() && self.condition("Progressing").is_none() {
            let message = format!("Found new replica set \"{}\"", text(&set["metadata"]["name"]));
            self.set("Progressing", "True", "FoundNewReplicaSet", &message);
        }
    }

    /// The ReplicaSet of today's template is being created.
    pub(super) fn created(&mut self, set: &Value) {
        if self.deadline_seconds().is_some() {
            let message = format!("Created new replica set \"{}\"", text(&set["metadata"]["name"]));
            self.set("Progressing", "True", "NewReplicaSetCreated", &message);
        }
    }

    /// The counts, and whether enough pods are there.
    pub(super) fn count(&mut self, new: Option<&Value>, sets: &[Arc<Value>]) -> Value {
        let sum = |field: &str| sets.iter().map(|set| count(&set["status"][field])).sum::<u64>();
        let asked: u64 = sets.iter().map(|set| replicas(set)).sum();
        let available = sum("availableReplicas");
        let limits = limits(self.it);
        if limits.want.saturating_sub(limits.unavailable) <= available {
            let message = "Deployment has minimum availability.";
            self.set("Available", "True", "MinimumReplicasAvailable", message);
        } else {
            let message = "Deployment does not have minimum availability.";
            self.set("Available", "False", "MinimumReplicasUnavailable", message);
        }
        let terminating = sets.iter().any(|set| set["status"]["terminatingReplicas"].is_u64());
        json!({
            "observedGeneration": self.it["metadata"]["generation"],
            "replicas": some(sum("replicas")),
            "updatedReplicas": some(new.map_or(0, |set| count(&set["status"]["replicas"]))),
            "readyReplicas": some(sum("readyReplicas")),
            "availableReplicas": some(available),
            "unavailableReplicas": some(asked.saturating_sub(available)),
            "terminatingReplicas": terminating.then(|| sum("terminatingReplicas")),
        })
    }

    /// Judges the rollout by what moved since the last look.
    pub(super) fn judge(&mut self, counts: &Value, new: Option<&Value>, sets: &[Arc<Value>]) {
        if self.deadline_seconds().is_none() {
            self.remove("Progressing");
        }
        let settled = count(&counts["replicas"]) == count(&counts["updatedReplicas"])
            && self.reason() == "NewReplicaSetAvailable";
        if self.deadline_seconds().is_some() && !settled {
            self.progress(counts, new);
        }
        let failure = new.into_iter().chain(sets.iter().map(|set| &**set)).find_map(|set| {
            items(&set["status"]["conditions"]).iter().find(|it| it["type"] == "ReplicaFailure")
        });
        match failure {
            Some(it) => {
                let [reason, message] = ["reason", "message"].map(|key| text(&it[key]).to_owned());
                self.set("ReplicaFailure", text(&it["status"]), &reason, &message);
            }
            None => self.remove("ReplicaFailure"),
        }
    }

    fn progress(&mut self, counts: &Value, new: Option<&Value>) {
        let name = match new {
            Some(set) => format!("ReplicaSet \"{}\"", text(&set["metadata"]["name"])),
            None => format!("Deployment \"{}\"", text(&self.it["metadata"]["name"])),
        };
        if complete(self.it, counts) {
            let message = format!("{name} has successfully progressed.");
            self.set("Progressing", "True", "NewReplicaSetAvailable", &message);
        } else if moved(&self.it["status"], counts) {
            let message = format!("{name} is progressing.");
            self.put("Progressing", "True", "ReplicaSetUpdated", &message);
        } else if self.is_late() {
            let message = format!("{name} has timed out progressing.");
            self.set("Progressing", "False", "ProgressDeadlineExceeded", &message);
        }
    }

    fn is_late(&self) -> bool {
        match self.reason() {
            "" | "NewReplicaSetAvailable" => false,
            "ProgressDeadlineExceeded" => true,
            _ => self.deadline().is_some_and(|deadline| deadline < self.at.now),
        }
    }

    fn deadline(&self) -> Option<Time> {
        let last = &self.condition("Progressing")?["lastUpdateTime"];
        Some(time(self.at.epoch, last)? + Span::secs(self.deadline_seconds()?))
    }

    /// When to look whether the rollout is late, unless it moves before.
    pub(super) fn look_again(&self, counts: &Value) -> Option<Time> {
        let over = ["NewReplicaSetAvailable", "ProgressDeadlineExceeded"].contains(&self.reason());
        let again = self.deadline()? + Span::secs(1);
        Some(again).filter(|again| !over && !complete(self.it, counts) && self.at.now < *again)
    }
}

/// Whether everything wanted is there, new and usable, and nothing else.
pub(super) fn complete(it: &Value, counts: &Value) -> bool {
    let want = limits(it).want;
    let all = ["replicas", "updatedReplicas", "availableReplicas"];
    all.iter().all(|field| count(&counts[*field]) == want)
        && count(&it["metadata"]["generation"]) <= count(&counts["observedGeneration"])
}

fn moved(before: &Value, now: &Value) -> bool {
    let more = |field: &str| count(&before[field]) < count(&now[field]);
    let old = |it: &Value| count(&it["replicas"]).saturating_sub(count(&it["updatedReplicas"]));
    ["updatedReplicas", "readyReplicas", "availableReplicas"].into_iter().any(more)
        || old(now) < old(before)
}
