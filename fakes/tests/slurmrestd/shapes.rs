//! Shapes that need no recordings: lists of paths and types, kept in the repository.

use drawbridge_sim::{Release, Span};
use serde_json::{Value, json};

use crate::{cluster::Cluster, shape::shape};

fn running() -> Cluster {
    let mut cluster = Cluster::new(Release::V24_11);
    let job =
        json!({ "cpus_per_task": 4, "tres_per_node": "gres/gpu:2", "memory_per_node": 16_000 });
    cluster.submit("alice", &job);
    cluster.wait(Span::secs(3));
    cluster
}

fn check(body: &Value, expected: &str) {
    let expected: Vec<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
    let found = shape(body);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_running_job_has_every_field_of_the_real_one() {
    let reply = running().call("alice", "GET job/1", None);
    assert_eq!(reply.status, 200);
    check(&reply.body, include_str!("shapes/job.txt"));
}

#[test]
fn a_node_has_every_field_of_the_real_one() {
    let reply = running().call("alice", "GET node/n001", None);
    assert_eq!(reply.status, 200);
    check(&reply.body["nodes"][0], include_str!("shapes/node.txt"));
}

#[test]
fn a_partition_has_every_field_of_the_real_one() {
    let reply = running().call("alice", "GET partition/main", None);
    assert_eq!(reply.status, 200);
    check(&reply.body["partitions"][0], include_str!("shapes/partition.txt"));
}

#[test]
fn a_refusal_says_what_and_where() {
    let body = json!({ "script": "#!/bin/sh\n", "job": { "current_working_directory": "/" } });
    let reply = running().call("alice", "POST job/submit", Some(body));
    assert_eq!(reply.status, 500);
    let lines = shape(&reply.body);
    let errors: Vec<&String> = lines.iter().filter(|line| line.starts_with("errors")).collect();
    assert_eq!(
        errors,
        [
            "errors: list",
            "errors[].description: string",
            "errors[].error: string",
            "errors[].error_number: integer",
            "errors[].source: string",
            "errors[]: object",
        ]
    );
}
