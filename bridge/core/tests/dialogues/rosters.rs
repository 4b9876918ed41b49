//! Gangs that owners make: LeaderWorkerSets, JobSets, Jobs and others.

use serde_json::{Value, json};

use crate::{
    kube::pod_path,
    town::{Fate, Town},
};

fn owner(api: &str, kind: &str, name: &str) -> Value {
    json!([{ "apiVersion": api, "kind": kind, "name": name, "uid": format!("uid-{name}"), "controller": true }])
}

fn object(town: &mut Town, api: &str, plural: &str, kind: &str, mut object: Value) {
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    object["metadata"]["namespace"] = json!("a");
    object["kind"] = json!(kind);
    town.kube.create(&format!("/apis/{api}/namespaces/a/{plural}/{name}"), object);
}

fn pod(town: &mut Town, name: &str, mut metadata: Value) {
    metadata["name"] = json!(name);
    metadata["namespace"] = json!("a");
    let resources = json!({ "requests": { "cpu": "2", "memory": "1Gi" } });
    let spec = json!({ "containers": [{ "name": "c", "resources": resources }] });
    let pod = json!({
        "kind": "Pod", "metadata": metadata, "spec": spec, "status": { "phase": "Pending" },
    });
    town.kube.create(&pod_path(name), pod);
    town.pass(0);
}

/// A LeaderWorkerSet of one group of three, with the StatefulSets that it makes.
fn leader_worker_set(startup: &str) -> Town {
    let mut town = Town::new();
    let requests = json!({ "requests": { "cpu": "3", "memory": "1Gi" } });
    let template = json!({ "spec": { "containers": [{ "name": "c", "resources": requests }] } });
    let spec = json!({
        "startupPolicy": startup,
        "leaderWorkerTemplate": { "size": 3, "workerTemplate": template },
    });
    let set = json!({ "metadata": { "name": "infer" }, "spec": spec });
    object(&mut town, "leaderworkerset.x-k8s.io/v1", "leaderworkersets", "LeaderWorkerSet", set);
    for (name, owner) in [
        ("infer", owner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "infer")),
        ("infer-0", owner("v1", "Pod", "infer-0")),
    ] {
        let set = json!({ "metadata": { "name": name, "ownerReferences": owner } });
        object(&mut town, "apps/v1", "statefulsets", "StatefulSet", set);
    }
    // Both StatefulSets have a set's name; their uids differ.
    town.kube.change("/apis/apps/v1/namespaces/a/statefulsets/infer", |set| {
        set["metadata"]["uid"] = json!("uid-leaders");
    });
    town.kube.change("/apis/apps/v1/namespaces/a/statefulsets/infer-0", |set| {
        set["metadata"]["uid"] = json!("uid-workers");
    });
    town.start()
}

fn leader(town: &mut Town) {
    let labels = json!({
        "leaderworkerset.sigs.k8s.io/name": "infer",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
    });
    let mut owners = owner("apps/v1", "StatefulSet", "infer");
    owners[0]["uid"] = json!("uid-leaders");
    pod(town, "infer-0", json!({ "labels": labels, "ownerReferences": owners }));
}

fn worker(town: &mut Town, index: u32) {
    let labels = json!({
        "leaderworkerset.sigs.k8s.io/name": "infer",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
        "leaderworkerset.sigs.k8s.io/worker-index": index.to_string(),
    });
    let annotations = json!({ "leaderworkerset.sigs.k8s.io/leader-name": "infer-0" });
    let mut owners = owner("apps/v1", "StatefulSet", "infer-0");
    owners[0]["uid"] = json!("uid-workers");
    let metadata =
        json!({ "labels": labels, "annotations": annotations, "ownerReferences": owners });
    pod(town, &format!("infer-0-{index}"), metadata);
}

