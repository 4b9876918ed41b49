//! The Deployment controller: one ReplicaSet per template, and a careful way from one to the next.
//!
//! ```text
//!   template changes ──▶ new ReplicaSet, pods move over within maxSurge and maxUnavailable
//!   replicas change  ──▶ the newest ReplicaSet follows
//! ```

mod rolling;
mod status;

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::fnv1a;
use serde_json::{Value, json};

use self::rolling::{Counts, Limits};
use super::{
    object::{Key, Moment, count, deleting, owned_by, pairs, text},
    plan::{Plan, Subject, patch},
    replica_set::replicas,
};
use crate::{Method, Request};

/// Who the Deployment controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:deployment-controller";
const COMPONENT: &str = "deployment-controller";
/// The label that tells the pods of one template from those of another.
const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Decides what to do about a Deployment whose ReplicaSets are these. `old_pods` says whether
/// pods of earlier templates are still there.
pub(crate) fn decide(at: Moment, it: &Value, sets: &[Arc<Value>], old_pods: bool) -> Plan {
    let mut plan = Plan::nothing();
    if deleting(it) {
        return plan;
    }
    let hash = template_hash(it);
    let current = sets.iter().find(|set| made_from(set, &hash));
    let old: Vec<&Arc<Value>> = sets.iter().filter(|set| !made_from(set, &hash)).collect();
    let paused = it["spec"]["paused"] == true;
    match current {
        None if paused => {}
        None => make_set(&mut plan, it, sets, &old, old_pods),
        Some(current) => {
            revise(&mut plan, it, current, sets);
            scale_all(&mut plan, it, current, &old, old_pods, paused);
        }
    }
    let last = status::write(at, it, current.map(|it| &**it), sets);
    if let Some(deadline) = status::deadline(at, it, &last) {
        plan.wake_at(deadline);
    }
    plan.acts.extend(status::send(it, &last));
    clean_up(&mut plan, it, &old);
    plan
}

/// Whether a ReplicaSet was made from the template with this hash.
pub(crate) fn made_from(set: &Value, hash: &str) -> bool {
    set["metadata"]["labels"][HASH] == hash
}

fn strategy(it: &Value) -> Limits {
    Limits::read(&it["spec"], replicas(it))
}

fn scale_all(
    plan: &mut Plan,
    it: &Value,
    current: &Value,
    old: &[&Arc<Value>],
    old_pods: bool,
    paused: bool,
) {
    let counts = |set: &Value| Counts {
        replicas: replicas(set),
        available: count(&set["status"]["availableReplicas"]),
    };
    let old_counts: Vec<Counts> = old.iter().map(|set| counts(set)).collect();
    let scaling = if paused {
        rolling::paused(replicas(it), counts(current), &old_counts)
    } else {
        rolling::step(strategy(it), counts(current), &old_counts, old_pods)
    };
    for (set, want) in old.iter().zip(scaling.old) {
        scale(plan, it, set, want);
    }
    scale(plan, it, current, scaling.new);
}

fn scale(plan: &mut Plan, it: &Value, set: &Value, want: u64) {
    let have = replicas(set);
    let marks = [
        ("deployment.kubernetes.io/desired-replicas", replicas(it).to_string()),
        ("deployment.kubernetes.io/max-replicas", (replicas(it) + strategy(it).surge).to_string()),
    ];
    let annotations = &set["metadata"]["annotations"];
    let marked = marks.iter().all(|(key, value)| annotations[*key] == value.as_str());
    if have == want && (marked || want == 0) {
        return;
    }
    let mut body = json!({"spec": {"replicas": want}});
    for (key, value) in marks {
        body["metadata"]["annotations"][key] = value.into();
    }
    plan.send(patch(USER, set_path(set), body));
    if have != want {
        tell_scaled(plan, it, text(&set["metadata"]["name"]), have, want);
    }
}

fn tell_scaled(plan: &mut Plan, it: &Value, set: &str, have: u64, want: u64) {
    let way = if have < want { "up" } else { "down" };
    let message = format!("Scaled {way} replica set {set} from {have} to {want}");
    plan.tell(Subject::of(it).notes(COMPONENT, "ScalingReplicaSet", message));
}

