//! What real Slurms showed when the kept cases were recorded: the model shows it too.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use drawbridge_oracle::{Case, families, recorded_cases, replay};

/// The kept cases, and the longer recordings that are too many to be asked of a real Slurm again.
fn everything() -> Vec<(String, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: &Path| Case::parse(&fs::read_to_string(path).unwrap()).unwrap();
    let longer = files.map(|path| (path.display().to_string(), read(&path)));
    recorded_cases().unwrap().into_iter().chain(longer).collect()
}

#[test]
fn the_model_shows_what_slurm_showed_in_every_kept_case() {
    let mut wrong = vec![];
    for (name, case) in everything() {
        match replay(&case) {
            Ok(None) => {}
            Ok(Some((index, found))) => {
                let found: Vec<_> = found.iter().map(ToString::to_string).collect();
                let operation = &case.steps[index].operation;
                wrong.push(format!("{name}, `{operation}`: {}", found.join("; ")));
            }
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_case_reads_as_it_was_written() {
    for (name, case) in everything() {
        assert_eq!(Case::parse(&case.to_string()).unwrap(), case, "{name}");
    }
}

#[test]
fn families_have_names_of_their_own() {
    let mut names: Vec<_> = families().iter().map(|family| family.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
