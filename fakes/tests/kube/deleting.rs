//! Deleting: grace, finalizers, preconditions, propagation, garbage.

use insta::assert_snapshot;

use crate::talk::{server, talk};

const BOUND: &str = r#"
    POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"a:1"}]}}
"#;

#[test]
fn a_delete_answers_with_what_is_gone() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}}
        DELETE /api/v1/namespaces/default/configmaps/a ?? details
        DELETE /api/v1/namespaces/default/configmaps/a
        POST /api/v1/namespaces/default/serviceaccounts {"metadata":{"name":"s"}}
        DELETE /api/v1/namespaces/default/serviceaccounts/s
    "#), @r#"
    POST configmaps: 201 ConfigMap a rv 7
    DELETE configmaps/a: 200 Success details={"kind":"configmaps","name":"a","uid":"6f238ebe-c9da-4f28-876a-311cc75903eb"}
    DELETE configmaps/a: 404 NotFound: configmaps "a" not found
    POST serviceaccounts: 201 ServiceAccount s rv 9
    DELETE serviceaccounts/s: 200 ServiceAccount s rv 10
    "#);
}

#[test]
fn a_pod_that_runs_nowhere_is_gone_at_once() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1"}]}}
        DELETE /api/v1/namespaces/default/pods/p ?? metadata.deletionGracePeriodSeconds
        GET /api/v1/namespaces/default/pods/p
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"q"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"a:1"}]}}
        MERGE /api/v1/namespaces/default/pods/q/status {"status":{"phase":"Succeeded"}}
        DELETE /api/v1/namespaces/default/pods/q
        GET /api/v1/namespaces/default/pods/q
    "#), @r#"
    POST pods: 201 Pod p rv 7
    DELETE pods/p: 200 Pod p rv 8 metadata.deletionGracePeriodSeconds=0
    GET pods/p: 404 NotFound: pods "p" not found
    POST pods: 201 Pod q rv 9
    MERGE pods/q/status: 200 Pod q rv 10
    DELETE pods/q: 200 Pod q rv 11
    GET pods/q: 404 NotFound: pods "q" not found
    "#);
}

