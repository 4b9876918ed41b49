//! Jobs from start to end.

use drawbridge_fakes::{NoWebhooks, Webhooks};
use drawbridge_sim::{Span, Time};
use serde_json::{Value, json};

use crate::stage::{Stage, job, runs_for};

#[test]
fn a_job_runs_its_pods_in_parallel_until_enough_have_succeeded() {
    let mut stage = Stage::with_nodes(2, 2, vec![runs_for(5, 0)]);
    stage.apply(job("sum", &json!({"parallelism": 2, "completions": 3})));
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  pod sum-4dkdt: Pending
    00:00:00.060  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  pod sum-4dkdt: Pending on n1
    00:00:00.070  pod sum-vrhbn: Pending
    00:00:00.070  job sum: active 2 ready 0 succeeded 0 failed 0
    00:00:00.080  pod sum-4dkdt: Pending on n1 ContainerCreating
    00:00:00.080  pod sum-vrhbn: Pending on n2
    00:00:00.090  pod sum-vrhbn: Pending on n2 ContainerCreating
    00:00:01.080  pod sum-4dkdt: Running on n1 ready
    00:00:01.090  pod sum-vrhbn: Running on n2 ready
    00:00:02.080  job sum: active 2 ready 2 succeeded 0 failed 0
    00:00:06.080  pod sum-4dkdt: Succeeded on n1 exit 0
    00:00:06.090  pod sum-vrhbn: Succeeded on n2 exit 0
    00:00:07.080  pod sum-h79xr: Pending
    00:00:07.080  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:07.080  job sum: active 1 ready 0 succeeded 2 failed 0
    00:00:07.090  pod sum-h79xr: Pending on n1
    00:00:07.100  pod sum-h79xr: Pending on n1 ContainerCreating
    00:00:08.100  pod sum-h79xr: Running on n1 ready
    00:00:09.100  job sum: active 1 ready 1 succeeded 2 failed 0
    00:00:13.100  pod sum-h79xr: Succeeded on n1 exit 0
    00:00:14.100  job sum: active 0 ready 0 succeeded 2 failed 0 SuccessCriteriaMet
    00:00:14.100  job sum: active 0 ready 0 succeeded 3 failed 0 SuccessCriteriaMet Complete
    ");
    insta::assert_snapshot!(stage.events("sum"), @"
    Normal SuccessfulCreate: Created pod: sum-4dkdt (x1)
    Normal SuccessfulCreate: Created pod: sum-vrhbn (x1)
    Normal SuccessfulCreate: Created pod: sum-h79xr (x1)
    Normal Completed: Job completed (x1)
    ");
    for pod in stage.list("pods") {
        assert_eq!(pod["metadata"]["finalizers"], json!(null), "{pod}");
    }
}

#[test]
fn an_indexed_job_gives_every_pod_its_index() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(5, 0)]);
    let spec = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed"});
    stage.apply(job("sum", &spec));
    stage.advance(Span::secs(1));
    let told: Vec<String> = stage
        .list("pods")
        .iter()
        .map(|pod| {
            let index = "batch.kubernetes.io/job-completion-index";
            format!(
                "{} {} {} {} {}",
                pod["metadata"]["name"].as_str().unwrap(),
                pod["metadata"]["annotations"][index],
                pod["metadata"]["labels"][index],
                pod["spec"]["hostname"],
                pod["spec"]["containers"][0]["env"][0]["name"],
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    sum-0-4dkdt "0" "0" "sum-0" "JOB_COMPLETION_INDEX"
    sum-1-vrhbn "1" "1" "sum-1" "JOB_COMPLETION_INDEX"
    sum-2-h79xr "2" "2" "sum-2" "JOB_COMPLETION_INDEX"
    "#);
    stage.advance(Span::secs(20));
    let job = &stage.list("jobs.batch")[0];
    assert_eq!(job["status"]["completedIndexes"], "0-2");
    assert_eq!(job["status"]["succeeded"], 3);
}

#[test]
fn failed_pods_are_replaced_later_each_time_until_the_limit() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(1, 3)]);
    stage.apply(job("sum", &json!({"backoffLimit": 2})));
    stage.advance(Span::mins(5));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  pod sum-4dkdt: Pending
    00:00:00.060  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  pod sum-4dkdt: Pending on n1
    00:00:00.080  pod sum-4dkdt: Pending on n1 ContainerCreating
    00:00:01.080  pod sum-4dkdt: Running on n1 ready
    00:00:02.080  job sum: active 1 ready 1 succeeded 0 failed 0
    00:00:02.080  pod sum-4dkdt: Failed on n1 exit 3
    00:00:03.080  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:03.080  job sum: active 0 ready 0 succeeded 0 failed 1
    00:00:12.000  pod sum-vrhbn: Pending
    00:00:12.000  job sum: active 1 ready 0 succeeded 0 failed 1
    00:00:12.010  pod sum-vrhbn: Pending on n1
    00:00:12.020  pod sum-vrhbn: Pending on n1 ContainerCreating
    00:00:13.020  pod sum-vrhbn: Running on n1 ready
    00:00:14.020  job sum: active 1 ready 1 succeeded 0 failed 1
    00:00:14.020  pod sum-vrhbn: Failed on n1 exit 3
    00:00:15.020  job sum: active 0 ready 0 succeeded 0 failed 1
    00:00:15.020  job sum: active 0 ready 0 succeeded 0 failed 2
    00:00:34.000  pod sum-h79xr: Pending
    00:00:34.000  job sum: active 1 ready 0 succeeded 0 failed 2
    00:00:34.010  pod sum-h79xr: Pending on n1
    00:00:34.020  pod sum-h79xr: Pending on n1 ContainerCreating
    00:00:35.020  pod sum-h79xr: Running on n1 ready
    00:00:36.020  job sum: active 1 ready 1 succeeded 0 failed 2
    00:00:36.020  pod sum-h79xr: Failed on n1 exit 3
    00:00:37.020  job sum: active 0 ready 0 succeeded 0 failed 2 FailureTarget
    00:00:37.020  job sum: active 0 ready 0 succeeded 0 failed 3 FailureTarget Failed
    ");
    insta::assert_snapshot!(stage.events("sum"), @"
    Normal SuccessfulCreate: Created pod: sum-4dkdt (x1)
    Normal SuccessfulCreate: Created pod: sum-vrhbn (x1)
    Normal SuccessfulCreate: Created pod: sum-h79xr (x1)
    Warning BackoffLimitExceeded: Job has reached the specified backoff limit (x1)
    ");
}

