//! DaemonSets: a pod on every node that fits.

use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, daemon_set, node, runs_for, template};

const AGENT: &str = "/apis/apps/v1/namespaces/default/daemonsets/agent";

fn pods(stage: &Stage) -> String {
    let mut lines: Vec<String> = stage
        .list("pods")
        .iter()
        .map(|pod| {
            let version = pod["metadata"]["annotations"]["version"].as_str().unwrap_or("1");
            format!("{} {version}", pod["spec"]["nodeName"].as_str().unwrap_or("-"))
        })
        .collect();
    lines.sort();
    lines.join(", ")
}

#[test]
fn a_daemon_runs_on_every_node_also_on_cordoned_and_new_ones() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.patch("/api/v1/nodes/n2", json!({"spec": {"unschedulable": true}}));
    stage.apply(daemon_set("agent"));
    stage.advance(Span::secs(3));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  daemon set agent: wants 0 has 0 ready 0 updated 0 astray 0
    00:00:00.060  revision agent-7c74cb99c4: number 1
    00:00:00.060  pod agent-4dkdt: Pending
    00:00:00.060  daemon set agent: wants 2 has 0 ready 0 updated 0 astray 0
    00:00:00.070  pod agent-vrhbn: Pending
    00:00:00.070  daemon set agent: wants 2 has 1 ready 0 updated 1 astray 0
    00:00:00.070  pod agent-4dkdt: Pending on n1
    00:00:00.070  pod agent-vrhbn: Pending on n2
    00:00:00.080  daemon set agent: wants 2 has 2 ready 0 updated 2 astray 0
    00:00:00.080  pod agent-4dkdt: Pending on n1 ContainerCreating
    00:00:00.080  pod agent-vrhbn: Pending on n2 ContainerCreating
    00:00:01.080  pod agent-4dkdt: Running on n1 ready
    00:00:01.080  pod agent-vrhbn: Running on n2 ready
    00:00:01.090  daemon set agent: wants 2 has 2 ready 2 updated 2 astray 0
    ");
    stage.apply(node("n3", 8));
    stage.advance(Span::secs(3));
    assert_eq!(pods(&stage), "n1 1, n2 1, n3 1");
    let taints = json!([{"key": "k", "effect": "NoExecute"}]);
    stage.patch("/api/v1/nodes/n1", json!({"spec": {"taints": taints}}));
    stage.advance(Span::secs(3));
    assert_eq!(pods(&stage), "n2 1, n3 1");
    stage.delete("/api/v1/nodes/n3", json!({}));
    stage.patch("/api/v1/nodes/n1", json!({"spec": {"taints": null}}));
    stage.advance(Span::secs(3));
    let status = &stage.list("daemonsets.apps")[0]["status"];
    assert_eq!(status["desiredNumberScheduled"], 2);
    insta::assert_snapshot!(stage.events("agent"), @"
    Normal SuccessfulCreate: Created pod: agent-4dkdt (x1)
    Normal SuccessfulCreate: Created pod: agent-vrhbn (x1)
    Normal SuccessfulCreate: Created pod: agent-h79xr (x1)
    Normal SuccessfulDelete: Deleted pod: agent-4dkdt (x1)
    Normal SuccessfulCreate: Created pod: agent-k85v7 (x1)
    ");
}

#[test]
fn a_new_template_replaces_as_many_pods_as_may_be_missing() {
    let mut stage = Stage::with_nodes(4, 8, vec![]);
    let mut agent = daemon_set("agent");
    agent["spec"]["updateStrategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}});
    stage.apply(agent);
    stage.advance(Span::secs(3));
    stage.patch(AGENT, template("2"));
    stage.advance(Span::ms(500));
    let going = stage
        .list("pods")
        .iter()
        .filter(|pod| pod["metadata"]["deletionTimestamp"].is_string())
        .count();
    assert_eq!(going, 2);
    stage.advance(Span::secs(10));
    assert_eq!(pods(&stage), "n1 2, n2 2, n3 2, n4 2");
    assert_eq!(stage.cluster.next_wake(), None);
}

#[test]
fn with_a_surge_the_new_pod_comes_before_the_old_one_goes() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut agent = daemon_set("agent");
    agent["spec"]["updateStrategy"] = json!({
        "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    });
    stage.apply(agent);
    stage.advance(Span::secs(3));
    stage.patch(AGENT, template("2"));
    stage.advance(Span::secs(1));
    assert_eq!(pods(&stage), "n1 1, n1 2, n2 1");
    stage.advance(Span::secs(10));
    assert_eq!(pods(&stage), "n1 2, n2 2");
}

#[test]
fn on_delete_leaves_old_pods_alone() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut agent = daemon_set("agent");
    agent["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    stage.apply(agent);
    stage.advance(Span::secs(3));
    stage.patch(AGENT, template("2"));
    stage.advance(Span::secs(10));
    assert_eq!(pods(&stage), "n1 1, n2 1");
}

#[test]
fn a_pod_that_a_kubelet_refuses_is_tried_again_later_each_time() {
    let mut stage = Stage::with_nodes(1, 1, vec![runs_for(1, 0)]);
    let mut agent = daemon_set("agent");
    agent["spec"]["template"]["spec"]["nodeName"] = json!("n1");
    agent["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2");
    stage.apply(agent);
    stage.advance(Span::mins(1));
    let story = stage.story();
    let refused: Vec<&str> = story.lines().filter(|line| line.contains("OutOfcpu")).collect();
    insta::assert_snapshot!(refused.join("\n"), @"
    00:00:00.070  pod agent-4dkdt: Failed on n1 OutOfcpu
    00:00:00.100  pod agent-vrhbn: Failed on n1 OutOfcpu
    00:00:01.100  pod agent-h79xr: Failed on n1 OutOfcpu
    00:00:03.100  pod agent-k85v7: Failed on n1 OutOfcpu
    00:00:07.100  pod agent-flwxn: Failed on n1 OutOfcpu
    00:00:15.100  pod agent-6m2h7: Failed on n1 OutOfcpu
    00:00:31.100  pod agent-tb5p8: Failed on n1 OutOfcpu
    ");
}
