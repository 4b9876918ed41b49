//! The world is one value: a clone of it in mid-run ends like the original.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use drawbridge_scenarios::{Recording, Scenario, World, format};

fn library(name: &str) -> Scenario {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    format::parse(name, &text, &format::NoFiles).unwrap()
}

#[test]
fn a_clone_in_mid_run_ends_with_the_same_hash() {
    let scenario = library("gang_deadlock.yaml");
    let mut world = World::new(&scenario, scenario.seed);
    while world.events() < 400 {
        assert!(world.step());
    }
    let mut copy = world.clone();
    while world.step() {}
    while copy.step() {}
    assert!(400 < copy.events());
    assert_eq!((world.hash(), world.now(), world.frame()), (copy.hash(), copy.now(), copy.frame()));
}

#[test]
fn every_moment_of_a_recording_is_the_moment_itself() {
    let scenario = library("job_parallelism.yaml");
    let recording = Recording::record(&scenario, scenario.seed);
    let mut world = World::new(&scenario, scenario.seed);
    let mut seen = 0;
    while world.step() {
        // Every 97th event is enough to land between checkpoints and on them.
        if world.events() / 97 != seen {
            seen = world.events() / 97;
            assert_eq!(recording.frame(world.events()), world.frame());
        }
    }
    assert!(5 < seen);
    assert_eq!(recording.len(), world.events());
    assert_eq!(recording.frame(u64::MAX).now, world.now());
    assert_eq!(recording.frame(0).pods.len(), 0);
}

#[test]
fn a_time_finds_the_events_up_to_it() {
    let scenario = library("reservation_flow.yaml");
    let recording = Recording::record(&scenario, scenario.seed);
    let at = drawbridge_sim::Time::from_ms(11_000);
    let event = recording.event_at(at);
    let (before, after) = recording.records().split_at(usize::try_from(event).unwrap());
    assert!(
        before.iter().all(|record| record.at <= at) && after.iter().all(|record| at < record.at)
    );
}
