//! What `deploy/base` grants and installs is what the bridge needs: no more, no less.
//!
//! ```text
//!   the library, played ──▶ what the bridge asked the API server for ──▶ deploy/base/rbac.yaml
//!   deploy/base/config.yaml ──▶ core: webhook configurations ──▶ deploy/base/webhooks.yaml
//! ```
//!
//! `DRAWBRIDGE_UPDATE_DEPLOY=1 cargo test -p drawbridge --test deploy` writes both files anew.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use drawbridge_bridge::{config, yaml};
use drawbridge_core::admission;
use serde_json::Value;

/// What the process around the core asks for besides: certificates of webhooks, secure metrics.
const SHELL: [&str; 6] = [
    "get mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "patch mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "get validatingwebhookconfigurations.admissionregistration.k8s.io",
    "patch validatingwebhookconfigurations.admissionregistration.k8s.io",
    "create tokenreviews.authentication.k8s.io",
    "create subjectaccessreviews.authorization.k8s.io",
];

/// The same in the bridge's own namespace: its lease, and the Secret with its certificate.
const OWN: [&str; 6] = [
    "get secrets",
    "create secrets",
    "update secrets",
    "get leases.coordination.k8s.io",
    "create leases.coordination.k8s.io",
    "update leases.coordination.k8s.io",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares a file with what it should say, or writes it.
fn check(file: &str, expected: &str) {
    let path = root().join("deploy/base").join(file);
    if env::var_os("DRAWBRIDGE_UPDATE_DEPLOY").is_some() {
        fs::write(&path, expected).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{file} is out of date");
}

/// Plays the library; all that the bridge was seen to ask for.
fn observed() -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_drawbridge"))
        .args(["run", "-o", "json"])
        .arg(root().join("scenarios").canonicalize().unwrap())
        .current_dir(&folder)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stdout));
    let text = String::from_utf8(run.stdout).unwrap();
    let reports = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let permissions = reports.flat_map(|report| report["permissions"].as_array().unwrap().clone());
    let asked: BTreeSet<String> = permissions.map(|one| one.as_str().unwrap().to_owned()).collect();
    // Whoever lists goes on by watching, which the twin doesn't count.
    let watched = asked.iter().filter_map(|one| one.strip_prefix("list "));
    let watched: Vec<String> = watched.map(|what| format!("watch {what}")).collect();
    asked.into_iter().chain(watched).collect()
}

/// `jobs.batch/status` as group and resource.
fn resource(text: &str) -> (String, String) {
    let (name, sub) = text.split_once('/').unwrap_or((text, ""));
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    let sub = if sub.is_empty() { String::new() } else { format!("/{sub}") };
    (group.to_owned(), format!("{plural}{sub}"))
}

/// Rules, one for the resources of a group that have the same verbs.
fn rules<'a>(permissions: impl Iterator<Item = &'a str>) -> String {
    let mut verbs: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for permission in permissions {
        let (verb, what) = permission.split_once(' ').unwrap();
        verbs.entry(resource(what)).or_default().insert(verb);
    }
    let mut rules: BTreeMap<(String, Vec<&str>), Vec<String>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs {
        rules.entry((group, verbs.into_iter().collect())).or_default().push(resource);
    }
    let line = |((group, verbs), resources): ((String, Vec<&str>), Vec<String>)| {
        let group = if group.is_empty() { "\"\"" } else { &group };
        let (resources, verbs) = (resources.join(", "), verbs.join(", "));
        format!("  - {{apiGroups: [{group}], resources: [{resources}], verbs: [{verbs}]}}\n")
    };
    rules.into_iter().map(line).collect()
}

fn bound(kind: &str) -> String {
    let binding = format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\n");
    let subject =
        "subjects:\n  - {kind: ServiceAccount, name: drawbridge, namespace: drawbridge-system}\n";
    format!(
        "---\n{binding}metadata:\n  name: drawbridge\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  \
         kind: {kind}\n  name: drawbridge\n{subject}"
    )
}

#[test]
fn the_bridge_may_do_what_it_was_seen_to_do_and_nothing_else() {
    let observed = observed();
    let own: BTreeSet<&str> = OWN.into_iter().collect();
    let cluster = observed.iter().map(String::as_str).filter(|it| !own.contains(it)).chain(SHELL);
    let role = |kind: &str, rules: &str| {
        format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: drawbridge\nrules:\n{rules}"
        )
    };
    let text = [
        "# Written by a test from what the bridge does in the library of scenarios: cli/tests/deploy.rs.\n"
            .to_owned(),
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: drawbridge\n".to_owned(),
        role("ClusterRole", &rules(cluster)),
        bound("ClusterRole"),
        role("Role", &rules(own.iter().copied())),
        bound("Role"),
    ];
    check("rbac.yaml", &text.concat());
}

#[test]
fn the_webhooks_are_those_of_the_configuration() {
    let text = fs::read_to_string(root().join("deploy/base/config.yaml")).unwrap();
    let config = config::parse(&text).unwrap();
    let line = |object: &Value| format!("---\n{}\n", serde_json::to_string_pretty(object).unwrap());
    let objects: String = admission::configurations(&config).iter().map(line).collect();
    let head =
        "# Printed by `drawbridge bridge --print-webhooks --config deploy/base/config.yaml`.\n";
    check("webhooks.yaml", &format!("{head}{objects}"));
    let written = fs::read_to_string(root().join("deploy/base/webhooks.yaml")).unwrap();
    assert_eq!(yaml::documents(&written).unwrap().len(), 2);
}
