//! Deployments and their ReplicaSets.

use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, deployment};

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

#[test]
fn a_deployment_starts_and_follows_its_size() {
    let mut stage = Stage::with_nodes(2, 4, vec![]);
    stage.apply(deployment("web", 3));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  deployment web: wants 3 has 0 ready 0
    00:00:00.060  set web-6d6785486d: wants 3 has 0 ready 0
    00:00:00.070  pod web-6d6785486d-4dkdt: Pending
    00:00:00.080  set web-6d6785486d: wants 3 has 1 ready 0
    00:00:00.080  pod web-6d6785486d-vrhbn: Pending
    00:00:00.080  pod web-6d6785486d-h79xr: Pending
    00:00:00.080  pod web-6d6785486d-4dkdt: Pending on n1
    00:00:00.080  pod web-6d6785486d-vrhbn: Pending on n2
    00:00:00.080  pod web-6d6785486d-h79xr: Pending on n1
    00:00:00.080  deployment web: wants 3 has 1 ready 0
    00:00:00.090  set web-6d6785486d: wants 3 has 3 ready 0
    00:00:00.090  pod web-6d6785486d-4dkdt: Pending on n1 ContainerCreating
    00:00:00.090  pod web-6d6785486d-vrhbn: Pending on n2 ContainerCreating
    00:00:00.090  pod web-6d6785486d-h79xr: Pending on n1 ContainerCreating
    00:00:00.090  deployment web: wants 3 has 3 ready 0
    00:00:01.090  pod web-6d6785486d-4dkdt: Running on n1 ready
    00:00:01.090  pod web-6d6785486d-vrhbn: Running on n2 ready
    00:00:01.090  pod web-6d6785486d-h79xr: Running on n1 ready
    00:00:01.100  set web-6d6785486d: wants 3 has 3 ready 3
    00:00:01.110  deployment web: wants 3 has 3 ready 3 Available
    ");
    assert_eq!(stage.cluster.next_wake(), None, "it rests when all is well");
    stage.patch(WEB, json!({"spec": {"replicas": 1}}));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(stage.story(), @"
    00:00:05.050  deployment web: wants 1 has 3 ready 3 Available
    00:00:05.060  set web-6d6785486d: wants 1 has 3 ready 3
    00:00:05.070  pod web-6d6785486d-h79xr: Running on n1 ready, going
    00:00:05.070  pod web-6d6785486d-4dkdt: Running on n1 ready, going
    00:00:05.080  set web-6d6785486d: wants 1 has 1 ready 1
    00:00:05.090  deployment web: wants 1 has 1 ready 1 Available
    00:00:06.080  pod web-6d6785486d-h79xr: Failed on n1 exit 143, going
    00:00:06.080  pod web-6d6785486d-h79xr: gone
    00:00:06.080  pod web-6d6785486d-4dkdt: Failed on n1 exit 143, going
    00:00:06.080  pod web-6d6785486d-4dkdt: gone
    ");
    insta::assert_snapshot!(stage.events("web"), @"
    Normal ScalingReplicaSet: Scaled up replica set web-6d6785486d from 0 to 3 (x1)
    Normal ScalingReplicaSet: Scaled down replica set web-6d6785486d from 3 to 1 (x1)
    ");
}

#[test]
fn a_changed_template_rolls_over_without_losing_availability() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(deployment("web", 4));
    stage.advance(Span::secs(5));
    stage.story();
    let template = json!({"metadata": {"annotations": {"version": "2"}}});
    stage.patch(WEB, json!({"spec": {"template": template}}));
    let mut least = u64::MAX;
    for _ in 0..200 {
        stage.advance(Span::ms(100));
        let status = &stage.list("deployments.apps")[0]["status"];
        least = least.min(status["availableReplicas"].as_u64().unwrap());
    }
    assert_eq!(least, 3);
    let sets: Vec<String> = stage
        .list("replicasets.apps")
        .iter()
        .map(|set| {
            let revision = "deployment.kubernetes.io/revision";
            format!(
                "{} revision {} replicas {} ready {}",
                set["metadata"]["name"],
                set["metadata"]["annotations"][revision],
                set["spec"]["replicas"],
                set["status"]["readyReplicas"]
            )
        })
        .collect();
    insta::assert_snapshot!(sets.join("\n"), @r#"
    "web-6d6785486d" revision "1" replicas 0 ready 0
    "web-7d5d79666b" revision "2" replicas 4 ready 4
    "#);
    insta::assert_snapshot!(stage.events("web"), @"
    Normal ScalingReplicaSet: Scaled up replica set web-6d6785486d from 0 to 4 (x1)
    Normal ScalingReplicaSet: Scaled up replica set web-7d5d79666b from 0 to 1 (x1)
    Normal ScalingReplicaSet: Scaled down replica set web-6d6785486d from 4 to 3 (x1)
    Normal ScalingReplicaSet: Scaled up replica set web-7d5d79666b from 1 to 2 (x1)
    Normal ScalingReplicaSet: Scaled down replica set web-6d6785486d from 3 to 1 (x1)
    Normal ScalingReplicaSet: Scaled up replica set web-7d5d79666b from 2 to 4 (x1)
    Normal ScalingReplicaSet: Scaled down replica set web-6d6785486d from 1 to 0 (x1)
    ");
}

#[test]
fn an_earlier_template_brings_its_replica_set_back() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(deployment("web", 1));
    stage.advance(Span::secs(5));
    for version in [json!("2"), json!(null)] {
        let template = json!({"metadata": {"annotations": {"version": version}}});
        stage.patch(WEB, json!({"spec": {"template": template}}));
        stage.advance(Span::secs(10));
    }
    let sets = stage.list("replicasets.apps");
    assert_eq!(sets.len(), 2);
    let revision = "deployment.kubernetes.io/revision";
    let all: Vec<&str> = sets
        .iter()
        .filter(|set| set["spec"]["replicas"] == 1)
        .filter_map(|set| set["metadata"]["annotations"][revision].as_str())
        .collect();
    assert_eq!(all, ["3"]);
}

#[test]
fn recreate_lets_all_old_pods_end_first() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut web = deployment("web", 2);
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    stage.apply(web);
    stage.advance(Span::secs(5));
    stage.story();
    let template = json!({"metadata": {"annotations": {"version": "2"}}});
    stage.patch(WEB, json!({"spec": {"template": template}}));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(stage.story(), @"
    00:00:05.060  set web-7d5d79666b: wants 0 has 0 ready 0
    00:00:05.070  set web-6d6785486d: wants 0 has 2 ready 2
    00:00:05.080  pod web-6d6785486d-vrhbn: Running on n2 ready, going
    00:00:05.080  pod web-6d6785486d-4dkdt: Running on n1 ready, going
    00:00:05.090  set web-6d6785486d: wants 0 has 0 ready 0
    00:00:05.090  deployment web: wants 2 has 0 ready 0
    00:00:06.090  pod web-6d6785486d-vrhbn: Failed on n2 exit 143, going
    00:00:06.090  pod web-6d6785486d-vrhbn: gone
    00:00:06.090  pod web-6d6785486d-4dkdt: Failed on n1 exit 143, going
    00:00:06.090  pod web-6d6785486d-4dkdt: gone
    00:00:06.110  set web-7d5d79666b: wants 2 has 0 ready 0
    00:00:06.120  pod web-7d5d79666b-h79xr: Pending
    00:00:06.130  set web-7d5d79666b: wants 2 has 1 ready 0
    00:00:06.130  pod web-7d5d79666b-k85v7: Pending
    00:00:06.130  pod web-7d5d79666b-h79xr: Pending on n1
    00:00:06.130  pod web-7d5d79666b-k85v7: Pending on n2
    00:00:06.140  set web-7d5d79666b: wants 2 has 2 ready 0
    00:00:06.140  deployment web: wants 2 has 2 ready 0
    00:00:06.140  pod web-7d5d79666b-h79xr: Pending on n1 ContainerCreating
    00:00:06.140  pod web-7d5d79666b-k85v7: Pending on n2 ContainerCreating
    00:00:07.140  pod web-7d5d79666b-h79xr: Running on n1 ready
    00:00:07.140  pod web-7d5d79666b-k85v7: Running on n2 ready
    00:00:07.150  set web-7d5d79666b: wants 2 has 2 ready 2
    00:00:07.160  deployment web: wants 2 has 2 ready 2 Available
    ");
}

#[test]
fn a_deployment_that_gets_no_room_counts_as_stuck() {
    let mut stage = Stage::with_nodes(1, 1, vec![]);
    let mut web = deployment("web", 2);
    web["spec"]["progressDeadlineSeconds"] = json!(30);
    stage.apply(web);
    stage.advance(Span::mins(2));
    let status = &stage.list("deployments.apps")[0]["status"];
    let conditions = status["conditions"].as_array().unwrap();
    let progress = conditions.iter().find(|it| it["type"] == "Progressing");
    assert_eq!(progress.unwrap()["reason"], "ProgressDeadlineExceeded");
}

#[test]
fn a_deleted_deployment_takes_everything_along() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    stage.apply(deployment("web", 3));
    stage.advance(Span::secs(5));
    stage.delete(WEB, json!({}));
    stage.advance(Span::secs(10));
    assert_eq!(stage.list("replicasets.apps").len(), 0);
    assert_eq!(stage.list("pods").len(), 0);
    assert_eq!(stage.cluster.next_wake(), None);
}
