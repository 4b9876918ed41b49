//! A scenario of the library, played and looked at.

use std::{fs, path::Path};

use drawbridge_scenarios::{
    Recording,
    format::{NoFiles, parse},
};

use super::{after, buffer, text};
use crate::{
    model::{Msg, Question, Tab},
    theme::Theme,
};

fn recorded(name: &str) -> Recording {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let path = library.join(name).with_extension("yaml");
    let scenario = parse(name, &fs::read_to_string(path).unwrap(), &NoFiles).unwrap();
    Recording::record(&scenario, scenario.seed)
}

/// Goes to a time.
fn go_to(time: &str) -> Vec<Msg> {
    let letters = time.chars().map(Msg::Type);
    [Msg::Ask(Question::Time)].into_iter().chain(letters).chain([Msg::Accept]).collect()
}

#[test]
fn a_newcomer_sees_why_mpi_podgroup_waits() {
    let source = recorded("mpi_podgroup");
    let waiting = after(&source, &go_to("5m"));
    insta::assert_snapshot!(waiting.explanation.unwrap().why.join("\n"), @r"
    Job 2 waits: Resources. It is next; what it asks for isn't free.
    It asks for 16 CPUs in main, with priority 1.
    Job 1 native holds 8 CPUs on n1, n2.
    Free now: 2 whole nodes; 8 CPUs and 0 GPUs in all.
    ");
}

/// Far enough for a quick test, and never in step with the checkpoints.
const STRIDE: i64 = 23;

#[test]
fn a_recording_looks_the_same_forwards_and_backwards() {
    let source = recorded("cordon_drains");
    let mut model = after(&source, &[Msg::Why]);
    let draw = |model: &_| text(&buffer(&source, model, Theme::new(true), (120, 40)));
    let mut screens = Vec::new();
    for tab in Tab::ALL.into_iter().cycle().take(source.len() as usize / STRIDE as usize) {
        model.update(&source, Msg::Tab(tab));
        screens.push((tab, draw(&model)));
        model.update(&source, Msg::Step(STRIDE));
    }
    for (tab, screen) in screens.into_iter().rev() {
        model.update(&source, Msg::Step(-STRIDE));
        model.update(&source, Msg::Tab(tab));
        assert_eq!(draw(&model), screen);
    }
}
