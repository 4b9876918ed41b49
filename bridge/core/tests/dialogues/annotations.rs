//! What annotations change in the dialogue.

use serde_json::{Value, json};

use crate::{
    kube::pod_path,
    town::{Fate, Town},
};

fn annotated(town: &mut Town, name: &str, annotations: &Value) {
    let metadata = json!({ "name": name, "namespace": "a", "annotations": annotations });
    let spec = json!({ "containers": [{ "name": "c" }] });
    town.kube.create(&pod_path(name), json!({ "metadata": metadata, "spec": spec }));
    town.pass(1);
}

fn after(what: &str) -> Value {
    json!({ "slurmjob.slinky.slurm.net/dependency": what })
}

#[test]
fn who_depends_on_a_pod_waits_until_that_has_its_job() {
    let mut town = Town::new().start();
    annotated(&mut town, "second", &after("afterok:pod/first"));
    town.pass(20);
    town.pod("first", 1, &json!({}));
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > event WaitingForDependency: waiting for pod first, which doesn't exist
    00:00:00.000     > condition on pods/second/status: PodScheduled=False: waiting for pod first, which doesn't exist
    00:00:21.000 < pod first created
    00:00:21.000     > submit k8s-pod-first: 1 x 1 CPUs, PerNode(1024), not on []
    00:00:21.000     > MergePatch pods/first {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:22.000     > submit k8s-pod-second: 1 x 1 CPUs, PerNode(100), not on [], afterok:7
    00:00:22.000     > MergePatch pods/second {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn what_is_over_is_judged_without_slurm() {
    let mut town = Town::new().start();
    town.pod("first", 1, &json!({}));
    town.pass(2);
    town.slurm("job 7 runs on n2", |slurm| slurm.start(7, &[("n2", 1)]));
    town.pass(2);
    town.phase("first", "Failed");
    annotated(&mut town, "second", &after("afterok:pod/first"));
    annotated(&mut town, "third", &after("afterany:pod/first"));
    insta::assert_snapshot!(town.facts(), @"
    http://slurm-restapi.slurm:6820 speaks v0.0.45
    submitted job 7 for pod a/first (1 task of 1 CPU, 1024 MiB)
    labelled pod a/first with job 7
    bound pod a/first to n2 (job 7, Slurm node n2)
    sent USR2 to job 7: its pods are over
    let go of pod a/first
    could not submit pod a/second: afterok pod first can't be met: pod a/first failed
    wrote on pod a/second: afterok pod first can't be met: pod a/first failed
    submitted job 8 for pod a/third (1 task of 1 CPU, 100 MiB)
    labelled pod a/third with job 8
    ");
}

#[test]
fn a_dependency_survives_the_bridge() {
    let mut town = Town::new().start();
    annotated(&mut town, "second", &after("afterok:pod/first"));
    town.fate("submit", Fate::CrashAfter);
    town.pod("first", 1, &json!({}));
    town.pass(1);
    town.restart_if_dead();
    town.pass(60);
    insta::assert_snapshot!(town.facts(), @"
    http://slurm-restapi.slurm:6820 speaks v0.0.45
    adopted job 7 for pod a/first
    pod a/second is waiting for pod first, which has no Slurm job yet
    labelled pod a/first with job 7
    wrote on pod a/second: waiting for pod first, which has no Slurm job yet
    submitted job 8 for pod a/second (1 task of 1 CPU, 100 MiB)
    labelled pod a/second with job 8
    ");
}
