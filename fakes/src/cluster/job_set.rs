//! The JobSet controller: Jobs that belong together, as release 0.10 keeps them.
//!
//! ```text
//!   replicatedJobs ──▶ set-job-0, set-job-1, …   InOrder: the next when these are ready
//!                                                dependsOn: when those are Ready or Complete
//!   one fails      ──▶ failure policy: fail the set, or restart it: every Job of an earlier
//!                      attempt goes, and comes again with the next attempt's number
//!   enough succeed ──▶ success policy: completed; what still runs is removed; in the end its TTL
//! ```
//!
//! What its webhook would fill in is filled in by [`complete`]. Features that are off by default
//! (`RestartJob`, `InPlaceRestart`, `ElasticJobSet`) are off. Exclusive placement by affinity and
//! volume claim policies aren't modelled, and an event says so.

mod children;
mod failure;
mod status;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

pub(crate) use self::children::sha1;
use self::{children::Children, status::Status};
use super::{
    controllers::Sight,
    memo::Memo,
    object::{Key, condition, count, deleting, holds, items, owned_by, text, time},
    plan::{Plan, Subject, patch},
};
use crate::{Method, Request};
use drawbridge_sim::Span;

const USER: &str = "system:serviceaccount:jobset-system:jobset-controller-manager";
const COMPONENT: &str = "jobset-controller";
/// The name by which a JobSet says that this controller manages it.
const OURS: &str = "jobset.sigs.k8s.io/jobset-controller";
const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";
const BY_SELECTOR: &str = "alpha.jobset.sigs.k8s.io/node-selector";

/// Decides what to do about a JobSet.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let managed_by = it["spec"]["managedBy"].as_str();
    if deleting(it) || managed_by.is_some_and(|name| name != OURS) {
        return Plan::nothing();
    }
    let it = &complete(it);
    let jobs: Vec<&Arc<Value>> = sight.owned(it, "jobs.batch").collect();
    let children = Children::sort(it, &jobs);
    let mut round =
        Round { sight, it, status: Status::of(it, &children), children, plan: Plan::nothing() };
    round.say_what_is_not_modelled();
    round.go();
    round.status.write(&mut round.plan, sight.at, it);
    round.plan
}

/// The JobSet as its webhook completes it.
fn complete(it: &Value) -> Value {
    let mut it = it.clone();
    let fill = |place: &mut Value, value: Value| {
        if place.is_null() {
            *place = value;
        }
    };
    let spec = &mut it["spec"];
    fill(&mut spec["successPolicy"], json!({"operator": "All"}));
    fill(&mut spec["network"]["enableDNSHostnames"], true.into());
    fill(&mut spec["network"]["publishNotReadyAddresses"], true.into());
    for job in spec["replicatedJobs"].as_array_mut().into_iter().flatten() {
        fill(&mut job["replicas"], 1.into());
        fill(&mut job["groupName"], "default".into());
        fill(&mut job["template"]["spec"]["completionMode"], "Indexed".into());
        fill(&mut job["template"]["spec"]["template"]["spec"]["restartPolicy"], "OnFailure".into());
    }
    if spec["failurePolicy"].is_object() {
        let rules = spec["failurePolicy"]["rules"].as_array_mut();
        for (index, rule) in rules.into_iter().flatten().enumerate() {
            fill(&mut rule["name"], format!("failurePolicyRule{index}").into());
        }
    }
    it
}

/// One look at a JobSet.
struct Round<'a> {
    sight: Sight<'a>,
    it: &'a Value,
    children: Children<'a>,
    status: Status,
    plan: Plan,
}

