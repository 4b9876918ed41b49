//! What each message changes, as tables.

use std::slice::from_ref;

use drawbridge_sim::{Span, Time};

use super::{
    after,
    cluster::{ALLOCATED, SERVING},
    events,
};
use crate::model::{
    Model,
    list::Key,
    msg::{Effect, Erase, Msg, Stride, Tab},
    prompt::Question,
};

/// What a table's row says of a model.
fn brief(model: &Model) -> String {
    let head = &model.playhead;
    let playing = if head.playing { " playing" } else { "" };
    let mut brief = format!("{} {}@{}{playing}", model.tab.name(), head.event, head.now);
    if let Some(it) = &model.explanation {
        brief.push_str(&format!(" [{}]", it.title));
    }
    for (flag, name) in [
        (model.all, "all"),
        (model.faults, "faults"),
        (model.detail, "why"),
        (model.help.is_some(), "help"),
        (model.quit, "quit"),
    ] {
        if flag {
            brief.push_str(&format!(" {name}"));
        }
    }
    if !model.list().filter.text().is_empty() {
        brief.push_str(&format!(" /{}", model.list().filter.text()));
    }
    if let Some(focus) = &model.focus {
        brief.push_str(&format!(" focus:{}", focus.title));
    }
    if let Some(prompt) = &model.prompt {
        brief.push_str(&format!(" {}{}", prompt.question.label(), prompt.text));
    }
    if let Some((_, said)) = &model.said {
        brief.push_str(&format!(" “{said}”"));
    }
    brief
}

pub(super) fn typed(question: Question, answer: &str, end: Msg) -> Vec<Msg> {
    let letters = answer.chars().map(Msg::Type);
    [Msg::Ask(question)].into_iter().chain(letters).chain([end]).collect()
}

fn check(rows: &[(&str, Vec<Msg>, &str)]) {
    for (name, msgs, want) in rows {
        assert_eq!(brief(&after(msgs)), *want, "{name}");
    }
}

