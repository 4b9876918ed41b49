//! The Deployment controller: one ReplicaSet per template, and a careful way from one to the next.
//!
//! ```text
//!   template changes ──▶ new ReplicaSet; up it goes within maxSurge, then down the old ones
//!                        within maxUnavailable, one direction at each look
//!   replicas change  ──▶ every ReplicaSet that has pods follows by its share
//! ```

mod proportional;
mod revisions;
mod rolling;
mod status;

use std::sync::Arc;

use serde_json::{Value, json};

pub(crate) use self::{revisions::spelled, rolling::share};
use self::{
    revisions::{has_template_of, newest_revision, revision},
    rolling::{Counts, Limits},
    status::Status,
};
use super::{
    controllers::Sight,
    object::{Key, changed, controller, count, deleting, items, owned_by, text},
    plan::{Plan, Subject, patch},
    replica_set::replicas,
};
use crate::{LabelSelector, Method, Request};

/// Who the Deployment controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:deployment-controller";
const COMPONENT: &str = "deployment-controller";
/// The label that tells the pods of one template from those of another.
const HASH: &str = "pod-template-hash";
const SETS: &str = "replicasets.apps";

/// Decides what to do about a Deployment.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let mut plan = Plan::nothing();
    let sets = claim(sight, &mut plan, it);
    let (new, old) = divide(it, &sets);
    let mut status = Status::of(sight.at, it);
    if deleting(it) {
        let counts = status.count(new, &sets);
        write(&mut plan, it, &status, counts, None);
        return plan;
    }
    status.pause();
    let rollout = Rollout { it, limits: limits(it), new, old, sets: &sets, plan, status };
    if it["spec"]["paused"] == true || rollout.was_scaled() {
        return rollout.resize();
    }
    let old_pods = || {
        rollout.old.iter().any(|set| {
            let pods = sight.pods_of(set);
            count(&set["status"]["replicas"]) > 0 || pods.iter().any(|pod| !pod.terminal())
        })
    };
    match rollout.limits.recreate {
        true => {
            let old_pods = old_pods();
            rollout.recreate(old_pods)
        }
        false => rollout.roll(),
    }
}

fn limits(it: &Value) -> Limits {
    Limits::read(&it["spec"], replicas(it))
}

/// A Deployment and its ReplicaSets, on the way from one template to another.
struct Rollout<'a> {
    it: &'a Value,
    limits: Limits,
    /// The one with today's template.
    new: Option<&'a Value>,
    /// The others, oldest first.
    old: Vec<&'a Value>,
    sets: &'a [Arc<Value>],
    plan: Plan,
    status: Status<'a>,
}

impl<'a> Rollout<'a> {
    /// Whether the Deployment's size changed since its ReplicaSets were last told.
    fn was_scaled(&self) -> bool {
        let active = self.sets.iter().filter(|set| replicas(set) > 0);
        let mut told = active.filter_map(|set| {
            let text = set["metadata"]["annotations"][revisions::DESIRED].as_str()?;
            text.parse::<u64>().ok()
        });
        told.any(|told| told != self.limits.want)
    }

    /// Follows the size, without going on with a rollout.
    fn resize(mut self) -> Plan {
        let revision = self.revise();
        let mut active: Vec<&'a Value> = self.old.iter().copied().chain(self.new).collect();
        active.retain(|set| replicas(set) > 0);
        let newest = self.new.or(self.old.last().copied());
        let only = match active.as_slice() {
            [] => newest,
            [only] => Some(*only),
            _ => None,
        };
        if let Some(only) = only {
            self.scale_if_other(only, self.limits.want);
        } else if self.is_saturated() {
            for set in self.old.clone() {
                self.scale_if_other(set, 0);
            }
        } else if !self.limits.recreate {
            self.share_out(&active);
        }
        if self.it["spec"]["paused"] == true {
            self.clean_up();
        }
        let counts = self.status.count(self.new, self.sets);
        write(&mut self.plan, self.it, &self.status, counts, revision);
        self.plan
    }

