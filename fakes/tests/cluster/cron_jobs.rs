//! CronJobs: Jobs by the calendar. The stage begins with the year 2026.

use drawbridge_fakes::{KubeApi, Method, NoWebhooks, Request};
use drawbridge_sim::{Epoch, Seed, Span, Time};
use serde_json::{Value, json};

use crate::stage::{Stage, job, runs_for};

const TICK: &str = "/apis/batch/v1/namespaces/default/cronjobs/tick";

fn cron_job(schedule: &str, more: &Value) -> Value {
    let mut it = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {"spec": job("x", &json!({}))["spec"]},
        },
    });
    it["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    it
}

/// The Jobs that are there: `name started-at`.
fn jobs(stage: &Stage) -> String {
    let lines = stage.list("jobs.batch").into_iter().map(|job| {
        let annotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
        let name = job["metadata"]["name"].as_str().unwrap().to_owned();
        let end = ["Complete", "Failed"].into_iter().find(|kind| {
            let all = job["status"]["conditions"].as_array().into_iter().flatten();
            all.into_iter().any(|it| it["type"] == *kind)
        });
        let when = job["metadata"]["annotations"][annotation].as_str().unwrap().to_owned();
        format!("{name} for {when} {}", end.unwrap_or("runs"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_job_is_made_for_every_time_and_old_ones_go() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(30, 0)]);
    stage.apply(cron_job("*/10 * * * *", &json!({"successfulJobsHistoryLimit": 2})));
    stage.advance(Span::mins(41));
    insta::assert_snapshot!(jobs(&stage), @"
    tick-29453790 for 2026-01-01T00:30:00Z Complete
    tick-29453800 for 2026-01-01T00:40:00Z Complete
    ");
    insta::assert_snapshot!(stage.events("tick"), @"
    Normal SuccessfulCreate: Created job tick-29453770 (x1)
    Normal SawCompletedJob: Saw completed job: tick-29453770, condition: Complete (x1)
    Normal SuccessfulCreate: Created job tick-29453780 (x1)
    Normal SawCompletedJob: Saw completed job: tick-29453780, condition: Complete (x1)
    Normal SuccessfulCreate: Created job tick-29453790 (x1)
    Normal SawCompletedJob: Saw completed job: tick-29453790, condition: Complete (x1)
    Normal SuccessfulDelete: Deleted job tick-29453770 (x1)
    Normal SuccessfulCreate: Created job tick-29453800 (x1)
    Normal SawCompletedJob: Saw completed job: tick-29453800, condition: Complete (x1)
    Normal SuccessfulDelete: Deleted job tick-29453780 (x1)
    ");
    let status = &stage.list("cronjobs.batch")[0]["status"];
    assert_eq!(status["lastScheduleTime"], "2026-01-01T00:40:00Z");
    assert_eq!(status["lastSuccessfulTime"], "2026-01-01T00:40:32Z");
    assert!(status["active"].is_null());
}

#[test]
fn forbid_waits_replace_kills_and_allow_lets_both_run() {
    for policy in ["Forbid", "Replace", "Allow"] {
        let mut stage = Stage::with_nodes(1, 8, vec![runs_for(900, 0)]);
        stage.apply(cron_job("*/10 * * * *", &json!({"concurrencyPolicy": policy})));
        stage.advance(Span::mins(21));
        let active = stage.list("cronjobs.batch")[0]["status"]["active"].clone();
        let names: Vec<&str> =
            active.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        let expected = match policy {
            "Forbid" => vec!["tick-29453770"],
            "Replace" => vec!["tick-29453780"],
            _ => vec!["tick-29453770", "tick-29453780"],
        };
        assert_eq!(names, expected, "{policy}");
        if policy == "Forbid" {
            insta::assert_snapshot!(stage.events("tick"), @"
            Normal SuccessfulCreate: Created job tick-29453770 (x1)
            Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid (x1)
            ");
            // The time that was left out is made up for when the first one ends.
            stage.advance(Span::mins(6));
            insta::assert_snapshot!(jobs(&stage), @"
            tick-29453770 for 2026-01-01T00:10:00Z Complete
            tick-29453780 for 2026-01-01T00:20:00Z runs
            ");
        }
    }
}

#[test]
fn times_are_those_of_the_time_zone() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(30, 0)]);
    stage.apply(cron_job("30 9 * * *", &json!({"timeZone": "Asia/Tokyo"})));
    stage.advance(Span::hours(1));
    insta::assert_snapshot!(jobs(&stage), @"tick-29453790 for 2026-01-01T09:30:00+09:00 Complete");
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(30, 0)]);
    assert!(stage.cluster.set_time_zone("Asia/Tokyo"));
    assert!(!stage.cluster.set_time_zone("Asia/Nowhere"));
    stage.apply(cron_job("30 9 * * *", &json!({})));
    stage.advance(Span::hours(1));
    assert_eq!(stage.list("jobs.batch").len(), 1);
}

#[test]
fn a_suspended_cron_job_rests_and_makes_up_for_the_last_time_only_if_it_is_not_too_late() {
    for (deadline, made) in [(json!(null), 1), (json!(60), 0)] {
        let mut stage = Stage::with_nodes(1, 8, vec![runs_for(30, 0)]);
        let more = json!({"suspend": true, "startingDeadlineSeconds": deadline});
        stage.apply(cron_job("0 * * * *", &more));
        stage.advance(Span::hours(5));
        assert_eq!(stage.cluster.next_wake(), None);
        stage.advance(Span::mins(30));
        stage.patch(TICK, json!({"spec": {"suspend": false}}));
        stage.advance(Span::mins(1));
        assert_eq!(stage.list("jobs.batch").len(), made, "{deadline}");
    }
}

#[test]
fn every_counts_from_the_last_time() {
    let mut stage = Stage::with_nodes(1, 8, vec![runs_for(1, 0)]);
    stage.apply(cron_job("@every 25m", &json!({"successfulJobsHistoryLimit": 10})));
    stage.advance(Span::hours(1));
    insta::assert_snapshot!(jobs(&stage), @"
    tick-29453785 for 2026-01-01T00:25:00Z Complete
    tick-29453810 for 2026-01-01T00:50:00Z Complete
    ");
}

#[test]
fn a_schedule_without_sense_is_refused() {
    let mut api = KubeApi::new(Epoch::DEFAULT, Seed(1));
    let path = "/apis/batch/v1/namespaces/default/cronjobs";
    let make = Request::new("alice", Method::Post, path);
    let make = make.with_body(cron_job("61 * * * *", &json!({})));
    let response = api.handle(Time::ZERO, &make, &mut NoWebhooks);
    insta::assert_snapshot!(response.body["message"].as_str().unwrap_or(""), @r#"CronJob.batch "tick" is invalid: spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61"#);
}
