//! What each screen looks like. The snapshots are in `tui/snapshots/`.

use ratatui::style::{Color, Modifier};

use super::{
    after,
    cluster::{RUNNING, SERVING, WAITING},
    events, picture, screen,
};
use crate::{
    export,
    model::{
        msg::{MenuKind, Msg, Stride, Tab},
        prompt::Question,
    },
    theme::ThemeName,
};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

/// The gang waits, the drained node is drained, somebody else's pod runs.
const WAIT: Msg = events(SERVING);

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
fn the_overview_shows_cluster_queue_and_what_is_wrong() {
    check("overview", &[WAIT]);
}

#[test]
fn pods_of_a_gang_stand_below_it() {
    check("pods", &[WAIT, Msg::Tab(Tab::Pods)]);
}

#[test]
fn jobs_stand_as_in_squeue() {
    check("jobs", &[WAIT, Msg::Tab(Tab::Jobs)]);
}

#[test]
fn ended_jobs_are_there_on_request() {
    check("jobs_all", &[events(RUNNING), Msg::Tab(Tab::Jobs), Msg::All]);
}

#[test]
fn every_column_is_there_on_request() {
    check("jobs_wide", &[WAIT, Msg::Tab(Tab::Jobs), Msg::Wide]);
}

#[test]
fn the_node_map_shows_who_holds_what() {
    check("nodes", &[WAIT, Msg::Tab(Tab::Nodes)]);
}

#[test]
fn the_node_map_zooms_out_to_a_letter_for_each_node() {
    let tab = [WAIT, Msg::Tab(Tab::Nodes)];
    for zoom in 1..=4 {
        let out = vec![Msg::Zoom(false); zoom];
        check(&format!("nodes_zoom_{zoom}"), &[&tab[..], &out].concat());
    }
}

#[test]
fn the_timeline_shows_what_was_is_and_is_planned() {
    check("timeline", &[WAIT, Msg::Tab(Tab::Timeline)]);
    check("timeline_jobs", &[events(RUNNING), Msg::Tab(Tab::Timeline), Msg::All]);
}

#[test]
fn gangs_show_who_waits_for_whom() {
    check("gangs", &[events(RUNNING - 1), Msg::Tab(Tab::Gangs)]);
}

#[test]
fn events_are_told_up_to_now() {
    check("events", &[WAIT, Msg::Tab(Tab::Events)]);
}

#[test]
fn events_can_be_those_of_one_object() {
    check("events_focus", &[Msg::End, Msg::Tab(Tab::Pods), Msg::Move(1), Msg::Focus, Msg::All]);
}

#[test]
fn a_waiting_gang_is_explained() {
    check("why_gang", &[WAIT, Msg::Tab(Tab::Pods), Msg::Why]);
}

#[test]
fn a_waiting_job_is_explained() {
    check("why_job", &[WAIT, Msg::Tab(Tab::Jobs), Msg::Last, Msg::Tab(Tab::Why)]);
}

#[test]
fn a_drained_node_is_explained() {
    check("why_node", &[WAIT, Msg::Tab(Tab::Nodes), Msg::Move(3), Msg::Why]);
}

#[test]
fn help_lists_every_key() {
    check("help", &[Msg::Help]);
}

#[test]
fn a_menu_says_what_can_be_done() {
    check("menu", &[WAIT, Msg::Tab(Tab::Jobs), Msg::Last, Msg::Menu(MenuKind::Deeds)]);
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
    let shown = screen(SMALL, &[WAIT, Msg::Play, Msg::Speed(true)]);
    insta::assert_snapshot!(shown.lines().nth(22).unwrap_or_default(), @" ▶ play    60x  00:01:01.000 ●─────────────────────── 00:30:00.000  event 14/25");
}

#[test]
fn the_bar_marks_what_was_kept_and_what_people_did() {
    let shown = screen(
        LARGE,
        &[Msg::Step(Stride::Seconds(900)), Msg::Bookmark("here".to_owned()), Msg::Start],
    );
    insta::assert_snapshot!(shown.lines().nth(38).unwrap_or_default(), @" ‖ pause   30x  00:00:00.000 ●─┿─────────────────────────────◆──────────────────────────────── 00:30:00.000  event 0/25");
}

#[test]
fn a_small_terminal_gets_a_polite_answer() {
    insta::assert_snapshot!(screen((40, 5), &[]), @"
    This needs 80x24 characters;
    there are 40x5. Please
    make the window larger (q quits).
    ");
}

#[test]
fn a_dead_bridge_is_on_every_screen() {
    let shown = screen(LARGE, &[events(10)]);
    insta::assert_snapshot!(shown.lines().next().unwrap_or_default(), @" 1 Overview  2 Pods  3 Jobs  4 Nodes  5 Timeline  6 Gangs  7 Events  8 Why                       bridge down  ring_waits");
}

#[test]
fn two_jobs_have_two_letters_and_two_colours_on_the_map() {
    let cell = |event: u64| {
        let model = after(&[events(event), Msg::Tab(Tab::Nodes)]);
        // The first CPU of the first node.
        picture(&model, SMALL)[(5, 3)].clone()
    };
    let (train, ring) = (cell(SERVING), cell(RUNNING));
    assert_eq!((train.symbol(), train.fg), ("A", Color::Cyan));
    assert_eq!((ring.symbol(), ring.fg), ("B", Color::Yellow));
}

#[test]
fn phases_have_colours_and_the_selection_is_reversed() {
    let model = after(&[WAIT, Msg::Tab(Tab::Pods), Msg::Move(1)]);
    let shown = picture(&model, SMALL);
    let text = export::text(&shown);
    let colour = |phase: &str| {
        let found = text.lines().enumerate().skip(4).find_map(|(y, line)| {
            let at = line.find(phase)?;
            Some((line[..at].chars().count() as u16, y as u16))
        });
        found.map(|place| shown[place].fg)
    };
    assert_eq!(colour("Pending"), Some(Color::Yellow));
    let selected = (1..24).filter(|&y| shown[(10, y)].modifier.contains(Modifier::REVERSED));
    assert_eq!(selected.collect::<Vec<u16>>(), [4]);
}

#[test]
fn a_drained_node_is_red_and_an_alert_says_how_bad_it_is() {
    let shown = picture(&after(&[WAIT, Msg::Tab(Tab::Nodes)]), LARGE);
    let text = export::text(&shown);
    let (y, line) = text.lines().enumerate().find(|(_, line)| line.contains("drain")).unwrap();
    let x = line[..line.find("drain").unwrap()].chars().count();
    assert_eq!(shown[(x as u16, y as u16)].fg, Color::Red);
}

#[test]
fn without_colour_no_cell_has_any() {
    for tab in Tab::ALL {
        let theme = Msg::Theme(Some(ThemeName::Mono));
        let model = after(&[WAIT, Msg::Tab(tab), Msg::Why, theme]);
        let shown = picture(&model, LARGE);
        let plain =
            |cell: &ratatui::buffer::Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
        assert!(shown.content.iter().all(plain), "{}", tab.name());
    }
}

#[test]
fn every_theme_draws_the_same_letters() {
    for tab in Tab::ALL {
        let text = |theme| {
            let model = after(&[events(WAITING), Msg::Tab(tab), Msg::Theme(Some(theme))]);
            export::text(&picture(&model, LARGE))
        };
        let usual = text(ThemeName::Terminal);
        assert!(ThemeName::ALL.into_iter().all(|theme| text(theme) == usual), "{}", tab.name());
    }
}
