//! Scenarios of the library, played and looked at.

use std::{fs, path::Path, sync::Arc};

use drawbridge_scenarios::{
    format::{NoFiles, parse},
    recording::Recorder,
};

use super::{model_of, picture, updates::typed};
use crate::{
    export,
    model::{
        Model,
        msg::{Msg, News, Stride, Tab},
        prompt::Question,
    },
};

/// A model that knows all of a scenario's run.
fn recorded(name: &str) -> Model {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let path = library.join(name).with_extension("yaml");
    let scenario = parse(name, &fs::read_to_string(path).unwrap(), &NoFiles).unwrap();
    let seed = scenario.seed;
    let mut recorder = Recorder::new(Arc::new(scenario), seed);
    let mut model = model_of(recorder.next(|_| true).unwrap());
    while let Some(chunk) = recorder.next(|chunk| 300 <= chunk.records.len()) {
        model.update(Msg::News(News::Chunk(0, chunk)));
    }
    model
}

fn at(mut model: Model, tab: Tab, time: &str) -> Model {
    model.update(Msg::Tab(tab));
    for msg in typed(Question::Time, time, Msg::Accept) {
        model.update(msg);
    }
    model
}

fn why(model: &Model) -> String {
    model.explanation.as_ref().map(|it| it.why.join("\n")).unwrap_or_default()
}

#[test]
fn a_newcomer_sees_why_mpi_podgroup_waits() {
    let waiting = at(recorded("mpi_podgroup"), Tab::Pods, "5m");
    insta::assert_snapshot!(why(&waiting), @"");
}

#[test]
fn a_newcomer_sees_what_deadlocks_in_gang_deadlock() {
    let stuck = at(recorded("gang_deadlock"), Tab::Overview, "30m");
    let told: Vec<&str> = stuck.alerts.iter().map(|alert| alert.text.as_str()).collect();
    insta::assert_snapshot!(told.join("\n"), @"");
    let gang = at(stuck, Tab::Gangs, "30m");
    insta::assert_snapshot!(why(&gang), @"");
}

#[test]
fn a_run_looks_the_same_forwards_and_backwards() {
    /// Far enough for a quick test.
    const STRIDE: i64 = 23;
    let mut model = recorded("cordon_drains");
    model.update(Msg::Why);
    let draw = |model: &Model| export::text(&picture(model, (120, 40)));
    let mut screens = Vec::new();
    let tabs =
        [Tab::Overview, Tab::Pods, Tab::Jobs, Tab::Nodes, Tab::Timeline, Tab::Gangs, Tab::Events];
    let n_screens = model.reel.film.len() as usize / STRIDE as usize;
    for tab in tabs.into_iter().cycle().take(n_screens) {
        model.update(Msg::Tab(tab));
        screens.push((tab, draw(&model)));
        model.update(Msg::Step(Stride::Events(STRIDE)));
    }
    for (tab, screen) in screens.into_iter().rev() {
        model.update(Msg::Step(Stride::Events(-STRIDE)));
        model.update(Msg::Tab(tab));
        assert_eq!(draw(&model), screen);
    }
}
