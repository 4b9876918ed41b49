//! Watches: history, selections, 410, bookmarks; and what is true of every history.

use std::collections::BTreeMap;

use drawbridge_fakes::{ChangeKind, KubeApi, Watch, WatchEvent};
use drawbridge_sim::{Epoch, Seed};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;

use crate::talk::{request, server, talk};

fn open(api: &KubeApi, line: &str) -> Watch {
    api.watch(&request(line)).unwrap()
}

fn shown(events: &[WatchEvent]) -> String {
    let line = |event: &WatchEvent| {
        let object = |word: &str, object: &Value| {
            let metadata = &object["metadata"];
            let labels = &metadata["labels"];
            let part = |key: &str| metadata[key].as_str().unwrap().to_owned();
            format!("{word} {} rv {} labels {labels}", part("name"), part("resourceVersion"))
        };
        match event {
            WatchEvent::Added(it) => object("ADDED", it),
            WatchEvent::Modified(it) => object("MODIFIED", it),
            WatchEvent::Deleted(it) => object("DELETED", it),
            WatchEvent::Bookmark(version) | WatchEvent::InitialEnd(version) => {
                format!("BOOKMARK rv {version}")
            }
            WatchEvent::Expired => "EXPIRED".into(),
        }
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

const STORY: &str = r#"
    POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","labels":{"x":"1"}}}
    POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"b"}}
    MERGE /api/v1/namespaces/default/configmaps/a {"data":{"k":"v"}}
    MERGE /api/v1/namespaces/default/configmaps/a {"metadata":{"labels":{"x":"2"}}}
    MERGE /api/v1/namespaces/default/configmaps/b {"metadata":{"labels":{"x":"1"}}}
    DELETE /api/v1/namespaces/default/configmaps/b
    DELETE /api/v1/namespaces/default/configmaps/a
"#;

