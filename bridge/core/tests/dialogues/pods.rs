//! One pod by itself.

use drawbridge_core::slurm::{Flag, ObservedState};
use drawbridge_sim::JobId;
use serde_json::json;

use crate::town::{Fate, Town};

#[test]
fn a_pod_is_submitted_marked_placed_bound_and_its_job_ends_as_it_did() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    town.slurm("job 7 runs on n2", |slurm| slurm.start(7, &[("n2", 4)]));
    town.pass(2);
    town.phase("p", "Succeeded");
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod p created
    00:00:00.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:02.000 < job 7 runs on n2
    00:00:03.000     > MergePatch pods/p {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:03.000     > bind pods/p/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    00:00:04.000 < pod p is Succeeded
    00:00:04.000     > signal job 7 USR1
    00:00:04.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
    insta::assert_snapshot!(town.facts(), @"
    http://slurm-restapi.slurm:6820 speaks v0.0.45
    submitted job 7 for pod a/p (1 task of 4 CPUs, 1024 MiB)
    labelled pod a/p with job 7
    bound pod a/p to n2 (job 7, Slurm node n2)
    sent USR1 to job 7: its pods are over
    let go of pod a/p
    ");
    assert_eq!(town.slurm.jobs[&JobId(7)].state, ObservedState::COMPLETED);
}

#[test]
fn the_reason_for_waiting_is_written_once_and_again_when_it_changes() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.slurm("job 7 waits for Resources", |slurm| {
        reason(slurm, "Resources");
    });
    town.pass(10);
    town.slurm("job 7 waits for Priority", |slurm| {
        reason(slurm, "Priority");
    });
    town.pass(10);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod p created
    00:00:00.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:00.000 < job 7 waits for Resources
    00:00:01.000     > event SlurmPending: Slurm job 7 is pending: Resources
    00:00:01.000     > condition on pods/p/status: PodScheduled=False: Slurm job 7 is pending: Resources
    00:00:10.000 < job 7 waits for Priority
    00:00:11.000     > event SlurmPending: Slurm job 7 is pending: Priority
    00:00:11.000     > condition on pods/p/status: PodScheduled=False: Slurm job 7 is pending: Priority
    "#);
}

fn reason(slurm: &mut crate::slurm::Slurm, reason: &str) {
    slurm.jobs.get_mut(&JobId(7)).unwrap().reason = Some(reason.into());
}

#[test]
fn a_pod_deleted_while_it_waits_has_its_job_cancelled() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    town.dialogue();
    town.delete("p");
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000 < pod p deleted
    00:00:02.000     > cancel job 7
    00:00:02.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
    assert!(town.kube.pod("p").is_none());
}

#[test]
fn a_deleted_pod_does_not_wait_for_a_slurm_that_is_away() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    town.dialogue();
    for _ in 0..100 {
        town.fate("read job 7", Fate::LoseRequest);
    }
    town.delete("p");
    town.pass(29);
    assert!(town.kube.pod("p").is_some(), "Slurm has a while to answer");
    town.pass(2);
    assert!(town.kube.pod("p").is_none(), "but not for ever");
    town.pass(4000);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000 < pod p deleted
    00:00:32.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    00:01:36.000     > cancel job 7
    "#);
}

#[test]
fn a_job_cancelled_in_slurm_takes_its_pod_along() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 4)]));
    town.pass(2);
    town.phase("p", "Running");
    town.dialogue();
    town.slurm("job 7 is cancelled", |slurm| {
        let job = slurm.jobs.get_mut(&JobId(7)).unwrap();
        job.state = ObservedState::CANCELLED.with(Flag::Completing);
        job.end_time = Some(1_767_225_600);
    });
    town.pass(6);
    town.phase("p", "Failed");
    town.pass(6);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000 < job 7 is cancelled
    00:00:07.000     > event SlurmJobEnded: Slurm job 7 ended: CANCELLED
    00:00:07.000     > condition on pods/p/status: DisruptionTarget=True: Slurm job 7 ended: CANCELLED
    00:00:07.000     > Post pods/p/eviction {"apiVersion":"policy/v1","deleteOptions":{"gracePeriodSeconds":23,"preconditions":{"uid":"uid-p"}},"kind":"Eviction","metadata":{}}
    00:00:08.000 < pod p is Failed
    00:00:08.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
}

