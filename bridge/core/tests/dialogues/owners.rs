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

/// Pods of one Job whose annotation lets so many jobs be in Slurm.
fn throttled(limit: &str, pods: usize) -> Town {
    let mut town = Town::new();
    let annotations = json!({ "slurmjob.slinky.slurm.net/array-throttle": limit });
    let job = json!({ "name": "sweep", "namespace": "a", "annotations": annotations });
    town.kube.create("/apis/batch/v1/namespaces/a/jobs/sweep", json!({ "metadata": job }));
    let mut town = town.start();
    for index in 0..pods {
        let owner = json!([{
            "apiVersion": "batch/v1", "kind": "Job", "name": "sweep", "uid": "uid-sweep",
            "controller": true,
        }]);
        let name = format!("sweep-{index}");
        let metadata = json!({ "name": name, "namespace": "a", "ownerReferences": owner });
        let spec = json!({ "containers": [{ "name": "c" }] });
        town.kube.create(&pod_path(&name), json!({ "metadata": metadata, "spec": spec }));
    }
    town.pass(3);
    town
}

#[test]
fn no_more_jobs_of_one_controller_are_in_slurm_than_its_annotation_says() {
    let mut town = throttled("2", 4);
    assert_eq!(town.partitions.len(), 2, "two were submitted");
    let waits = town.kube.pod("sweep-3").unwrap();
    let message = waits["status"]["conditions"][0]["message"].as_str().unwrap();
    assert_eq!(message, "waiting for other jobs of Job sweep: 2 are in Slurm, array-throttle is 2");
    town.kube.delete(&pod_path("sweep-0"));
    town.pass(20);
    assert_eq!(town.partitions.len(), 3, "one has left, the next came");
}

#[test]
fn a_restart_does_not_forget_who_is_in_slurm() {
    let mut town = throttled("2", 4);
    town.crash();
    town.restart_if_dead();
    town.pass(60);
    assert_eq!(town.partitions.len(), 2);
}
