//! What each screen looks like. The snapshots are in `tui/snapshots/`.

use ratatui::style::{Color, Modifier};

use super::{
    after, buffer,
    cluster::{Cluster, RUNNING, SERVING},
    screen, text,
};
use crate::{
    model::{Msg, Question, Tab},
    theme::Theme,
};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

/// The gang waits, the drained node is drained, somebody else's pod runs.
const WAIT: Msg = Msg::Step(SERVING as i64);

fn check(name: &str, msgs: &[Msg]) {
    for (size, suffix) in [(SMALL, "80x24"), (LARGE, "120x40")] {
        let shown = screen(size, msgs);
        insta::with_settings!({
            snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, { insta::assert_snapshot!(format!("{name}_{suffix}"), shown); });
    }
}

#[test]
fn pods_of_a_gang_stand_below_it() {
    check("pods", &[WAIT]);
}

#[test]
fn jobs_stand_as_in_squeue() {
    check("jobs", &[WAIT, Msg::Tab(Tab::Jobs)]);
}

#[test]
fn ended_jobs_are_there_on_request() {
    check("jobs_all", &[Msg::Step(RUNNING as i64), Msg::Tab(Tab::Jobs), Msg::All]);
}

#[test]
fn the_node_map_shows_who_holds_what() {
    check("nodes", &[WAIT, Msg::Tab(Tab::Nodes)]);
}

#[test]
fn events_tell_the_story_up_to_now() {
    check("events", &[WAIT, Msg::Tab(Tab::Events)]);
}

#[test]
fn events_can_be_those_of_one_object() {
    check("events_focus", &[Msg::End, Msg::Move(1), Msg::Focus, Msg::All]);
}

#[test]
fn a_waiting_gang_is_explained() {
    check("why_gang", &[WAIT, Msg::Why]);
}

#[test]
fn a_waiting_job_is_explained() {
    check("why_job", &[WAIT, Msg::Tab(Tab::Jobs), Msg::Last, Msg::Why]);
}

#[test]
fn a_drained_node_is_explained() {
    let third = [Msg::Tab(Tab::Nodes), Msg::Move(3), Msg::Why];
    check("why_node", &[&[WAIT], &third[..]].concat());
}

#[test]
fn help_lists_every_key() {
    check("help", &[Msg::Help]);
}

#[test]
fn before_the_first_event_the_screen_says_how_to_go_on() {
    check("beginning", &[]);
}

#[test]
fn a_prompt_says_what_is_wrong_with_the_answer() {
    let typed = "soon".chars().map(Msg::Type);
    let mut msgs = vec![Msg::Ask(Question::Time)];
    msgs.extend(typed.chain([Msg::Accept]));
    let shown = screen(SMALL, &msgs);
    insta::assert_snapshot!(shown.lines().last().unwrap_or_default(), @" go to: soon▏ `soon` is no time; write 1h30m, 00:10:00, 90 (seconds), +30s, -5m");
}

#[test]
fn the_bar_shows_speed_time_and_event() {
    let shown = screen(SMALL, &[WAIT, Msg::Play, Msg::Faster]);
    insta::assert_snapshot!(shown.lines().nth(22).unwrap_or_default(), @" ▶ play    60x  00:01:01.000 ●─────────────────────── 00:30:00.000  event 14/25");
}

#[test]
fn a_small_terminal_gets_a_polite_answer() {
    insta::assert_snapshot!(screen((40, 5), &[]), @r"
    This needs 80x24 characters;
    there are 40x5. Please
    make the window larger (q quits).
    ");
}

#[test]
fn a_dead_bridge_is_on_every_screen() {
    let shown = screen(SMALL, &[Msg::Step(10)]);
    insta::assert_snapshot!(shown.lines().next().unwrap_or_default(), @" 1 Pods  2 Jobs  3 Nodes  4 Events                       bridge down  ring_waits");
}

#[test]
fn two_jobs_have_two_letters_and_two_colours_on_the_map() {
    let source = Cluster::new();
    let cell = |event: i64| {
        let model = after(&source, &[Msg::Step(event), Msg::Tab(Tab::Nodes)]);
        let shown = buffer(&source, &model, Theme::new(true), SMALL);
        // The first CPU of the first node.
        shown[(5, 3)].clone()
    };
    let (train, ring) = (cell(SERVING as i64), cell(RUNNING as i64));
    assert_eq!((train.symbol(), train.fg), ("A", Color::Cyan));
    assert_eq!((ring.symbol(), ring.fg), ("B", Color::Yellow));
}

#[test]
fn phases_have_colours_and_the_selection_is_reversed() {
    let source = Cluster::new();
    let model = after(&source, &[WAIT, Msg::Move(1)]);
    let shown = buffer(&source, &model, Theme::new(true), SMALL);
    let lines = text(&shown);
    let colour = |phase: &str| {
        let found = lines.iter().enumerate().skip(4).find_map(|(y, line)| {
            let at = line.find(phase)?;
            Some((line[..at].chars().count() as u16, y as u16))
        });
        found.map(|place| shown[place].fg)
    };
    assert_eq!(colour("Pending"), Some(Color::Yellow));
    let selected = (0..24).filter(|&y| shown[(10, y)].modifier.contains(Modifier::REVERSED));
    // The tab in front is reversed as well.
    assert_eq!(selected.collect::<Vec<u16>>(), [4]);
}

#[test]
fn without_colour_no_cell_has_any() {
    let source = Cluster::new();
    for tab in Tab::ALL {
        let model = after(&source, &[WAIT, Msg::Tab(tab), Msg::Why]);
        let shown = buffer(&source, &model, Theme::new(false), LARGE);
        assert!(
            shown.content.iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset))
        );
    }
}
