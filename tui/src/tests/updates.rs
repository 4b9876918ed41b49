//! What each message changes, as tables.

use drawbridge_sim::{Span, Time};

use super::{
    after,
    cluster::{ALLOCATED, Cluster, SERVING},
};
use crate::model::{Model, Msg, Question, Tab, rows::Key};

/// What a table's row says of a model.
fn brief(model: &Model) -> String {
    let head = &model.playhead;
    let playing = if head.playing { " playing" } else { "" };
    let mut brief = format!("{} {}@{}{playing}", model.tab.name(), head.event, head.now);
    if let Some(it) = &model.explanation {
        brief.push_str(&format!(" [{}]", it.title));
    }
    for (flag, name) in
        [(model.all, "all"), (model.detail, "why"), (model.help, "help"), (model.quit, "quit")]
    {
        if flag {
            brief.push_str(&format!(" {name}"));
        }
    }
    if !model.list().filter.is_empty() {
        brief.push_str(&format!(" /{}", model.list().filter));
    }
    if let Some(focus) = &model.focus {
        brief.push_str(&format!(" focus:{}", focus.title));
    }
    if let Some(prompt) = &model.prompt {
        brief.push_str(&format!(" {}{}", prompt.question.label(), prompt.text));
    }
    brief
}

fn typed(question: Question, answer: &str, end: Msg) -> Vec<Msg> {
    let letters = answer.chars().map(Msg::Type);
    [Msg::Ask(question)].into_iter().chain(letters).chain([end]).collect()
}

fn check(rows: &[(&str, Vec<Msg>, &str)]) {
    let source = Cluster::new();
    for (name, msgs, want) in rows {
        assert_eq!(brief(&after(&source, msgs)), *want, "{name}");
    }
}

#[test]
fn time_moves_as_asked_and_stays_within_the_run() {
    let tick = |secs| Msg::Tick(Span::secs(secs));
    let time = |answer| typed(Question::Time, answer, Msg::Accept);
    #[rustfmt::skip]
    check(&[
        ("starts at the beginning",   vec![],                                    "Pods 0@00:00:00.000"),
        ("one event on",              vec![Msg::Step(1)],                        "Pods 1@00:00:00.000"),
        ("back is as near as on",     vec![Msg::Step(5), Msg::Step(-2)],         "Pods 3@00:00:01.000"),
        ("not before the beginning",  vec![Msg::Step(-5)],                       "Pods 0@00:00:00.000"),
        ("not after the end",         vec![Msg::Step(999), Msg::Tab(Tab::Jobs)], "Jobs 25@00:30:00.000"),
        ("the end",                   vec![Msg::End, Msg::Tab(Tab::Jobs)],       "Jobs 25@00:30:00.000"),
        ("and the beginning",         vec![Msg::End, Msg::Start],                "Pods 0@00:00:00.000"),
        ("to a time",                 [time("10s"), vec![Msg::Tab(Tab::Jobs)]].concat(), "Jobs 8@00:00:10.000 [job 1 train]"),
        ("between two events",        [time("30"), vec![Msg::Tab(Tab::Jobs)]].concat(), "Jobs 12@00:00:30.000 [job 1 train]"),
        ("relative to now",           [time("5"), time("+4s")].concat(),         "Pods 3@00:00:09.000"),
        ("a time after the end",      [time("9h"), vec![Msg::Tab(Tab::Jobs)]].concat(), "Jobs 25@00:30:00.000"),
        ("no answer changes nothing", time(""),                                  "Pods 0@00:00:00.000"),
        ("a bad answer is kept",      time("soon"),                              "Pods 0@00:00:00.000 go to: soon"),
        ("pausing keeps still",       vec![tick(5)],                             "Pods 0@00:00:00.000"),
        ("playing moves at 30x",      vec![Msg::Play, Msg::Tick(Span::ms(100))], "Pods 3@00:00:03.000 playing"),
        ("faster is 60x",             vec![Msg::Play, Msg::Faster, Msg::Tick(Span::ms(100))], "Pods 3@00:00:06.000 playing"),
        ("slower is 10x",             vec![Msg::Play, Msg::Slower, Msg::Tick(Span::ms(100))], "Pods 3@00:00:01.000 playing"),
        ("a step stops the clock",    vec![Msg::Play, tick(1), Msg::Step(-99)],  "Pods 0@00:00:00.000"),
        ("the end stops it too",      vec![Msg::Play, tick(999), Msg::Tab(Tab::Jobs)], "Jobs 25@00:30:00.000"),
        ("the next moment",           vec![Msg::NextMoment],                     "Pods 3@00:00:01.000"),
        ("of the story",              vec![Msg::Step(8), Msg::NextMoment, Msg::NextMoment, Msg::NextMoment, Msg::Tab(Tab::Events)], "Events 13@00:01:00.000 [pod web/模型训练]"),
        ("or of every event",         vec![Msg::All, Msg::Step(11), Msg::NextMoment, Msg::Tab(Tab::Events)], "Events 12@00:00:12.000 [pod mpi/ring-0] all"),
        ("the moment before",         vec![Msg::Step(8), Msg::PreviousMoment],   "Pods 3@00:00:01.000"),
        ("none is after the last",    vec![Msg::End, Msg::NextMoment, Msg::Tab(Tab::Jobs)], "Jobs 25@00:30:00.000"),
        ("playing again starts over", vec![Msg::End, Msg::Play],                 "Pods 0@00:00:00.000 playing"),
    ]);
}