#[test]
fn a_pod_on_a_node_has_its_grace_until_the_kubelet_says_it_is_over() {
    let mut api = server();
    talk(&mut api, BOUND);
    assert_snapshot!(talk(&mut api, r#"
        AT 100
        DELETE /api/v1/namespaces/default/pods/p ?? metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.generation
        AT 102
        DELETE /api/v1/namespaces/default/pods/p ?? metadata.deletionTimestamp
        DELETE /api/v1/namespaces/default/pods/p?gracePeriodSeconds=60 ?? metadata.deletionTimestamp
        DELETE /api/v1/namespaces/default/pods/p {"gracePeriodSeconds":10} ?? metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.generation
        DELETE /api/v1/namespaces/default/pods/p {"gracePeriodSeconds":0,"preconditions":{"uid":"other"}}
        DELETE /api/v1/namespaces/default/pods/p {"gracePeriodSeconds":0,"preconditions":{"resourceVersion":"1"}}
        DELETE /api/v1/namespaces/default/pods/p {"gracePeriodSeconds":0}
        GET /api/v1/namespaces/default/pods/p
    "#), @r#"
    DELETE pods/p: 200 Pod p rv 8 metadata.deletionTimestamp="2026-01-01T00:02:10Z" metadata.deletionGracePeriodSeconds=30 metadata.generation=2
    DELETE pods/p: 200 Pod p rv 8 metadata.deletionTimestamp="2026-01-01T00:02:10Z"
    DELETE pods/p?gracePeriodSeconds=60: 200 Pod p rv 8 metadata.deletionTimestamp="2026-01-01T00:02:10Z"
    DELETE pods/p: 200 Pod p rv 9 metadata.deletionTimestamp="2026-01-01T00:01:50Z" metadata.deletionGracePeriodSeconds=10 metadata.generation=2
    DELETE pods/p: 409 Conflict: Operation cannot be fulfilled on Pod "p": the UID in the precondition (other) does not match the UID in record (6f238ebe-c9da-4f28-876a-311cc75903eb). The object might have been deleted and then recreated
    DELETE pods/p: 409 Conflict: Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (9). The object might have been modified
    DELETE pods/p: 200 Pod p rv 10
    GET pods/p: 404 NotFound: pods "p" not found
    "#);
}

#[test]
fn finalizers_hold_an_object_until_the_last_is_gone() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","finalizers":["x.y/z","x.y/w"]}}
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"b","finalizers":["z"]}}
        AT 1
        DELETE /api/v1/namespaces/default/configmaps/a ?? metadata.deletionTimestamp metadata.deletionGracePeriodSeconds
        DELETE /api/v1/namespaces/default/configmaps/a
        MERGE /api/v1/namespaces/default/configmaps/a {"metadata":{"finalizers":["x.y/z","x.y/w","x.y/v"]}}
        STRATEGIC /api/v1/namespaces/default/configmaps/a {"metadata":{"$deleteFromPrimitiveList/finalizers":["x.y/w"]}} ?? metadata.finalizers
        MERGE /api/v1/namespaces/default/configmaps/a {"metadata":{"finalizers":null}} ?? metadata.finalizers
        GET /api/v1/namespaces/default/configmaps/a
    "#), @r#"
    POST configmaps: 201 ConfigMap a rv 7
    POST configmaps: 422 Invalid: ConfigMap "b" is invalid: metadata.finalizers: Invalid value: "z": name is neither a standard finalizer name nor is it fully qualified
    DELETE configmaps/a: 200 ConfigMap a rv 8 metadata.deletionTimestamp="2026-01-01T00:00:01Z" metadata.deletionGracePeriodSeconds=0
    DELETE configmaps/a: 200 ConfigMap a rv 8
    MERGE configmaps/a: 422 Invalid: ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.y/v"}
    STRATEGIC configmaps/a: 200 ConfigMap a rv 9 metadata.finalizers=["x.y/z"]
    MERGE configmaps/a: 200 ConfigMap a rv 10 metadata.finalizers=null
    GET configmaps/a: 404 NotFound: configmaps "a" not found
    "#);
}

