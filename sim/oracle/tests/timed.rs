//! When things happened on real Slurms: the model keeps their time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use drawbridge_oracle::{Case, judge, recordings};

#[test]
fn the_model_keeps_slurms_time_in_every_recording() {
    let mut wrong = vec![];
    for (name, case) in recordings().unwrap() {
        match judge(&case) {
            Ok(judgement) => {
                assert!(judgement.times > 0, "{name} compares nothing");
                wrong.extend(judgement.wrong.iter().map(|text| format!("{name}: {text}")));
            }
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_recording_that_is_off_by_more_than_it_allows_is_found() {
    let (_, case) = recordings().unwrap().into_iter().find(|it| it.0 == "time_limits").unwrap();
    let text = case.to_string().replace("within 3s", "within 1s").replace("start=1", "start=2");
    let judgement = judge(&Case::parse(&text).unwrap()).unwrap();
    assert!(judgement.wrong.iter().any(|text| text.contains("has its start")), "{judgement:?}");
}

#[test]
fn a_recording_reads_as_it_was_written() {
    for (name, case) in recordings().unwrap() {
        assert_eq!(Case::parse(&case.to_string()).unwrap(), case, "{name}");
    }
}
