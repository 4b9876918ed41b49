//! The world is one value: a clone of it in mid-run ends like the original.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use drawbridge_scenarios::{Scenario, World, format};

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
