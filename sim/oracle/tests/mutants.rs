//! The check can fail: each fault put into the model differs from some recording.
#![cfg(feature = "mutants")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use drawbridge_oracle::{Case, faults, recorded_cases};

fn recordings() -> Vec<(String, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let read = |path: &Path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, Case::parse(&fs::read_to_string(path).unwrap()).unwrap())
    };
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = files.map(|path| read(&path)).collect();
    cases.sort_by(|one, other| one.0.cmp(&other.0));
    cases
}

#[test]
fn every_mutant_is_seen_in_a_recording() {
    let mut cases = recorded_cases().unwrap();
    cases.extend(recordings());
    let mut missed = vec![];
    for fault in faults() {
        // Two are enough to say so, and every further one costs time.
        let seen = cases.iter().filter(|(_, case)| fault.is_seen_in(case)).take(2);
        let seen: Vec<_> = seen.map(|(name, _)| name.as_str()).collect();
        println!("{:34} seen in {}", fault.name, seen.join(", "));
        if seen.is_empty() {
            missed.push(fault.name);
        }
    }
    assert!(20 <= faults().len());
    assert_eq!(missed, Vec::<&str>::new());
}
