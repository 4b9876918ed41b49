//! The check can fail: each planted defect is found within a bounded number of runs.
//!
//! The baseline is the healthy bridge's; only the runs have the plant. Some defects show only where
//! somebody else's jobs, groups or pods are about, so each plant has a scenario that gives it a chance.
//! Nothing else is chosen for it: the seeds are the first ones, and they draw from all faults.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "plants/places.rs"]
mod places;

use drawbridge_core::{Plant, config::Config};
use drawbridge_explore::{Subject, Trial, crash_points, run};
use drawbridge_scenarios::Scenario;
use drawbridge_sim::Seed;

/// Seeds that are tried before a defect counts as overlooked.
const SEEDS: u64 = 300;

/// Those that have a place here; `PLANTS=AdoptsNothing,BindsLate` names some of them.
fn wanted() -> impl Iterator<Item = (Plant, Scenario)> {
    let named = std::env::var("PLANTS").unwrap_or_default();
    let named: Vec<String> = named.split_terminator(',').map(str::to_owned).collect();
    let is_wanted = move |plant: &Plant| named.is_empty() || named.contains(&format!("{plant:?}"));
    let wanted = Plant::ALL.into_iter().filter(is_wanted);
    wanted.filter_map(|plant| Some((plant, places::place_for(plant)?)))
}

#[test]
fn plants_are_found_and_a_healthy_bridge_passes_the_same_trial() {
    // What is found soon is looked for first, so that whoever breaks the check hears of it soon.
    assert_ne!(wanted().count(), 0, "PLANTS names none that has a place here");
    for (plant, place) in wanted() {
        let (tries, finding) = assert_found(plant, place);
        println!("{plant:?}: found in run {tries}: {finding}");
    }
}

/// The healthy bridge passes what finds the plant, and the plant is found: in how many runs, and what.
fn assert_found(plant: Plant, scenario: Scenario) -> (u64, String) {
    let healthy = Subject::new(scenario.clone());
    assert_eq!(healthy.violations, Vec::<String>::new(), "{plant:?}");
    let planted = planted(&healthy, scenario, plant);
    let (tries, trial, findings) = first_failure(&planted)
        .unwrap_or_else(|| panic!("{plant:?} was not found within {SEEDS} seeds"));
    let without = run(&healthy, &trial).findings;
    assert_eq!(without, Vec::<String>::new(), "without {plant:?}, {}", trial.repeat());
    (tries, findings[0].clone())
}

fn planted(healthy: &Subject, mut scenario: Scenario, plant: Plant) -> Subject {
    scenario.bridge = scenario.bridge.map(|config: Config| config.with_plant(plant));
    let planted = Subject::new(scenario);
    Subject { start: planted.start, shared: planted.shared, ..healthy.clone() }
}

/// Tries it undisturbed, then seeds, then crash points.
fn first_failure(subject: &Subject) -> Option<(u64, Trial, Vec<String>)> {
    let undisturbed = std::iter::once(Trial::listed(vec![], false));
    let seeds = (1..=SEEDS).map(|seed| Trial::of_seed(Seed(seed)));
    let found = undisturbed.chain(seeds).zip(1..).find_map(|(trial, tries)| {
        let findings = run(subject, &trial).findings;
        (!findings.is_empty()).then_some((tries, trial, findings))
    });
    found.or_else(|| {
        let runs = crash_points(subject, 0, 1).runs.into_iter().zip(SEEDS + 2..);
        let mut failed = runs.filter(|((_, outcome), _)| !outcome.findings.is_empty());
        let ((fault, outcome), tries) = failed.next()?;
        Some((tries, Trial::listed(vec![fault], false), outcome.findings))
    })
}
