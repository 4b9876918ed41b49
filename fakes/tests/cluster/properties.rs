//! What is true whatever happens.

use drawbridge_sim::Span;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stage::{Stage, job, pod, runs_for};

/// One thing that somebody does.
#[derive(Clone, Debug)]
enum Deed {
    Pod(u64),
    BoundPod(u64, usize),
    Job(u64),
    DeleteAPod(usize),
    Cordon(usize, bool),
    Wait(u64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (1u64..4).prop_map(Deed::Pod),
        (1u64..4, 1usize..4).prop_map(|(cpus, node)| Deed::BoundPod(cpus, node)),
        (1u64..6).prop_map(Deed::Job),
        (0usize..20).prop_map(Deed::DeleteAPod),
        (1usize..4, any::<bool>()).prop_map(|(node, on)| Deed::Cordon(node, on)),
        (1u64..8000).prop_map(Deed::Wait),
    ];
    prop::collection::vec(deed, 1..40)
}

fn perform(stage: &mut Stage, n: usize, deed: &Deed) {
    match *deed {
        Deed::Pod(cpus) => {
            stage.apply(pod(&format!("p{n}"), cpus, "Always"));
        }
        Deed::BoundPod(cpus, node) => {
            let mut pod = pod(&format!("p{n}"), cpus, "Never");
            pod["spec"]["nodeName"] = json!(format!("n{node}"));
            stage.apply(pod);
        }
        Deed::Job(parallelism) => {
            let spec = json!({"parallelism": parallelism, "completions": parallelism + 2});
            stage.apply(job(&format!("j{n}"), &spec));
        }
        Deed::DeleteAPod(n) => {
            let pods = stage.list("pods");
            if let Some(pod) = pods.get(n) {
                let name = pod["metadata"]["name"].as_str().unwrap();
                stage.delete(&format!("/api/v1/namespaces/default/pods/{name}"), json!({}));
            }
        }
        Deed::Cordon(node, on) => {
            let body = json!({"spec": {"unschedulable": on}});
            stage.patch(&format!("/api/v1/nodes/n{node}"), body);
        }
        Deed::Wait(ms) => stage.advance(Span::ms(ms)),
    }
}

fn cpus(pod: &Value) -> u64 {
    let asked = &pod["spec"]["containers"][0]["resources"]["requests"]["cpu"];
    asked.as_str().unwrap().parse().unwrap()
}

/// Pods that the kubelet has let in: they run, or their containers are made.
fn admitted(pod: &Value) -> bool {
    let ended = ["Succeeded", "Failed"].contains(&pod["status"]["phase"].as_str().unwrap());
    !ended && pod["status"]["startTime"].is_string()
}

fn check(stage: &Stage) {
    for node in stage.list("nodes") {
        let on_node = |pod: &&Value| pod["spec"]["nodeName"] == node["metadata"]["name"];
        let pods = stage.list("pods");
        let used: u64 = pods.iter().filter(on_node).filter(|pod| admitted(pod)).map(cpus).sum();
        assert!(used <= 4, "{used} of 4 CPUs in use on {}", node["metadata"]["name"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_node_ever_runs_more_than_it_has(deeds in deeds()) {
        let mut stage = Stage::with_nodes(3, 4, vec![runs_for(3, 0)]);
        for (n, deed) in deeds.iter().enumerate() {
            perform(&mut stage, n, deed);
            check(&stage);
        }
        for _ in 0..20 {
            stage.advance(Span::secs(5));
            check(&stage);
        }
    }

    #[test]
    fn a_clone_goes_on_as_its_original_does(deeds in deeds()) {
        let mut stage = Stage::with_nodes(3, 4, vec![runs_for(3, 0)]);
        for (n, deed) in deeds.iter().enumerate() {
            perform(&mut stage, n, deed);
        }
        let mut twin = Stage::new(vec![]);
        twin.cluster = stage.cluster.clone();
        twin.now = stage.now;
        for it in [&mut stage, &mut twin] {
            it.advance(Span::mins(1));
        }
        for resource in ["pods", "jobs.batch", "events", "nodes"] {
            prop_assert_eq!(stage.list(resource), twin.list(resource));
        }
    }
}
