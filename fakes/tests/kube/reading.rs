//! Lists: selectors, pages, versions.

use insta::assert_snapshot;

use crate::talk::{server, talk};

const SOME: &str = r#"
    POST /api/v1/namespaces {"metadata":{"name":"other"}}
    POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","labels":{"tier":"gold"}}}
    POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"b","labels":{"tier":"tin"}}}
    POST /api/v1/namespaces/other/configmaps {"metadata":{"name":"c"}}
"#;

#[test]
fn lists_are_ordered_and_selected() {
    let mut api = server();
    talk(&mut api, SOME);
    assert_snapshot!(talk(&mut api, r#"
        GET /api/v1/configmaps ?? kind apiVersion items.0.kind
        GET /api/v1/namespaces/other/configmaps
        GET /api/v1/namespaces/nowhere/configmaps
        GET /api/v1/configmaps?labelSelector=tier
        GET /api/v1/configmaps?labelSelector=tier+in+(gold,silver)
        GET /api/v1/configmaps?labelSelector=tier+near+(gold)
        GET /api/v1/configmaps?fieldSelector=metadata.name=c
        GET /api/v1/configmaps?fieldSelector=metadata.namespace!=other
        GET /api/v1/configmaps?fieldSelector=data.x=1
        GET /api/v1/namespaces?labelSelector=kubernetes.io/metadata.name=other ?? items.0.status items.0.spec
    "#), @r#"
    GET configmaps: 200 ConfigMapList [a b c] rv 10 kind="ConfigMapList" apiVersion="v1" items.0.kind=null
    GET namespaces/other/configmaps: 200 ConfigMapList [c] rv 10
    GET namespaces/nowhere/configmaps: 200 ConfigMapList [] rv 10
    GET configmaps?labelSelector=tier: 200 ConfigMapList [a b] rv 10
    GET configmaps?labelSelector=tier+in+(gold,silver): 200 ConfigMapList [a] rv 10
    GET configmaps?labelSelector=tier+near+(gold): 400 BadRequest: unable to parse requirement: found 'near', expected: in, notin, =, ==, !=, gt, lt
    GET configmaps?fieldSelector=metadata.name=c: 200 ConfigMapList [c] rv 10
    GET configmaps?fieldSelector=metadata.namespace!=other: 200 ConfigMapList [a b] rv 10
    GET configmaps?fieldSelector=data.x=1: 400 BadRequest: "data.x" is not a known field selector: only "metadata.name", "metadata.namespace"
    GET namespaces?labelSelector=kubernetes.io/metadata.name=other: 200 NamespaceList [other] rv 10 items.0.status={"phase":"Active"} items.0.spec={"finalizers":["kubernetes"]}
    "#);
}

#[test]
fn pods_and_events_are_selected_by_their_own_fields() {
    let mut api = server();
    assert_snapshot!(talk(&mut api, r#"
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"a"},"spec":{"nodeName":"n1","schedulerName":"s","containers":[{"name":"c","image":"i"}]}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"i"}]}}
        GET /api/v1/pods?fieldSelector=spec.nodeName=n1
        GET /api/v1/pods?fieldSelector=spec.nodeName=
        GET /api/v1/pods?fieldSelector=spec.schedulerName=s,status.phase=Pending
        GET /api/v1/pods?fieldSelector=status.phase!=Pending
        GET /api/v1/pods?fieldSelector=spec.hostname=x
        POST /api/v1/namespaces/default/events {"metadata":{"generateName":"a."},"involvedObject":{"kind":"Pod","namespace":"default","name":"a"},"reason":"Waiting"}
        GET /api/v1/namespaces/default/events?fieldSelector=involvedObject.name=a,involvedObject.kind=Pod ?? items.0.reason
        GET /api/v1/namespaces/default/events?fieldSelector=involvedObject.name=b
        POST /api/v1/namespaces/default/events {"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"other","name":"a"}}
    "#), @r#"
    POST pods: 201 Pod a rv 7
    POST pods: 201 Pod b rv 8
    GET pods?fieldSelector=spec.nodeName=n1: 200 PodList [a] rv 8
    GET pods?fieldSelector=spec.nodeName=: 200 PodList [b] rv 8
    GET pods?fieldSelector=spec.schedulerName=s,status.phase=Pending: 200 PodList [a] rv 8
    GET pods?fieldSelector=status.phase!=Pending: 200 PodList [] rv 8
    GET pods?fieldSelector=spec.hostname=x: 400 BadRequest: field label not supported: spec.hostname
    POST events: 201 Event a.4dkdt rv 9
    GET events?fieldSelector=involvedObject.name=a,involvedObject.kind=Pod: 200 EventList [a.4dkdt] rv 9 items.0.reason="Waiting"
    GET events?fieldSelector=involvedObject.name=b: 200 EventList [] rv 9
    POST events: 422 Invalid: Event "e" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace
    "#);
}

