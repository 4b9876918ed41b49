//! Nodes that are lost, come back, or get into trouble.

use drawbridge_fakes::Trouble;
use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, deployment, job, pod, runs_for};

fn taints(stage: &Stage, node: &str) -> String {
    let node = stage.cluster.api().get("nodes", "", node).unwrap();
    let all = node["spec"]["taints"].as_array().into_iter().flatten();
    let told = all.map(|it| {
        let key = it["key"].as_str().unwrap().rsplit('/').next().unwrap();
        format!("{key}:{}", it["effect"].as_str().unwrap())
    });
    told.collect::<Vec<_>>().join(" ")
}

fn lose(stage: &mut Stage, node: &str, trouble: Trouble) {
    assert!(stage.cluster.trouble(stage.now, node, Some(trouble)));
}

fn bring_back(stage: &mut Stage, node: &str) {
    assert!(stage.cluster.trouble(stage.now, node, None));
}

#[test]
fn pods_of_a_lost_node_are_replaced_after_five_minutes_and_go_when_it_comes_back() {
    let mut stage = Stage::with_nodes(2, 4, vec![]);
    stage.apply(deployment("web", 2));
    stage.advance(Span::secs(12));
    stage.story();
    lose(&mut stage, "n1", Trouble::NoPower);
    stage.advance(Span::mins(10));
    insta::assert_snapshot!(stage.story(), @"
    00:01:10.000  node n1: not ready
    00:01:10.010  set web-6d6785486d: wants 2 has 2 ready 1
    00:01:10.020  deployment web: wants 2 has 2 ready 1
    00:06:10.110  pod web-6d6785486d-4dkdt: Running on n1 ready, going
    00:06:10.120  set web-6d6785486d: wants 2 has 1 ready 1
    00:06:10.120  pod web-6d6785486d-h79xr: Pending
    00:06:10.130  set web-6d6785486d: wants 2 has 2 ready 1
    00:06:10.130  pod web-6d6785486d-h79xr: Pending on n2
    00:06:10.140  pod web-6d6785486d-h79xr: Pending on n2 ContainerCreating
    00:06:11.140  pod web-6d6785486d-h79xr: Running on n2 ready
    00:06:11.150  set web-6d6785486d: wants 2 has 2 ready 2
    00:06:11.160  deployment web: wants 2 has 2 ready 2 Available
    ");
    assert_eq!(taints(&stage, "n1"), "unreachable:NoSchedule unreachable:NoExecute");
    bring_back(&mut stage, "n1");
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(stage.story(), @"
    00:10:12.050  pod web-6d6785486d-4dkdt: Failed on n1 exit 255, going
    00:10:12.050  pod web-6d6785486d-4dkdt: gone
    00:10:12.050  node n1: ready
    ");
    assert_eq!(taints(&stage, "n1"), "");
    insta::assert_snapshot!(stage.events("n1"), @"
    Normal NodeNotReady: Node n1 status is now: NodeNotReady (x1)
    Normal NodeReady: Node n1 status is now: NodeReady (x1)
    Normal Starting: Starting kubelet. (x1)
    Warning Rebooted: Node n1 has been rebooted, boot id: 01b15bf6e4f1f962 (x1)
    ");
    assert_eq!(stage.cluster.next_wake(), None);
}

#[test]
fn a_short_loss_of_power_restarts_what_ran_and_a_cut_network_changes_nothing() {
    for trouble in [Trouble::NoPower, Trouble::NoNetwork] {
        let mut stage = Stage::with_nodes(2, 4, vec![]);
        let mut fixed = pod("p", 1, "Always");
        fixed["spec"]["nodeName"] = json!("n1");
        stage.apply(fixed);
        stage.advance(Span::secs(12));
        stage.story();
        lose(&mut stage, "n1", trouble.clone());
        stage.advance(Span::mins(2));
        bring_back(&mut stage, "n1");
        stage.advance(Span::mins(1));
        let story = stage.story();
        if trouble == Trouble::NoPower {
            insta::assert_snapshot!(story, @"
            00:01:10.000  node n1: not ready
            00:02:12.050  pod p: Running on n1 ContainerCreating
            00:02:12.050  node n1: ready
            00:02:13.050  pod p: Running on n1 ready restarts 1
            ");
        } else {
            insta::assert_snapshot!(story, @"
            00:01:10.000  node n1: not ready
            00:02:12.050  node n1: ready
            ");
        }
        let last = &stage.pod("p")["status"]["containerStatuses"][0]["lastState"];
        let code = &last["terminated"]["exitCode"];
        assert_eq!(*code, if trouble == Trouble::NoPower { json!(255) } else { json!(null) });
    }
}

#[test]
fn what_ended_behind_a_cut_network_is_told_with_its_own_time() {
    let mut stage = Stage::with_nodes(2, 4, vec![runs_for(30, 0)]);
    let mut fixed = pod("p", 1, "Never");
    fixed["spec"]["nodeName"] = json!("n1");
    stage.apply(fixed);
    stage.advance(Span::secs(10));
    lose(&mut stage, "n1", Trouble::NoNetwork);
    stage.advance(Span::secs(100));
    assert_eq!(stage.pod("p")["status"]["phase"], "Running");
    bring_back(&mut stage, "n1");
    stage.advance(Span::secs(1));
    let status = &stage.pod("p")["status"];
    assert_eq!(status["phase"], "Succeeded");
    let end = &status["containerStatuses"][0]["state"]["terminated"]["finishedAt"];
    assert_eq!(*end, "2026-01-01T00:00:31Z");
}

#[test]
fn nodes_are_tainted_one_after_the_other_and_not_at_all_if_all_are_lost() {
    let mut stage = Stage::with_nodes(5, 4, vec![]);
    stage.advance(Span::secs(5));
    for node in ["n1", "n2"] {
        lose(&mut stage, node, Trouble::NoNetwork);
    }
    stage.advance(Span::secs(61));
    let both = |stage: &Stage| format!("{} / {}", taints(stage, "n1"), taints(stage, "n2"));
    insta::assert_snapshot!(both(&stage), @"unreachable:NoSchedule unreachable:NoExecute / unreachable:NoSchedule");
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(both(&stage), @"unreachable:NoSchedule unreachable:NoExecute / unreachable:NoSchedule unreachable:NoExecute");
    for node in ["n3", "n4", "n5"] {
        lose(&mut stage, node, Trouble::NoNetwork);
    }
    stage.advance(Span::mins(3));
    insta::assert_snapshot!(both(&stage), @"unreachable:NoSchedule / unreachable:NoSchedule");
}

#[test]
fn a_node_that_says_it_is_not_ready_is_tainted_and_a_cordoned_one_too() {
    let mut stage = Stage::with_nodes(2, 4, vec![]);
    lose(&mut stage, "n1", Trouble::NotReady("container runtime is down".into()));
    stage.patch("/api/v1/nodes/n2", json!({"spec": {"unschedulable": true}}));
    stage.advance(Span::secs(10));
    assert_eq!(taints(&stage, "n1"), "not-ready:NoSchedule not-ready:NoExecute");
    assert_eq!(taints(&stage, "n2"), "unschedulable:NoSchedule");
    bring_back(&mut stage, "n1");
    stage.patch("/api/v1/nodes/n2", json!({"spec": {"unschedulable": null}}));
    stage.advance(Span::secs(10));
    assert_eq!(taints(&stage, "n1"), "");
    assert_eq!(taints(&stage, "n2"), "");
    insta::assert_snapshot!(stage.events("n1"), @"
    Normal NodeNotReady: Node n1 status is now: NodeNotReady (x1)
    Normal NodeReady: Node n1 status is now: NodeReady (x1)
    ");
}

#[test]
fn a_node_short_of_memory_evicts_the_modest_last() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    let mut greedy = pod("greedy", 1, "Always");
    greedy["spec"]["containers"][0]["resources"] = json!({});
    stage.apply(pod("modest", 1, "Always"));
    stage.apply(greedy);
    stage.advance(Span::secs(3));
    stage.story();
    lose(&mut stage, "n1", Trouble::MemoryPressure);
    stage.advance(Span::secs(5));
    assert_eq!(taints(&stage, "n1"), "memory-pressure:NoSchedule");
    bring_back(&mut stage, "n1");
    stage.advance(Span::secs(60));
    insta::assert_snapshot!(stage.story(), @"00:00:03.050  pod greedy: Failed on n1 exit 137 Evicted");
    insta::assert_snapshot!(stage.events("greedy"), @"
    Normal Scheduled: Successfully assigned default/greedy to n1 (x1)
    Normal Started: Container started (x1)
    Warning Evicted: The node was low on resource: memory.  (x1)
    Normal Killing: Stopping container main (x1)
    ");
}

#[test]
fn the_pods_of_a_node_that_is_deleted_are_collected() {
    let mut stage = Stage::with_nodes(2, 4, vec![]);
    stage.apply(job("sum", &json!({})));
    stage.advance(Span::secs(10));
    stage.story();
    stage.delete("/api/v1/nodes/n1", json!({}));
    stage.advance(Span::mins(2));
    insta::assert_snapshot!(stage.story(), @"
    00:00:10.050  node n1: gone
    00:01:00.000  pod sum-4dkdt: Failed on n1 ready
    00:01:00.000  pod sum-4dkdt: Failed on n1 ready, going
    00:01:01.000  job sum: active 0 ready 0 succeeded 0 failed 0
    00:01:01.000  pod sum-4dkdt: gone
    00:01:01.000  job sum: active 0 ready 0 succeeded 0 failed 1
    00:01:10.000  pod sum-vrhbn: Pending
    00:01:10.000  job sum: active 1 ready 0 succeeded 0 failed 1
    00:01:10.010  pod sum-vrhbn: Pending on n2
    00:01:10.020  pod sum-vrhbn: Pending on n2 ContainerCreating
    00:01:11.020  pod sum-vrhbn: Running on n2 ready
    00:01:12.020  job sum: active 1 ready 1 succeeded 0 failed 1
    ");
}

#[test]
fn a_pod_that_was_to_go_before_it_was_bound_goes_once_its_finalizer_does() {
    let mut stage = Stage::new(vec![]);
    let mut held = pod("p", 1, "Always");
    held["metadata"]["finalizers"] = json!(["example.com/keep"]);
    stage.apply(held);
    let path = "/api/v1/namespaces/default/pods/p";
    stage.advance(Span::secs(1));
    stage.delete(path, json!({}));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.000  pod p: Pending
    00:00:00.010  pod p: Pending (no nodes available to schedule pods)
    00:00:01.000  pod p: Pending (no nodes available to schedule pods), going
    00:00:20.000  pod p: Failed (no nodes available to schedule pods), going
    ");
    assert_eq!(stage.cluster.next_wake(), None);
}

#[test]
fn a_node_out_of_service_lets_its_pods_go_at_once() {
    let mut stage = Stage::with_nodes(2, 4, vec![]);
    stage.apply(crate::stage::stateful_set("db", 1));
    stage.advance(Span::secs(10));
    lose(&mut stage, "n1", Trouble::NoPower);
    stage.advance(Span::mins(8));
    stage.story();
    let mut all = stage.list("nodes")[0]["spec"]["taints"].as_array().unwrap().clone();
    all.push(json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}));
    stage.patch("/api/v1/nodes/n1", json!({"spec": {"taints": all}}));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(stage.story(), @"
    00:08:20.000  pod db-0: Failed on n1 ready, going
    00:08:20.000  pod db-0: gone
    00:08:20.010  pod db-0: Pending
    00:08:20.010  stateful set db: wants 1 has 0 ready 0 current 0 updated 0
    00:08:20.020  pod db-0: Pending on n2
    00:08:20.020  stateful set db: wants 1 has 1 ready 0 current 1 updated 1
    00:08:20.030  pod db-0: Pending on n2 ContainerCreating
    00:08:21.030  pod db-0: Running on n2 ready
    00:08:21.040  stateful set db: wants 1 has 1 ready 1 current 1 updated 1
    ");
}
