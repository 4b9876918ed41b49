//! A large cluster in little time.

use std::time::{Duration, Instant};

use drawbridge_fakes::{Behaviour, Runtime, Spread};
use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, job};

fn run(nodes: usize, pods: u64) -> (Stage, Duration) {
    let busy = Behaviour {
        startup: Spread::Uniform(Span::secs(1), Span::secs(5)),
        runtime: Runtime::For(Spread::Uniform(Span::secs(30), Span::secs(90))),
        ..Behaviour::default()
    };
    let mut stage = Stage::with_nodes(nodes, 32, vec![busy]);
    stage.apply(job(
        "many",
        &json!({"parallelism": pods, "completions": pods}),
    ));
    let start = Instant::now();
    stage.advance(Span::hours(2));
    (stage, start.elapsed())
}

#[test]
fn a_thousand_pods_on_ten_nodes_all_finish() {
    let (stage, _) = run(10, 1000);
    let job = &stage.list("jobs.batch")[0];
    assert_eq!(job["status"]["succeeded"], 1000);
    assert_eq!(stage.cluster.next_wake(), None);
}

/// Run with `cargo test --release -- --ignored`.
#[test]
#[ignore = "takes long without optimisation"]
fn ten_thousand_pods_on_a_hundred_nodes_take_seconds() {
    let (stage, took) = run(100, 10_000);
    let job = &stage.list("jobs.batch")[0];
    assert_eq!(job["status"]["succeeded"], 10_000);
    assert!(took < Duration::from_secs(20), "{took:?}");
}
