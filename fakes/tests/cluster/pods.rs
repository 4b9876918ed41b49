//! The life of a single pod.

use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, pod, runs_for};

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
    Normal Started: Started container main (x1)
    ");
}

#[test]
fn a_deleted_pod_gets_term_and_then_goes() {
    let mut stage = Stage::with_nodes(1, 4, vec![]);
    stage.apply(pod("p", 1, "Always"));
    stage.advance(Span::secs(3));
    stage.story();
    stage.delete("/api/v1/namespaces/default/pods/p", json!({}));
    stage.advance(Span::secs(60));
    insta::assert_snapshot!(stage.story(), @"
    00:00:03.050  pod p: Running on n1 ready, going
    00:00:04.060  pod p: Failed on n1 exit 143, going
    00:00:04.060  pod p: gone
    ");
}
