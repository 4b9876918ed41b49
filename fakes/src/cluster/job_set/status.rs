//! What a JobSet says about itself: its conditions, its restarts, and the state of its groups.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    super::{
        object::{Moment, changed, count, items, text},
        plan::{Plan, Subject, patch},
    },
    COMPONENT, USER,
    children::{Children, group},
    path,
};

/// The status as it will be, and what is told of it once it's written.
pub(super) struct Status {
    conditions: Vec<Value>,
    restarts: u64,
    /// The restarts that count towards the most that are allowed.
    pub(super) counted: u64,
    terminal: Option<&'static str>,
    groups: BTreeMap<String, Group>,
    /// Whether it worries, the reason, the message.
    told: Vec<(bool, String, String)>,
}

/// How many Jobs of one replicated job are how far.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    ready: u64,
    active: u64,
    suspended: u64,
    succeeded: u64,
    failed: u64,
}

impl Group {
    fn started(self) -> u64 {
        self.ready + self.succeeded + self.failed
    }
}

impl Status {
    pub(super) fn of(it: &Value, children: &Children<'_>) -> Self {
        let names =
            items(&it["spec"]["replicatedJobs"]).iter().map(|it| text(&it["name"]).to_owned());
        let mut groups: BTreeMap<String, Group> = names.map(|it| (it, Group::default())).collect();
        let mut each = |jobs: &[&Arc<Value>], tally: &dyn Fn(&mut Group, &Value)| {
            for job in jobs {
                if let Some(group) = groups.get_mut(text(group(job))) {
                    tally(group, job);
                }
            }
        };
        each(&children.active, &count_active);
        each(&children.successful, &|group, _| group.succeeded += 1);
        each(&children.failed, &|group, _| group.failed += 1);
        Self {
            conditions: items(&it["status"]["conditions"]).to_vec(),
            restarts: count(&it["status"]["restarts"]),
            counted: count(&it["status"]["restartsCountTowardsMax"]),
            terminal: None,
            groups,
            told: vec![],
        }
    }

    fn group(&self, group: &Value) -> Group {
        self.groups.get(text(&group["name"])).copied().unwrap_or_default()
    }

    /// Whether all Jobs of a replicated job have begun.
    pub(super) fn started(&self, group: &Value) -> bool {
        self.group(group).started() == count(&group["replicas"])
    }

    /// Whether what a replicated job depends on is as far as it asks.
    pub(super) fn may_start(&self, group: &Value, replicas: &BTreeMap<&str, u64>) -> bool {
        items(&group["dependsOn"]).iter().all(|on| {
            let Some(it) = self.groups.get(text(&on["name"])) else { return false };
            let wanted = replicas.get(text(&on["name"])).copied().unwrap_or(0);
            match text(&on["status"]) {
                "Complete" => it.succeeded == wanted,
                _ => it.started() == wanted,
            }
        })
    }

    /// Whether every Job is ready or has succeeded.
    pub(super) fn all_ready(&self, it: &Value) -> bool {
        let wanted: u64 =
            items(&it["spec"]["replicatedJobs"]).iter().map(|it| count(&it["replicas"])).sum();
        wanted == self.groups.values().map(|it| it.ready + it.succeeded).sum::<u64>()
    }

    pub(super) fn completed(&mut self) {
        let message = "jobset completed successfully";
        self.set("Completed", true, "AllJobsCompleted", message, false);
        self.not_restarting("JobSetCompleted", message);
        self.terminal = Some("Completed");
    }

    pub(super) fn failed(&mut self, reason: &str, message: &str) {
        self.set("Failed", true, reason, message, true);
        self.not_restarting("JobSetFailed", "jobset failed");
        self.terminal = Some("Failed");
    }

    pub(super) fn restart(&mut self, counts: bool, reason: &str, action: &str, message: &str) {
        self.restarts += 1;
        self.counted += u64::from(counts);
        self.set("Restarting", true, reason, message, true);
        self.warn(&format!("{action}FailurePolicyAction"), message.to_owned());
    }

    pub(super) fn not_restarting(&mut self, reason: &str, message: &str) {
        self.set("Restarting", false, reason, message, false);
    }

