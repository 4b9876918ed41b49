//! Every check can pass and can fail, and says what it saw.

use std::collections::BTreeMap;

use drawbridge_sim::{JobId, Time};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::{
    frame::{JobRow, NodeRow, PodRow},
    record::{Actor, Level, Subject},
};

fn frame() -> Frame {
    Frame {
        now: Time::from_ms(60_000),
        events: 0,
        bridge_up: Some(true),
        pods: vec![
            pod("a-0", "Running", Some("n1"), Some(1_000), Some(5_000)),
            pod("a-1", "Running", Some("n2"), Some(1_500), Some(5_000)),
            pod("b-0", "Pending", None, None, None),
            pod("gone", "Deleted", Some("n1"), Some(6_000), Some(9_000)),
        ],
        jobs: vec![
            job(1, "native", "COMPLETED", false, Some("0:0")),
            job(2, "bridged", "PENDING", true, None),
        ],
        nodes: vec![node("w1", "n1", "mix", 4), node("w2", "n2", "drain", 0)],
        metrics: BTreeMap::from([("bridge.slurm.submit".into(), 3)]),
    }
}

fn pod(
    name: &str,
    phase: &str,
    node: Option<&str>,
    bound: Option<u64>,
    finished: Option<u64>,
) -> PodRow {
    let waits = phase == "Pending";
    PodRow {
        namespace: "ns".into(),
        name: name.into(),
        uid: name.into(),
        phase: phase.into(),
        reason: waits.then(|| "Waiting".into()),
        message: waits.then(|| "Slurm says Resources".into()),
        node: node.map(Into::into),
        slurm_node: node.map(Into::into),
        job_id: node.map(|_| JobId(2)),
        gang: None,
        owner: Some("Job/a".into()),
        rank: None,
        mpi: None,
        labels: BTreeMap::new(),
        scheduler: "ours".into(),
        conditions: vec![],
        terminating: false,
        created_ms: Time::ZERO,
        bound_ms: bound.map(Time::from_ms),
        started_ms: bound.map(Time::from_ms),
        finished_ms: finished.map(Time::from_ms),
    }
}

fn job(id: u32, name: &str, state: &str, bridged: bool, exit: Option<&str>) -> JobRow {
    JobRow {
        job_id: JobId(id),
        name: name.into(),
        user: "alice".into(),
        account: None,
        partition: "main".into(),
        state: state.into(),
        reason: exit.is_none().then(|| "Resources".into()),
        nodes: if exit.is_some() { "n1" } else { "" }.into(),
        cpus: 4,
        min_nodes: 1,
        tasks: 1,
        time_limit_ms: None,
        qos: None,
        dependency: None,
        priority: 1,
        factors: vec![],
        expected_start_ms: None,
        backfilled: false,
        bridged,
        submit_ms: Time::ZERO,
        start_ms: exit.map(|_| Time::ZERO),
        end_ms: exit.map(|_| Time::from_ms(900)),
        exit_code: exit.map(Into::into),
    }
}

fn node(name: &str, slurm_name: &str, state: &str, cpus_alloc: u32) -> NodeRow {
    NodeRow {
        name: name.into(),
        slurm_name: Some(slurm_name.into()),
        state: state.into(),
        reason: (state == "drain").then(|| "bad DIMM".into()),
        cordoned: state == "drain",
        partitions: vec![],
        switch: None,
        conditions: vec![],
        taints: vec![],
        cpus: 8,
        cpus_alloc,
        memory_mb: 8192,
        memory_alloc_mb: 1024,
        gres: "gpu:1".into(),
        gres_alloc: if cpus_alloc > 0 { "gpu:1" } else { "" }.into(),
        cpu_holders: vec![],
        gpu_holders: vec![],
        pods: vec!["ns/a-0".into()],
    }
}

fn history() -> Vec<Record> {
    vec![Record {
        seq: 0,
        at: Time::from_ms(500),
        actor: Actor::Bridge,
        level: Level::Story,
        subject: Subject::Bridge,
        text: "submitted job 2 for ns/a".into(),
        digest: 0,
    }]
}