    fn share_out(&mut self, sets: &[&'a Value]) {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let parts: Vec<proportional::Part> = sets
            .iter()
            .zip(0..)
            .map(|(set, age)| {
                let told = text(&set["metadata"]["annotations"][revisions::MOST]).parse().ok();
                let most = told.filter(|most| *most > 0);
                proportional::Part {
                    replicas: number(replicas(set)),
                    most_before: most
                        .unwrap_or_else(|| number(count(&self.it["status"]["replicas"]))),
                    age,
                }
            })
            .collect();
        let (want, surge) = (number(self.limits.want), number(self.limits.surge));
        for (set, size) in sets.iter().zip(proportional::sizes(want, surge, &parts)) {
            self.scale(set, size.unsigned_abs());
        }
    }

    /// Whether today's template has all the pods that it should.
    fn is_saturated(&self) -> bool {
        let want = self.limits.want;
        self.new.is_some_and(|set| {
            let told = text(&set["metadata"]["annotations"][revisions::DESIRED]);
            replicas(set) == want
                && told.parse() == Ok(want)
                && count(&set["status"]["availableReplicas"]) == want
        })
    }

    /// All old pods go, then the new ones come.
    fn recreate(mut self, old_pods: bool) -> Plan {
        let revision = self.revise();
        if self.old.iter().any(|set| replicas(set) > 0) {
            for set in self.old.clone() {
                self.scale_if_other(set, 0);
            }
            return self.finish(revision);
        }
        if old_pods {
            return self.finish(revision);
        }
        let mut revision = revision;
        match self.new {
            Some(new) => self.scale_if_other(new, self.limits.want),
            None => revision = Some(self.create(self.limits.want)),
        }
        self.clean_up_if_complete();
        self.finish(revision)
    }

    /// New pods come as far as there is room, or old ones go as far as they aren't needed.
    fn roll(mut self) -> Plan {
        let all: u64 = self.sets.iter().map(|set| replicas(set)).sum();
        let mut revision = self.revise();
        let counts = |set: &Value| Counts {
            replicas: replicas(set),
            available: count(&set["status"]["availableReplicas"]),
        };
        let new = match self.new {
            Some(new) => {
                let has = replicas(new);
                let want = if self.limits.want < has {
                    self.limits.want
                } else {
                    self.limits.grow(has, all)
                };
                if want != has {
                    self.scale(new, want);
                    return self.finish(revision);
                }
                counts(new)
            }
            None => {
                let want = self.limits.grow(0, all);
                revision = Some(self.create(want));
                Counts { replicas: want, available: 0 }
            }
        };
        let old: Vec<Counts> = self.old.iter().map(|set| counts(set)).collect();
        let keep = self.limits.shrink(new, &old);
        let shrinks = old.iter().zip(&keep).any(|(old, keep)| old.replicas != *keep);
        for (set, keep) in self.old.clone().into_iter().zip(keep) {
            self.scale_if_other(set, keep);
        }
        if !shrinks {
            self.clean_up_if_complete();
        }
        self.finish(revision)
    }

    /// Judges the rollout and writes the status.
    fn finish(mut self, revision: Option<String>) -> Plan {
        let counts = self.status.count(self.new, self.sets);
        self.status.judge(&counts, self.new, self.sets);
        if let Some(again) = self.status.look_again(&counts) {
            self.plan.wake_at(again);
        }
        write(&mut self.plan, self.it, &self.status, counts, revision);
        self.plan
    }

    /// Makes the ReplicaSet of today's template; gives back its revision.
    fn create(&mut self, want: u64) -> String {
        let newest = newest_revision(self.sets);
        let set = revisions::new_set(self.it, want, newest);
        let Key { namespace, .. } = Key::of(self.it);
        let path = format!("/apis/apps/v1/namespaces/{namespace}/replicasets");
        self.status.created(&set);
        let name = text(&set["metadata"]["name"]).to_owned();
        self.plan.send(Request::new(USER, Method::Post, path).with_body(set));
        if want > 0 {
            self.tell_scaled(&name, 0, want);
        }
        (newest + 1).to_string()
    }

    /// Writes on today's ReplicaSet what is missing there; gives back the revision that the
    /// Deployment is at, if it doesn't say so itself.
    fn revise(&mut self) -> Option<String> {
        let new = self.new?;
        let old: u64 = self.old.iter().map(|set| revision(set)).max().unwrap_or(0);
        let missing = revisions::missing(self.it, new, old);
        let patience = &self.it["spec"]["minReadySeconds"];
        let mut body = json!({});
        if !missing.is_empty() {
            body["metadata"]["annotations"] = json!(missing);
        }
        if count(patience) != count(&new["spec"]["minReadySeconds"]) {
            body["spec"]["minReadySeconds"] = count(patience).into();
        }
        if body != json!({}) {
            self.plan.send(patch(USER, set_path(new), body));
        }
        self.status.found(new);
        let right = revision(new).max(old + 1);
        (revision(self.it) != right).then(|| right.to_string())
    }

    fn scale_if_other(&mut self, set: &Value, want: u64) {
        if replicas(set) != want {
            self.scale(set, want);
        }
    }

    /// Gives a ReplicaSet another size, and tells it how large the whole is.
    fn scale(&mut self, set: &Value, want: u64) {
        let have = replicas(set);
        let sizes = revisions::sizes(self.it);
        let annotations = &set["metadata"]["annotations"];
        if have == want && sizes.iter().all(|(key, value)| annotations[*key] == value.as_str()) {
            return;
        }
        let mut body = json!({"spec": {"replicas": want}});
        for (key, value) in sizes {
            body["metadata"]["annotations"][key] = value.into();
        }
        self.plan.send(patch(USER, set_path(set), body));
        if have != want {
            self.tell_scaled(text(&set["metadata"]["name"]), have, want);
        }
    }

    fn tell_scaled(&mut self, set: &str, have: u64, want: u64) {
        let way = if have < want { "up" } else { "down" };
        let message = format!("Scaled {way} replica set {set} from {have} to {want}");
        self.plan.tell(Subject::of(self.it).notes(COMPONENT, "ScalingReplicaSet", message));
    }

    fn clean_up_if_complete(&mut self) {
        if status::complete(self.it, &self.it["status"]) {
            self.clean_up();
        }
    }

    /// Removes ReplicaSets beyond the history that is kept.
    fn clean_up(&mut self) {
        let keep = self.it["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10);
        let mut old: Vec<&Value> = self.old.iter().copied().filter(|set| !deleting(set)).collect();
        old.sort_by_key(|set| revision(set));
        let surplus = old.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
        let idle = |set: &&&Value| replicas(set) == 0 && count(&set["status"]["replicas"]) == 0;
        for set in old[..surplus].iter().filter(idle) {
            self.plan.send(Request::new(USER, Method::Delete, set_path(set)));
        }
    }
}

/// The Deployment's ReplicaSets, oldest first; one that nobody has and its selector fits is taken.
fn claim(sight: Sight<'_>, plan: &mut Plan, it: &Value) -> Vec<Arc<Value>> {
    let mut sets: Vec<Arc<Value>> = sight.owned(it, SETS).cloned().collect();
    if let Ok(selector) = LabelSelector::from_object(&it["spec"]["selector"])
        && !deleting(it)
        && !selector.is_empty()
    {
        let all = sight.api.list_in(SETS, &Key::of(it).namespace);
        let fits = |set: &&Arc<Value>| {
            controller(set).is_none()
                && !deleting(set)
                && selector.matches(&set["metadata"]["labels"])
        };
        for set in all.filter(fits) {
            let mut owners = items(&set["metadata"]["ownerReferences"]).to_vec();
            owners.push(owned_by(it));
            let body = json!({"metadata": {"ownerReferences": owners}});
            plan.send(patch(USER, set_path(set), body));
            sets.push(set.clone());
        }
    }
    let age = |set: &Value| {
        let metadata = &set["metadata"];
        (text(&metadata["creationTimestamp"]).to_owned(), text(&metadata["name"]).to_owned())
    };
    sets.sort_by_cached_key(|set| age(set));
    sets
}

/// The ReplicaSet of today's template, and the others.
fn divide<'a>(it: &Value, sets: &'a [Arc<Value>]) -> (Option<&'a Value>, Vec<&'a Value>) {
    let at = sets.iter().position(|set| has_template_of(set, it));
    let old = sets.iter().enumerate().filter(|(n, _)| Some(*n) != at).map(|(_, set)| &**set);
    (at.map(|at| &*sets[at]), old.collect())
}

/// Writes the status and the revision, if they differ from what is there.
fn write(
    plan: &mut Plan,
    it: &Value,
    status: &Status<'_>,
    counts: Value,
    revision: Option<String>,
) {
    let mut new = counts;
    new["conditions"] = status.conditions.clone().into();
    let mut body = json!({});
    if changed(&it["status"], &new) {
        body["status"] = new;
    }
    if let Some(revision) = revision {
        body["metadata"]["annotations"][revisions::REVISION] = revision.into();
    }
    if body != json!({}) {
        plan.send(patch(USER, path(it) + "/status", body));
    }
}

fn path(it: &Value) -> String {
    let Key { namespace, name } = Key::of(it);
    format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
}

fn set_path(set: &Value) -> String {
    let Key { namespace, name } = Key::of(set);
    format!("/apis/apps/v1/namespaces/{namespace}/replicasets/{name}")
}
