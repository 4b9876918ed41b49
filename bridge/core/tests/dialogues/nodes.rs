//! Nodes, both ways.

use drawbridge_core::{Config, NodeSettings, slurm::Reservation};
use drawbridge_sim::{Epoch, Time};
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
    00:00:01.000     > Undrain n1: slurm-bridge: Corresponding Kubernetes node (n1) is schedulable
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
    00:01:20.000     > condition on nodes/n1/status: SlurmSchedulable=True: Slurm places jobs on node n1
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

/// Says since when a node is ready or not, so many seconds after the beginning.
fn ready(town: &mut Town, node: &str, is_ready: bool, since: u64) {
    let at = Epoch::DEFAULT.rfc3339(Time::from_ms(since * 1000));
    let status = if is_ready { "True" } else { "Unknown" };
    town.change_node(node, &format!("ready={status}"), |node| {
        let ready = json!({ "type": "Ready", "status": status, "lastTransitionTime": at });
        node["status"]["conditions"] = json!([ready]);
    });
}

#[test]
fn a_node_that_is_not_ready_for_long_is_drained_until_it_is_back() {
    let mut town = Town::new().start();
    ready(&mut town, "n1", false, 0);
    town.pass(30);
    ready(&mut town, "n1", true, 30);
    town.pass(60);
    ready(&mut town, "n1", false, 90);
    town.pass(100);
    ready(&mut town, "n1", true, 190);
    town.pass(30);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < node n1 ready=Unknown
    00:00:30.000 < node n1 ready=True
    00:01:30.000 < node n1 ready=Unknown
    00:02:30.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is not ready
    00:03:10.000 < node n1 ready=True
    00:03:10.000     > Undrain n1: slurm-bridge: Corresponding Kubernetes node (n1) is schedulable
    ");
}

#[test]
fn a_bridge_that_starts_later_counts_from_when_the_node_was_last_ready() {
    let mut town = Town::new();
    ready(&mut town, "n1", false, 0);
    town.pass(50);
    let mut town = town.start();
    town.pass(15);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < node n1 ready=Unknown
    00:01:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is not ready
    ");
}

#[test]
fn a_clock_that_is_ahead_does_not_put_the_drain_off_without_end() {
    let mut town = Town::new().start();
    ready(&mut town, "n1", false, 90_000);
    town.pass(70);
    assert!(town.dialogue().contains("Drain n1"));
}

#[test]
fn a_drain_for_want_of_readiness_can_be_switched_off() {
    let nodes = NodeSettings { drain_not_ready_seconds: 0, ..NodeSettings::as_shipped() };
    let mut town = Town::with(Config { nodes, taint_nodes: false, ..Config::as_shipped() }).start();
    ready(&mut town, "n1", false, 0);
    town.pass(600);
    assert!(!town.dialogue().contains("Drain"));
}

#[test]
fn a_node_that_is_deleted_is_drained_and_resumed_when_it_comes_back() {
    let mut town = Town::new().start();
    town.delete_node("n1");
    town.pass(30);
    town.add_node("n1", &json!({}));
    town.pass(30);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < node n1 deleted
    00:00:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is gone
    00:00:30.000     > Undrain n1: slurm-bridge: Corresponding Kubernetes node (n1) is schedulable
    ");
}

#[test]
fn a_deleted_node_that_was_none_of_slurms_is_nobodys_business() {
    let mut town = Town::new();
    town.slurm.add_node("pure-slurm");
    town.add_node("plain", &json!({}));
    let mut town = town.start();
    let before = town.metric("slurm.nodes");
    town.cordon("plain", true);
    ready(&mut town, "plain", false, 0);
    town.delete_node("plain");
    town.pass(9);
    assert_eq!(town.metric("slurm.nodes"), before, "Slurm isn't asked about nodes that it hasn't");
    town.pass(120);
    assert!(!town.dialogue().contains("Drain"));
}

