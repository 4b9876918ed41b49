//! The default scheduler and what makes pods leave.

use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, node, pod};

#[test]
fn a_pod_that_fits_nowhere_says_why_and_is_placed_when_room_appears() {
    let mut stage = Stage::with_nodes(2, 2, vec![]);
    stage.apply(pod("a", 2, "Always"));
    stage.apply(pod("b", 2, "Always"));
    stage.apply(pod("c", 2, "Always"));
    stage.advance(Span::secs(5));
    stage.delete("/api/v1/namespaces/default/pods/a", json!({}));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod a: Pending
    00:00:00.050  pod b: Pending
    00:00:00.050  pod c: Pending
    00:00:00.060  pod a: Pending on n1
    00:00:00.060  pod b: Pending on n2
    00:00:00.060  pod c: Pending (0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.)
    00:00:00.070  pod a: Pending on n1 ContainerCreating
    00:00:00.070  pod b: Pending on n2 ContainerCreating
    00:00:01.070  pod a: Running on n1 ready
    00:00:01.070  pod b: Running on n2 ready
    00:00:05.050  pod a: Running on n1 ready, going
    00:00:06.060  pod a: Failed on n1 exit 143, going
    00:00:06.060  pod a: gone
    00:00:06.070  pod c: Pending on n1
    00:00:06.080  pod c: Pending on n1 ContainerCreating
    00:00:07.080  pod c: Running on n1 ready
    ");
    insta::assert_snapshot!(stage.events("c"), @"
    Warning FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod. (x1)
    Normal Scheduled: Successfully assigned default/c to n1 (x1)
    Normal Started: Container started (x1)
    ");
}

#[test]
fn a_new_node_or_an_uncordoned_one_is_room() {
    let mut stage = Stage::new(vec![]);
    stage.apply(pod("a", 1, "Always"));
    stage.advance(Span::secs(1));
    let mut n1 = node("n1", 1);
    n1["spec"] = json!({"unschedulable": true});
    stage.apply(n1);
    stage.advance(Span::secs(1));
    stage.patch("/api/v1/nodes/n1", json!({"spec": {"unschedulable": null}}));
    stage.advance(Span::secs(1));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.000  pod a: Pending
    00:00:00.010  pod a: Pending (no nodes available to schedule pods)
    00:00:01.000  node n1: not ready
    00:00:01.010  pod a: Pending (0/1 nodes are available: 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.)
    00:00:01.010  node n1: ready
    00:00:02.010  pod a: Pending on n1
    00:00:02.020  pod a: Pending on n1 ContainerCreating
    ");
}

#[test]
fn the_more_important_pod_goes_first() {
    let mut stage = Stage::with_nodes(1, 1, vec![]);
    let mut important = pod("z", 1, "Always");
    important["spec"]["priorityClassName"] = json!("high");
    stage.apply(json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"}, "value": 100,
    }));
    stage.apply(pod("a", 1, "Always"));
    stage.apply(important);
    stage.advance(Span::secs(5));
    assert_eq!(stage.pod("z")["spec"]["nodeName"], "n1");
    assert!(stage.pod("a")["spec"]["nodeName"].is_null());
}

#[test]
fn pods_of_other_schedulers_and_gated_pods_are_left_alone() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    let mut other = pod("other", 1, "Always");
    other["spec"]["schedulerName"] = json!("slurm-bridge-scheduler");
    let mut gated = pod("gated", 1, "Always");
    gated["spec"]["schedulingGates"] = json!([{"name": "wait"}]);
    stage.apply(other);
    stage.apply(gated);
    stage.advance(Span::secs(60));
    assert!(stage.pod("other")["spec"]["nodeName"].is_null());
    assert!(stage.pod("gated")["spec"]["nodeName"].is_null());
    stage
        .patch("/api/v1/namespaces/default/pods/gated", json!({"spec": {"schedulingGates": null}}));
    stage.advance(Span::secs(5));
    assert_eq!(stage.pod("gated")["status"]["phase"], "Running");
}

#[test]
fn what_the_scheduler_does_not_model_is_said_on_the_pod() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    let mut choosy = pod("choosy", 1, "Always");
    choosy["spec"]["resourceClaims"] = json!([{"name": "gpu", "resourceClaimName": "gpu"}]);
    stage.apply(choosy);
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(stage.events("choosy"), @"Warning FailedScheduling: spec.resourceClaims is not modelled; the pod isn't scheduled. (x1)");
}

#[test]
fn a_no_execute_taint_makes_pods_leave_after_what_they_tolerate() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    let mut patient = pod("patient", 1, "Always");
    patient["spec"]["tolerations"] = json!([{"key": "down", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}]);
    stage.apply(pod("plain", 1, "Always"));
    stage.apply(patient);
    stage.advance(Span::secs(5));
    stage.story();
    let taints = json!([{"key": "down", "effect": "NoExecute"}]);
    stage.patch("/api/v1/nodes/n1", json!({"spec": {"taints": taints}}));
    stage.advance(Span::secs(60));
    insta::assert_snapshot!(stage.story(), @"
    00:00:05.060  pod plain: Running on n1 ready, going
    00:00:06.070  pod plain: Failed on n1 exit 143, going
    00:00:06.070  pod plain: gone
    00:00:25.060  pod patient: Running on n1 ready, going
    00:00:26.070  pod patient: Failed on n1 exit 143, going
    00:00:26.070  pod patient: gone
    ");
}
