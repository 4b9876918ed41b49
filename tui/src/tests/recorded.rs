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
    insta::assert_snapshot!(why(&waiting), @"
    Job 2 waits: Resources. It is next; what it asks for isn't free.
    It asks for 16 CPUs in main, with priority 1.
    Job 1 native holds 8 CPUs on n1, n2.
    Free now: 2 whole nodes; 8 CPUs and 0 GPUs in all.
    Slurm expects to start it at 365-00:00:03.000, in 364d.
    ");
}

#[test]
fn a_newcomer_sees_what_deadlocks_in_gang_deadlock() {
    let stuck = at(recorded("gang_deadlock"), Tab::Overview, "30m");
    let told: Vec<&str> = stuck.alerts.iter().map(|alert| alert.text.as_str()).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    Deadlock: gang plain/a holds 3 nodes and waits for 1 rank that can't be placed.
    Deadlock: gang plain/b holds 3 nodes and waits for 1 rank that can't be placed.
    ");
    let gang = at(stuck, Tab::Gangs, "30m");
    insta::assert_snapshot!(why(&gang), @"
    Only 3 of 4 ranks hold a node; no rank gets past its first barrier before all are there.
    Without a node: a-rank-3.
    Why: 0/6 nodes are available: 6 Insufficient cpu. no new claims to deallocate, preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pod.
    Deadlock: gang plain/b holds n2, n4, n6, and waits for ranks of its own.
    Nobody placed the ranks as one: each pod was scheduled for itself. A PodGroup in a namespace of the bridge gets all nodes at once, or none.
    ");
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
