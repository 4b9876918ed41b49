//! What a Job makes of its pods' ends.

use drawbridge_fakes::{Behaviour, PodMatch};
use drawbridge_sim::Span;
use serde_json::{Value, json};

use crate::stage::{Stage, job, runs_for};

fn named(name: &str, secs: u64, exit_code: i32) -> Behaviour {
    let matches = PodMatch { name: Some(name.into()), ..PodMatch::default() };
    Behaviour { matches, ..runs_for(secs, exit_code) }
}

fn status(stage: &Stage) -> String {
    let status = &stage.list("jobs.batch")[0]["status"];
    let all = status["conditions"].as_array().into_iter().flatten();
    let told = all.filter(|it| it["status"] == "True").map(|it| {
        let part = |key: &str| it[key].as_str().unwrap();
        format!("{} {}: {}", part("type"), part("reason"), part("message"))
    });
    let told: Vec<String> = told.collect();
    let text = |key: &str| status[key].as_str().unwrap_or("-").to_owned();
    format!(
        "succeeded {} failed {} indexes done {} failed {}\n{}",
        status["succeeded"],
        status["failed"],
        text("completedIndexes"),
        text("failedIndexes"),
        told.join("\n")
    )
}

fn indexed(spec: &Value) -> Value {
    let mut all = json!({"completionMode": "Indexed"});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    job("sum", &all)
}