#[test]
fn a_watch_replays_what_came_after_its_version() {
    let mut api = server();
    let mut watch = open(&api, "GET /api/v1/configmaps?watch=true&resourceVersion=6");
    talk(&mut api, STORY);
    assert_snapshot!(shown(&api.poll(&mut watch)), @r#"
    ADDED a rv 7 labels {"x":"1"}
    ADDED b rv 8 labels null
    MODIFIED a rv 9 labels {"x":"1"}
    MODIFIED a rv 10 labels {"x":"2"}
    MODIFIED b rv 11 labels {"x":"1"}
    DELETED b rv 12 labels {"x":"1"}
    DELETED a rv 13 labels {"x":"2"}
    "#);
    assert_eq!(api.poll(&mut watch), []);
    let mut later = open(&api, "GET /api/v1/configmaps?watch=true&resourceVersion=11");
    assert_snapshot!(shown(&api.poll(&mut later)), @r#"
    DELETED b rv 12 labels {"x":"1"}
    DELETED a rv 13 labels {"x":"2"}
    "#);
}

#[test]
fn leaving_the_selection_is_deleted_and_entering_it_is_added() {
    let mut api = server();
    let mut watch =
        open(&api, "GET /api/v1/configmaps?watch=true&resourceVersion=6&labelSelector=x=1");
    talk(&mut api, STORY);
    assert_snapshot!(shown(&api.poll(&mut watch)), @r#"
    ADDED a rv 7 labels {"x":"1"}
    MODIFIED a rv 9 labels {"x":"1"}
    DELETED a rv 10 labels {"x":"1"}
    ADDED b rv 11 labels {"x":"1"}
    DELETED b rv 12 labels {"x":"1"}
    "#);
}

#[test]
fn a_watch_without_a_version_begins_with_what_is_there() {
    let mut api = server();
    talk(&mut api, r#"POST /api/v1/nodes {"metadata":{"name":"n1"}}"#);
    let mut all = open(&api, "GET /api/v1/nodes?watch=true");
    let mut one = open(&api, "GET /api/v1/nodes/n2?watch=true&resourceVersion=0");
    talk(&mut api, r#"POST /api/v1/nodes {"metadata":{"name":"n2"}}"#);
    assert_snapshot!(shown(&api.poll(&mut all)), @r#"
    ADDED n1 rv 7 labels null
    ADDED n2 rv 8 labels null
    "#);
    assert_snapshot!(shown(&api.poll(&mut one)), @r#"ADDED n2 rv 8 labels null"#);
}

#[test]
fn a_watch_from_before_the_history_is_expired() {
    let mut api = KubeApi::with_window(Epoch::DEFAULT, Seed(1), 4);
    let mut slow = open(&api, "GET /api/v1/configmaps?watch=true&resourceVersion=6");
    for name in 0..9 {
        let line = format!(
            r#"POST /api/v1/namespaces/default/configmaps {{"metadata":{{"name":"c{name}"}}}}"#
        );
        talk(&mut api, &line);
    }
    assert_eq!(api.poll(&mut slow), [WatchEvent::Expired]);
    let refused =
        api.watch(&request("GET /api/v1/configmaps?watch=true&resourceVersion=7")).err().unwrap();
    assert_eq!(refused.status, 410);
    assert_snapshot!(refused.body["message"], @r#""too old resource version: 7 (10)""#);
    assert_snapshot!(talk(&mut api, "GET /api/v1/configmaps?resourceVersion=7&resourceVersionMatch=Exact"), @r#"GET configmaps?resourceVersion=7&resourceVersionMatch=Exact: 410 Expired: too old resource version: 7 (10)"#);
    // Nodes have a history of their own, which nothing pushed out.
    let mut nodes = open(&api, "GET /api/v1/nodes?watch=true&resourceVersion=6");
    assert_eq!(api.poll(&mut nodes), []);
}

#[test]
fn bookmarks_tell_a_quiet_watch_how_far_it_is() {
    let mut api = server();
    let mut asked =
        open(&api, "GET /api/v1/nodes?watch=true&resourceVersion=6&allowWatchBookmarks=true");
    let mut silent = open(&api, "GET /api/v1/nodes?watch=true&resourceVersion=6");
    talk(&mut api, r#"POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}}"#);
    for value in 0..999 {
        let line = format!(
            r#"MERGE /api/v1/namespaces/default/configmaps/a {{"data":{{"k":"{value}"}}}}"#
        );
        talk(&mut api, &line);
    }
    assert_snapshot!(shown(&api.poll(&mut asked)), @r#"BOOKMARK rv 1006"#);
    assert_eq!(api.poll(&mut asked), []);
    assert_eq!(api.poll(&mut silent), []);
}

#[test]
fn watches_that_make_no_sense_are_refused() {
    let api = server();
    let table = [
        ("GET /api/v1/things?watch=true", 404),
        ("POST /api/v1/nodes?watch=true", 405),
        ("GET /api/v1/nodes?watch=true&resourceVersion=x", 400),
        ("GET /api/v1/nodes?watch=true&fieldSelector=spec.x=1", 400),
    ];
    for (line, status) in table {
        assert_eq!(api.watch(&request(line)).err().unwrap().status, status, "{line}");
    }
}

#[test]
fn changes_tell_controllers_what_was_before() {
    let mut api = server();
    api.take_changes();
    talk(&mut api, STORY);
    let changes = api.take_changes();
    let kinds: Vec<ChangeKind> = changes.iter().map(|change| change.kind).collect();
    use ChangeKind::{Added, Deleted, Modified};
    assert_eq!(kinds, [Added, Added, Modified, Modified, Modified, Deleted, Deleted]);
    let versions: Vec<u64> = changes.iter().map(|change| change.rv).collect();
    assert_eq!(versions, [7, 8, 9, 10, 11, 12, 13]);
    assert_eq!(changes[0].previous, None);
    assert_eq!(changes[3].previous.as_ref(), Some(&changes[2].object));
    assert_eq!(&*changes[0].user, "alice");
    assert!(api.take_changes().is_empty());
}

/// One write of a made-up history.
fn write() -> impl Strategy<Value = String> {
    let path = "/api/v1/namespaces/default/configmaps";
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let label = prop::sample::select(vec!["1", "2"]);
    (name, label, 0..4).prop_map(move |(name, label, what)| match what {
        0 => format!(
            r#"POST {path} {{"metadata":{{"name":"{name}","finalizers":["x.y/z"],"labels":{{"x":"{label}"}}}}}}"#
        ),
        1 => format!(r#"MERGE {path}/{name} {{"metadata":{{"labels":{{"x":"{label}"}}}}}}"#),
        2 => format!(r#"MERGE {path}/{name} {{"metadata":{{"finalizers":null}}}}"#),
        _ => format!("DELETE {path}/{name}"),
    })
}

/// What a client's cache holds after some events; every event must fit what it knew.
fn replay(cache: &mut BTreeMap<String, Value>, events: Vec<WatchEvent>) {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    for event in events {
        match event {
            WatchEvent::Added(it) => {
                assert!(cache.insert(name(&it), Value::clone(&it)).is_none(), "added twice");
            }
            WatchEvent::Modified(it) => {
                assert!(cache.insert(name(&it), Value::clone(&it)).is_some(), "never added");
            }
            WatchEvent::Deleted(it) => {
                assert!(cache.remove(&name(&it)).is_some(), "never added");
            }
            WatchEvent::Bookmark(_) | WatchEvent::InitialEnd(_) | WatchEvent::Expired => {
                panic!("not in this history")
            }
        }
    }
}

fn listed(api: &mut KubeApi, query: &str) -> BTreeMap<String, Value> {
    let path = format!("GET /api/v1/configmaps?{query}");
    let response =
        api.handle(drawbridge_sim::Time::ZERO, &request(&path), &mut drawbridge_fakes::NoWebhooks);
    let with_type = |item: &Value| {
        let mut item = item.clone();
        item["kind"] = "ConfigMap".into();
        item["apiVersion"] = "v1".into();
        (item["metadata"]["name"].as_str().unwrap().to_owned(), item)
    };
    response.body["items"].as_array().unwrap().iter().map(with_type).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replaying_a_watch_gives_the_list_whenever_it_is_polled(
        writes in prop::collection::vec((write(), any::<bool>()), 0..40),
        selector in prop::sample::select(vec!["", "&labelSelector=x=1"]),
    ) {
        let mut api = server();
        let path = format!("GET /api/v1/configmaps?watch=true{selector}");
        let mut from_start = open(&api, &format!("{path}&resourceVersion=6"));
        let mut from_now = open(&api, &path);
        let (mut one, mut other) = (BTreeMap::new(), BTreeMap::new());
        for (write, poll) in &writes {
            talk(&mut api, write);
            if *poll {
                replay(&mut one, api.poll(&mut from_start));
            }
        }
        replay(&mut one, api.poll(&mut from_start));
        replay(&mut other, api.poll(&mut from_now));
        let list = listed(&mut api, selector.trim_start_matches('&'));
        prop_assert_eq!(&one, &list);
        prop_assert_eq!(&other, &list);
        let mut late = open(&api, &path);
        let mut third = BTreeMap::new();
        replay(&mut third, api.poll(&mut late));
        prop_assert_eq!(&third, &list);
    }

    #[test]
    fn a_list_as_of_a_version_is_the_list_that_was(
        writes in prop::collection::vec(write(), 1..30),
        at in any::<prop::sample::Index>(),
    ) {
        let mut api = server();
        let stop = at.index(writes.len());
        for write in &writes[..stop] {
            talk(&mut api, write);
        }
        let (then, version) = (listed(&mut api, ""), api.resource_version());
        for write in &writes[stop..] {
            talk(&mut api, write);
        }
        let query = format!("resourceVersion={version}&resourceVersionMatch=Exact");
        prop_assert_eq!(listed(&mut api, &query), then);
    }
}
