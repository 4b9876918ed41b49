//! Gangs under a scheduler that knows nothing of gangs.

use drawbridge_fakes::{Behaviour, Mpi, Spread};
use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, job, runs_for};

fn mpi(ranks: u32) -> Mpi {
    Mpi { group_label: "app".into(), ranks, ..Mpi::default() }
}

fn ranks(n: u32, secs: u64) -> Behaviour {
    Behaviour { mpi: Some(mpi(n)), ..runs_for(secs, 0) }
}

fn gang(name: &str) -> serde_json::Value {
    let spec = json!({"parallelism": 4, "completions": 4, "completionMode": "Indexed"});
    job(name, &spec)
}

fn where_they_are(stage: &Stage) -> String {
    let lines = stage.list("pods").into_iter().map(|pod| {
        let conditions = pod["status"]["conditions"].as_array().unwrap();
        let why = conditions.iter().find(|it| {
            let kind = it["type"].as_str().unwrap();
            ["drawbridge.dev/Barrier", "PodScheduled"].contains(&kind) && it["status"] == "False"
        });
        format!(
            "{} {} {} {}",
            pod["metadata"]["name"].as_str().unwrap(),
            pod["status"]["phase"].as_str().unwrap(),
            pod["spec"]["nodeName"].as_str().unwrap_or("-"),
            why.map_or("", |it| it["message"].as_str().unwrap()),
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn two_gangs_of_four_on_six_slots_hold_each_other_up_for_ever() {
    let mut stage = Stage::with_nodes(6, 1, vec![ranks(4, 10)]);
    stage.apply(gang("a"));
    stage.apply(gang("b"));
    stage.advance(Span::hours(24));
    insta::assert_snapshot!(where_they_are(&stage), @"
    a-0-4dkdt Running n1 3 of 4 ranks are here
    a-1-h79xr Running n3 3 of 4 ranks are here
    a-2-k85v7 Running n4 3 of 4 ranks are here
    a-3-tb5p8 Pending - 0/6 nodes are available: 6 Insufficient cpu. no new claims to deallocate, preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pod.
    b-0-vrhbn Running n2 3 of 4 ranks are here
    b-1-flwxn Running n5 3 of 4 ranks are here
    b-2-6m2h7 Running n6 3 of 4 ranks are here
    b-3-m2zm5 Pending - 0/6 nodes are available: 6 Insufficient cpu. no new claims to deallocate, preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pod.
    ");
    assert_eq!(stage.cluster.next_wake(), None, "nothing will ever happen");
}

#[test]
fn a_rank_removed_by_force_is_missed_by_the_others() {
    let mut stage = Stage::with_nodes(3, 1, vec![ranks(4, 10)]);
    stage.apply(gang("a"));
    stage.advance(Span::secs(10));
    let pods = stage.list("pods");
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    let path = format!("/api/v1/namespaces/default/pods/{name}");
    stage.patch(&path, json!({"metadata": {"finalizers": null}}));
    stage.patch("/api/v1/nodes/n1", json!({"spec": {"unschedulable": true}}));
    stage.delete(&path, json!({"gracePeriodSeconds": 0}));
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(where_they_are(&stage), @"
    a-0-flwxn Pending - 0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.
    a-1-vrhbn Running n2 2 of 4 ranks are here
    a-2-h79xr Running n3 2 of 4 ranks are here
    a-3-k85v7 Pending - 0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.
    ");
}

#[test]
fn one_gang_with_room_for_all_meets_and_runs() {
    let mut stage = Stage::with_nodes(4, 1, vec![ranks(4, 10)]);
    stage.apply(gang("a"));
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  job a: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  pod a-0-4dkdt: Pending
    00:00:00.060  job a: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  pod a-0-4dkdt: Pending on n1
    00:00:00.070  pod a-1-vrhbn: Pending
    00:00:00.070  pod a-2-h79xr: Pending
    00:00:00.070  job a: active 3 ready 0 succeeded 0 failed 0
    00:00:00.080  pod a-0-4dkdt: Pending on n1 ContainerCreating
    00:00:00.080  pod a-1-vrhbn: Pending on n2
    00:00:00.080  pod a-2-h79xr: Pending on n3
    00:00:00.080  pod a-3-k85v7: Pending
    00:00:00.080  job a: active 4 ready 0 succeeded 0 failed 0
    00:00:00.090  pod a-1-vrhbn: Pending on n2 ContainerCreating
    00:00:00.090  pod a-2-h79xr: Pending on n3 ContainerCreating
    00:00:00.090  pod a-3-k85v7: Pending on n4
    00:00:00.100  pod a-3-k85v7: Pending on n4 ContainerCreating
    00:00:01.080  pod a-0-4dkdt: Running on n1 (1 of 4 ranks are here)
    00:00:01.090  pod a-1-vrhbn: Running on n2 (2 of 4 ranks are here)
    00:00:01.090  pod a-2-h79xr: Running on n3 (3 of 4 ranks are here)
    00:00:01.100  pod a-3-k85v7: Running on n4 ready
    00:00:01.100  pod a-0-4dkdt: Running on n1 ready
    00:00:01.100  pod a-1-vrhbn: Running on n2 ready
    00:00:01.100  pod a-2-h79xr: Running on n3 ready
    00:00:02.090  job a: active 4 ready 4 succeeded 0 failed 0
    00:00:11.100  pod a-3-k85v7: Succeeded on n4 exit 0
    00:00:11.100  pod a-0-4dkdt: Succeeded on n1 exit 0
    00:00:11.100  pod a-1-vrhbn: Succeeded on n2 exit 0
    00:00:11.100  pod a-2-h79xr: Succeeded on n3 exit 0
    00:00:12.100  job a: active 0 ready 0 succeeded 4 failed 0 SuccessCriteriaMet
    00:00:12.100  job a: active 0 ready 0 succeeded 4 failed 0 SuccessCriteriaMet Complete
    ");
}

#[test]
fn ranks_count_their_time_from_the_moment_that_all_are_there() {
    let slow = Behaviour {
        matches: drawbridge_fakes::PodMatch { name: Some("a-3-*".into()), ..Default::default() },
        startup: Spread::Fixed(Span::secs(100)),
        ..ranks(4, 10)
    };
    let mut stage = Stage::with_nodes(4, 1, vec![slow, ranks(4, 10)]);
    stage.apply(gang("a"));
    stage.advance(Span::secs(99));
    let waiting = stage.list("pods");
    let held = waiting.iter().filter(|pod| pod["status"]["phase"] == "Running");
    assert_eq!(held.count(), 3);
    stage.advance(Span::secs(20));
    let done = stage.list("pods");
    assert!(done.iter().all(|pod| pod["status"]["phase"] == "Succeeded"));
    let end = &done[0]["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"];
    assert_eq!(*end, "2026-01-01T00:01:50Z");
}