#[test]
fn a_requeued_job_takes_its_bound_pod_along() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 4)]));
    town.pass(2);
    town.phase("p", "Running");
    town.dialogue();
    town.slurm("job 7 is requeued", |slurm| {
        slurm.jobs.get_mut(&JobId(7)).unwrap().state = ObservedState::PENDING;
    });
    town.pass(6);
    town.phase("p", "Failed");
    town.pass(6);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000 < job 7 is requeued
    00:00:07.000     > event SlurmJobEnded: Slurm put job 7 back into the queue
    00:00:07.000     > condition on pods/p/status: DisruptionTarget=True: Slurm put job 7 back into the queue
    00:00:07.000     > Post pods/p/eviction {"apiVersion":"policy/v1","deleteOptions":{"preconditions":{"uid":"uid-p"}},"kind":"Eviction","metadata":{}}
    00:00:08.000 < pod p is Failed
    00:00:08.000     > cancel job 7
    00:00:08.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
}

#[test]
fn a_job_on_its_way_back_into_the_queue_is_not_submitted_a_second_time() {
    let mut town = Town::new().start();
    town.pod("p", 4, &json!({}));
    town.dialogue();
    town.slurm("job 7 was started and requeued before anybody saw it", |slurm| {
        let left = ObservedState::PENDING.with(Flag::Completing);
        slurm.jobs.get_mut(&JobId(7)).unwrap().state = left;
    });
    town.pass(60);
    town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 4)]));
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < job 7 was started and requeued before anybody saw it
    00:01:00.000 < job 7 runs on n1
    00:01:01.000     > MergePatch pods/p {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}}
    00:01:01.000     > bind pods/p/binding to n1 {"slurm.job.id":"7","slurm.node":"n1"}
    "#);
}

#[test]
fn what_slurm_refuses_is_said_in_its_words_and_not_tried_in_a_storm() {
    let mut town = Town::new().start();
    town.slurm.refuse = Some((2014, "Requested node configuration is not available"));
    town.pod("p", 400, &json!({}));
    town.pass(3600);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000 < pod p created
    00:00:00.000     > submit k8s-pod-p: 1 x 400 CPUs, PerNode(1024), not on []
    00:00:00.000     > event SlurmRefused: Slurm refused the job: Requested node configuration is not available (2014)
    00:00:00.000     > condition on pods/p/status: PodScheduled=False: Slurm refused the job: Requested node configuration is not available (2014)
    00:01:00.000     > submit k8s-pod-p: 1 x 400 CPUs, PerNode(1024), not on []
    00:03:00.000     > submit k8s-pod-p: 1 x 400 CPUs, PerNode(1024), not on []
    00:07:00.000     > submit k8s-pod-p: 1 x 400 CPUs, PerNode(1024), not on []
    00:15:00.000     > submit k8s-pod-p: 1 x 400 CPUs, PerNode(1024), not on []
    00:31:00.000     > submit k8s-pod-p: 1 x 400 CPUs, PerNode(1024), not on []
    ");
    assert_eq!(town.metric("slurm.submit"), 6, "after 1, 2, 4, 8, 16 and then every 30 min");
}

#[test]
fn a_pod_with_a_bad_annotation_is_refused_until_it_is_changed() {
    let mut town = Town::new().start();
    town.pod("p", 1, &json!({}));
    town.pass(1);
    let path = crate::kube::pod_path("q");
    town.kube.create(&path, json!({
        "metadata": { "name": "q", "namespace": "a", "annotations": { "slinky.slurm.net/timelimit": "1h" } },
        "spec": { "containers": [{ "name": "c" }] },
    }));
    town.pass(5);
    town.dialogue();
    town.kube.change(&path, |pod| {
        pod["metadata"]["annotations"]["slinky.slurm.net/timelimit"] = json!("60");
    });
    town.pass(5);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:06.000     > submit k8s-pod-q: 1 x 1 CPUs, PerNode(100), not on []
    00:00:06.000     > MergePatch pods/q {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn a_job_on_a_node_that_kubernetes_lacks_is_given_back_once_and_tried_again_after_a_second() {
    let mut town = Town::new().start();
    town.slurm.add_node("n9");
    town.pod("p", 4, &json!({}));
    town.slurm("job 7 runs on n9", |slurm| slurm.start(7, &[("n9", 4)]));
    town.pass(4);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod p created
    00:00:00.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:00.000 < job 7 runs on n9
    00:00:01.000     > write on job 7 {"cluster":"drawbridge","cpus":4,"outcome":"givenBack","pods":["a/p"],"request":"99fbda585be2b926","version":1,"workload":"uid-p"}
    00:00:01.000     > cancel job 7
    00:00:02.000     > event AllocationUnusable: Slurm job 7 was given node n9, but it is no Kubernetes node
    00:00:02.000     > condition on pods/p/status: PodScheduled=False: Slurm job 7 was given node n9, but it is no Kubernetes node
    00:00:03.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on ["n9"]
    00:00:03.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}
