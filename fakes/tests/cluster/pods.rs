//! The life of a single pod.

use drawbridge_fakes::{Behaviour, Method, Program};
use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, pod, runs_for};

const PATH: &str = "/api/v1/namespaces/default/pods/p";

#[test]
fn a_pod_is_scheduled_started_run_and_finished() {
    let mut stage = Stage::with_nodes(1, 4, vec![runs_for(5, 0)]);
    stage.apply(pod("p", 1, "Never"));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod p: Pending
    00:00:00.060  pod p: Pending on n1
    00:00:00.070  pod p: Pending on n1 ContainerCreating
    00:00:01.070  pod p: Running on n1 ready
    00:00:06.070  pod p: Succeeded on n1 exit 0
    ");
    insta::assert_snapshot!(stage.events("p"), @"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Normal Started: Container started (x1)
    ");
}

#[test]
fn a_deleted_pod_gets_term_and_then_goes() {
    let mut stage = Stage::with_nodes(1, 4, vec![]);
    stage.apply(pod("p", 1, "Always"));
    stage.advance(Span::secs(3));
    stage.story();
    stage.delete(PATH, json!({}));
    stage.advance(Span::secs(60));
    insta::assert_snapshot!(stage.story(), @"
    00:00:03.050  pod p: Running on n1 ready, going
    00:00:04.060  pod p: Failed on n1 exit 143, going
    00:00:04.060  pod p: gone
    ");
}

#[test]
fn what_takes_longer_than_its_grace_is_killed() {
    let stubborn = Behaviour {
        program: Program { stop: Span::mins(10), ..Program::default() },
        ..Behaviour::default()
    };
    let mut stage = Stage::with_nodes(1, 4, vec![stubborn]);
    stage.apply(pod("p", 1, "Always"));
    stage.advance(Span::secs(3));
    stage.story();
    stage.delete(PATH, json!({"gracePeriodSeconds": 20}));
    stage.advance(Span::secs(5));
    stage.delete(PATH, json!({"gracePeriodSeconds": 8}));
    stage.advance(Span::secs(60));
    insta::assert_snapshot!(stage.story(), @"
    00:00:03.050  pod p: Running on n1 ready, going
    00:00:11.060  pod p: Failed on n1 exit 137, going
    00:00:11.060  pod p: gone
    ");
    insta::assert_snapshot!(stage.events("p"), @"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Normal Started: Container started (x1)
    Normal Killing: Stopping container main (x1)
    ");
}

#[test]
fn a_finalizer_keeps_the_object_and_the_kubelet_asks_once() {
    let mut stage = Stage::with_nodes(1, 4, vec![]);
    let mut held = pod("p", 1, "Always");
    held["metadata"]["finalizers"] = json!(["example.com/keep"]);
    stage.apply(held);
    stage.advance(Span::secs(3));
    stage.story();
    stage.delete(PATH, json!({}));
    stage.advance(Span::hours(1));
    insta::assert_snapshot!(stage.story(), @"
    00:00:03.050  pod p: Running on n1 ready, going
    00:00:04.060  pod p: Failed on n1 exit 143, going
    ");
    let audit = stage.cluster.api().audit();
    let asked = audit.get(&("system:node:n1".into(), "delete", "pods".into()));
    assert_eq!(asked, Some(&1));
    assert_eq!(stage.cluster.next_wake(), None);
    stage.patch(PATH, json!({"metadata": {"finalizers": null}}));
    stage.advance(Span::secs(1));
    insta::assert_snapshot!(stage.story(), @"01:00:03.050  pod p: gone");
}

#[test]
fn a_pod_removed_by_force_leaves_its_room_to_the_next() {
    let mut stage = Stage::with_nodes(1, 1, vec![]);
    stage.apply(pod("p", 1, "Always"));
    stage.advance(Span::secs(3));
    stage.delete(PATH, json!({"gracePeriodSeconds": 0}));
    stage.apply(pod("p", 1, "Always"));
    stage.advance(Span::secs(3));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod p: Pending
    00:00:00.060  pod p: Pending on n1
    00:00:00.070  pod p: Pending on n1 ContainerCreating
    00:00:01.070  pod p: Running on n1 ready
    00:00:03.050  pod p: gone
    00:00:03.050  pod p: Pending
    00:00:03.060  pod p: Pending on n1
    00:00:03.070  pod p: Pending on n1 ContainerCreating
    00:00:04.070  pod p: Running on n1 ready
    ");
}

#[test]
fn a_crashing_container_is_restarted_later_each_time() {
    let mut stage = Stage::with_nodes(1, 4, vec![runs_for(2, 1)]);
    stage.apply(pod("p", 1, "Always"));
    stage.advance(Span::mins(2));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod p: Pending
    00:00:00.060  pod p: Pending on n1
    00:00:00.070  pod p: Pending on n1 ContainerCreating
    00:00:01.070  pod p: Running on n1 ready
    00:00:03.070  pod p: Running on n1 ready restarts 1
    00:00:05.070  pod p: Running on n1 CrashLoopBackOff restarts 1
    00:00:15.070  pod p: Running on n1 ready restarts 2
    00:00:17.070  pod p: Running on n1 CrashLoopBackOff restarts 2
    00:00:37.070  pod p: Running on n1 ready restarts 3
    00:00:39.070  pod p: Running on n1 CrashLoopBackOff restarts 3
    00:01:19.070  pod p: Running on n1 ready restarts 4
    00:01:21.070  pod p: Running on n1 CrashLoopBackOff restarts 4
    ");
    insta::assert_snapshot!(stage.events("p"), @"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Normal Started: Container started (x5)
    Warning BackOff: Back-off restarting failed container main in pod p_default(c002f23e-3370-41a8-a4c5-360b74983c1a) (x4)
    ");
}

#[test]
fn on_failure_restarts_failures_only() {
    for (exit_code, phase) in [(0, "Succeeded"), (1, "Running")] {
        let mut stage = Stage::with_nodes(1, 4, vec![runs_for(2, exit_code)]);
        stage.apply(pod("p", 1, "OnFailure"));
        stage.advance(Span::secs(30));
        assert_eq!(stage.pod("p")["status"]["phase"], phase);
    }
}

#[test]
fn a_kubelet_refuses_a_pod_that_somebody_bound_beyond_its_room() {
    let mut stage = Stage::with_nodes(1, 2, vec![]);
    for name in ["p", "q"] {
        let mut pod = pod(name, 2, "Always");
        pod["spec"]["schedulerName"] = json!("mine");
        stage.apply(pod);
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"},
        });
        let path = format!("/api/v1/namespaces/default/pods/{name}/binding");
        assert_eq!(stage.send(Method::Post, &path, binding).status, 201);
    }
    stage.advance(Span::secs(3));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod p: Pending
    00:00:00.050  pod p: Pending on n1
    00:00:00.050  pod q: Pending
    00:00:00.050  pod q: Pending on n1
    00:00:00.060  pod p: Pending on n1 ContainerCreating
    00:00:00.060  pod q: Failed on n1 OutOfcpu
    00:00:01.060  pod p: Running on n1 ready
    ");
    insta::assert_snapshot!(stage.events("q"), @"Warning OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 2000, capacity: 2000 (x1)");
}

#[test]
fn a_pod_with_a_deadline_of_its_own_is_stopped_then() {
    let mut stage = Stage::with_nodes(1, 2, vec![]);
    let mut short = pod("p", 1, "Never");
    short["spec"]["activeDeadlineSeconds"] = json!(5);
    stage.apply(short);
    stage.advance(Span::secs(20));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod p: Pending
    00:00:00.060  pod p: Pending on n1
    00:00:00.070  pod p: Pending on n1 ContainerCreating
    00:00:01.070  pod p: Running on n1 ready
    00:00:06.070  pod p: Failed on n1 exit 143 DeadlineExceeded
    ");
}

#[test]
fn a_node_says_what_its_kubelet_would_say() {
    let mut stage = Stage::with_nodes(1, 4, vec![]);
    stage.advance(Span::secs(1));
    let node = &stage.list("nodes")[0];
    assert_eq!(node["status"]["allocatable"], json!({"cpu": "4", "memory": "64Gi", "pods": "110"}));
    assert_eq!(node["status"]["conditions"][0]["reason"], "KubeletReady");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "n1");
}
