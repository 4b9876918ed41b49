//! Stories of LeaderWorkerSets.

use drawbridge_fakes::{Behaviour, Crashes, PodMatch, Program};
use drawbridge_sim::Span;
use serde_json::{Value, json};

use crate::stage::{Stage, pod_spec};

const SET: &str = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets/infer";

fn set(replicas: u64, size: u64, more: &Value) -> Value {
    let mut set = json!({
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "infer"},
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {
                "size": size,
                "workerTemplate": {"spec": pod_spec(1, "Always")},
            },
        },
    });
    for (key, value) in more.as_object().unwrap() {
        set["spec"][key] = value.clone();
    }
    set
}

/// The lines about pods and the set itself.
fn told(stage: &mut Stage) -> String {
    let story = stage.story();
    let lines = story.lines().filter(|line| line.contains("  pod ") || line.contains("  groups "));
    lines.collect::<Vec<_>>().join("\n")
}

/// The labels and annotations of a set's pods, without what only names revisions and hashes.
fn places(stage: &Stage) -> String {
    let prefix = "leaderworkerset.sigs.k8s.io/";
    let line = |pod: &Value| {
        let mut parts = vec![pod["metadata"]["name"].as_str().unwrap().to_owned()];
        for list in ["labels", "annotations"] {
            for (key, value) in pod["metadata"][list].as_object().unwrap() {
                let key = key.strip_prefix(prefix).unwrap_or("");
                if ["group-index", "worker-index", "subgroup-index", "leader-name"].contains(&key) {
                    parts.push(format!("{key}={}", value.as_str().unwrap()));
                }
            }
        }
        parts.join(" ")
    };
    stage.list("pods").iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_group_is_a_leader_and_its_workers() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(set(2, 3, &json!({})));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(told(&mut stage), @"
    00:00:00.050  groups infer: wants 2 has 0 ready 0 updated 0
    00:00:00.060  groups infer: wants 2 has 0 ready 0 updated 0 Progressing
    00:00:00.070  pod infer-0: Pending
    00:00:00.070  pod infer-1: Pending
    00:00:00.080  groups infer: wants 2 has 2 ready 0 updated 0 Progressing
    00:00:00.080  pod infer-0: Pending on n1
    00:00:00.080  pod infer-1: Pending on n2
    00:00:00.090  pod infer-0-1: Pending
    00:00:00.090  pod infer-0-2: Pending
    00:00:00.090  groups infer: wants 2 has 2 ready 0 updated 2 Progressing
    00:00:00.090  pod infer-1-1: Pending
    00:00:00.090  pod infer-1-2: Pending
    00:00:00.090  pod infer-0: Pending on n1 ContainerCreating
    00:00:00.090  pod infer-1: Pending on n2 ContainerCreating
    00:00:00.100  pod infer-0-1: Pending on n2
    00:00:00.100  pod infer-0-2: Pending on n1
    00:00:00.100  pod infer-1-1: Pending on n1
    00:00:00.100  pod infer-1-2: Pending on n2
    00:00:00.110  pod infer-0-1: Pending on n2 ContainerCreating
    00:00:00.110  pod infer-0-2: Pending on n1 ContainerCreating
    00:00:00.110  pod infer-1-1: Pending on n1 ContainerCreating
    00:00:00.110  pod infer-1-2: Pending on n2 ContainerCreating
    00:00:01.090  pod infer-0: Running on n1 ready
    00:00:01.090  pod infer-1: Running on n2 ready
    00:00:01.110  pod infer-0-1: Running on n2 ready
    00:00:01.110  pod infer-0-2: Running on n1 ready
    00:00:01.110  pod infer-1-1: Running on n1 ready
    00:00:01.110  pod infer-1-2: Running on n2 ready
    00:00:01.120  groups infer: wants 2 has 2 ready 1 updated 2 Progressing
    00:00:01.130  groups infer: wants 2 has 2 ready 2 updated 2 Available
    ");
    insta::assert_snapshot!(places(&stage), @"
    infer-0 group-index=0 worker-index=0
    infer-0-1 group-index=0 worker-index=1 leader-name=infer-0
    infer-0-2 group-index=0 worker-index=2 leader-name=infer-0
    infer-1 group-index=1 worker-index=0
    infer-1-1 group-index=1 worker-index=1 leader-name=infer-1
    infer-1-2 group-index=1 worker-index=2 leader-name=infer-1
    ");
    let env = &stage.pod("infer-1-2")["spec"]["containers"][0]["env"];
    insta::assert_snapshot!(env, @r#"[{"name":"LWS_LEADER_ADDRESS","value":"infer-1.infer.default"},{"name":"LWS_GROUP_SIZE","value":"3"},{"name":"LWS_WORKER_INDEX","value":"2"}]"#);
    insta::assert_snapshot!(stage.events("infer"), @"
    Normal CreatingRevision: Creating revision with key 775c7df9c8 for a newly created LeaderWorkerSet (x1)
    Normal GroupsProgressing: Created leader statefulset infer (x1)
    Normal GroupsProgressing: Replicas are progressing, with 0 groups ready of total 2 groups (x1)
    Normal SuccessfulCreate: Create Pod infer-0 in StatefulSet infer successful (x1)
    Normal SuccessfulCreate: Create Pod infer-1 in StatefulSet infer successful (x1)
    Normal GroupsProgressing: Created worker statefulset for leader pod infer-0 (x1)
    Normal GroupsProgressing: Created worker statefulset for leader pod infer-1 (x1)
    Normal AllGroupsReady: All replicas are ready, with 2 groups ready of total 2 groups (x1)
    ");
}

#[test]
fn workers_wait_for_a_leader_that_must_be_ready() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(set(1, 3, &json!({"startupPolicy": "LeaderReady"})));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(told(&mut stage), @"
    00:00:00.050  groups infer: wants 1 has 0 ready 0 updated 0
    00:00:00.060  groups infer: wants 1 has 0 ready 0 updated 0 Progressing
    00:00:00.070  pod infer-0: Pending
    00:00:00.080  groups infer: wants 1 has 1 ready 0 updated 0 Progressing
    00:00:00.080  pod infer-0: Pending on n1
    00:00:00.090  pod infer-0: Pending on n1 ContainerCreating
    00:00:01.090  pod infer-0: Running on n1 ready
    00:00:01.110  pod infer-0-1: Pending
    00:00:01.110  pod infer-0-2: Pending
    00:00:01.110  groups infer: wants 1 has 1 ready 0 updated 1 Progressing
    00:00:01.120  pod infer-0-1: Pending on n2
    00:00:01.120  pod infer-0-2: Pending on n1
    00:00:01.130  pod infer-0-1: Pending on n2 ContainerCreating
    00:00:01.130  pod infer-0-2: Pending on n1 ContainerCreating
    00:00:02.130  pod infer-0-1: Running on n2 ready
    00:00:02.130  pod infer-0-2: Running on n1 ready
    00:00:02.140  groups infer: wants 1 has 1 ready 1 updated 1 Available
    ");
}

#[test]
fn subgroups_divide_a_group() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut it = set(1, 5, &json!({}));
    it["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = json!({"subGroupSize": 2});
    stage.apply(it);
    stage.advance(Span::secs(5));
    insta::assert_snapshot!(places(&stage), @"
    infer-0 group-index=0 subgroup-index=0 worker-index=0
    infer-0-1 group-index=0 subgroup-index=0 worker-index=1 leader-name=infer-0
    infer-0-2 group-index=0 subgroup-index=0 worker-index=2 leader-name=infer-0
    infer-0-3 group-index=0 subgroup-index=1 worker-index=3 leader-name=infer-0
    infer-0-4 group-index=0 subgroup-index=1 worker-index=4 leader-name=infer-0
    ");
}

/// Workers of this name crash once after ten seconds.
fn crashing(name: &str) -> Behaviour {
    let crashes = Crashes { count: 1, after: Span::secs(10), exit_code: 1 };
    Behaviour {
        matches: PodMatch { name: Some(name.into()), ..PodMatch::default() },
        program: Program { crashes: Some(crashes), ..Program::default() },
        ..Behaviour::default()
    }
}

#[test]
fn a_pod_that_restarts_takes_its_group_along_and_no_other() {
    let mut stage = Stage::with_nodes(2, 8, vec![crashing("infer-0-1")]);
    stage.apply(set(2, 2, &json!({})));
    stage.advance(Span::secs(10));
    told(&mut stage);
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(told(&mut stage), @"
    00:00:11.110  pod infer-0-1: Running on n2 ready restarts 1
    00:00:11.120  pod infer-0: Running on n1 ready, going
    00:00:11.130  pod infer-0-1: Running on n2 ready restarts 1, going
    00:00:11.140  groups infer: wants 2 has 2 ready 1 updated 2 Progressing
    00:00:12.130  pod infer-0: Failed on n1 exit 143, going
    00:00:12.140  pod infer-0-1: Failed on n2 restarts 1 exit 143, going
    00:00:12.140  pod infer-0-1: gone
    00:00:12.140  pod infer-0: gone
    00:00:12.150  pod infer-0: Pending
    00:00:12.150  groups infer: wants 2 has 1 ready 1 updated 1 Progressing
    00:00:12.160  pod infer-0: Pending on n1
    00:00:12.160  pod infer-0-1: Pending
    00:00:12.160  groups infer: wants 2 has 2 ready 1 updated 2 Progressing
    00:00:12.170  pod infer-0: Pending on n1 ContainerCreating
    00:00:12.170  pod infer-0-1: Pending on n2
    00:00:12.180  pod infer-0-1: Pending on n2 ContainerCreating
    00:00:13.170  pod infer-0: Running on n1 ready
    00:00:13.180  pod infer-0-1: Running on n2 ready
    00:00:13.200  groups infer: wants 2 has 2 ready 2 updated 2 Available
    ");
}

#[test]
fn with_another_restart_policy_a_pod_restarts_alone() {
    let mut stage = Stage::with_nodes(2, 8, vec![crashing("infer-0-1")]);
    let mut it = set(1, 2, &json!({}));
    it["spec"]["leaderWorkerTemplate"]["restartPolicy"] = json!("None");
    stage.apply(it);
    stage.advance(Span::secs(5));
    told(&mut stage);
    stage.advance(Span::secs(15));
    insta::assert_snapshot!(told(&mut stage), @"00:00:11.110  pod infer-0-1: Running on n2 ready restarts 1");
}

#[test]
fn a_new_template_replaces_one_group_after_the_other() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(set(2, 2, &json!({})));
    stage.advance(Span::secs(10));
    told(&mut stage);
    let pods = json!({"metadata": {"annotations": {"version": "2"}}});
    stage.patch(SET, json!({"spec": {"leaderWorkerTemplate": {"workerTemplate": pods}}}));
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(told(&mut stage), @"
    00:00:10.060  groups infer: wants 2 has 2 ready 2 updated 0 Progressing UpdateInProgress
    00:00:10.070  pod infer-1: Running on n2 ready, going
    00:00:11.080  pod infer-1: Failed on n2 exit 143, going
    00:00:11.080  pod infer-1: gone
    00:00:11.090  pod infer-1: Pending
    00:00:11.090  groups infer: wants 2 has 1 ready 1 updated 0 Progressing UpdateInProgress
    00:00:11.090  pod infer-1-1: Running on n1 ready, going
    00:00:11.100  pod infer-1: Pending on n2
    00:00:11.100  groups infer: wants 2 has 2 ready 1 updated 0 Progressing UpdateInProgress
    00:00:11.110  pod infer-1: Pending on n2 ContainerCreating
    00:00:11.110  groups infer: wants 2 has 2 ready 1 updated 1 Progressing UpdateInProgress
    00:00:12.100  pod infer-1-1: Failed on n1 exit 143, going
    00:00:12.100  pod infer-1-1: gone
    00:00:12.110  pod infer-1: Running on n2 ready
    00:00:12.110  pod infer-1-1: Pending
    00:00:12.120  pod infer-1-1: Pending on n1
    00:00:12.130  pod infer-1-1: Pending on n1 ContainerCreating
    00:00:13.130  pod infer-1-1: Running on n1 ready
    00:00:13.140  groups infer: wants 2 has 2 ready 2 updated 1 Progressing UpdateInProgress
    00:00:13.150  pod infer-0: Running on n1 ready, going
    00:00:14.160  pod infer-0: Failed on n1 exit 143, going
    00:00:14.160  pod infer-0: gone
    00:00:14.170  pod infer-0: Pending
    00:00:14.170  groups infer: wants 2 has 1 ready 1 updated 1 Progressing UpdateInProgress
    00:00:14.170  pod infer-0-1: Running on n2 ready, going
    00:00:14.180  pod infer-0: Pending on n1
    00:00:14.180  groups infer: wants 2 has 2 ready 1 updated 1 Progressing UpdateInProgress
    00:00:14.190  pod infer-0: Pending on n1 ContainerCreating
    00:00:14.190  groups infer: wants 2 has 2 ready 1 updated 2 Progressing UpdateInProgress
    00:00:15.180  pod infer-0-1: Failed on n2 exit 143, going
    00:00:15.180  pod infer-0-1: gone
    00:00:15.190  pod infer-0: Running on n1 ready
    00:00:15.190  pod infer-0-1: Pending
    00:00:15.200  pod infer-0-1: Pending on n2
    00:00:15.210  pod infer-0-1: Pending on n2 ContainerCreating
    00:00:16.210  pod infer-0-1: Running on n2 ready
    00:00:16.220  groups infer: wants 2 has 2 ready 2 updated 2 Available
    ");
    let versions: Vec<Value> = stage
        .list("pods")
        .iter()
        .map(|pod| pod["metadata"]["annotations"]["version"].clone())
        .collect();
    assert_eq!(versions, ["2"; 4]);
    let revisions = stage.list("controllerrevisions.apps");
    let own = revisions
        .iter()
        .filter(|it| it["metadata"]["ownerReferences"][0]["kind"] == "LeaderWorkerSet");
    assert_eq!(own.count(), 1, "only the one in use is kept");
}

#[test]
fn groups_come_and_go_as_the_set_is_scaled_and_with_it() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(set(1, 2, &json!({})));
    stage.advance(Span::secs(10));
    stage.patch(&format!("{SET}/scale"), json!({"spec": {"replicas": 3}}));
    stage.advance(Span::secs(10));
    assert_eq!(stage.list("pods").len(), 6);
    stage.patch(&format!("{SET}/scale"), json!({"spec": {"replicas": 1}}));
    stage.advance(Span::secs(10));
    assert_eq!(places(&stage).lines().count(), 2);
    stage.delete(SET, json!({}));
    stage.advance(Span::secs(10));
    for resource in ["pods", "statefulsets.apps", "services", "controllerrevisions.apps"] {
        assert!(stage.list(resource).is_empty(), "{resource}");
    }
}
