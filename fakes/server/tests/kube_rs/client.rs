//! The kube crate, a client that we didn't write, over TLS: it lists, watches, patches and binds.

use std::{collections::BTreeMap, time::Duration};

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Binding, Node, ObjectReference, Pod},
};
use kube::{
    Error,
    api::{
        Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch,
        PatchParams, PostParams, WatchEvent, WatchParams,
    },
    core::ObjectMeta,
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Value, json};

use crate::start;

const PLAIN: PostParams = PostParams { dry_run: false, field_manager: None };

/// Longer than anything takes, however busy the machine: only a hang gets there.
const PATIENCE: Duration = Duration::from_secs(60);

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the shape of its kind")
}

fn pod(name: &str) -> Pod {
    read(json!({
        "metadata": {"name": name},
        "spec": {"schedulerName": "somebody", "containers": [{"name": "main", "image": "pause"}]},
    }))
}

async fn create(pods: &Api<Pod>, names: &[&str]) {
    for name in names {
        pods.create(&PLAIN, &pod(name)).await.expect("it is new");
    }
}

fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

fn names(pods: &[Pod]) -> Vec<&str> {
    pods.iter().map(name).collect()
}

/// The next event of a watch.
async fn next<T, E: std::fmt::Debug>(stream: &mut (impl Stream<Item = Result<T, E>> + Unpin)) -> T {
    let event = tokio::time::timeout(PATIENCE, stream.next()).await.expect("news");
    event.expect("the watch goes on").expect("no error")
}

#[tokio::test]
async fn it_lists_in_pages_and_by_labels() {
    let (server, client) = start().await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    create(&pods, &["a", "b", "c"]).await;
    let first = pods.list(&ListParams::default().limit(2)).await.expect("a page");
    assert_eq!(names(&first.items), ["a", "b"]);
    assert_eq!(first.metadata.remaining_item_count, Some(1));
    let rest =
        ListParams::default().limit(2).continue_token(&first.metadata.continue_.expect("more"));
    assert_eq!(names(&pods.list(&rest).await.expect("the last page").items), ["c"]);
    let gold = json!({"metadata": {"labels": {"tier": "gold"}}});
    pods.patch("b", &PatchParams::default(), &Patch::Merge(gold)).await.expect("a patch");
    let chosen = pods.list(&ListParams::default().labels("tier=gold")).await.expect("a list");
    assert_eq!(names(&chosen.items), ["b"]);
    server.stop().await;
}

#[tokio::test]
async fn it_watches_from_a_version_and_hears_of_bindings() {
    let (server, client) = start().await;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let nodes: Api<Node> = Api::all(client);
    let node = read(json!({"metadata": {"name": "n1"}}));
    nodes.create(&PLAIN, &node).await.expect("a node");
    let version =
        pods.list(&ListParams::default()).await.expect("a list").metadata.resource_version;
    let stream = pods.watch(&WatchParams::default(), &version.expect("a version")).await;
    let mut stream = stream.expect("a watch").boxed();
    create(&pods, &["a"]).await;
    assert!(matches!(next(&mut stream).await, WatchEvent::Added(pod) if name(&pod) == "a"));
    let binding = Binding {
        metadata: ObjectMeta { name: Some("a".into()), ..Default::default() },
        target: ObjectReference {
            kind: Some("Node".into()),
            name: Some("n1".into()),
            ..Default::default()
        },
    };
    let bind = || pods.create_subresource::<_, Value>("binding", "a", &PLAIN, &binding);
    assert_eq!(bind().await.expect("a binding")["status"], "Success");
    let WatchEvent::Modified(bound) = next(&mut stream).await else { panic!("the pod was bound") };
    assert_eq!(bound.spec.expect("a spec").node_name.as_deref(), Some("n1"));
    let Err(Error::Api(refused)) = bind().await else { panic!("a pod is bound once") };
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    pods.delete("a", &DeleteParams::default().grace_period(0)).await.expect("it is there");
    while !matches!(next(&mut stream).await, WatchEvent::Deleted(_)) {}
    server.stop().await;
}

