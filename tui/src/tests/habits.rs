//! Commands, completion, columns, order, marks, menus, bookmarks and changes of the story.

use drawbridge_sim::{JobId, Time};

use super::{after, cluster::SERVING, events, model_of, updates::typed};
use crate::{
    export,
    model::{
        Model,
        deed::Deed,
        msg::{Effect, MenuKind, Msg, News, Tab},
        prompt::{Note, Question},
        reel::Origin,
        rows::Item,
    },
};

fn command(text: &str) -> Vec<Msg> {
    typed(Question::Command, text, Msg::Accept)
}

fn with(first: &[Msg], more: impl IntoIterator<Item = Msg>) -> Model {
    after(&first.iter().cloned().chain(more).collect::<Vec<_>>())
}

fn said(model: &Model) -> &str {
    model.said.as_ref().map_or("", |(_, text)| text)
}

#[test]
fn commands_do_what_keys_do() {
    assert_eq!(with(&[], command("jobs")).tab, Tab::Jobs);
    assert_eq!(with(&[], command("goto 10m")).playhead.now, Time::from_ms(600_000));
    assert_eq!(with(&[], command("speed 60")).playhead.speed(), "60x");
    assert!(with(&[], command("q")).quit);
}

#[test]
fn a_wrong_command_is_kept_and_explained() {
    let model = with(&[], command("drainn compute-0"));
    let prompt = model.prompt.unwrap();
    assert_eq!(prompt.text, "drainn compute-0");
    assert_eq!(
        prompt.note,
        Some(Note::Wrong("there is no command `drainn`; `help` lists all".into()))
    );
}

#[test]
fn tab_completes_commands_and_names() {
    let completed = |text: &str| {
        let msgs = typed(Question::Command, text, Msg::Complete);
        let prompt = with(&[events(SERVING)], msgs).prompt.unwrap();
        let choices = match prompt.note {
            Some(Note::Choices(choices)) => format!(" [{}]", choices.join(" ")),
            Some(Note::Wrong(wrong)) => format!(" ({wrong})"),
            None => String::new(),
        };
        format!("{}{choices}", prompt.text)
    };
    #[rustfmt::skip]
    let rows = [
        ("ti",             "timeline "),
        ("un",             "un [uncordon undo]"),
        ("drain ",         "drain compute- [compute-0 compute-1 compute-2 compute-3]"),
        ("drain compute-3","drain compute-3"),
        ("cancel ",        "cancel  [1 2]"),
        ("theme co",       "theme co [colour-blind contrast]"),
        ("scale ",         "scale Deployment/web/web"),
        ("kill x",         "kill x (nothing to complete)"),
    ];
    for (text, want) in rows {
        assert_eq!(completed(text), want, "{text}");
    }
}

#[test]
fn earlier_commands_come_back() {
    let mut msgs = command("jobs");
    msgs.extend(command("pods"));
    msgs.extend([Msg::Ask(Question::Command), Msg::Recall(true), Msg::Recall(true)]);
    assert_eq!(after(&msgs).prompt.unwrap().text, "jobs");
}

#[test]
fn jobs_are_ordered_by_any_column_and_from_either_end() {
    let order = |more: Vec<Msg>| -> Vec<usize> {
        let model = with(&[events(SERVING), Msg::Tab(Tab::Jobs)], more);
        let slots = model.rows.items.iter().map(|item| {
            let Item::Job(slot) = item else { unreachable!("{item:?} is no job") };
            *slot
        });
        slots.collect()
    };
    assert_eq!(order(vec![]), [0, 1]);
    assert_eq!(order(command("sort name")), [1, 0]);
    assert_eq!(order([command("sort name"), command("sort name")].concat()), [0, 1]);
    assert_eq!(order(vec![Msg::Sort(true), Msg::Sort(false)]), [1, 0], "JOBID, from the end");
    let wrong = with(&[Msg::Tab(Tab::Jobs)], command("sort colour"));
    assert!(said(&wrong).starts_with("There is no column COLOUR: JOBID PARTITION"));
}

#[test]
fn columns_are_chosen_from_a_menu() {
    let shown =
        |model: &Model| export::text(&export::picture(model)).lines().nth(2).unwrap().to_owned();
    let open = [events(SERVING), Msg::Tab(Tab::Jobs), Msg::Menu(MenuKind::Columns)];
    // The second column is taken away; PRIORITY is shown though the screen is narrow.
    let mut msgs = vec![Msg::Move(1), Msg::Accept];
    msgs.extend([Msg::Move(8), Msg::Accept, Msg::Back]);
    let model = with(&open, msgs);
    let header = shown(&model);
    assert!(!header.contains("PARTITION") && header.contains("PRIORITY"), "{header}");
}