#[test]
fn pages_of_a_list_are_of_one_moment() {
    let mut api = server();
    talk(&mut api, SOME);
    let first = talk(&mut api, "GET /api/v1/configmaps?limit=2 ?? metadata");
    assert_snapshot!(first, @r#"GET configmaps?limit=2: 200 ConfigMapList [a b] rv 10 metadata={"continue":"eyJydiI6MTAsInN0YXJ0IjoiZGVmYXVsdC9iIiwidiI6Im1ldGEuazhzLmlvL3YxIn0=","remainingItemCount":1,"resourceVersion":"10"}"#);
    let token = first.split("\"continue\":\"").nth(1).unwrap().split('"').next().unwrap();
    let script = format!(
        r#"
        DELETE /api/v1/namespaces/other/configmaps/c
        POST /api/v1/namespaces/other/configmaps {{"metadata":{{"name":"d"}}}}
        GET /api/v1/configmaps?limit=2&continue={token} ?? metadata
        GET /api/v1/configmaps?limit=2&continue=garbage
        GET /api/v1/configmaps?limit=few
        "#
    );
    let said = talk(&mut api, &script).replace(token, "TOKEN");
    assert_snapshot!(said, @r#"
    DELETE namespaces/other/configmaps/c: 200 Success
    POST namespaces/other/configmaps: 201 ConfigMap d rv 12
    GET configmaps?limit=2&continue=TOKEN: 200 ConfigMapList [c] rv 10 metadata={"resourceVersion":"10"}
    GET configmaps?limit=2&continue=garbage: 400 BadRequest: invalid continue token: continue key is not valid: invalid character '\u0081' looking for beginning of value
    GET configmaps?limit=few: 400 BadRequest: strconv.ParseInt: parsing "few": invalid syntax
    "#);
}

#[test]
fn lists_are_given_as_of_a_version() {
    let mut api = server();
    talk(&mut api, SOME);
    assert_snapshot!(talk(&mut api, r#"
        DELETE /api/v1/namespaces/default/configmaps/a
        GET /api/v1/configmaps?resourceVersion=8&resourceVersionMatch=Exact
        GET /api/v1/configmaps?resourceVersion=10&resourceVersionMatch=Exact
        GET /api/v1/configmaps?resourceVersion=8
        GET /api/v1/configmaps?resourceVersion=99 ?? details
        GET /api/v1/configmaps?resourceVersion=x
    "#), @r#"
    DELETE configmaps/a: 200 Success
    GET configmaps?resourceVersion=8&resourceVersionMatch=Exact: 200 ConfigMapList [a] rv 8
    GET configmaps?resourceVersion=10&resourceVersionMatch=Exact: 200 ConfigMapList [a b c] rv 10
    GET configmaps?resourceVersion=8: 200 ConfigMapList [b c] rv 11
    GET configmaps?resourceVersion=99: 504 Timeout: Timeout: Too large resource version: 99, current: 11 details={"causes":[{"message":"Too large resource version","reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}
    GET configmaps?resourceVersion=x: 400 BadRequest: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax
    "#);
}
