//! Deployments and their ReplicaSets.

use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, deployment, pod, template};

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
                set["status"]["readyReplicas"].as_u64().unwrap_or(0)
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
    00:00:05.060  set web-6d6785486d: wants 0 has 2 ready 2
    00:00:05.070  pod web-6d6785486d-vrhbn: Running on n2 ready, going
    00:00:05.070  pod web-6d6785486d-4dkdt: Running on n1 ready, going
    00:00:05.080  set web-6d6785486d: wants 0 has 0 ready 0
    00:00:05.090  deployment web: wants 2 has 0 ready 0
    00:00:06.080  pod web-6d6785486d-vrhbn: Failed on n2 exit 143, going
    00:00:06.080  pod web-6d6785486d-vrhbn: gone
    00:00:06.080  pod web-6d6785486d-4dkdt: Failed on n1 exit 143, going
    00:00:06.080  pod web-6d6785486d-4dkdt: gone
    00:00:06.100  set web-7d5d79666b: wants 2 has 0 ready 0
    00:00:06.110  pod web-7d5d79666b-h79xr: Pending
    00:00:06.120  set web-7d5d79666b: wants 2 has 1 ready 0
    00:00:06.120  pod web-7d5d79666b-k85v7: Pending
    00:00:06.120  pod web-7d5d79666b-h79xr: Pending on n1
    00:00:06.120  pod web-7d5d79666b-k85v7: Pending on n2
    00:00:06.120  deployment web: wants 2 has 1 ready 0
    00:00:06.130  set web-7d5d79666b: wants 2 has 2 ready 0
    00:00:06.130  pod web-7d5d79666b-h79xr: Pending on n1 ContainerCreating
    00:00:06.130  pod web-7d5d79666b-k85v7: Pending on n2 ContainerCreating
    00:00:06.130  deployment web: wants 2 has 2 ready 0
    00:00:07.130  pod web-7d5d79666b-h79xr: Running on n1 ready
    00:00:07.130  pod web-7d5d79666b-k85v7: Running on n2 ready
    00:00:07.140  set web-7d5d79666b: wants 2 has 2 ready 2
    00:00:07.150  deployment web: wants 2 has 2 ready 2 Available
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

