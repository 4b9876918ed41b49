//! The first sentences of the explanation, state by state.

use std::sync::Arc;

use drawbridge_scenarios::{
    Frame, NodeRow,
    recording::{Change, Chunk, Film, Still},
};
use drawbridge_sim::{JobId, Time};

use super::cluster::{
    ALLOCATED, BOUND, CREATED, Cluster, DONE, RUNNING, SERVING, SUBMITTED, frame,
};
use crate::model::{explain::explain, list::Key, scene::Scene};

/// Everything that is said of this, one sentence per line.
fn why(frame: &Frame, key: &Key) -> String {
    let pods = frame.pods.iter().cloned().map(|it| Change::Pod(Arc::new(it)));
    let jobs = frame.jobs.iter().cloned().map(|it| Change::Job(Arc::new(it)));
    let nodes = frame.nodes.iter().cloned().map(|it| Change::Node(Arc::new(it)));
    let changes = pods.chain(jobs).chain(nodes).map(|change| (0, change));
    let bridge = frame.bridge_up.map(|up| (0, Change::Bridge(up)));
    let changes = changes.chain(bridge).collect();
    let mut film = Film::default();
    film.add(Chunk { changes, ..Cluster::chunk() });
    let mut still = Still::default();
    still.seek(&film, frame.events);
    let scene = Scene { film: &film, still: &still, zero: None, now: frame.now };
    explain(scene, key).map(|it| it.why.join("\n")).unwrap_or_default()
}

fn at(event: u64) -> Frame {
    frame(&Cluster::chunk().records, event)
}

#[test]
fn a_pod_says_where_it_stands() {
    let ring = Key::Pod("uid-0".to_owned());
    let web = Key::Pod("uid-web".to_owned());
    let mut gone = at(DONE);
    gone.pods[0].phase = "Deleted".to_owned();
    let mut going = at(RUNNING);
    going.pods[0].terminating = true;
    #[rustfmt::skip]
    let rows = [
        (at(CREATED),   &ring, "It waits. Slurm has no job for its gang yet."),
        (at(SERVING - 1), &web, "It waits. Its scheduler is `default-scheduler`; no Slurm job stands for it."),
        (at(ALLOCATED), &ring, "Job 2 has its nodes (compute-[0-1]); the pods follow."),
        (at(BOUND),     &ring, "It is bound to worker-node-0; its containers have yet to start."),
        (at(RUNNING),   &ring, "It runs on worker-node-0."),
        (going,         &ring, "It is being deleted and may still hold its node."),
        (at(DONE),      &ring, "It ended well."),
        (gone,          &ring, "It is gone; this is the last that was seen of it."),
        (at(0),         &ring, ""),
    ];
    for (frame, key, want) in rows {
        assert_eq!(why(&frame, key), want, "after {} events", frame.events);
    }
}