#[test]
fn slurm_that_refuses_to_drain_is_asked_again_after_longer_and_longer_pauses() {
    let mut town = Town::new().start();
    town.slurm.refuse_nodes = Some((2002, "Access/permission denied"));
    town.cordon("n1", true);
    town.pass(600);
    town.slurm.refuse_nodes = None;
    town.pass(600);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < node n1 unschedulable=true
    00:00:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is unschedulable
    00:01:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is unschedulable
    00:03:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is unschedulable
    00:07:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is unschedulable
    00:15:00.000     > Drain n1: slurm-bridge: Corresponding Kubernetes node (n1) is unschedulable
    ");
    insta::assert_snapshot!(town.facts(), @"
    http://slurm-restapi.slurm:6820 speaks v0.0.45
    could not drain Slurm node n1: Access/permission denied (error 2002)
    drained Slurm node n1: Kubernetes node n1 is unschedulable
    ");
}

#[test]
fn nodes_that_slurm_took_out_get_a_taint_if_it_is_configured() {
    let nodes = NodeSettings { taint_unavailable: true, ..NodeSettings::as_shipped() };
    let mut town = Town::with(Config { nodes, taint_nodes: false, ..Config::as_shipped() }).start();
    town.slurm("an administrator drains n1", |slurm| {
        let node = slurm.nodes.get_mut("n1").unwrap();
        node.state.push("DRAIN".into());
        node.reason = "bad DIMM".into();
    });
    town.cordon("n2", true);
    town.pass(15);
    town.slurm("and resumes it", |slurm| slurm.nodes.get_mut("n1").unwrap().state.truncate(1));
    town.pass(15);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < an administrator drains n1
    00:00:00.000 < node n2 unschedulable=true
    00:00:00.000     > Drain n2: slurm-bridge: Corresponding Kubernetes node (n2) is unschedulable
    00:00:00.000     > MergePatch nodes/n1 {"metadata":{},"spec":{"taints":[{"effect":"NoSchedule","key":"slinky.slurm.net/slurm-unavailable"}]}}
    00:00:00.000     > condition on nodes/n1/status: SlurmSchedulable=False: Slurm node n1 is IDLE+DRAIN: bad DIMM
    00:00:15.000 < and resumes it
    00:00:20.000     > MergePatch nodes/n1 {"metadata":{},"spec":{"taints":[]}}
    00:00:20.000     > condition on nodes/n1/status: SlurmSchedulable=True: Slurm places jobs on node n1
    "#);
}

#[test]
fn maintenance_is_shown_on_the_node_with_its_time_and_written_once() {
    let mut town = Town::new().start();
    let at = |secs: u64| Epoch::DEFAULT.unix(Time::from_ms(secs * 1000));
    town.slurm("maintenance of n1 is planned", |slurm| {
        let reservation = |name: &str, node: &str, is_maintenance| Reservation {
            name: name.into(),
            nodes: vec![node.into()],
            start_time: at(600),
            end_time: Some(at(900)),
            is_maintenance,
        };
        slurm.reservations =
            vec![reservation("kernel", "n1", true), reservation("class", "n2", false)];
    });
    town.pass(1000);
    town.slurm("the reservations are gone", |slurm| slurm.reservations.clear());
    town.pass(100);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < maintenance of n1 is planned
    00:01:00.000     > condition on nodes/n1/status: SlurmMaintenance=True: Slurm reservation kernel: maintenance from 2026-01-01T00:10:00Z to 2026-01-01T00:15:00Z
    00:15:00.000     > condition on nodes/n1/status: SlurmMaintenance=False: no maintenance is planned
    00:16:40.000 < the reservations are gone
    ");
    assert_eq!(town.metric("slurm.reservations"), 19, "once a minute");
}

#[test]
fn two_answers_to_where_a_node_is_are_shown_on_the_node() {
    let mut town = Town::new();
    town.add_node("k1", &json!({ "slinky.slurm.net/slurm-nodename": "n1" }));
    town.add_node("k2", &json!({ "slinky.slurm.net/slurm-nodename": "n1" }));
    let mut town = town.start();
    town.pass(15);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000     > condition on nodes/k1/status: SlurmSchedulable=False: Slurm node n1 is k1 by that node's label but k2 by that node's label
    00:00:00.000     > condition on nodes/k2/status: SlurmSchedulable=False: Slurm node n1 is k1 by that node's label but k2 by that node's label
    ");
}