#[test]
fn time_moves_as_asked_and_stays_within_the_run() {
    let tick = |secs| Msg::Tick(Span::secs(secs));
    let time = |answer| typed(Question::Time, answer, Msg::Accept);
    let back = |n: i64| Msg::Step(Stride::Events(-n));
    let cycles = |n| Msg::Step(Stride::Cycles(n));
    let seconds = |n| Msg::Step(Stride::Seconds(n));
    #[rustfmt::skip]
    check(&[
        ("starts at the beginning",   vec![],                                    "Overview 0@00:00:00.000"),
        ("one event on",              vec![events(1)],                           "Overview 1@00:00:00.000 [job 1 train]"),
        ("back is as near as on",     vec![events(5), back(2)],                  "Overview 3@00:00:01.000 [node worker-node-3 (compute-3 in Slurm)]"),
        ("not before the beginning",  vec![back(5)],                             "Overview 0@00:00:00.000"),
        ("not after the end",         vec![events(999), Msg::Tab(Tab::Jobs)],    "Jobs 25@00:30:00.000"),
        ("the end",                   vec![Msg::End, Msg::Tab(Tab::Jobs)],       "Jobs 25@00:30:00.000"),
        ("and the beginning",         vec![Msg::End, Msg::Start, Msg::Tab(Tab::Jobs)], "Jobs 0@00:00:00.000"),
        ("to a time",                 [time("10s"), vec![Msg::Tab(Tab::Jobs)]].concat(), "Jobs 8@00:00:10.000 [job 1 train]"),
        ("between two events",        [time("30"), vec![Msg::Tab(Tab::Jobs)]].concat(), "Jobs 12@00:00:30.000 [job 1 train]"),
        ("relative to now",           [time("5"), time("+4s"), vec![Msg::Tab(Tab::Pods)]].concat(), "Pods 3@00:00:09.000"),
        ("a time after the end",      [time("9h"), vec![Msg::Tab(Tab::Jobs)]].concat(), "Jobs 25@00:30:00.000"),
        ("no answer changes nothing", time(""),                                  "Overview 0@00:00:00.000"),
        ("a bad answer is kept",      time("soon"),                              "Overview 0@00:00:00.000 go to: soon"),
        ("half way on the bar",       vec![Msg::Scrub(500), Msg::Tab(Tab::Jobs)], "Jobs 24@00:15:00.000 [job 2 ring]"),
        ("a second on",               vec![seconds(1), Msg::Tab(Tab::Jobs)],     "Jobs 3@00:00:01.000 [job 1 train]"),
        ("a second back",             vec![events(8), seconds(-1), Msg::Tab(Tab::Jobs)], "Jobs 3@00:00:09.000 [job 1 train]"),
        ("to the next cycle",         vec![cycles(1), Msg::Tab(Tab::Jobs)],      "Jobs 2@00:00:00.000 [job 1 train]"),
        ("and the next",              vec![cycles(1), cycles(1), Msg::Tab(Tab::Jobs)], "Jobs 16@00:10:00.500 [job 2 ring]"),
        ("two at once",               vec![cycles(2), Msg::Tab(Tab::Jobs)],      "Jobs 16@00:10:00.500 [job 2 ring]"),
        ("back to the last cycle",    vec![events(20), cycles(-1), Msg::Tab(Tab::Jobs)], "Jobs 16@00:10:00.500 [job 2 ring]"),
        ("and the one before",        vec![events(16), cycles(-1), Msg::Tab(Tab::Jobs)], "Jobs 2@00:00:00.000 [job 1 train]"),
        ("no cycle before the first", vec![events(2), cycles(-1), Msg::Tab(Tab::Jobs)], "Jobs 0@00:00:00.000"),
        ("no cycle after the last",   vec![events(20), cycles(1), Msg::Tab(Tab::Jobs)], "Jobs 25@00:30:00.000"),
        ("pausing keeps still",       vec![tick(5)],                             "Overview 0@00:00:00.000"),
        ("playing moves at 30x",      vec![Msg::Tab(Tab::Pods), Msg::Play, Msg::Tick(Span::ms(100))], "Pods 3@00:00:03.000 playing"),
        ("faster is 60x",             vec![Msg::Tab(Tab::Pods), Msg::Play, Msg::Speed(true), Msg::Tick(Span::ms(100))], "Pods 3@00:00:06.000 playing"),
        ("slower is 10x",             vec![Msg::Tab(Tab::Pods), Msg::Play, Msg::Speed(false), Msg::Tick(Span::ms(100))], "Pods 3@00:00:01.000 playing"),
        ("a step stops the clock",    vec![Msg::Play, tick(1), back(99)],        "Overview 0@00:00:00.000"),
        ("the end stops it too",      vec![Msg::Play, tick(999), Msg::Tab(Tab::Jobs)], "Jobs 25@00:30:00.000"),
        ("the next moment",           vec![Msg::Tab(Tab::Pods), Msg::Moment(true)], "Pods 3@00:00:01.000"),
        ("of the story",              vec![events(8), Msg::Moment(true), Msg::Moment(true), Msg::Moment(true), Msg::Tab(Tab::Events)], "Events 13@00:01:00.000 [pod web/模型训练]"),
        ("or of every event",         vec![Msg::All, events(11), Msg::Moment(true), Msg::Tab(Tab::Events)], "Events 12@00:00:12.000 [pod mpi/ring-0] all"),
        ("the moment before",         vec![Msg::Tab(Tab::Pods), events(8), Msg::Moment(false)], "Pods 3@00:00:01.000"),
        ("none is after the last",    vec![Msg::End, Msg::Moment(true), Msg::Tab(Tab::Jobs)], "Jobs 25@00:30:00.000"),
        ("playing again starts over", vec![Msg::End, Msg::Play, Msg::Tab(Tab::Jobs)], "Jobs 0@00:00:00.000 playing"),
    ]);
}

#[test]
fn the_selection_has_moments_of_its_own() {
    let ring_1 = || vec![events(SERVING), Msg::Tab(Tab::Pods), Msg::Move(2)];
    let with = |more: &[Msg]| [ring_1(), more.to_vec()].concat();
    let (next, before) = (Msg::Selection(true), Msg::Selection(false));
    #[rustfmt::skip]
    check(&[
        ("its next event",        with(from_ref(&next)),                "Pods 16@00:10:00.500 [pod mpi/ring-1]"),
        ("and the one after it",  with(&[next.clone(), next.clone()]),   "Pods 18@00:10:01.000 [pod mpi/ring-1]"),
        ("its state before",      with(from_ref(&before)),               "Pods 10@00:00:10.200 [pod mpi/ring-1]"),
        ("and the one before it", with(&[before.clone(), before.clone()]), "Pods 6@00:00:10.000 [pod mpi/ring-1]"),
        ("nothing came before",   with(&[before.clone(), before.clone(), before]), "Pods 6@00:00:10.000 [pod mpi/ring-1] “Nothing happened to pod mpi/ring-1 before.”"),
        ("nothing is selected",   vec![next],                            "Overview 0@00:00:00.000 “Nothing is selected.”"),
    ]);
}

