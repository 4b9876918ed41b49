//! StatefulSets: pods with names that stay.

use drawbridge_sim::Span;
use serde_json::json;

use crate::stage::{Stage, stateful_set, template};

const DB: &str = "/apis/apps/v1/namespaces/default/statefulsets/db";

fn pods(stage: &Stage) -> String {
    let lines = stage.list("pods").into_iter().map(|pod| {
        let version = &pod["metadata"]["annotations"]["version"];
        let name = pod["metadata"]["name"].as_str().unwrap();
        format!("{name} {}", version.as_str().unwrap_or("1"))
    });
    lines.collect::<Vec<_>>().join(", ")
}

#[test]
fn pods_start_one_after_the_other_and_go_from_the_end() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(stateful_set("db", 3));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  stateful set db: wants 3 has 0 ready 0 current 0 updated 0
    00:00:00.060  revision db-9b97499f: number 1
    00:00:00.060  pod db-0: Pending
    00:00:00.070  stateful set db: wants 3 has 1 ready 0 current 1 updated 1
    00:00:00.070  pod db-0: Pending on n1
    00:00:00.080  pod db-0: Pending on n1 ContainerCreating
    00:00:01.080  pod db-0: Running on n1 ready
    00:00:01.090  pod db-1: Pending
    00:00:01.090  stateful set db: wants 3 has 1 ready 1 current 1 updated 1
    00:00:01.100  pod db-1: Pending on n2
    00:00:01.100  stateful set db: wants 3 has 2 ready 1 current 2 updated 2
    00:00:01.110  pod db-1: Pending on n2 ContainerCreating
    00:00:02.110  pod db-1: Running on n2 ready
    00:00:02.120  pod db-2: Pending
    00:00:02.120  stateful set db: wants 3 has 2 ready 2 current 2 updated 2
    00:00:02.130  pod db-2: Pending on n1
    00:00:02.130  stateful set db: wants 3 has 3 ready 2 current 3 updated 3
    00:00:02.140  pod db-2: Pending on n1 ContainerCreating
    00:00:03.140  pod db-2: Running on n1 ready
    00:00:03.150  stateful set db: wants 3 has 3 ready 3 current 3 updated 3
    ");
    let pod = stage.pod("db-1");
    assert_eq!(pod["spec"]["hostname"], "db-1");
    assert_eq!(pod["spec"]["subdomain"], "db");
    assert_eq!(pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"], "1");
    stage.patch(DB, json!({"spec": {"replicas": 1}}));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(stage.story(), @"
    00:00:10.050  stateful set db: wants 1 has 3 ready 3 current 3 updated 3
    00:00:10.060  pod db-2: Running on n1 ready, going
    00:00:10.070  stateful set db: wants 1 has 3 ready 3 current 2 updated 2
    00:00:11.070  pod db-2: Failed on n1 exit 143, going
    00:00:11.070  pod db-2: gone
    00:00:11.080  pod db-1: Running on n2 ready, going
    00:00:11.080  stateful set db: wants 1 has 2 ready 2 current 2 updated 2
    00:00:11.090  stateful set db: wants 1 has 2 ready 2 current 1 updated 1
    00:00:12.090  pod db-1: Failed on n2 exit 143, going
    00:00:12.090  pod db-1: gone
    00:00:12.100  stateful set db: wants 1 has 1 ready 1 current 1 updated 1
    ");
    insta::assert_snapshot!(stage.events("db"), @"
    Normal SuccessfulCreate: Create Pod db-0 in StatefulSet db successful (x1)
    Normal SuccessfulCreate: Create Pod db-1 in StatefulSet db successful (x1)
    Normal SuccessfulCreate: Create Pod db-2 in StatefulSet db successful (x1)
    Normal SuccessfulDelete: Delete Pod db-2 in StatefulSet db successful (x1)
    Normal SuccessfulDelete: Delete Pod db-1 in StatefulSet db successful (x1)
    ");
    assert_eq!(stage.cluster.next_wake(), None);
}

#[test]
fn parallel_pods_come_and_go_all_at_once() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut db = stateful_set("db", 3);
    db["spec"]["podManagementPolicy"] = json!("Parallel");
    db["spec"]["ordinals"] = json!({"start": 5});
    stage.apply(db);
    stage.advance(Span::secs(2));
    assert_eq!(pods(&stage), "db-5 1, db-6 1, db-7 1");
    let ready = stage.list("statefulsets.apps")[0]["status"]["readyReplicas"].clone();
    assert_eq!(ready, 3);
    stage.patch(DB, json!({"spec": {"replicas": 0}}));
    stage.advance(Span::secs(2));
    assert_eq!(pods(&stage), "");
}

#[test]
fn a_rolling_update_goes_down_to_its_partition_and_on_when_that_falls() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut db = stateful_set("db", 4);
    db["spec"]["updateStrategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
    stage.apply(db);
    stage.advance(Span::secs(10));
    stage.story();
    stage.patch(DB, template("2"));
    stage.advance(Span::secs(20));
    insta::assert_snapshot!(stage.story(), @"
    00:00:10.060  revision db-7bbd74fc4b: number 2
    00:00:10.060  pod db-3: Running on n2 ready, going
    00:00:10.060  stateful set db: wants 4 has 4 ready 4 current 3 updated 0
    00:00:11.070  pod db-3: Failed on n2 exit 143, going
    00:00:11.070  pod db-3: gone
    00:00:11.080  pod db-3: Pending
    00:00:11.080  stateful set db: wants 4 has 3 ready 3 current 3 updated 0
    00:00:11.090  pod db-3: Pending on n2
    00:00:11.090  stateful set db: wants 4 has 4 ready 3 current 3 updated 1
    00:00:11.100  pod db-3: Pending on n2 ContainerCreating
    00:00:12.100  pod db-3: Running on n2 ready
    00:00:12.110  pod db-2: Running on n1 ready, going
    00:00:12.110  stateful set db: wants 4 has 4 ready 4 current 2 updated 1
    00:00:13.120  pod db-2: Failed on n1 exit 143, going
    00:00:13.120  pod db-2: gone
    00:00:13.130  pod db-2: Pending
    00:00:13.130  stateful set db: wants 4 has 3 ready 3 current 2 updated 1
    00:00:13.140  pod db-2: Pending on n1
    00:00:13.140  stateful set db: wants 4 has 4 ready 3 current 2 updated 2
    00:00:13.150  pod db-2: Pending on n1 ContainerCreating
    00:00:14.150  pod db-2: Running on n1 ready
    00:00:14.160  stateful set db: wants 4 has 4 ready 4 current 2 updated 2
    ");
    assert_eq!(pods(&stage), "db-0 1, db-1 1, db-2 2, db-3 2");
    // A pod below the partition comes back as it was.
    stage.delete("/api/v1/namespaces/default/pods/db-0", json!({}));
    stage.advance(Span::secs(10));
    assert_eq!(pods(&stage), "db-0 1, db-1 1, db-2 2, db-3 2");
    stage.patch(DB, json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}));
    stage.advance(Span::secs(20));
    assert_eq!(pods(&stage), "db-0 2, db-1 2, db-2 2, db-3 2");
    let status = &stage.list("statefulsets.apps")[0]["status"];
    assert_eq!(status["currentRevision"], status["updateRevision"]);
}