    pub(super) fn starting(&mut self) {
        let message = "in order startup policy is in progress";
        self.set("StartupPolicyInProgress", true, "InOrderStartupPolicyInProgress", message, false);
    }

    pub(super) fn all_started(&mut self) {
        let message = "in order startup policy has completed";
        self.set("StartupPolicyCompleted", true, "InOrderStartupPolicyCompleted", message, false);
    }

    pub(super) fn suspended(&mut self) {
        let message = "jobset is suspended";
        self.set("Suspended", true, "SuspendedJobs", message, false);
        self.not_restarting("JobSetSuspended", message);
    }

    pub(super) fn resumed(&mut self) {
        self.set("Suspended", false, "ResumeJobs", "jobset is resumed", false);
    }

    pub(super) fn warn(&mut self, reason: &str, message: String) {
        self.told.push((true, reason.to_owned(), message));
    }

    /// Sets a condition. One that isn't so and never was isn't written.
    fn set(&mut self, kind: &str, is: bool, reason: &str, message: &str, warning: bool) {
        let is = if is { "True" } else { "False" };
        let mut new = json!({"type": kind, "status": is, "reason": reason, "message": message});
        let rival = match kind {
            "StartupPolicyInProgress" => "StartupPolicyCompleted",
            "StartupPolicyCompleted" => "StartupPolicyInProgress",
            _ => "",
        };
        let mut differs = false;
        for other in &mut self.conditions {
            if is == "True" && other["type"] == rival && other["status"] == "True" {
                other["status"] = "False".into();
                differs = true;
            }
        }
        match self.conditions.iter_mut().find(|it| it["type"] == kind) {
            Some(old)
                if ["status", "reason", "message"].iter().all(|part| old[*part] == new[*part]) => {}
            Some(old) => {
                if old["status"] == new["status"] {
                    new["lastTransitionTime"] = old["lastTransitionTime"].clone();
                }
                *old = new;
                differs = true;
            }
            None if is == "True" => {
                self.conditions.push(new);
                differs = true;
            }
            None => {}
        }
        if differs {
            self.told.push((warning, reason.to_owned(), message.to_owned()));
        }
    }

    /// Writes the status, if it differs from what is there, and tells what happened.
    pub(super) fn write(self, plan: &mut Plan, at: Moment, it: &Value) {
        let mut conditions = self.conditions;
        for new in conditions.iter_mut().filter(|it| it["lastTransitionTime"].is_null()) {
            new["lastTransitionTime"] = at.stamp().into();
        }
        let groups = self.groups.iter().rev().map(|(name, it)| {
            json!({
                "name": name, "ready": it.ready, "succeeded": it.succeeded, "failed": it.failed,
                "active": it.active, "suspended": it.suspended,
            })
        });
        let mut new = json!({"replicatedJobsStatus": groups.collect::<Vec<_>>()});
        if !conditions.is_empty() {
            new["conditions"] = conditions.into();
        }
        if self.restarts > 0 {
            new["restarts"] = self.restarts.into();
            new["restartsCountTowardsMax"] = self.counted.into();
        }
        if let Some(terminal) = self.terminal {
            new["terminalState"] = terminal.into();
        }
        if changed(&it["status"], &new) {
            plan.send(patch(USER, path(it) + "/status", json!({"status": new})));
        }
        for (warning, reason, message) in self.told {
            let about = Subject::of(it);
            plan.tell(match warning {
                true => about.warns(COMPONENT, &reason, message),
                false => about.notes(COMPONENT, &reason, message),
            });
        }
    }
}

fn count_active(group: &mut Group, job: &Value) {
    let parallel = job["spec"]["parallelism"].as_u64().unwrap_or(1);
    let pods = job["spec"]["completions"].as_u64().map_or(parallel, |most| parallel.min(most));
    let status = &job["status"];
    group.ready += u64::from(pods <= count(&status["succeeded"]) + count(&status["ready"]));
    group.active += u64::from(count(&status["active"]) > 0);
    group.suspended += u64::from(job["spec"]["suspend"] == true);
}