#[test]
fn the_pods_of_a_leaders_group_are_one_job() {
    let mut town = leader_worker_set("LeaderCreated");
    leader(&mut town);
    town.pass(3);
    worker(&mut town, 1);
    worker(&mut town, 2);
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:01.000     > event WaitingForGroup: waiting for pods of LeaderWorkerSet group a/infer-0: 1 of 3 are here
    00:00:01.000     > condition on pods/infer-0/status: PodScheduled=False: waiting for pods of LeaderWorkerSet group a/infer-0: 1 of 3 are here
    00:00:03.000     > submit infer-0: 3 x 2 CPUs, PerCpu(512), not on []
    00:00:03.000     > MergePatch pods/infer-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:03.000     > MergePatch pods/infer-0-1 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:03.000     > MergePatch pods/infer-0-2 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

#[test]
fn workers_that_come_once_their_leader_is_ready_have_their_places_in_its_job() {
    let mut town = leader_worker_set("LeaderReady");
    leader(&mut town);
    town.pass(2);
    town.slurm("job 7 runs on n1 and n2", |slurm| slurm.start(7, &[("n1", 3), ("n2", 6)]));
    town.pass(2);
    town.phase("infer-0", "Running");
    worker(&mut town, 1);
    worker(&mut town, 2);
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > event UnevenGang: the pods of the gang ask for different amounts, and a Slurm job has tasks of one size: each gets 3 CPUs, 1024 MiB
    00:00:00.000     > submit infer-0: 3 x 3 CPUs, PerCpu(342), not on []
    00:00:00.000     > MergePatch pods/infer-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:02.000 < job 7 runs on n1 and n2
    00:00:03.000     > MergePatch pods/infer-0 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}}
    00:00:03.000     > bind pods/infer-0/binding to n1 {"slurm.job.id":"7","slurm.node":"n1"}
    00:00:04.000 < pod infer-0 is Running
    00:00:04.000     > MergePatch pods/infer-0-1 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:04.000     > MergePatch pods/infer-0-1 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:04.000     > bind pods/infer-0-1/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    00:00:04.000     > MergePatch pods/infer-0-2 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:04.000     > MergePatch pods/infer-0-2 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:04.000     > bind pods/infer-0-2/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    "#);
}

#[test]
fn a_restart_finds_the_places_of_workers_that_are_yet_to_come() {
    let mut town = leader_worker_set("LeaderReady");
    leader(&mut town);
    town.pass(2);
    town.slurm("job 7 runs on n1 and n2", |slurm| slurm.start(7, &[("n1", 3), ("n2", 6)]));
    town.pass(2);
    town.dialogue();
    town.crash();
    worker(&mut town, 1);
    town.restart();
    town.pass(3);
    worker(&mut town, 2);
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:04.000 < crashed
    00:00:04.000     > MergePatch pods/infer-0-1 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:04.000     > MergePatch pods/infer-0-1 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:04.000     > bind pods/infer-0-1/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    00:00:07.000     > MergePatch pods/infer-0-2 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:07.000     > MergePatch pods/infer-0-2 {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:07.000     > bind pods/infer-0-2/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    "#);
}

/// A JobSet of a driver and two workers.
fn job_set(order: &str, annotations: &Value) -> Town {
    let mut town = Town::new();
    let spec = json!({
        "startupPolicy": { "startupPolicyOrder": order },
        "replicatedJobs": [
            { "name": "driver", "replicas": 1, "template": { "spec": {} } },
            { "name": "worker", "replicas": 1, "template": { "spec": { "parallelism": 2, "completions": 2 } } },
        ],
    });
    let set = json!({ "metadata": { "name": "train", "annotations": annotations }, "spec": spec });
    object(&mut town, "jobset.x-k8s.io/v1alpha2", "jobsets", "JobSet", set);
    for job in ["train-driver-0", "train-worker-0"] {
        let owner = owner("jobset.x-k8s.io/v1alpha2", "JobSet", "train");
        let job = json!({ "metadata": { "name": job, "ownerReferences": owner } });
        object(&mut town, "batch/v1", "jobs", "Job", job);
    }
    town.start()
}

fn job_set_pod(town: &mut Town, job: &str, global: u32, index: u32) {
    let labels = json!({
        "jobset.sigs.k8s.io/jobset-uid": "uid-train",
        "jobset.sigs.k8s.io/restart-attempt": "0",
        "jobset.sigs.k8s.io/replicatedjob-name": job,
        "jobset.sigs.k8s.io/job-global-index": global.to_string(),
        "batch.kubernetes.io/job-completion-index": index.to_string(),
    });
    let owners = owner("batch/v1", "Job", &format!("train-{job}-0"));
    let metadata = json!({ "labels": labels, "ownerReferences": owners });
    pod(town, &format!("train-{job}-0-{index}-x"), metadata);
}

#[test]
fn all_pods_of_a_job_set_are_one_job() {
    let mut town = job_set("AnyOrder", &json!({}));
    job_set_pod(&mut town, "worker", 1, 1);
    job_set_pod(&mut town, "driver", 0, 0);
    town.pass(3);
    job_set_pod(&mut town, "worker", 1, 0);
    town.pass(3);
    town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 6)]));
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:01.000     > event WaitingForGroup: waiting for pods of JobSet a/train: 2 of 3 are here
    00:00:01.000     > condition on pods/train-driver-0-0-x/status: PodScheduled=False: waiting for pods of JobSet a/train: 2 of 3 are here
    00:00:01.000     > event WaitingForGroup: waiting for pods of JobSet a/train: 2 of 3 are here
    00:00:01.000     > condition on pods/train-worker-0-1-x/status: PodScheduled=False: waiting for pods of JobSet a/train: 2 of 3 are here
    00:00:03.000     > submit train: 3 x 2 CPUs, PerCpu(512), not on []
    00:00:03.000     > MergePatch pods/train-driver-0-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:03.000     > MergePatch pods/train-worker-0-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:03.000     > MergePatch pods/train-worker-0-1-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:06.000 < job 7 runs on n1
    00:00:07.000     > MergePatch pods/train-driver-0-0-x {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}}
    00:00:07.000     > MergePatch pods/train-worker-0-0-x {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}}
    00:00:07.000     > MergePatch pods/train-worker-0-1-x {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}}
    00:00:07.000     > bind pods/train-driver-0-0-x/binding to n1 {"slurm.job.id":"7","slurm.node":"n1"}
    00:00:07.000     > bind pods/train-worker-0-0-x/binding to n1 {"slurm.job.id":"7","slurm.node":"n1"}
    00:00:07.000     > bind pods/train-worker-0-1-x/binding to n1 {"slurm.job.id":"7","slurm.node":"n1"}
    "#);
}