/// Makes the ReplicaSet for today's template.
fn make_set(plan: &mut Plan, it: &Value, sets: &[Arc<Value>], old: &[&Arc<Value>], old_pods: bool) {
    let old_counts: Vec<Counts> = old
        .iter()
        .map(|set| Counts {
            replicas: replicas(set),
            available: count(&set["status"]["availableReplicas"]),
        })
        .collect();
    let want = rolling::step(strategy(it), Counts::default(), &old_counts, old_pods).new;
    let hash = template_hash(it);
    let name = format!("{}-{hash}", text(&it["metadata"]["name"]));
    let body = new_set(it, &name, &hash, want, newest_revision(sets) + 1);
    let namespace = text(&it["metadata"]["namespace"]);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/replicasets");
    plan.send(Request::new(USER, Method::Post, path).with_body(body));
    if want > 0 {
        tell_scaled(plan, it, &name, 0, want);
    }
}

fn new_set(it: &Value, name: &str, hash: &str, want: u64, revision: u64) -> Value {
    let mut template = it["spec"]["template"].clone();
    template["metadata"]["labels"][HASH] = hash.into();
    let mut selector = it["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = hash.into();
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "labels": template["metadata"]["labels"],
            "annotations": {
                REVISION: revision.to_string(),
                "deployment.kubernetes.io/desired-replicas": replicas(it).to_string(),
                "deployment.kubernetes.io/max-replicas":
                    (replicas(it) + strategy(it).surge).to_string(),
            },
            "ownerReferences": [owned_by(it)],
        },
        "spec": {
            "replicas": want,
            "minReadySeconds": count(&it["spec"]["minReadySeconds"]),
            "selector": selector,
            "template": template,
        },
    })
}

fn revision(object: &Value) -> u64 {
    let text = text(&object["metadata"]["annotations"][REVISION]);
    text.parse().unwrap_or_default()
}

fn newest_revision(sets: &[Arc<Value>]) -> u64 {
    sets.iter().map(|set| revision(set)).max().unwrap_or(0)
}

/// A template that comes back becomes the newest revision; the Deployment says which it's at.
fn revise(plan: &mut Plan, it: &Value, current: &Arc<Value>, sets: &[Arc<Value>]) {
    let others = sets.iter().filter(|set| !Arc::ptr_eq(set, current));
    let newest = others.map(|set| revision(set)).max().unwrap_or(0);
    let own = revision(current);
    let right = if own <= newest { newest + 1 } else { own };
    let body = json!({"metadata": {"annotations": {REVISION: right.to_string()}}});
    if own != right {
        plan.send(patch(USER, set_path(current), body.clone()));
    }
    if revision(it) != right {
        plan.send(patch(USER, path(it), body));
    }
}

/// Removes ReplicaSets beyond the history that is kept.
fn clean_up(plan: &mut Plan, it: &Value, old: &[&Arc<Value>]) {
    let keep = it["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10);
    let mut idle: Vec<&&Arc<Value>> = old
        .iter()
        .filter(|set| replicas(set) == 0 && count(&set["status"]["replicas"]) == 0)
        .filter(|set| !deleting(set))
        .collect();
    idle.sort_by_key(|set| revision(set));
    let surplus = idle.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    for set in &idle[..surplus] {
        plan.send(Request::new(USER, Method::Delete, set_path(set)));
    }
}

/// The hash in the names of ReplicaSets: the template's text, in the alphabet that Kubernetes
/// uses because it can spell no words.
pub(crate) fn template_hash(it: &Value) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let collisions = count(&it["status"]["collisionCount"]);
    let template = &it["spec"]["template"];
    // No labels and an empty map of labels are the same template.
    let given = |part: &str| pairs(&template["metadata"][part]).collect::<BTreeMap<_, _>>();
    let (labels, annotations) = (given("labels"), given("annotations"));
    let seen = format!("{labels:?}{annotations:?}{}{collisions}", template["spec"]);
    let hash = fnv1a(seen.as_bytes());
    let folded = u32::try_from((hash >> 32) ^ (hash & 0xffff_ffff)).unwrap_or_default();
    let digits = folded.to_string();
    digits.bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

fn path(it: &Value) -> String {
    let Key { namespace, name } = Key::of(it);
    format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
}

fn set_path(set: &Value) -> String {
    let Key { namespace, name } = Key::of(set);
    format!("/apis/apps/v1/namespaces/{namespace}/replicasets/{name}")
}