#[test]
fn a_job_that_takes_too_long_fails_and_its_pods_go() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    stage.apply(job("sum", &json!({"activeDeadlineSeconds": 10})));
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  pod sum-4dkdt: Pending
    00:00:00.060  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  pod sum-4dkdt: Pending on n1
    00:00:00.080  pod sum-4dkdt: Pending on n1 ContainerCreating
    00:00:01.080  pod sum-4dkdt: Running on n1 ready
    00:00:02.080  job sum: active 1 ready 1 succeeded 0 failed 0
    00:00:10.000  pod sum-4dkdt: Running on n1 ready, going
    00:00:10.000  job sum: active 0 ready 0 succeeded 0 failed 0 FailureTarget
    00:00:10.000  job sum: active 0 ready 0 succeeded 0 failed 1 FailureTarget
    00:00:11.010  pod sum-4dkdt: Failed on n1 exit 143, going
    00:00:11.010  pod sum-4dkdt: gone
    00:00:12.010  job sum: active 0 ready 0 succeeded 0 failed 1 FailureTarget Failed
    ");
}

#[test]
fn a_suspended_job_lets_its_pods_go_uncounted_and_starts_again() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(20, 0)]);
    stage.apply(job("sum", &json!({})));
    stage.advance(Span::secs(5));
    let path = "/apis/batch/v1/namespaces/default/jobs/sum";
    stage.patch(path, json!({"spec": {"suspend": true}}));
    stage.advance(Span::secs(10));
    stage.patch(path, json!({"spec": {"suspend": false}}));
    stage.advance(Span::secs(40));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:00.060  pod sum-4dkdt: Pending
    00:00:00.060  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:00.070  pod sum-4dkdt: Pending on n1
    00:00:00.080  pod sum-4dkdt: Pending on n1 ContainerCreating
    00:00:01.080  pod sum-4dkdt: Running on n1 ready
    00:00:02.080  job sum: active 1 ready 1 succeeded 0 failed 0
    00:00:05.060  pod sum-4dkdt: Running on n1 ready, going
    00:00:05.060  job sum: active 0 ready 0 succeeded 0 failed 0 Suspended
    00:00:06.070  pod sum-4dkdt: Failed on n1 exit 143, going
    00:00:06.070  pod sum-4dkdt: gone
    00:00:15.060  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:15.060  pod sum-vrhbn: Pending
    00:00:15.060  job sum: active 1 ready 0 succeeded 0 failed 0
    00:00:15.070  pod sum-vrhbn: Pending on n1
    00:00:15.080  pod sum-vrhbn: Pending on n1 ContainerCreating
    00:00:16.080  pod sum-vrhbn: Running on n1 ready
    00:00:17.080  job sum: active 1 ready 1 succeeded 0 failed 0
    00:00:36.080  pod sum-vrhbn: Succeeded on n1 exit 0
    00:00:37.080  job sum: active 0 ready 0 succeeded 0 failed 0 SuccessCriteriaMet
    00:00:37.080  job sum: active 0 ready 0 succeeded 1 failed 0 SuccessCriteriaMet Complete
    ");
}

