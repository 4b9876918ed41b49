//! The loop itself: keys in, screens out, without a terminal.

use std::{collections::VecDeque, io, time::Duration};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};

use super::{cluster::Cluster, text};
use crate::run::{Options, show};

fn options() -> Options {
    Options { title: "ring_waits".to_owned(), colour: false }
}

/// Plays these keys, one picture each. Returns the last screen.
fn play(keys: &[KeyCode]) -> io::Result<Vec<String>> {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let mut keys: VecDeque<KeyCode> = keys.iter().copied().collect();
    let next = |patience: Duration| match patience {
        // The loop only wants to know whether there is more before it draws.
        Duration::ZERO => Ok(None),
        _ => match keys.pop_front() {
            Some(key) => Ok(Some(Event::Key(KeyEvent::new(key, KeyModifiers::NONE)))),
            None => Err(io::Error::other("the terminal went away")),
        },
    };
    show(&mut terminal, &Cluster::new(), options(), next)?;
    Ok(text(terminal.backend().buffer()))
}

#[test]
fn keys_change_the_screen_until_q() {
    let shown = play(&[KeyCode::End, KeyCode::Char('2'), KeyCode::Char('a'), KeyCode::Char('q')]);
    let shown = shown.unwrap();
    assert!(shown[1].contains("Jobs 2"), "{shown:#?}");
    assert!(shown[22].contains("event 25/25"), "{shown:#?}");
}

#[test]
fn q_in_a_prompt_is_a_letter() {
    let shown = play(&[KeyCode::Char('/'), KeyCode::Char('q'), KeyCode::Enter, KeyCode::Char('q')]);
    assert!(shown.unwrap()[1].contains("filter: q"));
}

#[test]
fn a_terminal_that_goes_away_ends_the_session() {
    let error = play(&[KeyCode::End]).map_err(|error| error.to_string());
    assert_eq!(error, Err("the terminal went away".to_owned()));
}
