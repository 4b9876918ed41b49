//! The API server as bytes: what a client sends and gets, without sockets.
#![allow(clippy::panic, reason = "a test may panic")]

use drawbridge_fakes::{
    Answer, Attempt, Cluster, HttpRequest, NoWebhooks, Reply, Stream, Texts, User,
};
use drawbridge_sim::{Epoch, Seed, Time};
use proptest::prelude::*;
use serde_json::Value;

fn cluster() -> Cluster {
    Cluster::served(Epoch::DEFAULT, Seed(1), vec![])
}

fn user(name: &str, group: &str) -> User {
    User { name: name.into(), groups: vec![group.into(), "system:authenticated".into()] }
}

fn ask(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> HttpRequest {
    let headers = headers.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    HttpRequest {
        user: user("admin", "system:masters"),
        method: method.into(),
        target: target.into(),
        headers,
        body: body.as_bytes().to_vec(),
    }
}

fn reply(cluster: &mut Cluster, request: &HttpRequest) -> Reply {
    match cluster.answer(Time::ZERO, request, &mut Attempt::default(), &mut NoWebhooks) {
        Answer::Reply(reply) => reply,
        Answer::List(listing) => listing.reply(),
        Answer::Stream(_) | Answer::Waits => panic!("no reply"),
    }
}

fn watch(cluster: &mut Cluster, request: &HttpRequest) -> Stream {
    match cluster.answer(Time::ZERO, request, &mut Attempt::default(), &mut NoWebhooks) {
        Answer::Stream(stream) => *stream,
        Answer::Reply(reply) => panic!("{}", String::from_utf8_lossy(&reply.body)),
        Answer::List(_) | Answer::Waits => panic!("no stream"),
    }
}

/// What a stream says now.
fn heard(cluster: &Cluster, stream: &mut Stream) -> Vec<u8> {
    let news = stream.collect(cluster);
    stream.write(Time::ZERO, news, &Texts::default())
}

fn json(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or(Value::Null)
}

const JSON: (&str, &str) = ("content-type", "application/json");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn documents_are_answered_and_cached() {
    let mut cluster = cluster();
    for target in ["/healthz", "/version", "/api", "/apis", "/api/v1", "/apis/apps/v1"] {
        assert_eq!(reply(&mut cluster, &ask("GET", target, &[], "")).status, 200, "{target}");
    }
    let first = reply(&mut cluster, &ask("GET", "/openapi/v3/apis/apps/v1", &[], ""));
    let tag = &first.headers.iter().find(|(name, _)| *name == "etag").unwrap().1;
    let again = ask("GET", "/openapi/v3/apis/apps/v1", &[("if-none-match", tag)], "");
    assert_eq!(reply(&mut cluster, &again).status, 304);
}

#[test]
fn a_table_has_the_columns_that_kubectl_prints() {
    let mut cluster = cluster();
    let body = r#"{"metadata":{"name":"a"},"data":{"x":"1","y":"2"}}"#;
    assert_eq!(reply(&mut cluster, &ask("POST", CONFIG_MAPS, &[JSON], body)).status, 201);
    let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    let table = json(&reply(&mut cluster, &ask("GET", CONFIG_MAPS, &[accept], "")));
    assert_eq!(table["kind"], "Table");
    let names = table["columnDefinitions"].as_array().unwrap().iter().map(|it| &it["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["Name", "Data", "Age"]);
    assert_eq!(table["rows"][0]["cells"], serde_json::json!(["a", 2, "0s"]));
}

#[test]
fn a_watch_tells_what_was_there_that_this_is_all_and_what_comes() {
    let mut cluster = cluster();
    let make = |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
    reply(&mut cluster, &ask("POST", CONFIG_MAPS, &[JSON], &make("a")));
    let target = format!(
        "{CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=7"
    );
    let mut stream = watch(&mut cluster, &ask("GET", &target, &[], ""));
    assert_eq!(stream.timeout_secs(), Some(7));
    let lines = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        let short = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-").to_owned();
            format!("{} {name}", event["type"].as_str().unwrap())
        };
        text.lines().map(short).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(heard(&cluster, &mut stream)),
        ["ADDED a", "ADDED kube-root-ca.crt", "BOOKMARK -"]
    );
    reply(&mut cluster, &ask("POST", CONFIG_MAPS, &[JSON], &make("b")));
    assert_eq!(lines(heard(&cluster, &mut stream)), ["ADDED b"]);
}

#[test]
fn rights_come_from_roles_and_their_bindings() {
    let mut cluster = cluster();
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = r#"{"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}]}"#;
    let binding = r#"{"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"reader"},"subjects":[{"kind":"User","name":"alice"}]}"#;
    let as_alice = |method: &str, body: &str| HttpRequest {
        user: user("alice", "people"),
        ..ask(method, CONFIG_MAPS, &[JSON], body)
    };
    let refused = json(&reply(&mut cluster, &as_alice("GET", "")));
    assert_eq!(
        refused["message"],
        "configmaps is forbidden: User \"alice\" cannot list resource \"configmaps\" in API group \
         \"\" in the namespace \"default\""
    );
    reply(&mut cluster, &ask("POST", &format!("{rbac}/roles"), &[JSON], role));
    reply(&mut cluster, &ask("POST", &format!("{rbac}/rolebindings"), &[JSON], binding));
    assert_eq!(reply(&mut cluster, &as_alice("GET", "")).status, 200);
    assert_eq!(reply(&mut cluster, &as_alice("POST", r#"{"metadata":{"name":"x"}}"#)).status, 403);
}

#[test]
fn a_definition_brings_a_kind_and_takes_it_away() {
    let mut cluster = cluster();
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let crd = r#"{"metadata":{"name":"things.example.org"},"spec":{"group":"example.org","scope":"Namespaced",
        "names":{"kind":"Thing","plural":"things"},"versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":
        {"size":{"type":"integer","minimum":0,"default":3}}}}}}}]}}"#;
    let things = "/apis/example.org/v1/namespaces/default/things";
    assert_eq!(reply(&mut cluster, &ask("GET", things, &[], "")).status, 404);
    assert_eq!(reply(&mut cluster, &ask("POST", crds, &[JSON], crd)).status, 201);
    let made = ask("POST", things, &[JSON], r#"{"metadata":{"name":"a"},"spec":{"odd":1}}"#);
    let made = json(&reply(&mut cluster, &made));
    assert_eq!(made["spec"], serde_json::json!({"size": 3}));
    let strict = format!("{things}?fieldValidation=Strict");
    let refused = ask("POST", &strict, &[JSON], r#"{"metadata":{"name":"b"},"spec":{"odd":1}}"#);
    assert_eq!(reply(&mut cluster, &refused).status, 400);
    let gone = ask("DELETE", &format!("{crds}/things.example.org"), &[], "");
    assert_eq!(reply(&mut cluster, &gone).status, 200);
    assert_eq!(reply(&mut cluster, &ask("GET", things, &[], "")).status, 404);
}

#[test]
fn an_item_is_known_again_by_a_key_that_it_leaves_to_its_default() {
    let mut cluster = cluster();
    let apply = ("content-type", "application/apply-patch+yaml");
    let path = "/api/v1/namespaces/default/services/web?fieldManager=me";
    let service = |port: &str| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: web}}, spec: {{ports: [{port}]}}}}"
        )
    };
    let first = ask("PATCH", path, &[apply], &service("{name: http, port: 80}"));
    assert_eq!(reply(&mut cluster, &first).status, 201);
    let second = ask("PATCH", path, &[apply], &service("{name: http, port: 80, targetPort: 8080}"));
    let ports = &json(&reply(&mut cluster, &second))["spec"]["ports"];
    let wanted = r#"[{"name":"http","port":80,"protocol":"TCP","targetPort":8080}]"#;
    assert_eq!(*ports, serde_json::from_str::<Value>(wanted).unwrap());
}

proptest! {
    #[test]
    fn no_request_makes_it_panic(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "X"]),
        path in "(/api/v1|/apis|/apis/apps/v1|/openapi/v3|/)(/namespaces/default)?(/pods|/nodes|/deployments|/[a-z%/]{0,9})?(/[a-z]{1,3})?(/status|/scale|/binding|/log)?",
        query in "(watch=true|limit=x|limit=1|continue=[A-Za-z0-9]{0,8}|labelSelector=[a-z!=,()]{0,9}|dryRun=All|resourceVersion=[0-9a-z]{0,3})?",
        kind in prop::sample::select(vec![
            "application/json", "application/yaml", "application/apply-patch+yaml",
            "application/merge-patch+json", "application/json-patch+json",
            "application/strategic-merge-patch+json", "application/vnd.kubernetes.protobuf", "x/y",
        ]),
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let request = HttpRequest {
            body,
            ..ask(method, &format!("{path}?{query}"), &[("content-type", kind), ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")], "")
        };
        cluster().answer(Time::ZERO, &request, &mut Attempt::default(), &mut NoWebhooks);
    }
}
