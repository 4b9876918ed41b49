//! Nodes without slurmd, and jobs without a script.

use drawbridge_core::{Config, config::Placeholder, slurm::ObservedState};
use drawbridge_sim::{Epoch, JobId, Time};
use serde_json::json;

use crate::{
    slurm::Slurm,
    town::{Fate, Town},
};

fn town_with(placeholder: Placeholder) -> Town {
    Town::with(Config { placeholder, taint_nodes: false, ..Config::as_shipped() })
}

/// Takes slurmd away from these nodes.
fn without_slurmd(town: &mut Town, nodes: &[&str]) {
    for node in nodes {
        let node = town.slurm.nodes.get_mut(*node).unwrap();
        node.state = vec!["IDLE".into(), "EXTERNAL".into()];
    }
}

/// Job 7 runs on n2 and has to be over so many seconds after the beginning.
fn start(slurm: &mut Slurm, limit: u64) {
    slurm.start(7, &[("n2", 4)]);
    let end = Epoch::DEFAULT.unix(Time::ZERO) + limit;
    slurm.jobs.get_mut(&JobId(7)).unwrap().end_time = Some(end);
}

/// Starts the bridge; pod p comes and runs in job 7.
fn run(town: Town) -> Town {
    let mut town = town.start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    town.slurm("job 7 runs on n2", |slurm| start(slurm, 3600));
    town.pass(2);
    town
}

#[test]
fn where_no_node_has_a_slurmd_the_outcome_is_written_on_the_job_before_it_is_cancelled() {
    let mut town = Town::new();
    without_slurmd(&mut town, &["n1", "n2"]);
    let mut town = run(town);
    town.phase("p", "Succeeded");
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000 < pod p created
    00:00:00.000     > submit external k8s-pod-p: 1 x 4 CPUs, PerNode(1024), not on []
    00:00:00.000     > MergePatch pods/p {"metadata":{"finalizers":["scheduler.slinky.slurm.net/finalizer"],"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}}}
    00:00:02.000 < job 7 runs on n2
    00:00:03.000     > MergePatch pods/p {"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n2"}}}
    00:00:03.000     > bind pods/p/binding to n2 {"slurm.job.id":"7","slurm.node":"n2"}
    00:00:04.000 < pod p is Succeeded
    00:00:04.000     > write on job 7 {"cluster":"drawbridge","cpus":4,"external":true,"outcome":"succeeded","pods":["a/p"],"request":"8b75291515f91a24","version":1,"workload":"uid-p"}
    00:00:04.000     > cancel job 7
    00:00:04.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
    assert_eq!(town.slurm.jobs[&JobId(7)].state, ObservedState::CANCELLED);
}

#[test]
fn a_job_that_can_not_be_written_on_is_cancelled_all_the_same() {
    let mut town = town_with(Placeholder::External);
    town.slurm.read_only = true;
    let mut town = run(town);
    town.dialogue();
    town.phase("p", "Failed");
    town.pass(2);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:04.000 < pod p is Failed
    00:00:04.000     > write on job 7 {"cluster":"drawbridge","cpus":4,"external":true,"outcome":"failed","pods":["a/p"],"request":"8b75291515f91a24","version":1,"workload":"uid-p"}
    00:00:04.000     > cancel job 7
    00:00:04.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
}

#[test]
fn an_outcome_that_is_written_already_is_not_written_again() {
    let mut town = town_with(Placeholder::External);
    town.fate("write on job 7", Fate::LoseReply);
    let mut town = run(town);
    town.dialogue();
    town.phase("p", "Succeeded");
    town.pass(60);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:04.000 < pod p is Succeeded
    00:00:04.000     > write on job 7 {"cluster":"drawbridge","cpus":4,"external":true,"outcome":"succeeded","pods":["a/p"],"request":"8b75291515f91a24","version":1,"workload":"uid-p"}
    00:00:05.000     > cancel job 7
    00:00:05.000     > MergePatch pods/p {"metadata":{"finalizers":[]}}
    "#);
}

#[test]
fn pods_of_an_external_job_leave_before_its_limit_comes() {
    let mut town = Town::new();
    without_slurmd(&mut town, &["n1", "n2"]);
    let mut town = town.start();
    town.pod("p", 4, &json!({}));
    town.pass(2);
    town.slurm("job 7 runs on n2", |slurm| start(slurm, 60));
    town.pass(20);
    town.dialogue();
    town.pass(20);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:30.000     > event SlurmJobEnded: the time limit of Slurm job 7 comes
    00:00:30.000     > condition on pods/p/status: DisruptionTarget=True: the time limit of Slurm job 7 comes
    00:00:30.000     > Post pods/p/eviction {"apiVersion":"policy/v1","deleteOptions":{"preconditions":{"uid":"uid-p"}},"kind":"Eviction","metadata":{}}
    "#);
}

#[test]
fn one_node_with_a_slurmd_is_enough_for_a_script() {
    let rows = [
        (Placeholder::Auto, &["n1"][..], true),
        (Placeholder::Auto, &["n1", "n2"], false),
        (Placeholder::Auto, &[], true),
        (Placeholder::Script, &["n1", "n2"], true),
        (Placeholder::External, &[], false),
    ];
    for (placeholder, external, has_script) in rows {
        let mut town = town_with(placeholder);
        without_slurmd(&mut town, external);
        let mut town = town.start();
        town.pod("p", 4, &json!({}));
        let said = town.dialogue();
        assert_eq!(
            !said.contains("submit external"),
            has_script,
            "{placeholder:?} {external:?}: {said}"
        );
    }
}
