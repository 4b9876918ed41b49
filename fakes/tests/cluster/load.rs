//! A large cluster: everything finishes, and nobody asks more often than needed.

use drawbridge_fakes::{Behaviour, Program, Runtime, Spread};
use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, job};

/// Runs so many pods on so many nodes; says how many requests that took, pod by pod.
fn requests_per_pod(nodes: usize, pods: u64) -> u64 {
    let busy = Behaviour {
        startup: Spread::Uniform(Span::secs(1), Span::secs(5)),
        program: Program {
            runtime: Runtime::For(Spread::Uniform(Span::secs(30), Span::secs(90))),
            ..Program::default()
        },
        ..Behaviour::default()
    };
    let mut stage = Stage::with_nodes(nodes, 32, vec![busy]);
    stage.apply(job("many", &json!({"parallelism": pods, "completions": pods})));
    stage.advance(Span::hours(2));
    assert_eq!(stage.list("jobs.batch")[0]["status"]["succeeded"], pods);
    assert_eq!(stage.cluster.next_wake(), None);
    stage.cluster.api().audit().values().sum::<u64>() / pods
}

#[test]
fn a_thousand_pods_on_ten_nodes_all_finish() {
    assert!(requests_per_pod(10, 1000) <= 10);
}