#[test]
fn a_pod_says_that_the_bridge_is_down() {
    let mut frame = at(CREATED);
    frame.bridge_up = Some(false);
    insta::assert_snapshot!(why(&frame, &Key::Pod("uid-3".to_owned())), @r"
    It waits. Slurm has no job for its gang yet.
    The bridge is down: nothing is submitted or bound until it is back.
    ");
}

#[test]
fn a_pod_says_what_was_written_on_it() {
    let mut frame = at(CREATED);
    frame.pods[0].message = Some("PodGroup mpi/ring doesn't exist".to_owned());
    insta::assert_snapshot!(why(&frame, &Key::Pod("uid-0".to_owned())), @r"
    It waits: PodGroup mpi/ring doesn't exist.
    Slurm has no job for its gang yet.
    ");
}

#[test]
fn a_pod_of_the_default_scheduler_says_who_is_on_the_nodes() {
    let mut frame = at(SERVING);
    frame.pods[4].phase = "Pending".to_owned();
    frame.pods[4].node = None;
    frame.pods[4].message = Some("0/1 nodes are available: 1 Insufficient cpu.".to_owned());
    frame.nodes[4].pods = vec!["web/other".to_owned()];
    insta::assert_snapshot!(why(&frame, &Key::Pod("uid-web".to_owned())), @r"
    It waits: 0/1 nodes are available: 1 Insufficient cpu.
    Its scheduler is `default-scheduler`; no Slurm job stands for it.
    Bound now: web/other on control-plane.
    ");
}

#[test]
fn a_gang_says_at_once_what_is_the_same_for_all() {
    let gang = Key::Gang("mpi".to_owned(), "ring".to_owned());
    assert_eq!(why(&at(DONE), &gang), "All 4: It ended well.");
    insta::assert_snapshot!(why(&at(RUNNING), &gang), @r"
    ring-0: It runs on worker-node-0.
    ring-1: It runs on worker-node-0.
    ring-2: It runs on worker-node-1.
    ring-3: It runs on worker-node-1.
    ");
}

#[test]
fn a_pod_whose_job_ended_before_it_was_placed_says_so() {
    let mut frame = at(SERVING);
    frame.jobs[1].state = "CANCELLED".to_owned();
    frame.jobs[1].end_ms = Some(frame.now);
    assert_eq!(
        why(&frame, &Key::Pod("uid-0".to_owned())),
        "Job 2 ended as CANCELLED; nothing will be placed for it."
    );
}

#[test]
fn a_job_says_what_waits_before_it_and_what_runs() {
    let mut frame = at(SERVING);
    let mut urgent = frame.jobs[1].clone();
    (urgent.job_id, urgent.name, urgent.priority) = (JobId(3), "urgent".to_owned(), 900);
    let mut late = frame.jobs[1].clone();
    (late.job_id, late.name) = (JobId(4), "late".to_owned());
    frame.jobs.extend([urgent, late]);
    frame.jobs[1].reason = Some("Priority".to_owned());
    frame.bridge_up = Some(false);
    insta::assert_snapshot!(why(&frame, &Key::Job(JobId(2))), @"
    Job 2 waits: Priority. Jobs with a higher priority wait as well and go first.
    It asks for 16 CPUs on 2 nodes in batch, with priority 100.
    Before it in batch: job 3 urgent.
    Job 1 train holds 36 CPUs and 5 GPUs on worker-node-0, worker-node-2.
    Node worker-node-3 takes no new work (drain, cordoned: disk).
    Free now: 1 whole node; 44 CPUs and 1 GPU in all.
    Slurm expects to start it at 00:20:00.000, in 18m.
    The bridge is down: it won't bind pods until it is back.
    ");
}

#[test]
fn a_job_that_runs_or_ended_says_since_when() {
    let train = Key::Job(JobId(1));
    let held =
        "It has held compute-[0,2] for 61s.\nIts limit ends it at 00:20:00.000 at the latest.";
    assert_eq!(why(&at(SERVING), &train), held);
    assert_eq!(why(&at(ALLOCATED + 8), &train), "It ended 2s ago as COMPLETED.");
}

#[test]
fn long_lists_are_cut_short() {
    let mut frame = at(SERVING);
    let drained = frame.nodes[3].clone();
    let named = |i| NodeRow { name: format!("off-{i}"), ..drained.clone() };
    frame.nodes = (0..8).map(named).collect();
    let said = why(&frame, &Key::Job(JobId(2)));
    assert_eq!(said.matches("takes no new work").count(), 5, "{said}");
    assert!(said.contains("and 3 more"), "{said}");
}

#[test]
fn a_node_says_who_holds_it() {
    let rows = [
        (SERVING, 0, "Job 1 train holds 4 CPUs and 1 GPU on worker-node-0."),
        (SERVING, 1, "It is free."),
        (SERVING, 3, "Node worker-node-3 takes no new work (drain, cordoned: disk)."),
    ];
    for (event, node, want) in rows {
        assert_eq!(why(&at(event), &Key::Node(format!("worker-node-{node}"))), want);
    }
    let other = why(&at(SERVING), &Key::Node("control-plane".to_owned()));
    assert_eq!(other, "Slurm doesn't know it; only the default scheduler uses it.");
}

#[test]
fn a_record_explains_what_it_is_about_or_itself() {
    let frame = at(SUBMITTED + 1);
    assert_eq!(frame.now, Time::from_ms(10_300));
    let about_node = why(&frame, &Key::Record(2));
    assert!(about_node.starts_with("Node worker-node-3"), "{about_node}");
    assert_eq!(why(&frame, &Key::Record(3)), "applied PodGroup mpi/ring");
}
