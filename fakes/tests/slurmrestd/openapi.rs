//! The document that is served is the vendor's but for its sentences, and every answer of the
//! replayed sessions is held to it.

use std::collections::BTreeSet;

use drawbridge_fakes::slurmrestd::RestRequest;
use drawbridge_sim::Release;
use serde_json::Value;

use crate::{
    cluster::Cluster,
    document::{Document, HOLDS_NOTHING},
    recorded::{openapi, pairs, whole},
    replay::replay,
};

fn served(release: Release) -> Value {
    let token = crate::cluster::key().mint("alice", crate::cluster::BEGAN, 60);
    let request = RestRequest {
        method: "GET".into(),
        target: "/openapi/v3".into(),
        headers: vec![("x-slurm-user-token".into(), token)],
        ..RestRequest::default()
    };
    let response = Cluster::accounted(release).send(&request);
    assert_eq!(response.status, 200);
    serde_json::from_slice(&response.body.whole()).unwrap()
}

/// Where the real slurmrestd's own answers break its own document.
const VENDORS_OWN: &[&str] = &[
    HOLDS_NOTHING,
    "/results type",     // null where there is nothing to say
    "/jobs/job_id type", // of jobs/state, whose answer the document takes for another's
    " required",         // the same, and every refusal
];

#[test]
fn answers_break_the_document_only_where_the_vendors_own_do() {
    let mut checked = 0;
    for (release, version) in pairs() {
        let mut document = Document::new(served(release));
        for (exchange, answer) in replay(release, &version) {
            if answer.content_type != "application/json" || exchange.name == "openapi_v3" {
                continue;
            }
            let RestRequest { method, target, .. } = &exchange.request;
            let ours = document.objections(method, target, &answer.body);
            let new: Vec<_> = ours
                .iter()
                .filter(|it| !VENDORS_OWN.contains(&it.as_str()) && !it.ends_with(" required path"))
                .collect();
            assert!(new.is_empty(), "{release} {version} {}: {new:#?}", exchange.name);
            let alike = exchange.status == answer.status && exchange.errors == errors(&answer.body);
            if let Some(theirs) = whole(&exchange).filter(|_| alike) {
                let theirs = document.objections(method, target, &theirs);
                let more: Vec<_> = ours.difference(&theirs).collect();
                assert!(more.is_empty(), "{release} {version} {}: {more:#?}", exchange.name);
            }
            checked += 1;
        }
    }
    assert!(700 < checked, "only {checked} answers were checked");
}

fn errors(body: &Value) -> Vec<i64> {
    let errors = body["errors"].as_array().into_iter().flatten();
    errors.map(|error| error["error_number"].as_i64().unwrap()).collect()
}

#[test]
fn the_document_is_the_vendors_without_its_sentences() {
    for release in [Release::V24_11, Release::V26_05] {
        let Some(mut theirs) = openapi(release) else {
            return;
        };
        let mut ours = served(release);
        for document in [&mut theirs, &mut ours] {
            for part in ["info", "tags", "externalDocs"] {
                document.as_object_mut().unwrap().remove(part);
            }
            without_sentences(document);
        }
        assert_eq!(first_difference("", &theirs, &ours), None, "{release}");
    }
}

/// Where two documents begin to differ; they are too large to be printed.
fn first_difference(path: &str, a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or_default()
                };
                first_difference(&format!("{path}/{key}"), &of(a), &of(b))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(at, (a, b))| first_difference(&format!("{path}/{at}"), a, b))
        }
        _ if a == b => None,
        _ => Some(format!("{path}: {a:.100} is {b:.100}")),
    }
}

/// Removes descriptions and summaries, but not fields of these names.
fn without_sentences(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for key in ["description", "summary"] {
                if map.get(key).is_some_and(Value::is_string) {
                    map.remove(key);
                }
            }
            // 24.11 writes this down where it goes without saying.
            if map.get("deprecated") == Some(&Value::Bool(false)) {
                map.remove("deprecated");
            }
            map.values_mut().for_each(without_sentences);
        }
        Value::Array(items) => items.iter_mut().for_each(without_sentences),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