#[test]
fn moments_are_kept_and_found_again() {
    let keep = typed(Question::Bookmark, "", Msg::Erase(crate::model::msg::Erase::All));
    let mut msgs = vec![events(SERVING)];
    msgs.extend(keep);
    msgs.extend("wait".chars().map(Msg::Type));
    msgs.extend([Msg::Accept, Msg::End, Msg::Menu(MenuKind::Bookmarks), Msg::Accept]);
    let model = after(&msgs);
    assert_eq!(model.bookmarks, [("wait".to_owned(), Time::from_ms(61_000))]);
    assert_eq!(model.playhead.event, SERVING);
    let none = after(&[Msg::Menu(MenuKind::Bookmarks)]);
    assert_eq!(said(&none), "No moment was kept yet: m keeps this one.");
}

#[test]
fn a_deed_asks_for_the_story_to_be_told_anew() {
    let mut model = after(&[events(SERVING)]);
    let deed = Deed::Cancel(JobId(1));
    let (at, text) = (Time::from_ms(61_000), "why: a\n".to_owned());
    let asked = model.update(Msg::Do(deed.clone()));
    assert_eq!(asked, [Effect::Retell { at, deed: deed.clone(), text: text.clone() }]);
    assert_eq!(model.update(Msg::Do(deed)), [], "one after the other");
    // The story goes on as it was told anew, and the moment stays.
    model.update(Msg::News(News::Retold(SERVING, at, "why: b\n".to_owned())));
    assert_eq!((model.reel.film.len(), model.playhead.now), (SERVING, at));
    assert_eq!(model.reel.origin, Origin::Twin("why: b\n".to_owned()));
    // What was is still there, to compare.
    assert_eq!(model.other.as_ref().map(|it| it.film.len()), Some(25));
    let saved = model.update(Msg::Save("new.yaml".into()));
    assert_eq!(saved, [Effect::Write("new.yaml".into(), "why: b\n".to_owned())]);
    assert_eq!(model.update(Msg::Undo), [Effect::Restore { text, at }]);
}

#[test]
fn a_refused_deed_leaves_the_story_as_it_was() {
    let mut model = after(&[events(SERVING), Msg::Do(Deed::Kill("n9".to_owned()))]);
    model.update(Msg::News(News::Refused("there is no node n9".to_owned())));
    assert_eq!(said(&model), "there is no node n9");
    assert!(model.changes.is_empty() && !model.retelling);
    assert_eq!(model.reel.film.len(), 25);
}

#[test]
fn real_clusters_are_only_changed_where_that_is_allowed() {
    for (write, effects) in [(false, 0), (true, 1)] {
        let mut model = after(&[]);
        model.reel.origin = Origin::Live { write, zero_unix_ms: 0 };
        let asked = model.update(Msg::Do(Deed::Cancel(JobId(1))));
        assert_eq!(asked.len(), effects, "{}", said(&model));
    }
    let mut taped = after(&[]);
    taped.reel.origin = Origin::Tape;
    assert_eq!(taped.update(Msg::Do(Deed::Cancel(JobId(1)))), []);
    assert!(said(&taped).starts_with("What was recorded can't be changed"));
}

#[test]
fn the_menu_offers_what_can_be_done_with_the_selection() {
    let offered = |tab: Tab, at: isize| {
        let msgs = [events(SERVING), Msg::Tab(tab), Msg::Move(at), Msg::Menu(MenuKind::Deeds)];
        let choices = after(&msgs).menu.unwrap().choices;
        choices.iter().map(|choice| choice.text.clone()).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(offered(Tab::Jobs, 1), @"
    cancel job 2
    change its priority …
    hold job 2
    what would let it start now?
    submit a Slurm job …
    apply a manifest …
    the bridge crashes for 10s
    ");
    insta::assert_snapshot!(offered(Tab::Nodes, 3), @"
    node compute-3 goes down
    drain node compute-3: by hand
    uncordon node worker-node-3
    submit a Slurm job …
    apply a manifest …
    the bridge crashes for 10s
    ");
    insta::assert_snapshot!(offered(Tab::Pods, 9), @"
    delete Pod web/模型训练
    scale Deployment web …
    submit a Slurm job …
    apply a manifest …
    the bridge crashes for 10s
    ");
}

#[test]
fn a_run_that_goes_on_is_followed_from_its_end() {
    let mut chunk = super::Cluster::chunk();
    chunk.ending = None;
    let rest = chunk.records.split_off(20);
    let late: Vec<_> = chunk.changes.extract_if(.., |(from, _)| 20 < *from).collect();
    let mut model = model_of(chunk);
    model.update(Msg::End);
    assert!(model.playhead.following);
    assert_eq!(model.playhead.event, 20);
    let now = Time::from_ms(1_800_000);
    let next =
        drawbridge_scenarios::recording::Chunk { records: rest, changes: late, now, ending: None };
    model.update(Msg::News(News::Chunk(0, next)));
    assert_eq!((model.playhead.event, model.playhead.now), (25, now));
    model.update(Msg::Step(crate::model::msg::Stride::Events(-1)));
    assert!(!model.playhead.following, "a step back stays there");
}
