//! What is true of every request, however mad: an answer comes, and versions only grow.

use drawbridge_fakes::{ChangeKind, KubeApi, Method, NoWebhooks, Request};
use drawbridge_sim::Time;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::talk::{server, talk};

/// Words that the server looks for, so that madness reaches its corners.
const KEYS: &[&str] = &[
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "uid",
    "resourceVersion",
    "generateName",
    "spec",
    "status",
    "containers",
    "resources",
    "requests",
    "limits",
    "cpu",
    "template",
    "selector",
    "matchLabels",
    "replicas",
    "conditions",
    "type",
    "target",
    "webhooks",
    "rules",
    "matchConditions",
    "expression",
    "clientConfig",
    "taints",
    "key",
    "$patch",
    "kind",
    "apiVersion",
    "strategy",
    "rollingUpdate",
    "tolerations",
    "op",
    "path",
    "value",
    "gracePeriodSeconds",
    "preconditions",
    "propagationPolicy",
    "deleteOptions",
    "phase",
    "data",
];

const PATHS: &[&str] = &[
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    "/api/v1/nodes",
    "/api/v1/nodes/a",
    "/api/v1/nodes/a/status",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/pods/a",
    "/api/v1/namespaces/default/pods/a/status",
    "/api/v1/namespaces/default/pods/a/binding",
    "/api/v1/namespaces/default/pods/a/eviction",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/configmaps/a",
    "/api/v1/namespaces/default/events",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/a",
    "/apis/apps/v1/namespaces/default/deployments/a/scale",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/batch/v1/namespaces/default/jobs/a",
    "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups",
    "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/a/status",
    "/apis/slinky.slurm.net/v1alpha1/namespaces/default/nodesets/a/scale",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/a",
];

/// A server with an object `a` of many kinds, for patches to hit.
fn populated() -> KubeApi {
    let mut api = server();
    let said = talk(
        &mut api,
        r#"
        POST /api/v1/nodes {"metadata":{"name":"a"},"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}}
        POST /api/v1/namespaces/default/pods {"metadata":{"name":"a","finalizers":["x.y/z"]},"spec":{"containers":[{"name":"c","image":"i"}]}}
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"},"data":{"a":"1"}}
        POST /apis/apps/v1/namespaces/default/deployments {"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
        POST /apis/batch/v1/namespaces/default/jobs {"metadata":{"name":"a"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}
        POST /apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups {"metadata":{"name":"a"},"spec":{"minMember":2}}
        POST /apis/slinky.slurm.net/v1alpha1/namespaces/default/nodesets {"metadata":{"name":"a"},"spec":{"replicas":2}}
    "#,
    );
    assert_eq!(said.matches(": 201 ").count(), 7, "{said}");
    api
}

/// A JSON patch, sometimes of something that is there.
fn operations() -> impl Strategy<Value = Value> {
    let op = prop::sample::select(vec!["add", "remove", "replace", "test", "move"]);
    let paths = vec![
        "",
        "/metadata",
        "/metadata/labels",
        "/metadata/name",
        "/metadata/finalizers",
        "/spec",
        "/spec/containers",
        "/spec/containers/0",
        "/spec/containers/0/resources",
        "/spec/template",
        "/spec/template/metadata",
        "/status",
        "/status/conditions",
        "/data",
    ];
    let operation = (op, prop::sample::select(paths), value()).prop_map(
        |(op, path, value)| json!({"op": op, "path": path, "from": path, "value": value}),
    );
    prop::collection::vec(operation, 1..3).prop_map(Value::from)
}

fn value() -> impl Strategy<Value = Value> {
    let words =
        prop::sample::select(vec!["a", "", "1", "x.y/z", "500m", "delete", "add", "/spec/a"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(KEYS), inner, 0..6).prop_map(|map| {
                let map = map.into_iter().map(|(key, value)| (key.to_owned(), value));
                Value::Object(map.collect::<Map<_, _>>())
            }),
        ]
    })
}

/// A request with a mad body, sometimes around a sound one.
fn request() -> impl Strategy<Value = Request> {
    let method = prop::sample::select(vec![
        Method::Get,
        Method::Post,
        Method::Put,
        Method::MergePatch,
        Method::JsonPatch,
        Method::StrategicPatch,
        Method::Delete,
    ]);
    let path = prop::sample::select(PATHS);
    let body = (value(), operations());
    (method, path, body, any::<bool>()).prop_map(|(method, path, (mad, operations), named)| {
        let mut body = mad;
        if method == Method::JsonPatch {
            body = operations;
        } else if method == Method::Post && named {
            let mut sound = json!({
                "metadata": {"name": "a"},
                "spec": {"containers": [{"name": "c", "image": "i"}], "replicas": 1},
            });
            overlay(&mut sound, &body);
            body = sound;
        }
        Request::new("mallory", method, path).with_body(body)
    })
}

fn overlay(sound: &mut Value, mad: &Value) {
    for (key, value) in mad.as_object().into_iter().flatten() {
        match (sound.get_mut(key), value) {
            (Some(Value::Object(had)), Value::Object(more)) => had.extend(more.clone()),
            _ => sound[key] = value.clone(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_and_versions_only_grow(
        requests in prop::collection::vec(request(), 1..20),
    ) {
        let mut api = populated();
        api.take_changes();
        let mut last = api.resource_version();
        for (second, request) in requests.iter().enumerate() {
            let now = Time::from_ms(second as u64 * 1000);
            let response = api.handle(now, request, &mut NoWebhooks);
            prop_assert!((200..600).contains(&response.status));
            prop_assert!(response.status < 400 || response.body["status"] == "Failure");
            api.collect_garbage(now, &mut NoWebhooks);
            for change in api.take_changes() {
                last += 1;
                prop_assert_eq!(change.rv, last);
                prop_assert_eq!(&change.object["metadata"]["resourceVersion"], &last.to_string());
                let stored = api.get(change.resource, &change.namespace, &change.name);
                if change.kind == ChangeKind::Deleted && change.rv == api.resource_version() {
                    prop_assert_eq!(stored, None);
                }
            }
            prop_assert_eq!(api.resource_version(), last);
        }
    }

    #[test]
    fn the_same_requests_give_the_same_answers(
        requests in prop::collection::vec(request(), 1..12),
        half in any::<prop::sample::Index>(),
    ) {
        let mut api = populated();
        let middle = half.index(requests.len());
        for request in &requests[..middle] {
            api.handle(Time::ZERO, request, &mut NoWebhooks);
        }
        let mut copy = api.clone();
        for request in &requests[middle..] {
            let answer = api.handle(Time::ZERO, request, &mut NoWebhooks);
            prop_assert_eq!(answer, copy.handle(Time::ZERO, request, &mut NoWebhooks));
        }
    }
}
