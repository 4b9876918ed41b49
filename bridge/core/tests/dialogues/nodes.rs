//! Nodes, both ways.

use drawbridge_core::Config;
use serde_json::json;

use crate::town::Town;

#[test]
fn cordon_drains_and_uncordon_resumes() {
    let mut town = Town::new().start();
    town.cordon("n1", true);
    town.pass(1);
    town.cordon("n1", false);
    town.pass(30);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < node n1 unschedulable=true
    00:00:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is unschedulable
    00:00:01.000 < node n1 unschedulable=false
    00:00:01.000     > Resume n1: slurm-bridge: Corresponding Kubernetes node (n1) is schedulable
    ");
}

#[test]
fn a_foreign_drain_stays_and_is_shown_on_the_node() {
    let mut town = Town::new().start();
    town.slurm("an administrator drains n1", |slurm| {
        let node = slurm.nodes.get_mut("n1").unwrap();
        node.state = vec!["IDLE".into(), "DRAIN".into()];
        node.reason = "bad DIMM".into();
    });
    town.pass(15);
    town.cordon("n1", true);
    town.cordon("n1", false);
    town.pass(60);
    town.slurm("the administrator resumes n1", |slurm| {
        let node = slurm.nodes.get_mut("n1").unwrap();
        node.state = vec!["IDLE".into()];
        node.reason = String::new();
    });
    town.pass(15);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < an administrator drains n1
    00:00:10.000     > condition on nodes/n1/status: SlurmSchedulable=False: Slurm node n1 is IDLE+DRAIN: bad DIMM
    00:00:15.000 < node n1 unschedulable=true
    00:00:15.000 < node n1 unschedulable=false
    00:01:15.000 < the administrator resumes n1
    00:01:25.000     > condition on nodes/n1/status: SlurmSchedulable=True: Slurm places jobs on node n1
    ");
}

#[test]
fn mapped_nodes_are_tainted_and_lose_the_taint_when_slurm_forgets_them() {
    let mut town = Town::with(Config::as_shipped()).start();
    town.slurm("n2 is gone", |slurm| drop(slurm.nodes.remove("n2")));
    town.pass(15);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > MergePatch nodes/n1 {"metadata":{},"spec":{"taints":[{"effect":"NoExecute","key":"slinky.slurm.net/managed-node","value":"slurm-bridge-scheduler"}]}}
    00:00:00.000     > MergePatch nodes/n2 {"metadata":{},"spec":{"taints":[{"effect":"NoExecute","key":"slinky.slurm.net/managed-node","value":"slurm-bridge-scheduler"}]}}
    00:00:00.000 < n2 is gone
    00:00:10.000     > MergePatch nodes/n2 {"metadata":{},"spec":{"taints":[]}}
    "#);
}

#[test]
fn a_pod_stays_off_nodes_that_it_may_not_use() {
    let mut town = Town::new();
    town.slurm.add_node("n3");
    town.slurm.add_node("n4");
    town.add_node("k3", &json!({ "slinky.slurm.net/slurm-nodename": "n3", "disk": "ssd" }));
    let mut town = town.start();
    town.cordon("n2", true);
    town.kube.create(
        &crate::kube::pod_path("p"),
        json!({
            "metadata": { "name": "p", "namespace": "a" },
            "spec": { "containers": [{ "name": "c" }], "nodeSelector": { "disk": "ssd" } },
        }),
    );
    town.pass(1);
    town.slurm("job 7 runs on n3", |slurm| slurm.start(7, &[("n3", 1)]));
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < node n2 unschedulable=true
    00:00:00.000     > Drain n2: slurm-bridge: Corresponding Kubernetes node (n2) is unschedulable
    00:00:00.000     > submit k8s-pod-p: 1 x 1 CPUs, PerNode(100), not on ["n1", "n2", "n4"]
    00:00:00.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:01.000 < job 7 runs on n3
    00:00:02.000     > MergePatch pods/p {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"k3"}}}
    00:00:02.000     > bind pods/p/binding to k3 {"slurm.job.id":"7","slurm.node":"n3"}
    "#);
}
