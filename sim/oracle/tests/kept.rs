//! What real Slurms showed when the kept cases were recorded: the model shows it too.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use drawbridge_oracle::{Case, families, recorded_cases, replay};

#[test]
fn the_model_shows_what_slurm_showed_in_every_kept_case() {
    let mut wrong = vec![];
    for (name, case) in recorded_cases().unwrap() {
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
    for (name, case) in recorded_cases().unwrap() {
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
