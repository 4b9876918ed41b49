//! Stories of JobSets.

use drawbridge_fakes::{Behaviour, PodMatch};
use drawbridge_sim::Span;
use serde_json::{Value, json};

use crate::stage::{Stage, pod_spec, runs_for};

const SET: &str = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/train";

/// A replicated job with one pod in each of its Jobs.
fn group(name: &str, replicas: u64, more: &Value) -> Value {
    let mut group = json!({
        "name": name,
        "replicas": replicas,
        "template": {"spec": {
            "backoffLimit": 0,
            "template": {"spec": pod_spec(1, "Never")},
        }},
    });
    for (key, value) in more.as_object().unwrap() {
        group[key] = value.clone();
    }
    group
}

fn job_set(groups: &[Value], more: &Value) -> Value {
    let mut set = json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train"},
        "spec": {"replicatedJobs": groups},
    });
    for (key, value) in more.as_object().unwrap() {
        set["spec"][key] = value.clone();
    }
    set
}

fn named(name: &str, behaviour: Behaviour) -> Behaviour {
    let matches = PodMatch { name: Some(name.into()), ..PodMatch::default() };
    Behaviour { matches, ..behaviour }
}

/// What happened to Jobs and their set, without the pods.
fn of_jobs(stage: &mut Stage) -> String {
    let story = stage.story();
    let lines = story.lines().filter(|line| line.contains("  job"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_set_is_complete_when_all_its_jobs_are() {
    let mut stage = Stage::with_nodes(2, 8, vec![runs_for(10, 0)]);
    stage.apply(job_set(&[group("a", 1, &json!({})), group("b", 2, &json!({}))], &json!({})));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(of_jobs(&mut stage), @"
    00:00:00.050  job set train: restarts 0
    00:00:00.060  job train-a-0: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  job train-b-0: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  job train-b-1: active 0 ready 0 succeeded 0 failed 0
    00:00:00.070  job train-a-0: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  job train-b-0: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  job train-b-1: active 1 ready 0 succeeded 0 failed 0
    00:00:02.090  job train-a-0: active 1 ready 1 succeeded 0 failed 0
    00:00:02.090  job train-b-0: active 1 ready 1 succeeded 0 failed 0
    00:00:02.090  job train-b-1: active 1 ready 1 succeeded 0 failed 0
    00:00:12.090  job train-a-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet
    00:00:12.090  job train-a-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    00:00:12.090  job train-b-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet
    00:00:12.090  job train-b-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    00:00:12.090  job train-b-1: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet
    00:00:12.090  job train-b-1: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    00:00:12.100  job set train: restarts 0 Completed
    ");
    let job = stage.list("jobs.batch").into_iter().find(|it| it["metadata"]["name"] == "train-b-1");
    let marks = &job.unwrap()["spec"]["template"]["metadata"]["labels"];
    insta::assert_snapshot!(serde_json::to_string_pretty(marks).unwrap(), @r#"
    {
      "batch.kubernetes.io/controller-uid": "d6fb94b8-d244-4f48-a063-bca3de6938cc",
      "batch.kubernetes.io/job-name": "train-b-1",
      "controller-uid": "d6fb94b8-d244-4f48-a063-bca3de6938cc",
      "job-name": "train-b-1",
      "jobset.sigs.k8s.io/global-replicas": "3",
      "jobset.sigs.k8s.io/group-name": "default",
      "jobset.sigs.k8s.io/group-replicas": "3",
      "jobset.sigs.k8s.io/job-global-index": "2",
      "jobset.sigs.k8s.io/job-group-index": "2",
      "jobset.sigs.k8s.io/job-index": "1",
      "jobset.sigs.k8s.io/job-key": "399fd49f959002948869b9579b4783c36d56c325",
      "jobset.sigs.k8s.io/jobset-name": "train",
      "jobset.sigs.k8s.io/jobset-uid": "6c43f9e7-3f22-40e1-902b-e57e5b8d2c8f",
      "jobset.sigs.k8s.io/replicatedjob-name": "b",
      "jobset.sigs.k8s.io/replicatedjob-replicas": "2",
      "jobset.sigs.k8s.io/restart-attempt": "0"
    }
    "#);
    let set = &stage.list("jobsets.jobset.x-k8s.io")[0]["status"];
    insta::assert_snapshot!(set["replicatedJobsStatus"], @r#"[{"active":0,"failed":0,"name":"b","ready":0,"succeeded":2,"suspended":0},{"active":0,"failed":0,"name":"a","ready":0,"succeeded":1,"suspended":0}]"#);
    assert_eq!(set["terminalState"], "Completed");
    assert_eq!(stage.list("services")[0]["spec"]["clusterIP"], "None");
    insta::assert_snapshot!(stage.events("train"), @"Normal AllJobsCompleted: jobset completed successfully (x1)");
}

#[test]
fn in_order_the_next_group_starts_when_the_one_before_is_ready() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    let groups = [group("driver", 1, &json!({})), group("workers", 2, &json!({}))];
    stage.apply(job_set(&groups, &json!({"startupPolicy": {"startupPolicyOrder": "InOrder"}})));
    stage.advance(Span::secs(20));
    insta::assert_snapshot!(of_jobs(&mut stage), @"
    00:00:00.050  job set train: restarts 0
    00:00:00.060  job train-driver-0: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  job set train: restarts 0 StartupPolicyInProgress
    00:00:00.070  job train-driver-0: active 1 ready 0 succeeded 0 failed 0
    00:00:02.090  job train-driver-0: active 1 ready 1 succeeded 0 failed 0
    00:00:02.100  job train-workers-0: active 0 ready 0 succeeded 0 failed 0
    00:00:02.100  job train-workers-1: active 0 ready 0 succeeded 0 failed 0
    00:00:02.110  job train-workers-0: active 1 ready 0 succeeded 0 failed 0
    00:00:02.110  job train-workers-1: active 1 ready 0 succeeded 0 failed 0
    00:00:04.130  job train-workers-0: active 1 ready 1 succeeded 0 failed 0
    00:00:04.130  job train-workers-1: active 1 ready 1 succeeded 0 failed 0
    00:00:04.140  job set train: restarts 0
    ");
    insta::assert_snapshot!(stage.events("train"), @"
    Normal InOrderStartupPolicyInProgress: in order startup policy is in progress (x1)
    Normal InOrderStartupPolicyCompleted: in order startup policy has completed (x1)
    ");
}

#[test]
fn a_group_waits_until_what_it_depends_on_is_complete() {
    let mut stage = Stage::with_nodes(2, 8, vec![runs_for(10, 0)]);
    let after = json!({"dependsOn": [{"name": "prepare", "status": "Complete"}]});
    stage.apply(job_set(&[group("prepare", 2, &json!({})), group("train", 1, &after)], &json!({})));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(of_jobs(&mut stage), @"
    00:00:00.050  job set train: restarts 0
    00:00:00.060  job train-prepare-0: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  job train-prepare-1: active 0 ready 0 succeeded 0 failed 0
    00:00:00.070  job train-prepare-0: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  job train-prepare-1: active 1 ready 0 succeeded 0 failed 0
    00:00:02.090  job train-prepare-0: active 1 ready 1 succeeded 0 failed 0
    00:00:02.090  job train-prepare-1: active 1 ready 1 succeeded 0 failed 0
    00:00:12.090  job train-prepare-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet
    00:00:12.090  job train-prepare-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    00:00:12.090  job train-prepare-1: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet
    00:00:12.090  job train-prepare-1: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    00:00:12.100  job train-train-0: active 0 ready 0 succeeded 0 failed 0
    00:00:12.110  job train-train-0: active 1 ready 0 succeeded 0 failed 0
    00:00:14.130  job train-train-0: active 1 ready 1 succeeded 0 failed 0
    00:00:24.130  job train-train-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet
    00:00:24.130  job train-train-0: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    00:00:24.140  job set train: restarts 0 Completed
    ");
}

#[test]
fn a_failed_job_restarts_the_set_until_it_has_been_restarted_often_enough() {
    let behaviours = vec![named("train-bad-*", runs_for(5, 1))];
    let mut stage = Stage::with_nodes(2, 8, behaviours);
    let groups = [group("bad", 1, &json!({})), group("good", 1, &json!({}))];
    stage.apply(job_set(&groups, &json!({"failurePolicy": {"maxRestarts": 1}})));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(of_jobs(&mut stage), @"
    00:00:00.050  job set train: restarts 0
    00:00:00.060  job train-bad-0: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  job train-good-0: active 0 ready 0 succeeded 0 failed 0
    00:00:00.070  job train-bad-0: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  job train-good-0: active 1 ready 0 succeeded 0 failed 0
    00:00:02.090  job train-bad-0: active 1 ready 1 succeeded 0 failed 0
    00:00:02.090  job train-good-0: active 1 ready 1 succeeded 0 failed 0
    00:00:07.090  job train-bad-0: active 0 ready 0 succeeded 0 failed 0 FailureTarget
    00:00:07.090  job train-bad-0: active 0 ready 0 succeeded 0 failed 1 FailureTarget Failed
    00:00:07.100  job set train: restarts 1 Restarting
    00:00:07.110  job train-bad-0: active 0 ready 0 succeeded 0 failed 1 FailureTarget Failed, going
    00:00:07.110  job train-good-0: active 1 ready 1 succeeded 0 failed 0, going
    00:00:07.120  job train-bad-0: gone
    00:00:07.120  job train-good-0: active 0 ready 0 succeeded 0 failed 0 FailureTarget, going
    00:00:07.120  job train-good-0: active 0 ready 0 succeeded 0 failed 1 FailureTarget, going
    00:00:07.130  job train-bad-0: active 0 ready 0 succeeded 0 failed 0
    00:00:07.140  job train-bad-0: active 1 ready 0 succeeded 0 failed 0
    00:00:08.140  job train-good-0: gone
    00:00:08.150  job train-good-0: active 0 ready 0 succeeded 0 failed 0
    00:00:08.160  job train-good-0: active 1 ready 0 succeeded 0 failed 0
    00:00:09.160  job train-bad-0: active 1 ready 1 succeeded 0 failed 0
    00:00:10.180  job train-good-0: active 1 ready 1 succeeded 0 failed 0
    00:00:10.190  job set train: restarts 1
    00:00:14.160  job train-bad-0: active 0 ready 0 succeeded 0 failed 0 FailureTarget
    00:00:14.160  job train-bad-0: active 0 ready 0 succeeded 0 failed 1 FailureTarget Failed
    00:00:14.170  job set train: restarts 1 Failed
    00:00:14.180  job train-good-0: active 1 ready 1 succeeded 0 failed 0, going
    00:00:15.190  job train-good-0: active 0 ready 0 succeeded 0 failed 0 FailureTarget, going
    00:00:15.190  job train-good-0: active 0 ready 0 succeeded 0 failed 1 FailureTarget, going
    00:00:15.200  job train-good-0: gone
    ");
    insta::assert_snapshot!(stage.events("train"), @"
    Warning DefaultFailurePolicy: applying RestartJobSet failure policy action (first failed job: train-bad-0) (x1)
    Warning RestartJobSetFailurePolicyAction: applying RestartJobSet failure policy action (first failed job: train-bad-0) (x1)
    Normal JobsReady: all jobs are ready (x1)
    Warning ReachedMaxRestarts: jobset failed due to reaching max number of restarts (first failed job: train-bad-0) (x1)
    Normal JobSetFailed: jobset failed (x1)
    ");
}

#[test]
fn the_first_rule_that_fits_a_failed_job_decides() {
    let rows = [
        (json!({"action": "FailJobSet"}), "Failed"),
        (json!({"action": "FailJobSet", "targetReplicatedJobs": ["good"]}), "Restarting"),
        (json!({"action": "FailJobSet", "targetReplicatedJobs": ["bad"]}), "Failed"),
        (
            json!({"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}),
            "Restarting",
        ),
        (
            json!({"action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}),
            "Failed",
        ),
        (
            json!({"action": "FailJobSet", "onJobFailureMessagePatterns": ["^Job.*limit$"]}),
            "Failed",
        ),
        (json!({"action": "FailJobSet", "onJobFailureMessagePatterns": ["Pod"]}), "Restarting"),
        (json!({"action": "RestartJobSetAndIgnoreMaxRestarts"}), "Restarting"),
    ];
    for (rule, expected) in rows {
        let mut stage = Stage::with_nodes(2, 8, vec![named("train-bad-*", runs_for(5, 1))]);
        let groups = [group("bad", 1, &json!({})), group("good", 1, &json!({}))];
        let policy = json!({"failurePolicy": {"maxRestarts": 3, "rules": [rule]}});
        stage.apply(job_set(&groups, &policy));
        stage.advance(Span::secs(8));
        let set = stage.list("jobsets.jobset.x-k8s.io").remove(0);
        let conditions = set["status"]["conditions"].as_array().unwrap();
        let holds = conditions.iter().any(|it| it["type"] == expected);
        assert!(holds, "{rule}: {conditions:?}");
    }
}

#[test]
fn any_of_the_chosen_jobs_is_enough_for_success_and_the_rest_goes() {
    let mut stage = Stage::with_nodes(2, 8, vec![named("train-leader-*", runs_for(10, 0))]);
    let groups = [group("leader", 1, &json!({})), group("workers", 2, &json!({}))];
    let policy = json!({"operator": "Any", "targetReplicatedJobs": ["leader"]});
    stage.apply(job_set(&groups, &json!({"successPolicy": policy, "ttlSecondsAfterFinished": 30})));
    stage.advance(Span::secs(30));
    let left: Vec<Value> =
        stage.list("jobs.batch").iter().map(|it| it["metadata"]["name"].clone()).collect();
    assert_eq!(left, ["train-leader-0"]);
    stage.advance(Span::secs(30));
    assert!(stage.list("jobsets.jobset.x-k8s.io").is_empty(), "its time to live is over");
    assert!(stage.list("jobs.batch").is_empty() && stage.list("pods").is_empty());
}

#[test]
fn a_suspended_set_holds_its_jobs_and_a_resumed_one_takes_what_changed() {
    let mut stage = Stage::with_nodes(2, 8, vec![]);
    stage.apply(job_set(&[group("a", 2, &json!({}))], &json!({"suspend": true})));
    stage.advance(Span::secs(5));
    assert!(stage.list("pods").is_empty());
    let mut changed = group("a", 2, &json!({}));
    changed["template"]["spec"]["template"]["spec"]["nodeSelector"] =
        json!({"kubernetes.io/hostname": "n2"});
    stage.patch(SET, json!({"spec": {"suspend": false, "replicatedJobs": [changed]}}));
    stage.advance(Span::secs(5));
    let on: Vec<Value> =
        stage.list("pods").iter().map(|it| it["spec"]["nodeName"].clone()).collect();
    assert_eq!(on, ["n2", "n2"]);
    stage.patch(SET, json!({"spec": {"suspend": true}}));
    stage.advance(Span::secs(5));
    assert!(stage.list("pods").is_empty());
    insta::assert_snapshot!(stage.events("train"), @"
    Normal ResumeJobs: jobset is resumed (x1)
    Normal SuspendedJobs: jobset is suspended (x2)
    ");
}
