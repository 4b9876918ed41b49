//! The check can fail: each fault put into the model differs from some recording.
#![cfg(feature = "mutants")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use drawbridge_oracle::{faults, recorded_cases};

#[test]
fn every_mutant_is_seen_in_a_recording() {
    let cases = recorded_cases().unwrap();
    let mut missed = vec![];
    for fault in faults() {
        let seen: Vec<_> =
            cases.iter().filter(|(_, case)| fault.is_seen_in(case)).map(|(name, _)| name).collect();
        let first = seen.first().map_or("-", |name| name.as_str());
        println!("{:34} seen in {:3} of {}: {first}", fault.name, seen.len(), cases.len());
        if seen.is_empty() {
            missed.push(fault.name);
        }
    }
    assert!(20 <= faults().len());
    assert_eq!(missed, Vec::<&str>::new());
}
