//! The library: every `scenarios/*.yaml` passes, twice alike, and its story is `snapshots/*.snap`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use drawbridge_scenarios::{Run, Scenario, format, run};

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
    bridge_crash_after_submit,
    cancelled_in_slurm,
    cancelled_while_down,
    cordon_drains,
    deleted_while_waiting,
    deployment_partition,
    gang_deadlock,
    job_parallelism,
    mpi_podgroup,
    node_down,
    reservation_flow,
    unmanaged_namespace,
    unsatisfiable,
}

fn check(name: &str) {
    let scenario = load(name);
    let (first, second) = (run(&scenario, scenario.seed), run(&scenario, scenario.seed));
    assert_eq!(first.report.event_hash, second.report.event_hash, "two runs of one seed differ");
    assert_eq!(failures(&first), Vec::<String>::new());
    insta::with_settings!({
        snapshot_path => root().join("../snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
        description => scenario.why.trim(),
        input_file => format!("scenarios/{name}.yaml"),
    }, { insta::assert_snapshot!(name, first.story_text()); });
}

fn failures(run: &Run) -> Vec<String> {
    let unmet = run.report.expectations.iter().filter(|outcome| !outcome.passed);
    let unmet = unmet.map(|it| format!("{}: {}", it.text, it.detail.clone().unwrap_or_default()));
    unmet.chain(run.report.violations.clone()).collect()
}

fn load(name: &str) -> Scenario {
    let path = root().join(name).with_extension("yaml");
    let text = fs::read_to_string(&path).unwrap();
    format::parse(&format!("scenarios/{name}.yaml"), &text, &Beside)
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

fn files() -> Vec<String> {
    let paths = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let yaml = paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let mut names: Vec<_> =
        yaml.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
