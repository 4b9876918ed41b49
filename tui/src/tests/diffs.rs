//! Two runs side by side.

use drawbridge_sim::Time;

use super::{Cluster, picture};
use crate::{
    export,
    model::{
        Model,
        msg::{Msg, News, Tab},
        reel::{Origin, Reel},
    },
    theme::ThemeName,
};

/// The same run, and one in which job 2 starts a minute later.
fn two() -> Model {
    let mut other = Cluster::chunk();
    for record in &mut other.records[15..] {
        record.at = Time::from_ms(record.at.as_ms() + 60_000);
    }
    for (_, change) in &mut other.changes {
        if let drawbridge_scenarios::recording::Change::Job(job) = change
            && job.name == "ring"
            && job.start_ms.is_some()
        {
            let mut later = (**job).clone();
            later.start_ms = later.start_ms.map(|at| Time::from_ms(at.as_ms() + 60_000));
            *job = later.into();
        }
    }
    other.now = Time::from_ms(other.now.as_ms() + 60_000);
    let reel = |title: &str| Reel::new(title.to_owned(), String::new(), Origin::Tape);
    let mut model = Model::new(reel("one"), vec![reel("two")], ThemeName::Terminal);
    model.update(Msg::News(News::Chunk(0, Cluster::chunk())));
    model.update(Msg::News(News::Chunk(1, other)));
    model
}

#[test]
fn the_first_difference_is_found_and_gone_to() {
    let mut model = two();
    assert_eq!(model.divergence(), Some(15));
    model.update(Msg::Divergence);
    assert_eq!(model.playhead.event, 16);
}

#[test]
fn jobs_that_differ_are_listed_side_by_side() {
    let mut model = two();
    model.update(Msg::Tab(Tab::Diff));
    model.update(Msg::End);
    let shown = export::text(&picture(&model, (120, 24)));
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!("diff_120x24", shown); });
}

#[test]
fn a_run_is_the_same_as_itself() {
    let reel = |title: &str| Reel::new(title.to_owned(), String::new(), Origin::Tape);
    let mut same = Model::new(reel("one"), vec![reel("again")], ThemeName::Terminal);
    same.update(Msg::News(News::Chunk(0, Cluster::chunk())));
    same.update(Msg::News(News::Chunk(1, Cluster::chunk())));
    same.update(Msg::Divergence);
    assert_eq!(same.divergence(), None);
    assert!(same.said.unwrap().1.starts_with("The two runs are the same"));
}

#[test]
fn runs_are_gone_through_one_after_the_other() {
    let reel = |title: &str| Reel::new(title.to_owned(), String::new(), Origin::Tape);
    let others = vec![reel("b"), reel("c")];
    let mut model = Model::new(reel("a"), others, ThemeName::Terminal);
    let titles = |model: &Model| {
        let other = model.other.as_ref().map(|it| it.title.clone());
        format!("{} {}", model.reel.title, other.unwrap_or_default())
    };
    let mut seen = vec![titles(&model)];
    for _ in 0..4 {
        model.update(Msg::Run(None));
        seen.push(titles(&model));
    }
    assert_eq!(seen, ["a b", "b a", "c b", "a c", "b a"]);
    // What comes in finds its run wherever it stands.
    model.update(Msg::News(News::Chunk(2, Cluster::chunk())));
    model.update(Msg::Run(Some(2)));
    assert_eq!((model.reel.title.as_str(), model.reel.film.len()), ("c", 25));
}