#[test]
fn a_pod_waits_for_both_its_grace_and_its_finalizers() {
    let mut api = server();
    talk(&mut api, BOUND);
    assert_snapshot!(talk(&mut api, r#"
        MERGE /api/v1/namespaces/default/pods/p {"metadata":{"finalizers":["x.y/z"]}}
        DELETE /api/v1/namespaces/default/pods/p
        MERGE /api/v1/namespaces/default/pods/p {"metadata":{"finalizers":null}} ?? metadata.deletionGracePeriodSeconds
        DELETE /api/v1/namespaces/default/pods/p?gracePeriodSeconds=0
        GET /api/v1/namespaces/default/pods/p
    "#), @r#"
    MERGE pods/p: 200 Pod p rv 8
    DELETE pods/p: 200 Pod p rv 9
    MERGE pods/p: 200 Pod p rv 10 metadata.deletionGracePeriodSeconds=30
    DELETE pods/p?gracePeriodSeconds=0: 200 Pod p rv 11
    GET pods/p: 404 NotFound: pods "p" not found
    "#);
    talk(&mut api, BOUND);
    assert_snapshot!(talk(&mut api, r#"
        MERGE /api/v1/namespaces/default/pods/p {"metadata":{"finalizers":["x.y/z"]}}
        DELETE /api/v1/namespaces/default/pods/p
        DELETE /api/v1/namespaces/default/pods/p?gracePeriodSeconds=0 ?? metadata.deletionGracePeriodSeconds
        MERGE /api/v1/namespaces/default/pods/p {"metadata":{"finalizers":null}}
        GET /api/v1/namespaces/default/pods/p
    "#), @r#"
    MERGE pods/p: 200 Pod p rv 13
    DELETE pods/p: 200 Pod p rv 14
    DELETE pods/p?gracePeriodSeconds=0: 200 Pod p rv 15 metadata.deletionGracePeriodSeconds=0
    MERGE pods/p: 200 Pod p rv 16
    GET pods/p: 404 NotFound: pods "p" not found
    "#);
}

#[test]
fn a_collection_is_deleted_by_selector() {
    assert_snapshot!(talk(&mut server(), r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","labels":{"x":"1"}}}
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"b","labels":{"x":"2"}}}
        DELETE /api/v1/namespaces/default/configmaps?labelSelector=x=1
        GET /api/v1/configmaps
        DELETE /api/v1/configmaps
    "#), @r#"
    POST configmaps: 201 ConfigMap a rv 7
    POST configmaps: 201 ConfigMap b rv 8
    DELETE configmaps?labelSelector=x=1: 200 ConfigMapList [a] rv 8
    GET configmaps: 200 ConfigMapList [b] rv 9
    DELETE configmaps: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    "#);
}

/// A ReplicaSet with two pods; the uid is what seed 1 gives it.
fn family() -> drawbridge_fakes::KubeApi {
    let mut api = server();
    talk(
        &mut api,
        r#"
        POST /apis/apps/v1/namespaces/default/replicasets {"metadata":{"name":"r"},"spec":{"selector":{"matchLabels":{"app":"r"}},"template":{"metadata":{"labels":{"app":"r"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
    "#,
    );
    let uid = api.get("replicasets.apps", "default", "r").unwrap()["metadata"]["uid"].clone();
    for (name, node) in [("p0", ""), ("p1", r#""nodeName":"n1","#)] {
        let owner = format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":{uid},"controller":true,"blockOwnerDeletion":true}}"#
        );
        let line = format!(
            r#"POST /api/v1/namespaces/default/pods {{"metadata":{{"name":"{name}","ownerReferences":[{owner}]}},"spec":{{{node}"containers":[{{"name":"c","image":"i"}}]}}}}"#
        );
        talk(&mut api, &line);
    }
    api
}

#[test]
fn dependents_go_after_their_owner_in_the_background() {
    let mut api = family();
    assert!(!api.has_garbage());
    assert_snapshot!(talk(&mut api, r#"
        DELETE /apis/apps/v1/namespaces/default/replicasets/r?propagationPolicy=Background
        COLLECT
        GET /api/v1/pods ?? items.0.metadata.deletionGracePeriodSeconds
        COLLECT
    "#), @r#"
    DELETE replicasets/r?propagationPolicy=Background: 200 Success
    COLLECT: 2 requests
    GET pods: 200 PodList [p1] rv 12 items.0.metadata.deletionGracePeriodSeconds=30
    COLLECT: 0 requests
    "#);
}

#[test]
fn dependents_go_before_their_owner_in_the_foreground() {
    let mut api = family();
    assert_snapshot!(talk(&mut api, r#"
        DELETE /apis/apps/v1/namespaces/default/replicasets/r?propagationPolicy=Foreground ?? metadata.finalizers metadata.generation
        COLLECT
        GET /api/v1/pods
        GET /apis/apps/v1/namespaces/default/replicasets/r
        DELETE /api/v1/namespaces/default/pods/p1?gracePeriodSeconds=0
        COLLECT
        GET /apis/apps/v1/namespaces/default/replicasets/r
    "#), @r#"
    DELETE replicasets/r?propagationPolicy=Foreground: 200 ReplicaSet r rv 10 metadata.finalizers=["foregroundDeletion"] metadata.generation=2
    COLLECT: 2 requests
    GET pods: 200 PodList [p1] rv 12
    GET replicasets/r: 200 ReplicaSet r rv 10
    DELETE pods/p1?gracePeriodSeconds=0: 200 Pod p1 rv 13
    COLLECT: 1 requests
    GET replicasets/r: 404 NotFound: replicasets.apps "r" not found
    "#);
}

#[test]
fn orphans_forget_their_owner() {
    let mut api = family();
    assert_snapshot!(talk(&mut api, r#"
        DELETE /apis/apps/v1/namespaces/default/replicasets/r {"propagationPolicy":"Orphan"} ?? metadata.finalizers
        COLLECT
        GET /apis/apps/v1/namespaces/default/replicasets/r
        GET /api/v1/pods ?? items.0.metadata.ownerReferences items.1.metadata.ownerReferences
        DELETE /api/v1/namespaces/default/pods/p0?propagationPolicy=Sideways
    "#), @r#"
    DELETE replicasets/r: 200 ReplicaSet r rv 10 metadata.finalizers=["orphan"]
    COLLECT: 3 requests
    GET replicasets/r: 404 NotFound: replicasets.apps "r" not found
    GET pods: 200 PodList [p0 p1] rv 13 items.0.metadata.ownerReferences=null items.1.metadata.ownerReferences=null
    DELETE pods/p0?propagationPolicy=Sideways: 400 BadRequest: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan"
    "#);
}

#[test]
fn an_object_born_after_its_owner_died_goes_too_unless_its_owner_may_live_elsewhere() {
    let mut api = server();
    assert_snapshot!(talk(&mut api, r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"gone"}]}}
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"b","ownerReferences":[{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","name":"x","uid":"elsewhere"}]}}
        COLLECT
        GET /api/v1/configmaps
    "#), @r#"
    POST configmaps: 201 ConfigMap a rv 7
    POST configmaps: 201 ConfigMap b rv 8
    COLLECT: 1 requests
    GET configmaps: 200 ConfigMapList [b] rv 9
    "#);
}

#[test]
fn a_namespace_goes_when_the_last_thing_in_it_is_gone() {
    let mut api = server();
    assert_snapshot!(talk(&mut api, r#"
        POST /api/v1/namespaces {"metadata":{"name":"hpc"}}
        POST /api/v1/namespaces/hpc/configmaps {"metadata":{"name":"a"}}
        POST /api/v1/namespaces/hpc/pods {"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}
        DELETE /api/v1/namespaces/hpc ?? metadata.deletionTimestamp status spec
        POST /api/v1/namespaces/hpc/configmaps {"metadata":{"name":"b"}}
        COLLECT
        GET /api/v1/namespaces/hpc/configmaps
        GET /api/v1/namespaces/hpc/pods ?? items.0.metadata.deletionGracePeriodSeconds
        MERGE /api/v1/namespaces/hpc {"metadata":{"labels":{"a":"b"}}} ?? status
        COLLECT
        DELETE /api/v1/namespaces/hpc/pods/p?gracePeriodSeconds=0
        COLLECT
        GET /api/v1/namespaces/hpc
        DELETE /api/v1/namespaces/default
        DELETE /api/v1/namespaces
    "#), @r#"
    POST namespaces: 201 Namespace hpc rv 7
    POST namespaces/hpc/configmaps: 201 ConfigMap a rv 8
    POST namespaces/hpc/pods: 201 Pod p rv 9
    DELETE namespaces/hpc: 200 Namespace hpc rv 10 metadata.deletionTimestamp="2026-01-01T00:00:00Z" status={"phase":"Terminating"} spec={"finalizers":["kubernetes"]}
    POST namespaces/hpc/configmaps: 403 Forbidden: configmaps "b" is forbidden: unable to create new content in namespace hpc because it is being terminated
    COLLECT: 2 requests
    GET namespaces/hpc/configmaps: 200 ConfigMapList [] rv 12
    GET namespaces/hpc/pods: 200 PodList [p] rv 12 items.0.metadata.deletionGracePeriodSeconds=30
    MERGE namespaces/hpc: 200 Namespace hpc rv 13 status={"phase":"Terminating"}
    COLLECT: 1 requests
    DELETE namespaces/hpc/pods/p?gracePeriodSeconds=0: 200 Pod p rv 14
    COLLECT: 1 requests
    GET namespaces/hpc: 404 NotFound: namespaces "hpc" not found
    DELETE namespaces/default: 403 Forbidden: namespaces "default" is forbidden: this namespace may not be deleted
    DELETE namespaces: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    "#);
}