impl Round<'_> {
    fn go(&mut self) {
        if ["Completed", "Failed"].iter().any(|kind| holds(self.it, kind)) {
            return self.finished();
        }
        for job in self.children.previous.clone() {
            self.remove(job);
        }
        if !self.suspended() && self.status.all_ready(self.it) {
            self.status.not_restarting("JobsReady", "all jobs are ready");
        }
        if !self.children.failed.is_empty() {
            return failure::execute(self.it, &self.children, &mut self.status);
        }
        if !self.children.successful.is_empty() && self.has_succeeded() {
            return self.status.completed();
        }
        self.serve();
        self.create();
        if self.suspended() { self.suspend() } else { self.resume() }
    }

    fn suspended(&self) -> bool {
        self.it["spec"]["suspend"] == true
    }

    fn in_order(&self) -> bool {
        self.it["spec"]["startupPolicy"]["startupPolicyOrder"] == "InOrder"
    }

    /// What remains to be done once the set has ended.
    fn finished(&mut self) {
        for job in self.children.active.clone() {
            self.remove(job);
        }
        let Some(ttl) = self.it["spec"]["ttlSecondsAfterFinished"].as_u64() else { return };
        let end = condition(self.it, "Completed").or_else(|| condition(self.it, "Failed"));
        let at = end.and_then(|it| time(self.sight.at.epoch, &it["lastTransitionTime"]));
        let Some(expiry) = at.map(|at| at + Span::secs(ttl)) else { return };
        match self.sight.at.now < expiry {
            true => self.plan.wake_at(expiry),
            false => {
                let request = Request::new(USER, Method::Delete, path(self.it));
                self.plan.send(request.with_query("propagationPolicy", "Foreground"));
            }
        }
    }

    fn remove(&mut self, job: &Value) {
        if !deleting(job) {
            let request = Request::new(USER, Method::Delete, job_path(job));
            self.plan.send(request.with_query("propagationPolicy", "Foreground"));
        }
    }

    fn has_succeeded(&self) -> bool {
        let policy = &self.it["spec"]["successPolicy"];
        let targets = items(&policy["targetReplicatedJobs"]);
        let meant = |name: &Value| targets.is_empty() || targets.contains(name);
        let done = self.children.successful.iter().filter(|job| meant(children::group(job)));
        let wanted = match text(&policy["operator"]) {
            "Any" => 1,
            _ => {
                let jobs = items(&self.it["spec"]["replicatedJobs"]).iter();
                jobs.filter(|job| meant(&job["name"])).map(|job| count(&job["replicas"])).sum()
            }
        };
        wanted <= done.count() as u64
    }

    /// The headless service by which the pods find each other.
    fn serve(&mut self) {
        let network = &self.it["spec"]["network"];
        if network["enableDNSHostnames"] != true {
            return;
        }
        let (namespace, name) = (Key::of(self.it).namespace, children::subdomain(self.it));
        if self.sight.api.get("services", &namespace, name).is_some() {
            return;
        }
        let body = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "ownerReferences": [owned_by(self.it)]},
            "spec": {
                "clusterIP": "None",
                "selector": {children::SET: self.it["metadata"]["name"]},
                "publishNotReadyAddresses": network["publishNotReadyAddresses"],
            },
        });
        let path = format!("/api/v1/namespaces/{namespace}/services");
        let request = Request::new(USER, Method::Post, path).with_body(body);
        let failed =
            Subject::of(self.it).warns(COMPONENT, "HeadlessServiceCreationFailed", String::new());
        self.plan.send_or_warn(request, failed);
    }

    /// Creates the Jobs whose turn it is.
    fn create(&mut self) {
        let waits = self.in_order() && !self.suspended();
        let blocked = self.it["spec"]["failurePolicy"]["restartStrategy"] == "BlockingRecreate"
            && !self.children.previous.is_empty();
        let mut replicas = BTreeMap::new();
        for group in items(&self.it["spec"]["replicatedJobs"]) {
            replicas.insert(text(&group["name"]), count(&group["replicas"]));
            if !self.status.may_start(group, &replicas) || (waits && self.status.started(group)) {
                continue;
            }
            let missing = (0..count(&group["replicas"])).filter(|_| !blocked);
            for index in missing.collect::<Vec<_>>() {
                self.create_job(group, index);
            }
            if waits {
                return self.status.starting();
            }
        }
        if waits {
            self.status.all_started();
        }
    }

    fn create_job(&mut self, group: &Value, index: u64) {
        let job = children::job(self.it, group, index);
        let name = text(&job["metadata"]["name"]);
        if self.children.has(name) {
            return;
        }
        let failed = Subject::of(self.it).warns(
            COMPONENT,
            "JobCreationFailed",
            format!("job {name:?} creation failed with error: "),
        );
        let namespace = Key::of(self.it).namespace;
        let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
        self.plan.send_or_warn(Request::new(USER, Method::Post, path).with_body(job), failed);
    }

    fn suspend(&mut self) {
        for job in self.children.active.iter().filter(|job| job["spec"]["suspend"] != true) {
            self.plan.send(patch(USER, job_path(job), json!({"spec": {"suspend": true}})));
        }
        self.status.suspended();
    }

    /// Lets suspended Jobs go on, in the same order in which they are created.
    fn resume(&mut self) {
        let mut replicas = BTreeMap::new();
        for group in items(&self.it["spec"]["replicatedJobs"]) {
            replicas.insert(text(&group["name"]), count(&group["replicas"]));
            let started = self.in_order() && self.status.started(group);
            if !self.status.may_start(group, &replicas) || started {
                continue;
            }
            let asleep = |job: &&&Arc<Value>| {
                *children::group(job) == group["name"] && job["spec"]["suspend"] == true
            };
            for job in self.children.active.iter().filter(asleep) {
                children::resume(&mut self.plan, job, group);
            }
            if self.in_order() {
                return self.status.starting();
            }
        }
        self.status.resumed();
    }

    fn say_what_is_not_modelled(&mut self) {
        if self.sight.memo.is_some() {
            self.plan.memo = Some(Memo::Told);
            return;
        }
        let groups = items(&self.it["spec"]["replicatedJobs"]).iter();
        let mut all = groups.map(|it| &it["template"]["metadata"]).chain([&self.it["metadata"]]);
        let asks = |metadata: &Value| {
            metadata["annotations"][EXCLUSIVE].is_string()
                && metadata["annotations"][BY_SELECTOR].is_null()
        };
        let mut missing = vec![];
        if all.any(asks) {
            missing.push("exclusive placement by affinity (only by node selector)");
        }
        if !items(&self.it["spec"]["volumeClaimPolicies"]).is_empty() {
            missing.push("volumeClaimPolicies");
        }
        for what in missing {
            let message = format!("this cluster doesn't model {what} of JobSets");
            self.plan.tell(Subject::of(self.it).warns(COMPONENT, "NotModelled", message));
            self.plan.memo = Some(Memo::Told);
        }
    }
}

fn path(it: &Value) -> String {
    let Key { namespace, name } = Key::of(it);
    format!("/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets/{name}")
}

fn job_path(job: &Value) -> String {
    let Key { namespace, name } = Key::of(job);
    format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
}
