//! Keys: one table, from which messages are looked up and the help screen is drawn.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::model::{Mode, Msg, Question, Tab};

/// What some keys do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    /// Any of these, each with the message that it sends.
    keys: &'static [(KeyCode, Msg)],
    /// The keys as the help prints them.
    pub(crate) label: &'static str,
    /// What they do.
    pub(crate) does: &'static str,
    /// Where the help lists them.
    pub(crate) group: Group,
}

/// A part of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Moving in time.
    Time,
    /// Choosing what to see.
    View,
    /// Everything else.
    Other,
}

impl Group {
    /// All of them, in the help's order.
    pub(crate) const ALL: [Self; 3] = [Self::Time, Self::View, Self::Other];

    /// Its heading.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Time => "Time",
            Self::View => "Look",
            Self::Other => "Other",
        }
    }
}

const fn binding(
    group: Group,
    label: &'static str,
    does: &'static str,
    keys: &'static [(KeyCode, Msg)],
) -> Binding {
    Binding { keys, label, does, group }
}

const fn key(letter: char) -> KeyCode {
    KeyCode::Char(letter)
}

/// Every key.
#[rustfmt::skip]
pub(crate) const TABLE: &[Binding] = &[
    binding(Group::Time, "space", "play, pause", &[(key(' '), Msg::Play)]),
    binding(Group::Time, "+ -", "faster, slower", &[
        (key('+'), Msg::Faster), (key('='), Msg::Faster), (key('-'), Msg::Slower),
    ]),
    binding(Group::Time, "→ ← l h", "one event on, back", &[
        (KeyCode::Right, Msg::Step(1)), (key('l'), Msg::Step(1)),
        (KeyCode::Left, Msg::Step(-1)), (key('h'), Msg::Step(-1)),
    ]),
    binding(Group::Time, "n N", "next, previous moment of the listed events", &[
        (key('n'), Msg::NextMoment), (key('N'), Msg::PreviousMoment),
    ]),
    binding(Group::Time, "PgDn PgUp L H", "100 events on, back", &[
        (KeyCode::PageDown, Msg::Step(100)), (key('L'), Msg::Step(100)),
        (KeyCode::PageUp, Msg::Step(-100)), (key('H'), Msg::Step(-100)),
    ]),
    binding(Group::Time, "Home End", "beginning, end of the run", &[
        (KeyCode::Home, Msg::Start), (KeyCode::End, Msg::End),
    ]),
    binding(Group::Time, "t :", "go to a time: 1h30m, 00:10:00, +30s", &[
        (key('t'), Msg::Ask(Question::Time)), (key(':'), Msg::Ask(Question::Time)),
    ]),
    binding(Group::View, "1 2 3 4", "pods, jobs, nodes, events", &[
        (key('1'), Msg::Tab(Tab::Pods)), (key('2'), Msg::Tab(Tab::Jobs)),
        (key('3'), Msg::Tab(Tab::Nodes)), (key('4'), Msg::Tab(Tab::Events)),
    ]),
    binding(Group::View, "Tab Shift-Tab", "next, previous tab", &[
        (KeyCode::Tab, Msg::NextTab), (KeyCode::BackTab, Msg::PreviousTab),
    ]),
    binding(Group::View, "↓ ↑ j k", "select the next, previous row", &[
        (KeyCode::Down, Msg::Move(1)), (key('j'), Msg::Move(1)),
        (KeyCode::Up, Msg::Move(-1)), (key('k'), Msg::Move(-1)),
    ]),
    binding(Group::View, "g G", "select the first, last row", &[
        (key('g'), Msg::First), (key('G'), Msg::Last),
    ]),
    binding(Group::View, "Enter w", "why: the selected row explained", &[
        (KeyCode::Enter, Msg::Why), (key('w'), Msg::Why),
    ]),
    binding(Group::View, "J K", "scroll the explanation", &[
        (key('J'), Msg::Scroll(1)), (key('K'), Msg::Scroll(-1)),
    ]),
    binding(Group::View, "f", "events of the selected row only", &[(key('f'), Msg::Focus)]),
    binding(Group::View, "a", "also what is over; every event", &[(key('a'), Msg::All)]),
    binding(Group::View, "/", "filter rows", &[(key('/'), Msg::Ask(Question::Filter))]),
    binding(Group::Other, "Esc", "close help, focus, filter, explanation", &[(KeyCode::Esc, Msg::Back)]),
    binding(Group::Other, "?", "this help", &[(key('?'), Msg::Help)]),
    binding(Group::Other, "q Ctrl-C", "quit", &[(key('q'), Msg::Quit)]),
];

/// What a key means in this mode, if anything.
pub(crate) fn msg(mode: Mode, key: KeyEvent) -> Option<Msg> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && key.code == KeyCode::Char('c') {
        return Some(Msg::Quit);
    }
    match mode {
        Mode::Prompt => answer(key.code, control),
        Mode::Normal if control || key.modifiers.contains(KeyModifiers::ALT) => None,
        Mode::Normal => TABLE
            .iter()
            .flat_map(|binding| binding.keys)
            .find(|(code, _)| *code == key.code)
            .map(|(_, msg)| *msg),
    }
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "a prompt has no use for the other keys, nor for those that terminals may yet get"
)]
fn answer(code: KeyCode, control: bool) -> Option<Msg> {
    match code {
        KeyCode::Char('u') if control => Some(Msg::EraseAll),
        KeyCode::Char(letter) if !control => Some(Msg::Type(letter)),
        KeyCode::Backspace => Some(Msg::Erase),
        KeyCode::Enter => Some(Msg::Accept),
        KeyCode::Esc => Some(Msg::Back),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        let mut seen: Vec<KeyCode> = Vec::new();
        for (code, _) in TABLE.iter().flat_map(|binding| binding.keys) {
            assert!(!seen.contains(code), "{code:?} is bound twice");
            seen.push(*code);
        }
    }

    #[test]
    fn every_key_is_named_in_its_label() {
        for binding in TABLE {
            for (code, _) in binding.keys {
                let KeyCode::Char(letter) = code else {
                    continue;
                };
                let named = binding.label.contains(*letter) || [' ', '='].contains(letter);
                assert!(named, "{letter} is missing from `{}`", binding.label);
            }
        }
    }

    #[test]
    fn keys_mean_what_the_mode_says() {
        let plain = KeyModifiers::NONE;
        #[rustfmt::skip]
        let rows = [
            (Mode::Normal, KeyCode::Char('q'), plain,                 Some(Msg::Quit)),
            (Mode::Normal, KeyCode::Char('G'), KeyModifiers::SHIFT,   Some(Msg::Last)),
            (Mode::Normal, KeyCode::Char('l'), KeyModifiers::CONTROL, None),
            (Mode::Normal, KeyCode::F(1),      plain,                 None),
            (Mode::Prompt, KeyCode::Char('q'), plain,                 Some(Msg::Type('q'))),
            (Mode::Prompt, KeyCode::Char('u'), KeyModifiers::CONTROL, Some(Msg::EraseAll)),
            (Mode::Prompt, KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Msg::Quit)),
            (Mode::Prompt, KeyCode::Enter,     plain,                 Some(Msg::Accept)),
            (Mode::Prompt, KeyCode::Up,        plain,                 None),
        ];
        for (mode, code, modifiers, want) in rows {
            assert_eq!(msg(mode, KeyEvent::new(code, modifiers)), want, "{mode:?} {code:?}");
        }
    }
}