#[test]
fn what_is_looked_at_changes_as_asked() {
    let at = |event: u64| vec![Msg::Tab(Tab::Pods), events(event)];
    let and = |first: Vec<Msg>, more: &[Msg]| [first, more.to_vec()].concat();
    let filter = |answer, end| typed(Question::Filter, answer, end);
    #[rustfmt::skip]
    check(&[
        ("tabs go round",      vec![Msg::NextTab(-1), Msg::NextTab(1), Msg::NextTab(2)], "Jobs 0@00:00:00.000"),
        ("there is no diff",   vec![Msg::Tab(Tab::Diff)],                    "Overview 0@00:00:00.000 “There is no other run: start with --against-seed, or give two scenarios.”"),
        ("the tab before",     vec![Msg::Tab(Tab::Jobs), Msg::Tab(Tab::Pods), Msg::LastTab], "Jobs 0@00:00:00.000"),
        ("the gang is first",  at(SERVING),                                  "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("then its pods",      and(at(SERVING), &[Msg::Move(2)]),            "Pods 14@00:01:01.000 [pod mpi/ring-1]"),
        ("not above the top",  and(at(SERVING), &[Msg::Move(-9)]),           "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("not below the last", and(at(SERVING), &[Msg::Move(99)]),           "Pods 14@00:01:01.000 [pod web/模型训练]"),
        ("half a page down",   and(at(SERVING), &[Msg::Page(1)]),            "Pods 14@00:01:01.000 [pod web/模型训练]"),
        ("last and first",     and(at(SERVING), &[Msg::Last, Msg::First]),   "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("a gang is folded",   and(at(SERVING), &[Msg::Move(2), Msg::Zoom(true), Msg::Move(1)]), "Pods 14@00:01:01.000 [pod web/模型训练]"),
        ("why",                and(at(SERVING), &[Msg::Why]),                "Pods 14@00:01:01.000 [gang mpi/ring] why"),
        ("why again closes",   and(at(SERVING), &[Msg::Why, Msg::Why]),      "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("a filter",           and(at(SERVING), &filter("WEB", Msg::Accept)), "Pods 14@00:01:01.000 [pod web/模型训练] /WEB"),
        ("every word counts",  and(at(SERVING), &filter("ring !-[0-2]", Msg::Accept)), "Pods 14@00:01:01.000 [gang mpi/ring] /ring !-[0-2]"),
        ("a label",            and(at(SERVING), &filter("-l app=web", Msg::Accept)), "Pods 14@00:01:01.000 [pod web/模型训练] /-l app=web"),
        ("nothing matches",    and(at(SERVING), &filter("x{9}", Msg::Accept)), "Pods 14@00:01:01.000 /x{9}"),
        ("changing one's mind",and(at(SERVING), &filter("x{9}", Msg::Back)),  "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("erasing",            [filter("ab", Msg::Erase(Erase::Letter)), vec![Msg::Accept]].concat(), "Overview 0@00:00:00.000 /a"),
        ("erasing all",        [filter("ab", Msg::Erase(Erase::All)), vec![Msg::Accept]].concat(), "Overview 0@00:00:00.000"),
        ("each tab has its own", [filter("x", Msg::Accept), vec![events(1), Msg::Tab(Tab::Jobs)]].concat(), "Jobs 1@00:00:00.000 [job 1 train]"),
        ("ended jobs too",     vec![Msg::End, Msg::Tab(Tab::Jobs), Msg::All], "Jobs 25@00:30:00.000 [job 1 train] all"),
        ("only what waits",    vec![events(SERVING), Msg::Tab(Tab::Jobs), Msg::Faults], "Jobs 14@00:01:01.000 [job 2 ring] faults"),
        ("events follow time", vec![Msg::Tab(Tab::Events), events(2), events(1)], "Events 3@00:00:01.000 [node worker-node-3 (compute-3 in Slurm)]"),
        ("unless one is chosen", vec![Msg::Tab(Tab::Events), events(2), Msg::First, events(1)], "Events 3@00:00:01.000 [job 1 train]"),
        ("focus",              vec![events(SERVING), Msg::Tab(Tab::Jobs), Msg::Focus], "Events 14@00:01:01.000 [job 1 train] focus:job 1 train"),
        ("focus again ends it",vec![events(SERVING), Msg::Tab(Tab::Jobs), Msg::Focus, Msg::Focus], "Events 14@00:01:01.000 [pod web/模型训练]"),
        ("nothing to focus on",vec![Msg::Focus],                            "Overview 0@00:00:00.000"),
        ("a pod's job",        and(at(SERVING), &[Msg::Move(1), Msg::Related]), "Jobs 14@00:01:01.000 [job 2 ring]"),
        ("a job's pods",       and(at(SERVING), &[Msg::Move(1), Msg::Related, Msg::Related]), "Pods 14@00:01:01.000 [gang mpi/ring]"),
        ("a job's nodes",      vec![events(SERVING), Msg::Tab(Tab::Jobs), Msg::Related], "Nodes 14@00:01:01.000 [node worker-node-0 (compute-0 in Slurm)]"),
        ("a node's job",       vec![events(SERVING), Msg::Tab(Tab::Nodes), Msg::Related], "Jobs 14@00:01:01.000 [job 1 train]"),
        ("the last selection", and(at(SERVING), &[Msg::Move(1), Msg::Tab(Tab::Why)]), "Why 14@00:01:01.000 [pod mpi/ring-0]"),
        ("help and back",      vec![Msg::Help, Msg::Why, Msg::Back],        "Overview 0@00:00:00.000 why"),
        ("back closes why",    vec![Msg::Why, Msg::Back],                   "Overview 0@00:00:00.000"),
        ("back goes back",     vec![Msg::Tab(Tab::Jobs), Msg::Back],        "Overview 0@00:00:00.000"),
        ("quit",               vec![Msg::Quit],                             "Overview 0@00:00:00.000 quit"),
    ]);
}

#[test]
fn a_selection_survives_its_absence() {
    let mut model = after(&[events(SERVING), Msg::Tab(Tab::Pods), Msg::Move(3)]);
    assert_eq!(model.list().wanted, Some(Key::Pod("uid-2".to_owned())));
    model.update(Msg::Start);
    assert_eq!(model.selected(), None);
    model.update(events(SERVING));
    assert_eq!(model.explanation.map(|it| it.title), Some("pod mpi/ring-2".to_owned()));
}

#[test]
fn the_chain_of_a_pod_includes_its_job_and_ends_now() {
    let model = after(&[events(ALLOCATED), Msg::Tab(Tab::Pods), Msg::Move(1)]);
    let chain = model.explanation.as_ref().map(|it| it.chain.clone()).unwrap_or_default();
    let told = chain.iter().filter_map(|seq| model.reel.film.record(u64::from(*seq)));
    let told: Vec<&str> = told.map(|it| it.text).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    created pod mpi/ring-0
    submitted job 2 for gang mpi/ring
    let job 2 wait: Resources
    started job 2 on compute-[0-1]
    ");
}

#[test]
fn scrolling_starts_over_with_another_selection() {
    let mut model = after(&[events(SERVING), Msg::Tab(Tab::Pods), Msg::Why, Msg::Scroll(9999)]);
    assert!(0 < model.detail_scroll && model.detail_scroll < 100);
    model.update(Msg::Move(1));
    assert_eq!(model.detail_scroll, 0);
}

#[test]
fn ages_grow_between_events() {
    let mut model = after(&[events(SERVING), Msg::Play]);
    model.update(Msg::Tick(Span::secs(2)));
    assert_eq!(model.playhead.event, SERVING);
    assert_eq!(model.scene().now, Time::from_ms(121_000));
}

#[test]
fn what_is_done_outside_is_asked_for() {
    let mut model = after(&[events(SERVING), Msg::Tab(Tab::Jobs)]);
    assert_eq!(model.update(Msg::Copy(false)), [Effect::Copy("1".to_owned())]);
    model.update(Msg::Mark);
    model.update(Msg::Mark);
    assert_eq!(model.update(Msg::Copy(false)), [Effect::Copy("1\n2".to_owned())]);
    let shot = model.update(Msg::Screenshot(None));
    assert_eq!(shot, [Effect::Screenshot("ring_waits-00h01m01s.txt".into())]);
}
