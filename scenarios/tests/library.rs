//! The library: every `scenarios/*.yaml`, `scenarios/found/*.yaml` and `scenarios/incidents/*.yaml` passes, alike in direct and over the wire, and its story is
//! `snapshots/*.snap`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use drawbridge_scenarios::{Run, Scenario, format, run, wire};

/// Makes a test of each scenario, and one that notices a file without a test.
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn every_file_is_listed() {
            let mut listed = vec![$(stringify!($name).to_owned()),*];
            listed.sort();
            assert_eq!(files(), listed);
        }
    };
}

scenarios! {
    allocation_forbidden,
    allocation_never_fits,
    annotations,
    array_throttle,
    binding_lost_for_long,
    bridge_42_more_candidates_than_nodes,
    bridge_48_native_job_beside_pods,
    bridge_52_foreign_nodes,
    bridge_9b10_only_not_found,
    bridge_9b4_full_in_kubernetes,
    bridge_9b7_removal_flaps,
    bridge_9b8_endless_recreation,
    bridge_9b9_ended_taken_for_live,
    bridge_crash_after_submit,
    cancelled_in_slurm,
    cancelled_while_down,
    cordon_drains,
    cordon_while_down,
    cron_job_forbid,
    daemon_set_nodes,
    deleted_node_drains,
    deleted_while_waiting,
    demands_refused,
    demands_warned,
    deployment_partition,
    dra_cpus,
    dra_device_held,
    dra_extended_resource,
    dra_gang,
    dra_resource_claims,
    exclusive_partial_gpu,
    expired_token,
    external_node_life,
    external_node_refused,
    external_nodes,
    gang_deadlock,
    gang_grows_and_shrinks,
    gang_neighbours,
    gpu_device_plugin,
    gpu_kinds,
    host_ports,
    indexed_job_gang,
    job_parallelism,
    job_set_depends_on,
    job_set_gang,
    job_set_in_order,
    kubelet_refuses,
    leader_fails_over,
    leader_ready_gang,
    leader_worker_set_groups,
    mig_profile,
    mpi_job_owner,
    mpi_podgroup,
    mpi_rank_fails,
    mpi_straggler_and_switches,
    namespace_deleted,
    namespace_rights,
    node_down,
    node_still_occupied,
    not_ready_drains,
    oldest_api,
    operator_133_drain_both_ways,
    operator_255_name_mapping,
    operator_79_unknown_node,
    owner_unreadable,
    placed_neighbours,
    rank_environment,
    requeued_and_held,
    reservation_flow,
    rolling_update,
    room_beside_daemon_sets,
    scheduler_preempts,
    scheduling_gates,
    scheduling_group,
    slurmrestd_failover,
    slurmrestd_upgrade,
    spoofed_job,
    stateful_set_order,
    suspended_job,
    suspended_job_evicted,
    uneven_gang,
    unmanaged_namespace,
    unmapped_resource,
    unsatisfiable,
    volume_elsewhere,
    volume_first_consumer,
    volume_where_slurm_says,
    volumes_of_many_kinds,
}

fn check(name: &str) {
    let scenario = load(name);
    let first = run(&scenario, scenario.seed);
    assert_eq!(failures(&first), Vec::<String>::new());
    let wired = wire::run(&scenario, scenario.seed).unwrap();
    assert_eq!(difference(&first, &wired), None, "direct and wire differ");
    insta::with_settings!({
        snapshot_path => root().join("../snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
        description => scenario.why.trim(),
        input_file => format!("scenarios/{}", file_of(name)),
    }, { insta::assert_snapshot!(name, first.story_text()); });
}

/// The first record in which two runs differ, in both.
fn difference(one: &Run, other: &Run) -> Option<[String; 2]> {
    let length = one.records.len().max(other.records.len());
    let index = (0..length).find(|it| one.records.get(*it) != other.records.get(*it))?;
    Some([one, other].map(|run| format!("{:?}", run.records.get(index))))
}

fn failures(run: &Run) -> Vec<String> {
    let unmet = run.report.expectations.iter().filter(|outcome| !outcome.passed);
    let unmet = unmet.map(|it| format!("{}: {}", it.text, it.detail.clone().unwrap_or_default()));
    unmet.chain(run.report.violations.clone()).collect()
}

fn load(name: &str) -> Scenario {
    let path = file_of(name);
    let text = fs::read_to_string(root().join(&path)).unwrap();
    format::parse(&format!("scenarios/{path}"), &text, &Beside)
        .unwrap_or_else(|error| panic!("{}", error.render()))
}

struct Beside;

impl format::Files for Beside {
    fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(root().join(path)).map_err(|error| error.to_string())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// What explore has found is in a folder of its own, and so is what has happened to others.
fn file_of(name: &str) -> String {
    let elsewhere = ["found", "incidents"].map(|folder| format!("{folder}/{name}.yaml"));
    let found = elsewhere.into_iter().find(|path| root().join(path).exists());
    found.unwrap_or_else(|| format!("{name}.yaml"))
}

fn files() -> Vec<String> {
    let folders = [root(), root().join("found"), root().join("incidents")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let yaml = paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let mut names: Vec<_> =
        yaml.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