#[test]
fn a_deleted_job_takes_its_pods_along() {
    let mut stage = Stage::with_nodes(1, 8, vec![]);
    stage.apply(job("sum", &json!({"parallelism": 2})));
    stage.advance(Span::secs(5));
    stage.story();
    let path = "/apis/batch/v1/namespaces/default/jobs/sum";
    stage.delete(path, json!({"propagationPolicy": "Background"}));
    stage.advance(Span::secs(60));
    insta::assert_snapshot!(stage.story(), @"
    00:00:05.050  job sum: gone
    00:00:05.060  pod sum-4dkdt: Running on n1 ready, going
    00:00:05.060  pod sum-vrhbn: Running on n1 ready, going
    00:00:06.070  pod sum-4dkdt: Failed on n1 exit 143, going
    00:00:06.070  pod sum-4dkdt: gone
    00:00:06.070  pod sum-vrhbn: Failed on n1 exit 143, going
    00:00:06.070  pod sum-vrhbn: gone
    ");
    assert_eq!(stage.list("pods").len(), 0);
}

#[test]
fn a_finished_job_goes_when_its_time_to_live_is_over() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(1, 0)]);
    stage.apply(job("sum", &json!({"ttlSecondsAfterFinished": 60})));
    stage.advance(Span::secs(50));
    assert_eq!(stage.list("jobs.batch").len(), 1);
    stage.advance(Span::secs(20));
    assert_eq!(stage.list("jobs.batch").len(), 0);
    assert_eq!(stage.list("pods").len(), 0);
}

#[test]
fn a_deleted_pod_counts_as_failed_and_is_replaced() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(30, 0)]);
    stage.apply(job("sum", &json!({})));
    stage.advance(Span::secs(5));
    stage.story();
    let name = stage.list("pods")[0]["metadata"]["name"].clone();
    let path = format!("/api/v1/namespaces/default/pods/{}", name.as_str().unwrap());
    stage.delete(&path, json!({}));
    stage.advance(Span::secs(90));
    insta::assert_snapshot!(stage.story(), @"
    00:00:05.050  pod sum-4dkdt: Running on n1 ready, going
    00:00:06.050  job sum: active 0 ready 0 succeeded 0 failed 0
    00:00:06.050  job sum: active 0 ready 0 succeeded 0 failed 1
    00:00:06.060  pod sum-4dkdt: Failed on n1 exit 143, going
    00:00:06.060  pod sum-4dkdt: gone
    00:00:15.000  pod sum-vrhbn: Pending
    00:00:15.000  job sum: active 1 ready 0 succeeded 0 failed 1
    00:00:15.010  pod sum-vrhbn: Pending on n1
    00:00:15.020  pod sum-vrhbn: Pending on n1 ContainerCreating
    00:00:16.020  pod sum-vrhbn: Running on n1 ready
    00:00:17.020  job sum: active 1 ready 1 succeeded 0 failed 1
    00:00:46.020  pod sum-vrhbn: Succeeded on n1 exit 0
    00:00:47.020  job sum: active 0 ready 0 succeeded 0 failed 1 SuccessCriteriaMet
    00:00:47.020  job sum: active 0 ready 0 succeeded 1 failed 1 SuccessCriteriaMet Complete
    ");
}

/// A webhook server that is down.
struct Down;

impl Webhooks for Down {
    fn call(&mut self, _now: Time, _path: &str, _review: &Value) -> Result<Value, String> {
        Err("connection refused".into())
    }
}

#[test]
fn while_pods_cannot_be_created_a_job_tries_less_and_less_often() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(5, 0)]);
    stage.apply(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "hook"},
        "webhooks": [{
            "name": "hook.example.com", "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "hook", "namespace": "default", "path": "/x"}},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                "operations": ["CREATE"],
            }],
        }],
    }));
    stage.hooks = Box::new(Down);
    stage.apply(job("sum", &json!({"parallelism": 5, "completions": 5})));
    stage.advance(Span::secs(60));
    insta::assert_snapshot!(stage.events("sum"), @r#"Warning FailedCreate: Error creating: Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://hook.default.svc:443/x?timeout=10s": connection refused (x14)"#);
    assert!(stage.list("jobs.batch")[0]["status"]["startTime"].is_string());
    stage.hooks = Box::new(NoWebhooks);
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hook";
    stage.delete(path, json!({}));
    stage.advance(Span::mins(5));
    assert_eq!(stage.list("jobs.batch")[0]["status"]["succeeded"], 5);
}