#[tokio::test]
async fn its_watcher_starts_with_what_is_there_either_way() {
    let (server, client) = start().await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    create(&pods, &["a", "b"]).await;
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let mut stream = watcher(pods.clone(), config).boxed();
        assert!(matches!(next(&mut stream).await, watcher::Event::Init));
        for expected in ["a", "b"] {
            let event = next(&mut stream).await;
            assert!(matches!(event, watcher::Event::InitApply(pod) if name(&pod) == expected));
        }
        assert!(matches!(next(&mut stream).await, watcher::Event::InitDone));
        let touch = json!({"metadata": {"annotations": {"touched": "yes"}}});
        pods.patch("a", &PatchParams::default(), &Patch::Merge(touch)).await.expect("a patch");
        // Written with what it had already, the second time it isn't news.
        let none = json!({"metadata": {"annotations": null}});
        pods.patch("a", &PatchParams::default(), &Patch::Merge(none)).await.expect("a patch");
        let touched: Vec<Pod> =
            stream.applied_objects().take(2).try_collect().await.expect("two changes");
        assert_eq!(names(&touched), ["a", "a"]);
    }
    server.stop().await;
}

#[tokio::test]
async fn it_patches_in_all_four_ways() {
    let (server, client) = start().await;
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let web = |image: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": image}]}}},
        })
    };
    let applied = |manager, image| {
        let (deployments, body) = (deployments.clone(), web(image));
        async move { deployments.patch("web", &PatchParams::apply(manager), &Patch::Apply(body)).await }
    };
    applied("one", "nginx:1").await.expect("it is made by being applied");
    let Err(Error::Api(refused)) = applied("two", "nginx:2").await else {
        panic!("it is another's")
    };
    assert_eq!(refused.code, 409);
    assert!(refused.message.contains("conflict with \"one\""), "{}", refused.message);
    let side =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}});
    let merge = json!({"metadata": {"labels": {"tier": "gold"}}});
    let json = read(json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]));
    let plain = PatchParams::default();
    deployments.patch("web", &plain, &Patch::Strategic(side)).await.expect("a strategic patch");
    deployments.patch("web", &plain, &Patch::Merge(merge)).await.expect("a merge patch");
    let web =
        deployments.patch("web", &plain, &Patch::Json::<()>(json)).await.expect("a JSON patch");
    let spec = web.spec;
    let containers = spec.template.spec.expect("a pod").containers;
    // The strategic patch adds a container by its name, in front; a merge patch would have replaced the list.
    assert_eq!(containers.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["side", "main"]);
    assert_eq!(web.metadata.labels, Some(BTreeMap::from([("tier".into(), "gold".into())])));
    assert_eq!(spec.replicas, Some(3));
    server.stop().await;
}

#[tokio::test]
async fn it_finds_kinds_by_discovery_and_scales_them() {
    let (server, client) = start().await;
    let kind = GroupVersionKind::gvk("slinky.slurm.net", "v1alpha1", "NodeSet");
    let (resource, capabilities) =
        kube::discovery::pinned_kind(&client, &kind).await.expect("it is installed");
    assert!(capabilities.subresources.iter().any(|(it, _)| it.plural == "scale"));
    let sets: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
    let body = json!({"spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let set = DynamicObject::new("workers", &ApiResource::from_gvk(&kind)).data(body);
    sets.create(&PLAIN, &set).await.expect("a NodeSet");
    let seven = Patch::Merge(json!({"spec": {"replicas": 7}}));
    sets.patch_scale("workers", &PatchParams::default(), &seven).await.expect("a scale");
    assert_eq!(sets.get("workers").await.expect("it is there").data["spec"]["replicas"], 7);
    server.stop().await;
}