#[test]
fn what_is_looked_at_changes_as_asked() {
    let at = |event: u64| Msg::Step(event as i64);
    let filter = |answer, end| typed(Question::Filter, answer, end);
    #[rustfmt::skip]
    check(&[
        ("tabs go round",      vec![Msg::PreviousTab, Msg::NextTab, Msg::NextTab], "Jobs 0@00:00:00.000"),
        ("the gang is first",  vec![at(SERVING)],                           "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("then its pods",      vec![at(SERVING), Msg::Move(2)],             "Pods 14@00:01:01.000 [pod mpi/ring-1]"),
        ("not above the top",  vec![at(SERVING), Msg::Move(-9)],            "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("not below the last", vec![at(SERVING), Msg::Move(99)],            "Pods 14@00:01:01.000 [pod web/模型训练]"),
        ("last and first",     vec![at(SERVING), Msg::Last, Msg::First],    "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("why",                vec![at(SERVING), Msg::Why],                 "Pods 14@00:01:01.000 [gang mpi/ring] why"),
        ("why again closes",   vec![at(SERVING), Msg::Why, Msg::Why],       "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("a filter",           [vec![at(SERVING)], filter("WEB", Msg::Accept)].concat(), "Pods 14@00:01:01.000 [pod web/模型训练] /WEB"),
        ("every word counts",  [vec![at(SERVING)], filter("ring 3", Msg::Accept)].concat(), "Pods 14@00:01:01.000 [gang mpi/ring] /ring 3"),
        ("nothing matches",    [vec![at(SERVING)], filter("x", Msg::Accept)].concat(),  "Pods 14@00:01:01.000 /x"),
        ("changing one's mind",[vec![at(SERVING)], filter("x", Msg::Back)].concat(),    "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("erasing",            [filter("ab", Msg::Erase), vec![Msg::Accept]].concat(),  "Pods 0@00:00:00.000 /a"),
        ("erasing all",        [filter("ab", Msg::EraseAll), vec![Msg::Accept]].concat(), "Pods 0@00:00:00.000"),
        ("each tab has its own", [filter("x", Msg::Accept), vec![at(1), Msg::NextTab]].concat(), "Jobs 1@00:00:00.000 [job 1 train]"),
        ("ended jobs too",     vec![Msg::End, Msg::NextTab, Msg::All],      "Jobs 25@00:30:00.000 [job 1 train] all"),
        ("events follow time", vec![Msg::Tab(Tab::Events), at(2), Msg::Step(1)], "Events 3@00:00:01.000 [node worker-node-3 (compute-3 in Slurm)]"),
        ("unless one is chosen", vec![Msg::Tab(Tab::Events), at(2), Msg::First, Msg::Step(1)], "Events 3@00:00:01.000 [job 1 train]"),
        ("focus",              vec![at(SERVING), Msg::NextTab, Msg::Focus], "Events 14@00:01:01.000 [job 1 train] focus:job 1 train"),
        ("focus again ends it",vec![at(SERVING), Msg::NextTab, Msg::Focus, Msg::Focus], "Events 14@00:01:01.000 [pod web/模型训练]"),
        ("nothing to focus on",vec![Msg::Focus],                            "Pods 0@00:00:00.000"),
        ("help and back",      vec![Msg::Help, Msg::Why, Msg::Back],        "Pods 0@00:00:00.000 why"),
        ("back closes why",    vec![Msg::Why, Msg::Back],                   "Pods 0@00:00:00.000"),
        ("quit",               vec![Msg::Quit],                             "Pods 0@00:00:00.000 quit"),
    ]);
}

#[test]
fn a_selection_survives_its_absence() {
    let source = Cluster::new();
    let mut model = after(&source, &[Msg::Step(SERVING as i64), Msg::Move(3)]);
    assert_eq!(model.list().wanted, Some(Key::Pod("uid-2".to_owned())));
    model.update(&source, Msg::Start);
    assert_eq!(model.selected(), None);
    model.update(&source, Msg::Step(SERVING as i64));
    assert_eq!(model.explanation.map(|it| it.title), Some("pod mpi/ring-2".to_owned()));
}

#[test]
fn the_chain_of_a_pod_includes_its_job_and_ends_now() {
    let source = Cluster::new();
    let model = after(&source, &[Msg::Step(ALLOCATED as i64), Msg::Move(1)]);
    let chain = model.explanation.map(|it| it.chain).unwrap_or_default();
    let told: Vec<&str> =
        chain.iter().map(|&i| crate::Source::records(&source)[i].text.as_str()).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    created pod mpi/ring-0
    submitted job 2 for gang mpi/ring
    let job 2 wait: Resources
    started job 2 on compute-[0-1]
    ");
}

#[test]
fn scrolling_ends_with_the_explanation_and_starts_over_with_another() {
    let source = Cluster::new();
    let mut model = after(&source, &[Msg::Step(SERVING as i64), Msg::Why, Msg::Scroll(9999)]);
    let said = model.explanation.as_ref().map(|it| it.why.len() + it.facts.len() + it.chain.len());
    assert_eq!(Some(usize::from(model.detail_scroll)), said);
    model.update(&source, Msg::Move(1));
    assert_eq!(model.detail_scroll, 0);
}

#[test]
fn ages_grow_between_events() {
    let source = Cluster::new();
    let mut model = after(&source, &[Msg::Step(SERVING as i64), Msg::Play]);
    model.update(&source, Msg::Tick(Span::secs(2)));
    assert_eq!(model.playhead.event, SERVING);
    assert_eq!(model.now(), Time::from_ms(121_000));
}