#[test]
fn each_index_has_its_own_failures_and_waits() {
    let behaviours = vec![named("sum-1-*", 2, 1), runs_for(20, 0)];
    let mut stage = Stage::with_nodes(1, 8, behaviours);
    stage.apply(indexed(&json!({"parallelism": 3, "completions": 3, "backoffLimitPerIndex": 2})));
    stage.advance(Span::mins(5));
    insta::assert_snapshot!(status(&stage), @"
    succeeded 2 failed 3 indexes done 0,2 failed 1
    FailureTarget FailedIndexes: Job has failed indexes
    Failed FailedIndexes: Job has failed indexes
    ");
    let story = stage.story();
    let ones: Vec<&str> = story
        .lines()
        .filter(|line| line.contains("pod sum-1") && line.ends_with("Pending"))
        .collect();
    insta::assert_snapshot!(ones.join("\n"), @"
    00:00:00.070  pod sum-1-vrhbn: Pending
    00:00:13.000  pod sum-1-k85v7: Pending
    00:00:36.000  pod sum-1-flwxn: Pending
    ");
    let counts: Vec<String> = stage
        .list("pods")
        .iter()
        .map(|pod| {
            let annotations = &pod["metadata"]["annotations"];
            annotations["batch.kubernetes.io/job-index-failure-count"].to_string()
        })
        .collect();
    assert_eq!(counts.join(" "), r#""0" "2" "1" "0" "0""#);
}

#[test]
fn too_many_failed_indexes_end_the_job() {
    let behaviours = vec![named("sum-0-*", 2, 1), named("sum-1-*", 3, 1), runs_for(600, 0)];
    let mut stage = Stage::with_nodes(1, 8, behaviours);
    stage.apply(indexed(&json!({
        "parallelism": 3, "completions": 3, "backoffLimitPerIndex": 0, "maxFailedIndexes": 1,
    })));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(status(&stage), @"
    succeeded null failed 3 indexes done - failed 0,1
    FailureTarget MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes
    Failed MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes
    ");
    insta::assert_snapshot!(stage.events("sum"), @"
    Normal SuccessfulCreate: Created pod: sum-0-4dkdt (x1)
    Normal SuccessfulCreate: Created pod: sum-1-vrhbn (x1)
    Normal SuccessfulCreate: Created pod: sum-2-h79xr (x1)
    Normal SuccessfulDelete: Deleted pod: sum-2-h79xr (x1)
    Warning MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes (x1)
    ");
}

#[test]
fn an_exit_code_can_end_the_job_and_another_be_counted() {
    let rules = json!({"rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    ]});
    let behaviours = vec![named("sum-*", 2, 42)];
    let mut stage = Stage::with_nodes(1, 8, behaviours);
    stage
        .apply(job("sum", &json!({"parallelism": 2, "completions": 2, "podFailurePolicy": rules})));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(status(&stage), @"
    succeeded null failed 2 indexes done - failed -
    FailureTarget PodFailurePolicy: Container main for pod default/sum-4dkdt failed with exit code 42 matching FailJob rule at index 0
    Failed PodFailurePolicy: Container main for pod default/sum-4dkdt failed with exit code 42 matching FailJob rule at index 0
    ");
}

#[test]
fn an_evicted_pod_does_not_count_where_the_policy_ignores_disruptions() {
    let rules = json!({"rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]});
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(30, 0)]);
    stage.apply(job("sum", &json!({"backoffLimit": 0, "podFailurePolicy": rules})));
    stage.advance(Span::secs(5));
    let name = stage.list("pods")[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/namespaces/default/pods/{name}/eviction");
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
    });
    assert_eq!(stage.send(drawbridge_fakes::Method::Post, &path, eviction).status, 201);
    stage.advance(Span::mins(2));
    insta::assert_snapshot!(status(&stage), @"
    succeeded 1 failed null indexes done - failed -
    SuccessCriteriaMet CompletionsReached: Reached expected number of succeeded pods
    Complete CompletionsReached: Reached expected number of succeeded pods
    ");
    // Only the pod that had ended was replaced.
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  pod sum-4dkdt: Pending
    00:00:00.060  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  pod sum-4dkdt: Pending on n1
    00:00:00.080  pod sum-4dkdt: Pending on n1 ContainerCreating
    00:00:01.080  pod sum-4dkdt: Running on n1 ready
    00:00:02.080  job sum: active 1 ready 1 succeeded 0 failed 0
    00:00:05.050  pod sum-4dkdt: Running on n1 ready, going
    00:00:06.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:06.060  pod sum-4dkdt: Failed on n1 exit 143, going
    00:00:07.050  pod sum-vrhbn: Pending
    00:00:07.050  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:07.050  pod sum-4dkdt: gone
    00:00:07.060  pod sum-vrhbn: Pending on n1
    00:00:07.070  pod sum-vrhbn: Pending on n1 ContainerCreating
    00:00:08.070  pod sum-vrhbn: Running on n1 ready
    00:00:09.070  job sum: active 1 ready 1 succeeded 0 failed 0
    00:00:38.070  pod sum-vrhbn: Succeeded on n1 exit 0
    00:00:39.070  job sum: active 0 ready 0 succeeded 0 failed 0 SuccessCriteriaMet
    00:00:39.070  job sum: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    ");
}

#[test]
fn a_success_policy_ends_the_job_when_its_leader_has_succeeded() {
    let behaviours = vec![named("sum-0-*", 5, 0), runs_for(600, 0)];
    let mut stage = Stage::with_nodes(1, 8, behaviours);
    stage.apply(indexed(&json!({
        "parallelism": 3, "completions": 3,
        "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
    })));
    stage.advance(Span::mins(1));
    insta::assert_snapshot!(status(&stage), @"
    succeeded 1 failed null indexes done 0 failed -
    SuccessCriteriaMet SuccessPolicy: Matched rules at index 0
    Complete SuccessPolicy: Matched rules at index 0
    ");
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  pod sum-0-4dkdt: Pending
    00:00:00.060  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  pod sum-0-4dkdt: Pending on n1
    00:00:00.070  pod sum-1-vrhbn: Pending
    00:00:00.070  pod sum-2-h79xr: Pending
    00:00:00.070  job sum: active 3 ready 0 succeeded 0 failed 0
    00:00:00.080  pod sum-0-4dkdt: Pending on n1 ContainerCreating
    00:00:00.080  pod sum-1-vrhbn: Pending on n1
    00:00:00.080  pod sum-2-h79xr: Pending on n1
    00:00:00.090  pod sum-1-vrhbn: Pending on n1 ContainerCreating
    00:00:00.090  pod sum-2-h79xr: Pending on n1 ContainerCreating
    00:00:01.080  pod sum-0-4dkdt: Running on n1 ready
    00:00:01.090  pod sum-1-vrhbn: Running on n1 ready
    00:00:01.090  pod sum-2-h79xr: Running on n1 ready
    00:00:02.080  job sum: active 3 ready 3 succeeded 0 failed 0
    00:00:06.080  pod sum-0-4dkdt: Succeeded on n1 exit 0
    00:00:07.080  pod sum-1-vrhbn: Running on n1 ready, going
    00:00:07.080  pod sum-2-h79xr: Running on n1 ready, going
    00:00:07.080  job sum: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet
    00:00:08.090  pod sum-1-vrhbn: Failed on n1 exit 143, going
    00:00:08.090  pod sum-1-vrhbn: gone
    00:00:08.090  pod sum-2-h79xr: Failed on n1 exit 143, going
    00:00:08.090  pod sum-2-h79xr: gone
    00:00:09.090  job sum: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    ");
}

#[test]
fn an_elastic_indexed_job_lets_its_highest_indexes_go() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    stage.apply(indexed(&json!({"parallelism": 4, "completions": 4})));
    stage.advance(Span::secs(5));
    let path = "/apis/batch/v1/namespaces/default/jobs/sum";
    stage.patch(path, json!({"spec": {"parallelism": 2, "completions": 2}}));
    stage.advance(Span::secs(5));
    let left: Vec<String> = stage
        .list("pods")
        .iter()
        .map(|pod| pod["spec"]["hostname"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(left, ["sum-0", "sum-1"]);
}

#[test]
fn restarts_in_place_count_against_the_limit() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(1, 1)]);
    let mut sum = job("sum", &json!({"backoffLimit": 2}));
    sum["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure");
    stage.apply(sum);
    stage.advance(Span::mins(2));
    insta::assert_snapshot!(status(&stage), @"
    succeeded null failed 1 indexes done - failed -
    FailureTarget BackoffLimitExceeded: Job has reached the specified backoff limit
    Failed BackoffLimitExceeded: Job has reached the specified backoff limit
    ");
}

#[test]
fn a_job_that_somebody_else_manages_is_left_alone() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    stage.apply(job("sum", &json!({"managedBy": "kueue.x-k8s.io/multikueue"})));
    stage.advance(Span::mins(1));
    assert_eq!(stage.list("pods").len(), 0);
    assert_eq!(stage.list("jobs.batch")[0]["status"], json!({}));
}
