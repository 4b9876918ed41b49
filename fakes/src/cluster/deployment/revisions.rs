//! Which ReplicaSet a template has, and what is written on it: its revision, and the Deployment's
//! annotations, so that a rollback brings them back too.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::fnv1a;
use serde_json::{Value, json};

use super::{
    super::object::{count, owned_by, pairs, text},
    HASH, limits,
    rolling::Limits,
};

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations that are about the Deployment or the ReplicaSet alone.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    "deprecated.deployment.rollback.to",
];
/// How long the list of earlier revisions may get.
const HISTORY_LENGTH: usize = 2000;

/// Whether a ReplicaSet has the Deployment's template.
pub(super) fn has_template_of(set: &Value, it: &Value) -> bool {
    let (of_set, of_it) = (&set["spec"]["template"], &it["spec"]["template"]);
    if of_set["spec"] != of_it["spec"] {
        return false;
    }
    let labels = |template: &Value| -> BTreeMap<String, Value> {
        let all = pairs(&template["metadata"]["labels"]).filter(|(key, _)| *key != HASH);
        all.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let annotations = |template: &Value| -> BTreeMap<String, Value> {
        let all = pairs(&template["metadata"]["annotations"]);
        all.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    labels(of_set) == labels(of_it) && annotations(of_set) == annotations(of_it)
}

pub(super) fn revision(object: &Value) -> u64 {
    let text = text(&object["metadata"]["annotations"][REVISION]);
    text.parse().unwrap_or_default()
}

pub(super) fn newest_revision(sets: &[Arc<Value>]) -> u64 {
    sets.iter().map(|set| revision(set)).max().unwrap_or(0)
}

/// The annotations that a ReplicaSet of today's template should have and hasn't.
pub(super) fn missing(it: &Value, set: &Value, newest_old: u64) -> BTreeMap<String, String> {
    let has = |key: &str, value: &str| set["metadata"]["annotations"][key] == value;
    let mut missing: BTreeMap<String, String> = pairs(&it["metadata"]["annotations"])
        .filter(|(key, value)| !OWN.contains(&key.as_str()) && !has(key, text(value)))
        .map(|(key, value)| (key.clone(), text(value).to_owned()))
        .collect();
    let before = set["metadata"]["annotations"][REVISION].as_str();
    if revision(set) < newest_old + 1 {
        missing.insert(REVISION.into(), (newest_old + 1).to_string());
        if let Some(before) = before {
            missing.insert(HISTORY.into(), history(set, before));
        }
    }
    missing
}

/// The earlier revisions that a ReplicaSet was, with one more; the oldest fall off.
fn history(set: &Value, before: &str) -> String {
    let told = text(&set["metadata"]["annotations"][HISTORY]);
    let mut all: Vec<&str> = told.split(',').filter(|it| !it.is_empty()).collect();
    all.push(before);
    while all.len() > 1 && all.join(",").len() > HISTORY_LENGTH {
        all.remove(0);
    }
    all.join(",")
}

/// How large the Deployment is, as its ReplicaSets are told.
pub(super) fn sizes(it: &Value) -> [(&'static str, String); 2] {
    let Limits { want, surge, .. } = limits(it);
    [(DESIRED, want.to_string()), (MOST, (want + surge).to_string())]
}

/// The ReplicaSet for today's template.
pub(super) fn new_set(it: &Value, want: u64, newest: u64) -> Value {
    let hash = template_hash(it);
    let mut template = it["spec"]["template"].clone();
    template["metadata"]["labels"][HASH] = hash.as_str().into();
    let mut selector = it["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = hash.as_str().into();
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", text(&it["metadata"]["name"])),
            "namespace": it["metadata"]["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": {},
            "ownerReferences": [owned_by(it)],
        },
        "spec": {
            "replicas": want,
            "minReadySeconds": count(&it["spec"]["minReadySeconds"]),
            "selector": selector,
            "template": template,
        },
    });
    let annotations = missing(it, &set, newest).into_iter();
    let sizes = sizes(it).map(|(key, value)| (key.to_owned(), value));
    for (key, value) in annotations.chain(sizes) {
        set["metadata"]["annotations"][key] = value.into();
    }
    set
}

/// The hash in the names of ReplicaSets: the template's text, in the alphabet that Kubernetes
/// uses because it can spell no words.
pub(super) fn template_hash(it: &Value) -> String {
    let collisions = count(&it["status"]["collisionCount"]);
    let template = &it["spec"]["template"];
    // No labels and an empty map of labels are the same template.
    let given = |part: &str| pairs(&template["metadata"][part]).collect::<BTreeMap<_, _>>();
    let (labels, annotations) = (given("labels"), given("annotations"));
    let seen = format!("{labels:?}{annotations:?}{}{collisions}", template["spec"]);
    spelled(&seen)
}

/// A hash of a text, spelled as Kubernetes does.
pub(crate) fn spelled(seen: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let hash = fnv1a(seen.as_bytes());
    let folded = u32::try_from((hash >> 32) ^ (hash & 0xffff_ffff)).unwrap_or_default();
    let digits = folded.to_string();
    digits.bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_set_takes_over_what_its_deployment_is_annotated_with() {
        let it = json!({"metadata": {"annotations": {
            "team": "a", "kubernetes.io/change-cause": "v2", REVISION: "2",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        }}});
        let told = |annotations: Value| {
            let set = json!({"metadata": {"annotations": annotations}});
            let all = missing(&it, &set, 2).into_iter();
            all.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        insta::assert_snapshot!(told(json!({})), @"deployment.kubernetes.io/revision=3 kubernetes.io/change-cause=v2 team=a");
        insta::assert_snapshot!(
            told(json!({REVISION: "1", "team": "a", "kubernetes.io/change-cause": "v2"})),
            @"deployment.kubernetes.io/revision=3 deployment.kubernetes.io/revision-history=1"
        );
        insta::assert_snapshot!(
            told(json!({REVISION: "2", HISTORY: "1", "team": "b"})),
            @"deployment.kubernetes.io/revision=3 deployment.kubernetes.io/revision-history=1,2 kubernetes.io/change-cause=v2 team=a"
        );
        insta::assert_snapshot!(
            told(json!({REVISION: "3", "team": "a", "kubernetes.io/change-cause": "v2"})),
            @""
        );
    }
}