/// `name: replicas, revision, annotations that aren't the controller's own`.
fn sets(stage: &Stage) -> String {
    let lines = stage.list("replicasets.apps").into_iter().map(|set| {
        let annotations = set["metadata"]["annotations"].as_object().unwrap();
        let shown: Vec<String> = annotations
            .iter()
            .filter(|(key, _)| !key.ends_with("-replicas"))
            .map(|(key, value)| {
                let key = key.rsplit('/').next().unwrap();
                format!("{key}={}", value.as_str().unwrap())
            })
            .collect();
        let name = set["metadata"]["name"].as_str().unwrap().to_owned();
        format!("{name}: {} {}", set["spec"]["replicas"], shown.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn progress(stage: &Stage) -> String {
    let status = &stage.list("deployments.apps")[0]["status"];
    let all = status["conditions"].as_array().unwrap().iter();
    let told = all.map(|it| {
        let part = |key: &str| it[key].as_str().unwrap();
        format!("{} {} {}: {}", part("type"), part("status"), part("reason"), part("message"))
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn replica_sets_carry_their_deployments_annotations_and_every_revision_they_were() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut web = deployment("web", 1);
    web["metadata"]["annotations"] = json!({"team": "a", "kubernetes.io/change-cause": "first"});
    stage.apply(web);
    stage.advance(Span::secs(5));
    let mut second = template("2");
    second["metadata"]["annotations"] = json!({"kubernetes.io/change-cause": "second"});
    stage.patch(WEB, second);
    stage.advance(Span::secs(10));
    stage.patch(WEB, json!({"spec": {"template": {"metadata": {"annotations": null}}}}));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(sets(&stage), @"
    web-6d6785486d: 1 revision=3 revision-history=1 change-cause=second team=a
    web-7d5d79666b: 0 revision=2 change-cause=second team=a
    ");
    let web = &stage.list("deployments.apps")[0];
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "3");
}

#[test]
fn a_deployment_scaled_in_the_middle_of_a_rollout_grows_both_sides() {
    let mut stage = Stage::with_nodes(4, 8, vec![]);
    let mut web = deployment("web", 10);
    web["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}});
    stage.apply(web);
    stage.advance(Span::secs(5));
    // The new pods ask for more than any node has.
    let container =
        json!({"name": "main", "image": "app", "resources": {"requests": {"cpu": "99"}}});
    stage.patch(WEB, json!({"spec": {"template": {"spec": {"containers": [container]}}}}));
    stage.advance(Span::secs(5));
    let before = sets(&stage);
    stage.patch(WEB, json!({"spec": {"replicas": 15}}));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(before, @"
    web-5d76d9cd68: 5 revision=2
    web-6d6785486d: 8 revision=1
    ");
    insta::assert_snapshot!(sets(&stage), @"
    web-5d76d9cd68: 7 revision=2
    web-6d6785486d: 11 revision=1
    ");
}

#[test]
fn a_paused_deployment_waits_and_a_resumed_one_goes_on() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(deployment("web", 2));
    stage.advance(Span::secs(5));
    stage.patch(WEB, json!({"spec": {"paused": true}}));
    stage.patch(WEB, template("2"));
    stage.advance(Span::mins(20));
    assert_eq!(stage.list("replicasets.apps").len(), 1);
    insta::assert_snapshot!(progress(&stage), @"
    Available True MinimumReplicasAvailable: Deployment has minimum availability.
    Progressing Unknown DeploymentPaused: Deployment is paused
    ");
    stage.patch(WEB, json!({"spec": {"paused": false}}));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(sets(&stage), @"
    web-6d6785486d: 0 revision=1
    web-7d5d79666b: 2 revision=2
    ");
    insta::assert_snapshot!(progress(&stage), @r#"
    Available True MinimumReplicasAvailable: Deployment has minimum availability.
    Progressing True NewReplicaSetAvailable: ReplicaSet "web-7d5d79666b" has successfully progressed.
    "#);
}

#[test]
fn a_rollout_that_is_stuck_says_so_after_its_deadline_and_recovers() {
    let mut stage = Stage::with_nodes(1, 1, vec![]);
    let mut web = deployment("web", 2);
    web["spec"]["progressDeadlineSeconds"] = json!(30);
    stage.apply(web);
    stage.advance(Span::mins(2));
    insta::assert_snapshot!(progress(&stage), @r#"
    Available False MinimumReplicasUnavailable: Deployment does not have minimum availability.
    Progressing False ProgressDeadlineExceeded: ReplicaSet "web-6d6785486d" has timed out progressing.
    "#);
    stage.apply(crate::stage::node("n2", 1));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(progress(&stage), @r#"
    Available True MinimumReplicasAvailable: Deployment has minimum availability.
    Progressing True NewReplicaSetAvailable: ReplicaSet "web-6d6785486d" has successfully progressed.
    "#);
    assert_eq!(stage.cluster.next_wake(), None);
}

#[test]
fn old_replica_sets_go_beyond_the_history_that_is_kept() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut web = deployment("web", 1);
    web["spec"]["revisionHistoryLimit"] = json!(1);
    stage.apply(web);
    for version in ["2", "3", "4"] {
        stage.advance(Span::secs(10));
        stage.patch(WEB, template(version));
    }
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(sets(&stage), @"
    web-57885df466: 0 revision=3
    web-6bb7dd56fb: 1 revision=4
    ");
}

#[test]
fn a_replica_set_takes_in_an_orphan_and_lets_go_of_a_stray() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    let mut orphan = pod("orphan", 1, "Always");
    orphan["metadata"]["labels"] = json!({"app": "web"});
    stage.apply(orphan);
    let mut set = deployment("web", 2);
    set["kind"] = json!("ReplicaSet");
    stage.apply(set);
    stage.advance(Span::secs(5));
    let owners = |stage: &Stage| {
        let lines = stage.list("pods").into_iter().map(|pod| {
            let owner = pod["metadata"]["ownerReferences"][0]["name"].as_str().unwrap_or("-");
            format!("{} of {owner}", pod["metadata"]["name"].as_str().unwrap())
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(owners(&stage), @"
    orphan of web
    web-4dkdt of web
    ");
    let path = "/api/v1/namespaces/default/pods/orphan";
    stage.patch(path, json!({"metadata": {"labels": {"app": "debug"}}}));
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(owners(&stage), @"
    orphan of -
    web-4dkdt of web
    web-vrhbn of web
    ");
}

#[test]
fn a_replica_set_whose_pods_are_refused_says_why() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    let mut web = deployment("web", 1);
    web["spec"]["template"]["spec"]["priorityClassName"] = json!("missing");
    stage.apply(web);
    stage.advance(Span::secs(2));
    insta::assert_snapshot!(progress(&stage), @r#"
    Progressing True NewReplicaSetCreated: Created new replica set "web-6bd7bd7d4f"
    Available False MinimumReplicasUnavailable: Deployment does not have minimum availability.
    ReplicaFailure True FailedCreate: pods "" is forbidden: no PriorityClass with name missing was found
    "#);
    stage.apply(json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "missing"}, "value": 1,
    }));
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(progress(&stage), @r#"
    Available True MinimumReplicasAvailable: Deployment has minimum availability.
    Progressing True NewReplicaSetAvailable: ReplicaSet "web-6bd7bd7d4f" has successfully progressed.
    "#);
}

#[test]
fn in_the_foreground_an_owner_waits_for_all_that_is_below_it() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    stage.apply(deployment("web", 2));
    stage.advance(Span::secs(5));
    stage.story();
    stage.delete(
        "/apis/apps/v1/namespaces/default/deployments/web",
        json!({"propagationPolicy": "Foreground"}),
    );
    stage.advance(Span::secs(5));
    let gone: Vec<String> = stage
        .story()
        .lines()
        .filter(|line| line.ends_with(": gone"))
        .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(gone, ["pod", "pod", "set", "deployment"]);
}