#[test]
fn jobs_of_a_set_that_start_one_after_the_other_are_gangs_of_their_own() {
    let mut town = job_set("InOrder", &json!({}));
    job_set_pod(&mut town, "driver", 0, 0);
    town.pass(3);
    job_set_pod(&mut town, "worker", 1, 0);
    job_set_pod(&mut town, "worker", 1, 1);
    town.pass(3);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > submit k8s-pod-train-driver-0-0-x: 1 x 2 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/train-driver-0-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:03.000     > submit train-worker: 2 x 2 CPUs, PerCpu(512), not on []
    00:00:03.000     > MergePatch pods/train-worker-0-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    00:00:03.000     > MergePatch pods/train-worker-0-1-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn a_job_set_that_does_not_want_to_be_a_gang_is_none() {
    let mut town = job_set("AnyOrder", &json!({ "drawbridge.dev/gang": "false" }));
    job_set_pod(&mut town, "driver", 0, 0);
    town.pass(1);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > submit k8s-pod-train-driver-0-0-x: 1 x 2 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/train-driver-0-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

#[test]
fn a_crash_between_the_submit_of_a_job_set_and_its_labels_is_followed_by_adoption() {
    let mut town = job_set("AnyOrder", &json!({}));
    town.fate("submit train", Fate::CrashAfter);
    for (job, global, index) in [("driver", 0, 0), ("worker", 1, 0), ("worker", 1, 1)] {
        job_set_pod(&mut town, job, global, index);
    }
    town.pass(3);
    town.restart();
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > submit train: 3 x 2 CPUs, PerCpu(512), not on []
    00:00:00.000 < crashed
    00:00:03.000     > MergePatch pods/train-driver-0-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:03.000     > MergePatch pods/train-worker-0-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:03.000     > MergePatch pods/train-worker-0-1-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

/// An Indexed Job of two.
fn indexed_job(annotations: &Value) -> Town {
    let mut town = Town::new();
    let spec = json!({ "completionMode": "Indexed", "parallelism": 2, "completions": 2 });
    let job = json!({ "metadata": { "name": "sort", "annotations": annotations }, "spec": spec });
    object(&mut town, "batch/v1", "jobs", "Job", job);
    let mut town = town.start();
    for index in 0..2 {
        indexed_pod(&mut town, index, "x");
    }
    town.pass(2);
    town
}

fn indexed_pod(town: &mut Town, index: u32, suffix: &str) {
    let labels = json!({ "batch.kubernetes.io/job-completion-index": index.to_string() });
    let metadata = json!({ "labels": labels, "ownerReferences": owner("batch/v1", "Job", "sort") });
    pod(town, &format!("sort-{index}-{suffix}"), metadata);
}

#[test]
fn an_indexed_job_is_a_gang_only_if_that_is_asked_for() {
    insta::assert_snapshot!(indexed_job(&json!({})).dialogue(), @r#"
    00:00:00.000     > submit k8s-pod-sort-0-x: 1 x 2 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/sort-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:00.000     > submit k8s-pod-sort-1-x: 1 x 2 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/sort-1-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
    let asked = json!({ "drawbridge.dev/gang": "true" });
    insta::assert_snapshot!(indexed_job(&asked).dialogue(), @r#"
    00:00:00.000     > submit sort: 2 x 2 CPUs, PerCpu(512), not on []
    00:00:00.000     > MergePatch pods/sort-0-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:00.000     > MergePatch pods/sort-1-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

#[test]
fn the_next_pod_of_an_index_takes_the_place_of_the_one_that_failed() {
    let mut town = indexed_job(&json!({ "drawbridge.dev/gang": "true" }));
    town.slurm("job 7 runs on n1 and n2", |slurm| slurm.start(7, &[("n1", 2), ("n2", 2)]));
    town.pass(2);
    town.dialogue();
    town.phase("sort-1-x", "Failed");
    indexed_pod(&mut town, 1, "y");
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:04.000 < pod sort-1-x is Failed
    00:00:04.000     > write on job 7 {"cluster":"drawbridge","cpus":2,"gang":{"bond":"job","key":"a/sort"},"pods":["a/sort-0-x","a/sort-1-y"],"request":"51519f76ccce19e9","version":1,"workload":"uid-sort"}
    00:00:04.000     > MergePatch pods/sort-1-y {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:04.000     > MergePatch pods/sort-1-y {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:04.000     > bind pods/sort-1-y/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    "#);
}

#[test]
fn replicas_of_other_kinds_are_counted_where_a_gang_is_asked_for() {
    let mut town = Town::new();
    let spec = json!({ "mpiReplicaSpecs": { "Launcher": { "replicas": 1 }, "Worker": { "replicas": 1 } } });
    let annotations = json!({ "drawbridge.dev/gang": "true" });
    let mpi = json!({ "metadata": { "name": "pi", "annotations": annotations }, "spec": spec });
    object(&mut town, "kubeflow.org/v2beta1", "mpijobs", "MPIJob", mpi);
    let owners = owner("kubeflow.org/v2beta1", "MPIJob", "pi");
    let launcher = json!({ "metadata": { "name": "pi-launcher", "ownerReferences": owners } });
    object(&mut town, "batch/v1", "jobs", "Job", launcher);
    let mut town = town.start();
    pod(
        &mut town,
        "pi-worker-0",
        json!({ "ownerReferences": owner("kubeflow.org/v2beta1", "MPIJob", "pi") }),
    );
    town.pass(2);
    pod(
        &mut town,
        "pi-launcher-x",
        json!({ "ownerReferences": owner("batch/v1", "Job", "pi-launcher") }),
    );
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:01.000     > event WaitingForGroup: waiting for pods of the gang a/pi: 1 of 2 are here
    00:00:01.000     > condition on pods/pi-worker-0/status: PodScheduled=False: waiting for pods of the gang a/pi: 1 of 2 are here
    00:00:02.000     > submit pi: 2 x 2 CPUs, PerCpu(512), not on []
    00:00:02.000     > MergePatch pods/pi-launcher-x {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:02.000     > MergePatch pods/pi-worker-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}