/// The sentence of a check and, if it fails, what was seen.
fn look(check: Check) -> String {
    let outcome = Expectation::new(When::End, check).check(&frame(), &history());
    assert_eq!(outcome.passed, outcome.detail.is_none());
    match outcome.detail {
        None => format!("✓ {}", outcome.text),
        Some(detail) => format!("✗ {}: {detail}", outcome.text),
    }
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn all<T: DeserializeOwned>(check: impl Fn(T) -> Check, values: &[Value]) -> String {
    let lines = values.iter().map(|value| look(check(read(value.clone()))));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn pods_are_looked_at_by_every_key() {
    let text = all(
        Check::Pods,
        &[
            json!({"namespace": "ns", "name": "a-*", "phase": "Running", "count": 2}),
            json!({"name": "a-*", "phase": "Running"}),
            json!({"phase": "Running"}),
            json!({"name": "gone", "phase": "Deleted"}),
            json!({"name": "gone", "count": 0}),
            json!({"name": "gone"}),
            json!({"owner": "Job/a", "count": {"atLeast": 4}}),
            json!({"name": "a-0", "node": "n*", "slurmNode": "n1", "bound": true, "job": true}),
            json!({"name": "a-0", "node": "n2", "slurmNode": "n2", "bound": false, "job": false}),
            json!({"name": "b-0", "node": "n2", "bound": true, "job": true}),
            json!({"name": "b-0", "reason": "Wait*", "message": "Resources"}),
            json!({"name": "b-0", "reason": "Unschedulable", "message": "Priority"}),
            json!({"name": "a-0", "reason": "Wait*", "scheduler": "default-scheduler"}),
        ],
    );
    insta::assert_snapshot!(text, @r#"
    ✓ exactly 2 pods ns/a-* are Running
    ✓ every pod a-* is Running
    ✗ every pod is Running: ns/b-0 is Pending (Waiting: Slurm says Resources)
    ✓ pod gone is Deleted
    ✓ no pods gone are there
    ✗ pod gone is there: there is no such pod
    ✗ at least 4 pods of Job/a are there: there are 3 of 3: ns/a-0; ns/a-1; ns/b-0
    ✓ pod a-0 is on n*, on Slurm's n1, bound, with a job
    ✗ pod a-0 is on n2, on Slurm's n2, not bound, without a job: ns/a-0 is on n1, is on n1 of Slurm, is on n1, has job 2
    ✗ pod b-0 is on n2, bound, with a job: ns/b-0 is on no node, is on no node, has no job
    ✓ pod b-0 is there, with the reason Wait*, with the words "Resources"
    ✗ pod b-0 is there, with the reason Unschedulable, with the words "Priority": ns/b-0 gives the reason (Waiting: Slurm says Resources), says (Waiting: Slurm says Resources)
    ✗ pod a-0 is there, with the reason Wait*, scheduled by default-scheduler: ns/a-0 gives the reason none, is scheduled by ours
    "#);
}

#[test]
fn jobs_are_looked_at_by_every_key() {
    let text = all(
        Check::Jobs,
        &[
            json!({"count": 2}),
            json!({"bridged": false, "state": "COMPLETED", "exitCode": "0:0", "nodes": "n1"}),
            json!({"bridged": true, "state": "COMPLETED", "exitCode": "0:0", "nodes": "n1"}),
            json!({"name": "br*", "reason": "Resources", "cpus": 4, "nodes": ""}),
            json!({"name": "br*", "reason": "Priority", "cpus": {"atMost": 3}, "partition": "web"}),
            json!({"name": "native", "exitCode": "1:0", "nodes": ""}),
            json!({"user": "bob"}),
        ],
    );
    insta::assert_snapshot!(text, @"
    ✓ exactly 2 jobs are there
    ✓ every native job is COMPLETED, on n1, with exit code 0:0
    ✗ every bridged job is COMPLETED, on n1, with exit code 0:0: job 2 bridged is PENDING (Resources), has no nodes, has not ended
    ✓ every job br* is there, with the reason Resources, without nodes, with 4 CPUs
    ✗ every job br* is there, with the reason Priority, in partition web, with at most 3 CPUs: job 2 bridged gives Resources, is in partition main, has 4 CPUs
    ✗ job native is there, without nodes, with exit code 1:0: job 1 native is on n1, ended with 0:0
    ✗ every job of user bob is there: there is no such job
    ");
}

#[test]
fn nodes_are_looked_at_by_every_key() {
    let text = all(
        Check::Nodes,
        &[
            json!({"name": "w1", "state": "mix", "cpusAlloc": 4, "memoryAllocMb": 1024}),
            json!({"name": "n1", "state": "idle", "cpusAlloc": 0, "memoryAllocMb": 0, "pods": 0}),
            json!({"name": "w1", "gresAlloc": "gpu:1", "pods": 1, "cordoned": false, "reason": ""}),
            json!({"name": "w2", "gresAlloc": "gpu:1", "cordoned": false, "reason": ""}),
            json!({"name": "w2", "reason": "DIMM", "cordoned": true}),
            json!({"name": "w1", "reason": "DIMM", "gresAlloc": ""}),
            json!({"state": "idle", "count": {"atMost": 1}}),
        ],
    );
    insta::assert_snapshot!(text, @r#"
    ✓ node w1 is mix, with 4 CPUs held, with 1024 MiB held
    ✗ node n1 is idle, with no CPUs held, with no MiB held, with no pods: w1 is mix, has 4 CPUs held, has 1024 MiB held, has 1 pods (ns/a-0)
    ✓ node w1 is not cordoned, with gpu:1 held, with 1 pods, without a reason
    ✗ node w2 is not cordoned, with gpu:1 held, without a reason: w2 is cordoned, has no generic resource held, gives the reason "bad DIMM"
    ✓ node w2 is cordoned, with the reason "DIMM"
    ✗ node w1 is there, with no generic resource held, with the reason "DIMM": w1 has gpu:1 held, gives no reason
    ✓ at most 1 nodes are idle
    "#);
}

#[test]
fn counters_moments_and_order_are_looked_at() {
    let text = [
        all(
            Check::Metric,
            &[
                json!({"name": "bridge.slurm.submit", "value": {"atMost": 3}}),
                json!({"name": "bridge.slurm.*", "value": 2}),
            ],
        ),
        all(
            Check::Together,
            &[
                json!({"pods": ["ns/a-*"], "count": 2}),
                json!({"pods": ["a-*"], "within": "100ms"}),
                json!({"pods": ["a-*", "b-*"]}),
                json!({"pods": ["ns/a-*"], "count": 3}),
                json!({"pods": ["other/*"]}),
            ],
        ),
        all(
            Check::Order,
            &[
                json!([{"jobs": "native"}, {"pods": "ns/a-*"}, {"pods": "gone"}]),
                json!([{"pods": "gone"}, {"pods": "a-*"}]),
                json!([{"pods": "a-*"}, {"pods": "b-*"}]),
                json!([{"jobs": "bridged"}, {"pods": "a-*"}]),
                json!([{"jobs": "nobody"}, {"pods": "a-*"}]),
            ],
        ),
    ]
    .join("\n");
    insta::assert_snapshot!(text, @"
    ✓ bridge.slurm.submit is at most 3
    ✗ bridge.slurm.* is exactly 2: bridge.slurm.* is 3
    ✓ exactly 2 pods ns/a-* were bound within 1s
    ✗ all pods a-* were bound within 100ms: from the first at 00:00:01.000 to the last at 00:00:01.500 it took 500ms
    ✗ all pods a-*, b-* were bound within 1s: ns/b-0 was never bound
    ✗ exactly 3 pods ns/a-* were bound within 1s: there are 2 such pods
    ✗ all pods other/* were bound within 1s: there is no such pod
    ✓ one after the other: jobs native, then pods ns/a-*, then pods gone
    ✗ one after the other: pods gone, then pods a-*: ns/gone ended at 00:00:09.000, ns/a-0 began at 00:00:01.000
    ✗ one after the other: pods a-*, then pods b-*: ns/b-0 has not begun
    ✗ one after the other: jobs bridged, then pods a-*: job bridged has not ended
    ✗ one after the other: jobs nobody, then pods a-*: there are no jobs nobody
    ");
}

#[test]
fn the_story_is_looked_at() {
    let text = [
        all(
            Check::Story,
            &[
                json!({"by": "bridge", "text": "submitted * for ns/a"}),
                json!({"text": "submitted", "count": 2}),
                json!({"by": "slurm", "text": "submitted"}),
            ],
        ),
        all(Check::Never, &[json!({"text": "evicted"}), json!({"text": "submitted"})]),
    ]
    .join("\n");
    insta::assert_snapshot!(text, @r#"
    ✓ the story has "submitted * for ns/a" by bridge at least once
    ✗ the story has "submitted" exactly 2 times: it has it once
    ✗ the story has "submitted" by slurm at least once: it doesn't have it
    ✓ the story never has "evicted"
    ✗ the story never has "submitted": at 00:00:00.500: submitted job 2 for ns/a
    "#);
}

#[test]
fn a_time_is_part_of_the_sentence() {
    let expectation =
        Expectation::new(When::At(Time::from_ms(90_000)), Check::Jobs(read(json!({"count": 0}))));
    assert_eq!(expectation.text, "at 00:01:30.000: no jobs are there");
}
