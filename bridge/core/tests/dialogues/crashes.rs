//! The bridge dies, or a reply is lost, at every point of a pod's way. There is always one job.

use drawbridge_core::slurm::ObservedState;
use drawbridge_sim::JobId;
use serde_json::json;

use crate::town::{Fate, Town};

/// Plays a pod's whole life; the first request whose line contains `at` meets its fate.
fn play(at: &str, fate: Fate) -> Town {
    let mut town = Town::new().start();
    town.fate(at, fate);
    town.pod("p", 4, &json!({}));
    revive(&mut town);
    if town.slurm.jobs.contains_key(&JobId(7)) {
        town.slurm("job 7 runs on n2", |slurm| slurm.start(7, &[("n2", 4)]));
    }
    town.pass(30);
    revive(&mut town);
    town.phase("p", "Succeeded");
    town.pass(30);
    revive(&mut town);
    town.pass(600);
    town
}

fn revive(town: &mut Town) {
    town.pass(3);
    town.restart_if_dead();
    town.pass(3);
}

#[test]
fn a_crash_or_a_lost_reply_at_any_request_leaves_one_job_and_one_binding() {
    let requests = [
        "submit",
        "MergePatch pods/p {\"metadata\":{\"finalizers\":[\"s",
        "annotations",
        "bind",
        "signal",
        "MergePatch pods/p {\"metadata\":{\"finalizers\":[]",
        "read job 7",
        "all jobs",
    ];
    for at in requests {
        for fate in [Fate::CrashBefore, Fate::CrashAfter, Fate::LoseRequest, Fate::LoseReply] {
            let mut town = play(at, fate);
            let dialogue = town.dialogue();
            let ended =
                town.slurm.jobs.values().filter(|job| job.state == ObservedState::Completed);
            assert_eq!(ended.count(), 1, "{at}\n{dialogue}");
            assert_eq!(town.slurm.jobs.len(), 1, "one job only: {at}\n{dialogue}");
            let pod = town.kube.pod("p").unwrap();
            assert_eq!(pod["spec"]["nodeName"], "n2", "{at}\n{dialogue}");
            assert_eq!(pod["metadata"]["finalizers"], json!([]), "{at}\n{dialogue}");
        }
    }
}

#[test]
fn a_crash_between_submit_and_label_is_followed_by_adoption() {
    let mut town = Town::new().start();
    town.fate("submit", Fate::CrashAfter);
    town.pod("p", 4, &json!({}));
    town.pass(5);
    town.restart();
    town.pass(40);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod p created
    00:00:00.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:00.000 < crashed
    00:00:05.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
    insta::assert_snapshot!(town.facts(), @"
    adopted job 7 for pod a/p
    labelled pod a/p with job 7
    ");
}

#[test]
fn a_submit_whose_reply_is_lost_is_found_among_all_jobs() {
    let mut town = Town::new().start();
    town.fate("submit", Fate::LoseReply);
    town.pod("p", 4, &json!({}));
    town.pass(40);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod p created
    00:00:00.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    "#);
}

#[test]
fn a_submit_that_arrives_very_late_is_surplus_and_cancelled() {
    let mut town = Town::new().start();
    town.fate("submit", Fate::LoseRequest);
    town.pod("p", 4, &json!({}));
    town.pass(10);
    let comment = town.slurm.jobs[&JobId(7)].admin_comment.clone();
    town.slurm("the lost submit arrives as job 8", |slurm| {
        slurm.add_job(&comment);
    });
    town.pass(40);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod p created
    00:00:00.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:06.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:06.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:10.000 < the lost submit arrives as job 8
    00:00:35.000     > cancel job 8
    "#);
}

#[test]
fn jobs_of_others_are_never_touched() {
    let mut town = Town::new();
    let theirs = [
        "",
        "{}",
        r#"{"pods":["a/p"]}"#,
        r#"{"cluster":"other","cpus":1,"pods":["a/p"],"version":1,"workload":"uid-p"}"#,
    ];
    for comment in theirs {
        town.slurm.add_job(comment);
    }
    let mut town = town.start();
    town.pass(1000);
    insta::assert_snapshot!(town.dialogue(), @"");
}

#[test]
fn a_job_of_ours_without_a_workload_is_cancelled() {
    let mut town = Town::new();
    town.slurm.add_job(
        r#"{"cluster":"drawbridge","cpus":1,"pods":["a/p"],"version":1,"workload":"uid-gone"}"#,
    );
    let mut town = town.start();
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @"00:00:00.000     > cancel job 7");
}

#[test]
fn a_bound_pod_whose_job_is_gone_after_a_restart_is_removed() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 4)]));
    town.pass(2);
    town.crash();
    town.slurm("Slurm loses its state; job 7 is somebody else's", |slurm| {
        slurm.jobs.clear();
        slurm.next = 7;
        slurm.add_job("somebody else's");
    });
    town.dialogue();
    town.restart();
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000     > event SlurmJobEnded: Slurm no longer knows job 7
    00:00:02.000     > condition on pods/p/status: DisruptionTarget=True: Slurm no longer knows job 7
    00:00:02.000     > Post pods/p/eviction {"apiVersion":"policy/v1","deleteOptions":{"preconditions":{"uid":"uid-p"}},"kind":"Eviction","metadata":{}}
    "#);
    assert_eq!(town.slurm.jobs[&JobId(7)].state, ObservedState::Pending);
}
