//! Every row of the table of job states, with pods that wait and with pods that are bound.

use drawbridge_core::{
    Config, SuspendedJobs, job_state_rows,
    slurm::{Base, NodeAllocation, ObservedState},
};
use drawbridge_sim::JobId;
use serde_json::json;

use crate::town::Town;

fn town(suspended_jobs: SuspendedJobs) -> Town {
    Town::with(Config { taint_nodes: false, suspended_jobs, ..Config::as_shipped() })
}

/// Pod p has job 7, and is bound if it is to be.
fn begin(suspended_jobs: SuspendedJobs, bound: bool) -> Town {
    let mut town = town(suspended_jobs).start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    if bound {
        town.slurm("job 7 runs on n1", |slurm| slurm.start(7, &[("n1", 4)]));
        town.pass(3);
        town.phase("p", "Running");
    }
    town.dialogue();
    town
}

/// Job 7 is in this state from now on; `None`: Slurm knows it no more.
fn set(town: &mut Town, state: Option<&ObservedState>) {
    town.slurm("job 7 changes", |slurm| match state {
        None => drop(slurm.jobs.remove(&JobId(7))),
        Some(state) => {
            let job = slurm.jobs.get_mut(&JobId(7)).unwrap();
            job.state = state.clone();
            let has_nodes = *state.base() != Base::Pending;
            let node = has_nodes.then(|| NodeAllocation { node: "n1".into(), cpus: 4 });
            job.allocation = node.into_iter().collect();
        }
    });
    town.pass(40);
}

/// What became of the pods, in the table's words.
fn what_happened(town: &mut Town, bound: bool) -> &'static str {
    let said = town.dialogue();
    match bound {
        _ if said.contains("/eviction") => "leave",
        false if said.contains("> bind") => "get their nodes",
        false if said.contains("> submit") => "wait for another job",
        false => "wait",
        true if said.contains("SlurmSuspended=True") => "stay and say so, or leave",
        true => "stay",
    }
}

#[test]
fn the_bridge_does_what_each_row_says() {
    let mut seen = 0;
    for row in job_state_rows() {
        let gone = (row.state == "not known to Slurm").then_some(None);
        for state in row.states.iter().map(Some).chain(gone) {
            for (bound, expected) in [(false, row.waiting), (true, row.bound)] {
                let mut town = begin(SuspendedJobs::Keep, bound);
                set(&mut town, state);
                let found = what_happened(&mut town, bound);
                assert_eq!(found, expected, "{state:?}, bound: {bound}");
                seen += 1;
            }
        }
    }
    assert!(130 < seen, "only {seen} cells");
}

#[test]
fn where_suspended_jobs_are_evicted_their_pods_leave() {
    for row in job_state_rows() {
        for state in row.states.iter().filter(|_| row.bound == "stay and say so, or leave") {
            let mut town = begin(SuspendedJobs::Evict, true);
            set(&mut town, Some(state));
            assert_eq!(what_happened(&mut town, true), "leave", "{state}");
        }
    }
}

#[test]
fn pods_of_a_suspended_job_say_so_until_it_goes_on() {
    let mut town = begin(SuspendedJobs::Keep, true);
    set(&mut town, Some(&ObservedState::SUSPENDED));
    set(&mut town, Some(&ObservedState::RUNNING));
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:05.000 < job 7 changes
    00:00:09.000     > event SlurmSuspended: Slurm job 7 is suspended
    00:00:09.000     > condition on pods/p/status: SlurmSuspended=True: Slurm job 7 is suspended
    00:00:45.000 < job 7 changes
    00:00:49.000     > event SlurmResumed: Slurm job 7 runs
    00:00:49.000     > condition on pods/p/status: SlurmSuspended=False: Slurm job 7 runs
    ");
}

#[test]
fn a_job_that_another_cluster_has_is_given_back() {
    let mut town = begin(SuspendedJobs::Keep, false);
    let state = ObservedState::read(&["PENDING", "REVOKED"]).unwrap();
    set(&mut town, Some(&state));
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:02.000 < job 7 changes
    00:00:03.000     > cancel job 7
    00:00:04.000     > event AllocationUnusable: another cluster of the federation has Slurm job 7
    00:00:04.000     > condition on pods/p/status: PodScheduled=False: another cluster of the federation has Slurm job 7
    00:00:05.000     > submit k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:05.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"8"}}}
    "#);
}

#[test]
fn what_slurm_is_not_known_to_say_changes_nothing() {
    for bound in [false, true] {
        let mut town = begin(SuspendedJobs::Keep, bound);
        set(&mut town, Some(&ObservedState::read(&["FROZEN"]).unwrap()));
        set(&mut town, Some(&ObservedState::read(&["RUNNING", "SHINY"]).unwrap()));
        let said = town.dialogue();
        assert_eq!(said.contains("> bind"), !bound, "{said}");
        assert!(!said.contains("evict") && !said.contains("cancel"), "{said}");
    }
}
