//! Stories of horizontal pod autoscalers.

use drawbridge_fakes::Reading;
use drawbridge_sim::Span;
use serde_json::{Value, json};

use crate::stage::{Stage, deployment};

/// An autoscaler of the Deployment `web`, from 1 to 6 pods.
fn autoscaler(metric: &Value, behaviour: &Value) -> Value {
    let mut it = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 6,
            "metrics": [metric],
        },
    });
    if behaviour.is_object() {
        it["spec"]["behavior"] = behaviour.clone();
    }
    it
}

fn cpu(percent: u64) -> Value {
    json!({
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
    })
}

fn told(stage: &mut Stage) -> String {
    let story = stage.story();
    let lines = story.lines().filter(|line| line.contains("  autoscaler "));
    lines.collect::<Vec<_>>().join("\n")
}

fn web(metric: &Value, behaviour: &Value) -> Stage {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(deployment("web", 2));
    stage.apply(autoscaler(metric, behaviour));
    stage
}

fn set(stage: &mut Stage, whose: &str, name: &str, reading: Reading) {
    stage.cluster.set_metric(stage.now, ("default", whose, name), Some(reading));
}

#[test]
fn pods_follow_their_load_up_at_once_and_down_after_five_minutes() {
    let mut stage = web(&cpu(50), &Value::Null);
    set(&mut stage, "web", "cpu", Reading::Total(1000));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(told(&mut stage), @"
    00:00:00.050  autoscaler web: has 0 wants 0
    00:00:15.000  autoscaler web: has 2 wants 2 AbleToScale ScalingActive
    ");
    set(&mut stage, "web", "cpu", Reading::Total(2400));
    stage.advance(Span::mins(2));
    insta::assert_snapshot!(told(&mut stage), @"
    00:01:15.000  autoscaler web: has 2 wants 4 AbleToScale ScalingActive ScalingLimited
    00:01:30.000  autoscaler web: has 4 wants 5 AbleToScale ScalingActive
    00:01:45.000  autoscaler web: has 5 wants 5 AbleToScale ScalingActive
    ");
    set(&mut stage, "web", "cpu", Reading::Total(600));
    stage.advance(Span::mins(10));
    insta::assert_snapshot!(told(&mut stage), @"
    00:08:00.000  autoscaler web: has 5 wants 2 AbleToScale ScalingActive
    00:08:15.000  autoscaler web: has 2 wants 2 AbleToScale ScalingActive
    ");
    insta::assert_snapshot!(stage.events("web"), @"
    Normal ScalingReplicaSet: Scaled up replica set web-6d6785486d from 0 to 2 (x1)
    Normal SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target (x1)
    Normal ScalingReplicaSet: Scaled up replica set web-6d6785486d from 2 to 4 (x1)
    Normal SuccessfulRescale: New size: 5; reason: cpu resource utilization (percentage of request) above target (x1)
    Normal ScalingReplicaSet: Scaled up replica set web-6d6785486d from 4 to 5 (x1)
    Normal SuccessfulRescale: New size: 2; reason: All metrics below target (x1)
    Normal ScalingReplicaSet: Scaled down replica set web-6d6785486d from 5 to 2 (x1)
    ");
    let status = &stage.list("horizontalpodautoscalers.autoscaling")[0]["status"];
    insta::assert_snapshot!(status["currentMetrics"], @r#"[{"resource":{"current":{"averageUtilization":30,"averageValue":"300m"},"name":"cpu"},"type":"Resource"}]"#);
    assert_eq!(stage.list("pods").len(), 2);
}

#[test]
fn metrics_of_every_type_ask_for_pods() {
    let target = |kind: &str, field: &str, value: &str| json!({"type": kind, field: value});
    let pods = json!({"type": "Pods", "pods": {
        "metric": {"name": "requests"}, "target": target("AverageValue", "averageValue", "10"),
    }});
    let object = json!({"type": "Object", "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "front"},
        "metric": {"name": "hits"}, "target": target("Value", "value", "100"),
    }});
    let external = json!({"type": "External", "external": {
        "metric": {"name": "queue"}, "target": target("AverageValue", "averageValue", "30"),
    }});
    let memory = json!({"type": "Resource", "resource": {
        "name": "memory", "target": target("AverageValue", "averageValue", "500Mi"),
    }});
    let container = json!({"type": "ContainerResource", "containerResource": {
        "name": "cpu", "container": "main",
        "target": {"type": "Utilization", "averageUtilization": 50},
    }});
    let mib = 1_048_576_000;
    #[rustfmt::skip]
    let rows = [
        // metric    whose    name        reading                       pods
        (&pods,      "web",   "requests", Reading::PerPod(20_000),      4),
        (&pods,      "web",   "requests", Reading::PerPod(10_900),      2),
        (&object,    "front", "hits",     Reading::Total(150_000),      3),
        (&external,  "",      "queue",    Reading::Total(100_000),      4),
        (&memory,    "web",   "memory",   Reading::PerPod(700 * mib),   3),
        (&container, "web",   "cpu",      Reading::PerPod(1000),        4),
    ];
    for (metric, whose, name, reading, expected) in rows {
        let mut stage = web(metric, &Value::Null);
        set(&mut stage, whose, name, reading);
        stage.advance(Span::secs(20));
        let wants = &stage.list("deployments.apps")[0]["spec"]["replicas"];
        assert_eq!(*wants, expected, "{metric} {reading:?}");
    }
}

#[test]
fn policies_say_how_fast_it_may_go() {
    let slow = json!({
        "scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]},
        "scaleDown": {"stabilizationWindowSeconds": 30, "selectPolicy": "Disabled"},
    });
    let mut stage = web(&cpu(50), &slow);
    set(&mut stage, "web", "cpu", Reading::PerPod(1000));
    stage.advance(Span::mins(3));
    insta::assert_snapshot!(told(&mut stage), @"
    00:00:00.050  autoscaler web: has 0 wants 0
    00:00:15.000  autoscaler web: has 2 wants 3 AbleToScale ScalingActive ScalingLimited
    00:00:30.000  autoscaler web: has 3 wants 3 AbleToScale ScalingActive ScalingLimited
    00:01:15.000  autoscaler web: has 3 wants 4 AbleToScale ScalingActive ScalingLimited
    00:01:30.000  autoscaler web: has 4 wants 4 AbleToScale ScalingActive ScalingLimited
    00:02:15.000  autoscaler web: has 4 wants 5 AbleToScale ScalingActive ScalingLimited
    00:02:30.000  autoscaler web: has 5 wants 5 AbleToScale ScalingActive ScalingLimited
    ");
    set(&mut stage, "web", "cpu", Reading::PerPod(0));
    stage.advance(Span::mins(10));
    assert_eq!(stage.list("deployments.apps")[0]["spec"]["replicas"], 5, "never down");
}

#[test]
fn what_it_cannot_know_it_says_and_leaves_alone() {
    let mut stage = web(&cpu(50), &Value::Null);
    stage.advance(Span::secs(20));
    insta::assert_snapshot!(told(&mut stage), @"
    00:00:00.050  autoscaler web: has 0 wants 0
    00:00:15.000  autoscaler web: has 2 wants 0 AbleToScale
    ");
    insta::assert_snapshot!(stage.events("web"), @"
    Normal ScalingReplicaSet: Scaled up replica set web-6d6785486d from 0 to 2 (x1)
    Warning FailedGetResourceMetric: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API (x1)
    Warning FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API (x1)
    ");
    stage.delete("/apis/apps/v1/namespaces/default/deployments/web", json!({}));
    stage.advance(Span::secs(20));
    let status = &stage.list("horizontalpodautoscalers.autoscaling")[0]["status"];
    insta::assert_snapshot!(status["conditions"][0]["message"], @r#""the HPA controller was unable to get the target's current scale: deployments.apps \"web\" not found""#);
}

#[test]
fn a_target_outside_its_bounds_is_brought_back_and_one_of_none_is_left() {
    for (replicas, expected) in [(9, 6), (0, 0)] {
        let mut stage = web(&cpu(50), &Value::Null);
        stage.patch(
            "/apis/apps/v1/namespaces/default/deployments/web",
            json!({"spec": {"replicas": replicas}}),
        );
        stage.advance(Span::secs(20));
        assert_eq!(stage.list("deployments.apps")[0]["spec"]["replicas"], expected);
    }
}
