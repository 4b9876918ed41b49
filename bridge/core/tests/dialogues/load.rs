//! What a crowd costs.

use serde_json::json;

use crate::town::Town;

#[test]
fn a_thousand_waiting_pods_cost_a_bounded_number_of_calls() {
    let mut town = Town::new().start();
    for n in 0..1000 {
        town.pod(&format!("p{n}"), 1, &json!({}));
    }
    town.pass(120);
    let names = ["slurm.submit", "slurm.jobStates", "slurm.job", "slurm.jobs", "slurm.nodes"];
    let before = names.map(|name| town.metric(name));
    town.pass(60);
    let calls: Vec<_> =
        names.iter().zip(before).map(|(name, before)| town.metric(name) - before).collect();
    // A poll a second, ten reasons and our newest job with each, nodes every ten seconds, and nothing for each pod.
    assert_eq!(calls, [0, 60, 660, 0, 6]);
}

#[test]
fn a_crowd_in_slurm_makes_the_polls_rarer_but_not_the_reasons() {
    let mut town = Town::new();
    for _ in 0..8_000 {
        town.slurm.add_job("somebody else's");
    }
    let mut town = town.start();
    for n in 0..100 {
        town.pod(&format!("p{n}"), 1, &json!({}));
    }
    town.pass(120);
    let names = ["slurm.jobStates", "slurm.job"];
    let before = names.map(|name| town.metric(name));
    town.pass(60);
    let calls: Vec<_> =
        names.iter().zip(before).map(|(name, before)| town.metric(name) - before).collect();
    // A poll every five seconds, fifty reasons with each; every other time our newest job is one of them.
    assert_eq!(calls, [12, 606]);
}

#[test]
fn pods_of_one_job_cost_one_look_at_their_owner() {
    let mut town = Town::new();
    let metadata = json!({
        "name": "sweep", "namespace": "a",
        "annotations": { "slurmjob.slinky.slurm.net/partition": "main" },
    });
    town.kube.create("/apis/batch/v1/namespaces/a/jobs/sweep", json!({ "metadata": metadata }));
    let mut town = town.start();
    let before = town.metric("kube.requests");
    for n in 0..100 {
        let owner = json!({
            "apiVersion": "batch/v1", "kind": "Job", "name": "sweep", "uid": "uid-sweep",
            "controller": true,
        });
        let name = format!("p{n}");
        let metadata = json!({ "name": name, "namespace": "a", "ownerReferences": [owner] });
        let spec = json!({ "containers": [{ "name": "c" }] });
        town.kube
            .create(&crate::kube::pod_path(&name), json!({ "metadata": metadata, "spec": spec }));
    }
    town.pass(0);
    assert_eq!(town.metric("slurm.submit"), 100);
    assert_eq!(town.metric("kube.requests") - before, 1 + 100, "the owner, then a label for each");
}
