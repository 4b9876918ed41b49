//! The bridge dies, or a reply is lost, at every point of a pod's way. There is always one job.

use drawbridge_core::slurm::{Base, ObservedState};
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
                town.slurm.jobs.values().filter(|job| job.state == ObservedState::COMPLETED);
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
    http://slurm-restapi.slurm:6820 speaks v0.0.45
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
    00:00:11.000     > cancel job 8
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
fn a_job_whose_pods_were_let_go_before_the_crash_ends_as_they_did() {
    for (phases, state) in [
        (["Succeeded", "Succeeded"], ObservedState::COMPLETED),
        (["Succeeded", "Failed"], ObservedState::FAILED),
    ] {
        let mut town = Town::new().start();
        town.group("g", 2);
        for pod in ["w-0", "w-1"] {
            town.pod(pod, 2, &json!({ "scheduling.x-k8s.io/pod-group": "g" }));
        }
        town.pass(3);
        town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 4)]));
        town.pass(5);
        for _ in 0..40 {
            town.fate("read job 7", Fate::LoseRequest);
        }
        town.phase("w-0", phases[0]);
        town.phase("w-1", phases[1]);
        town.pass(35);
        town.forget_fates();
        town.crash();
        let held =
            |town: &Town, pod| town.kube.pod(pod).unwrap()["metadata"]["finalizers"] != json!([]);
        assert!(!held(&town, "w-0") && !held(&town, "w-1"), "{}", town.dialogue());
        assert_eq!(town.slurm.jobs[&JobId(7)].state, ObservedState::RUNNING);
        town.restart();
        town.pass(5);
        let dialogue = town.dialogue();
        assert_eq!(town.slurm.jobs[&JobId(7)].state, state, "{dialogue}");
    }
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
    assert_eq!(town.slurm.jobs[&JobId(7)].state, ObservedState::PENDING);
}

/// A waiting pod whose job ends in this state, while the bridge is up or down.
fn job_of_a_waiting_pod_ends(state: &ObservedState, bridge_is_up: bool) -> Town {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    if !bridge_is_up {
        town.crash();
    }
    town.dialogue();
    town.slurm("job 7 ends", |slurm| {
        slurm.jobs.get_mut(&JobId(7)).unwrap().state = state.clone();
    });
    town.restart_if_dead();
    town.pass(5);
    town
}

#[test]
fn a_job_cancelled_while_the_bridge_is_down_takes_its_waiting_pod_along() {
    let mut town = job_of_a_waiting_pod_ends(&ObservedState::CANCELLED, false);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000 < job 7 ends
    00:00:02.000     > event SlurmJobEnded: Slurm job 7 ended: CANCELLED
    00:00:02.000     > condition on pods/p/status: DisruptionTarget=True: Slurm job 7 ended: CANCELLED
    00:00:02.000     > Post pods/p/eviction {"apiVersion":"policy/v1","deleteOptions":{"preconditions":{"uid":"uid-p"}},"kind":"Eviction","metadata":{}}
    00:00:02.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
}

#[test]
fn it_makes_no_difference_whether_the_bridge_was_up_when_the_job_of_a_waiting_pod_ended() {
    #[rustfmt::skip]
    let rows = [
        (ObservedState::CANCELLED, "the pod is gone",    1),
        (ObservedState::of(Base::Deadline),  "the pod is gone",    1),
        (ObservedState::FAILED,    "the pod waits on",   2),
        (ObservedState::TIMEOUT,   "the pod waits on",   2),
        (ObservedState::of(Base::NodeFail),  "the pod waits on",   2),
    ];
    for (state, pod, jobs) in rows {
        for bridge_is_up in [true, false] {
            let mut town = job_of_a_waiting_pod_ends(&state, bridge_is_up);
            let is_there = town.kube.pod("p").is_some();
            let found = if is_there { "the pod waits on" } else { "the pod is gone" };
            let case = format!("{state:?}, bridge up: {bridge_is_up}\n{}", town.dialogue());
            assert_eq!((found, town.slurm.jobs.len()), (pod, jobs), "{case}");
        }
    }
}

#[test]
fn a_job_that_slurm_forgot_while_the_bridge_was_down_is_submitted_again() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    town.crash();
    town.slurm("Slurm forgets job 7", |slurm| slurm.jobs.clear());
    town.dialogue();
    town.restart();
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:02.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn a_gang_whose_job_was_given_back_before_the_crash_is_not_taken_for_cancelled() {
    let mut town = Town::new().start();
    town.group("g", 3);
    for pod in ["w-0", "w-1", "w-2"] {
        town.pod(pod, 2, &json!({ "scheduling.x-k8s.io/pod-group": "g" }));
    }
    town.pass(3);
    town.dialogue();
    town.fate("cancel job 7", Fate::CrashAfter);
    town.delete("w-1");
    town.pass(2);
    town.restart();
    town.pod("w-3", 2, &json!({ "scheduling.x-k8s.io/pod-group": "g" }));
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:03.000 < pod w-1 deleted
    00:00:03.000     > cancel job 7
    00:00:03.000 < crashed
    00:00:05.000     > MergePatch pods/w-1 {"metadata":{"finalizers":[]}}
    00:00:05.000 < pod w-3 created
    00:00:06.000     > submit g: 3 x 2 CPUs, PerCpu(512), not on []
    00:00:06.000     > MergePatch pods/w-0 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    00:00:06.000     > MergePatch pods/w-2 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    00:00:06.000     > MergePatch pods/w-3 {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn a_job_given_back_for_its_node_before_the_crash_is_not_taken_for_cancelled() {
    let mut town = Town::new().start();
    town.slurm.add_node("n9");
    town.pod("p", 4, &json!({}));
    town.fate("cancel job 7", Fate::CrashAfter);
    town.slurm("job 7 runs on n9", |slurm| slurm.start(7, &[("n9", 4)]));
    town.pass(2);
    town.restart();
    town.pass(5);
    assert!(town.kube.pod("p").is_some(), "{}", town.dialogue());
    assert_eq!(town.slurm.jobs.len(), 2, "{}", town.dialogue());
}

#[test]
fn a_latecomers_own_job_cancelled_while_the_bridge_is_down_takes_the_latecomer_alone() {
    let mut town = Town::new().start();
    town.group("g", 2);
    for pod in ["w-0", "w-1", "late"] {
        town.pod(pod, 2, &json!({ "scheduling.x-k8s.io/pod-group": "g" }));
        town.pass(if pod == "w-1" { 3 } else { 0 });
        if pod == "w-1" {
            town.slurm("job 7 runs", |slurm| slurm.start(7, &[("n1", 4)]));
            town.pass(3);
        }
    }
    town.pass(3);
    town.crash();
    town.slurm("job 8, the latecomer's, is cancelled", |slurm| {
        slurm.jobs.get_mut(&JobId(8)).unwrap().state = ObservedState::CANCELLED;
    });
    town.restart();
    town.pass(5);
    let here = ["w-0", "w-1", "late"].map(|pod| town.kube.pod(pod).is_some());
    assert_eq!(here, [true, true, false], "{}", town.dialogue());
    assert_eq!(town.slurm.jobs.len(), 2, "{}", town.dialogue());
}
