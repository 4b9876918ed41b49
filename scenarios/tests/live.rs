//! A live world: visitors come in at any time, and what they do is seen by everybody.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use drawbridge_fakes::{Attempt, Method, Request};
use drawbridge_scenarios::{World, format};
use drawbridge_sim::{Seed, Time};
use serde_json::{Value, json};

const SCENARIO: &str = "\
why: A cluster of one node to visit.
slurm:
  conf: |
    ClusterName=small
    SelectType=select/cons_tres
    SelectTypeParameters=CR_Core_Memory
    NodeName=n1 CPUs=4 RealMemory=8000
    PartitionName=main Nodes=ALL Default=YES
behaviour:
  - {name: short, runtime: 1m}
";
const HOUR: u64 = 3_600_000;

fn world() -> World {
    let scenario = format::parse("live.yaml", SCENARIO, &format::NoFiles).unwrap();
    World::live(&scenario, Seed(1))
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "restartPolicy": "Never", "containers": [
            { "name": "main", "image": "i", "resources": { "requests": { "cpu": "3" } } },
        ] },
    })
}

/// Creates something as a visitor; `None` if that waits for somebody else's webhook.
fn create(world: &mut World, at: u64, path: &str, body: Value) -> Option<Value> {
    let request = Request::new("visitor", Method::Post, path).with_body(body);
    let now = Time::from_ms(at);
    let answer = world.visit_cluster(now, |cluster, hooks| {
        cluster.attempt(now, &request, &mut Attempt::default(), hooks)
    })?;
    assert_eq!(answer.status, 201, "{}", answer.body);
    Some((*answer.body).clone())
}

#[test]
fn a_visitors_pod_runs_as_a_job_long_after_a_scenario_would_have_ended() {
    let mut world = world();
    let pods = "/api/v1/namespaces/slurm-bridge/pods";
    let made = create(&mut world, 25 * HOUR, pods, pod("short")).unwrap();
    assert_eq!(made["spec"]["schedulerName"], "slurm-bridge-scheduler");

    world.advance(Time::from_ms(25 * HOUR + 20_000));
    let jobs = world.visit_slurm(Time::from_ms(25 * HOUR + 20_000), |slurm| {
        slurm.ctld().jobs().map(|job| job.state.to_string()).collect::<Vec<_>>()
    });
    assert_eq!(jobs, ["RUNNING"]);

    world.advance(Time::from_ms(26 * HOUR));
    assert_eq!(world.frame().pods[0].phase, "Succeeded");
    assert_eq!(world.violations(), Vec::<String>::new());
}

#[test]
fn a_visitor_of_slurm_is_seen_by_the_bridge() {
    let mut world = world();
    let pods = "/api/v1/namespaces/slurm-bridge/pods";
    create(&mut world, 5_000, pods, pod("long")).unwrap();
    world.advance(Time::from_ms(20_000));
    let now = Time::from_ms(20_000);
    world.visit_slurm(now, |slurm| {
        let job = slurm.ctld().jobs().next().unwrap().id;
        let root = drawbridge_sim::UserName::from("root");
        slurm.with_ctld(now, |ctld| ctld.cancel(now, job, &root)).unwrap();
    });
    world.advance(Time::from_ms(HOUR));
    assert!(world.cluster().api().get("pods", "slurm-bridge", "long").is_none());
    assert_eq!(world.violations(), Vec::<String>::new());
}

#[test]
fn other_peoples_webhooks_are_left_to_whoever_can_call_them() {
    let mut world = world();
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "theirs" },
        "webhooks": [{
            "name": "maps.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": { "url": "https://example.com/judge" },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["configmaps"] }],
        }],
    });
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    create(&mut world, 1_000, hooks, hook).unwrap();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "map" } });
    assert_eq!(create(&mut world, 2_000, "/api/v1/namespaces/default/configmaps", map), None);
}
