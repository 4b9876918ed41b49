//! Annotations of the owners.

use serde_json::{Value, json};

use crate::{kube::pod_path, town::Town};

fn owner(kind: &str, name: &str) -> Value {
    json!([{
        "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": format!("uid-{name}"),
        "controller": true,
    }])
}

fn submitted_partition(town: &Town) -> Option<String> {
    town.partitions.first().cloned().flatten()
}

fn pod_of_replica_set(town: &mut Town, annotations: &Value) {
    let metadata = json!({
        "name": "web-1", "namespace": "a", "annotations": annotations,
        "ownerReferences": owner("ReplicaSet", "web-rs"),
    });
    let spec = json!({ "containers": [{ "name": "c" }] });
    town.kube.create(&pod_path("web-1"), json!({ "metadata": metadata, "spec": spec }));
    town.pass(1);
}

fn deployment(readable: bool) -> Town {
    let mut town = Town::new();
    let partition = |name: &str| json!({ "slinky.slurm.net/partition": name });
    let rs = json!({
        "name": "web-rs", "namespace": "a", "ownerReferences": owner("Deployment", "web"),
    });
    town.kube.create("/apis/apps/v1/namespaces/a/replicasets/web-rs", json!({ "metadata": rs }));
    if readable {
        let web = json!({ "name": "web", "namespace": "a", "annotations": partition("web") });
        town.kube.create("/apis/apps/v1/namespaces/a/deployments/web", json!({ "metadata": web }));
    }
    town.start()
}

#[test]
fn the_topmost_owners_annotations_count() {
    let mut town = deployment(true);
    pod_of_replica_set(&mut town, &json!({}));
    assert_eq!(submitted_partition(&town).as_deref(), Some("web"));
}

#[test]
fn the_pods_own_annotations_win() {
    let mut town = deployment(true);
    pod_of_replica_set(&mut town, &json!({ "slurmjob.slinky.slurm.net/partition": "mine" }));
    assert_eq!(submitted_partition(&town).as_deref(), Some("mine"));
}

#[test]
fn an_owner_that_can_not_be_read_is_done_without() {
    let mut town = deployment(false);
    pod_of_replica_set(&mut town, &json!({}));
    assert_eq!(town.partitions, [None]);
}