#[test]
fn on_delete_waits_until_somebody_deletes_the_pod() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut db = stateful_set("db", 2);
    db["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    stage.apply(db);
    stage.advance(Span::secs(10));
    stage.patch(DB, template("2"));
    stage.advance(Span::secs(10));
    assert_eq!(pods(&stage), "db-0 1, db-1 1");
    stage.delete("/api/v1/namespaces/default/pods/db-0", json!({}));
    stage.advance(Span::secs(10));
    assert_eq!(pods(&stage), "db-0 2, db-1 1");
}

#[test]
fn a_rollback_renumbers_the_revision_that_it_goes_back_to() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut db = stateful_set("db", 1);
    db["spec"]["revisionHistoryLimit"] = json!(1);
    stage.apply(db);
    for version in [json!("2"), json!("3"), json!("2")] {
        stage.advance(Span::secs(10));
        let metadata = json!({"annotations": {"version": version}});
        stage.patch(DB, json!({"spec": {"template": {"metadata": metadata}}}));
    }
    stage.advance(Span::secs(10));
    let numbers: Vec<String> = stage
        .list("controllerrevisions.apps")
        .iter()
        .map(|it| {
            let template = &it["data"]["spec"]["template"];
            assert_eq!(template["$patch"], "replace");
            format!("{}: {}", it["revision"], template["metadata"]["annotations"]["version"])
        })
        .collect();
    insta::assert_snapshot!(numbers.join(", "), @r#"3: "3", 4: "2""#);
}

#[test]
fn claims_are_made_from_templates_and_go_as_the_retention_policy_says() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let mut db = stateful_set("db", 2);
    db["spec"]["podManagementPolicy"] = json!("Parallel");
    db["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Retain", "whenScaled": "Delete"});
    db["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }]);
    stage.apply(db);
    stage.advance(Span::secs(5));
    let pod = stage.pod("db-1");
    assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-1");
    stage.patch(DB, json!({"spec": {"replicas": 1}}));
    stage.advance(Span::secs(10));
    stage.delete(DB, json!({}));
    stage.advance(Span::secs(10));
    let story = stage.story();
    let claims: Vec<&str> = story.lines().filter(|line| line.contains("claim ")).collect();
    insta::assert_snapshot!(claims.join("\n"), @"
    00:00:00.060  claim data-db-0: Pending
    00:00:00.060  claim data-db-1: Pending
    00:00:05.060  claim data-db-1: Pending, goes with its Pod
    00:00:05.070  claim data-db-1: Pending, goes with its Pod, going
    00:00:05.080  claim data-db-1: gone
    ");
}
