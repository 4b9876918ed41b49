//! Every incident's scenario can fail: with the guard taken out that keeps it from happening, it does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, path::Path};

use drawbridge_core::{Plant, config::Config};
use drawbridge_scenarios::{Scenario, format, run};

/// Scenarios of `scenarios/incidents`, and some of the library, with the guard that each shows.
const INCIDENTS: [(&str, Plant); 14] = [
    ("bridge_42_more_candidates_than_nodes", Plant::RequiresCandidates),
    ("bridge_48_native_job_beside_pods", Plant::TakesWholeNodes),
    ("bridge_52_foreign_nodes", Plant::AsksForEveryNode),
    ("bridge_9b10_only_not_found", Plant::BelievesNoAbsence),
    ("bridge_9b4_full_in_kubernetes", Plant::NeedsRoomToQueue),
    ("bridge_9b7_removal_flaps", Plant::UndrainsWhatItRemoves),
    ("bridge_9b8_endless_recreation", Plant::ComparesAnotherSize),
    ("bridge_9b9_ended_taken_for_live", Plant::TakesEndedForLive),
    ("operator_133_drain_both_ways", Plant::HidesDrains),
    ("operator_255_name_mapping", Plant::IgnoresWorkers),
    ("operator_79_unknown_node", Plant::RemembersNodes),
    ("../allocation_forbidden", Plant::TrustsAllocations),
    ("../volume_where_slurm_says", Plant::BindsBeforeVolumes),
    ("../kubelet_refuses", Plant::ForgetsRefusals),
];

#[test]
fn each_incident_happens_once_its_guard_is_gone() {
    for (name, plant) in INCIDENTS {
        let scenario = load(name);
        assert_eq!(wrong(&scenario), Vec::<String>::new(), "{name}");
        let planted = Scenario {
            bridge: scenario.bridge.clone().map(|config: Config| config.with_plant(plant)),
            ..scenario
        };
        let wrong = wrong(&planted);
        assert!(!wrong.is_empty(), "{name} doesn't notice {plant:?}");
        println!("{name}, {plant:?}: {}", wrong.join("; "));
    }
}

/// What isn't as it should be.
fn wrong(scenario: &Scenario) -> Vec<String> {
    let report = run(scenario, scenario.seed).report;
    let unmet = report.expectations.iter().filter(|outcome| !outcome.passed);
    let unmet = unmet.map(|it| format!("{}: {}", it.text, it.detail.clone().unwrap_or_default()));
    unmet.chain(report.violations.clone()).collect()
}

fn load(name: &str) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/incidents");
    let text = fs::read_to_string(folder.join(name).with_extension("yaml")).unwrap();
    format::parse(&format!("incidents/{name}.yaml"), &text, &NoFiles)
        .unwrap_or_else(|error| panic!("{}", error.render()))
}

struct NoFiles;

impl format::Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: there are no files here"))
    }
}
