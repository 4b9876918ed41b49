//! Keys: one table, from which messages are looked up, and the help and the manual are made.

pub(crate) mod mouse;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::model::{
    msg::{Erase, MenuKind, Mode, Msg, Stride, Tab},
    prompt::Question,
};

/// Keys, each with the message that it sends.
type Keys = &'static [(Press, fn() -> Msg)];

/// What some keys do.
#[derive(Clone, Copy)]
pub(crate) struct Binding {
    /// Any of these, each with the message that it sends.
    keys: Keys,
    /// The keys as the help prints them.
    pub(crate) label: &'static str,
    /// What they do.
    pub(crate) does: &'static str,
    /// Where the help lists them.
    pub(crate) group: Group,
}

/// A key, with or without Ctrl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Press {
    /// As it is; capitals are letters of their own.
    Plain(KeyCode),
    /// With Ctrl.
    Ctrl(char),
}

/// A part of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Moving in time.
    Time,
    /// Choosing what to see.
    Look,
    /// Selecting and asking.
    Select,
    /// Changing the story.
    Story,
    /// Everything else.
    Other,
}

impl Group {
    /// All of them, in the help's order.
    pub(crate) const ALL: [Self; 5] =
        [Self::Time, Self::Look, Self::Select, Self::Story, Self::Other];

    /// Its heading.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Time => "Time",
            Self::Look => "Look",
            Self::Select => "Select",
            Self::Story => "Story",
            Self::Other => "Other",
        }
    }
}

const fn binding(group: Group, label: &'static str, does: &'static str, keys: Keys) -> Binding {
    Binding { keys, label, does, group }
}

const fn key(letter: char) -> Press {
    Press::Plain(KeyCode::Char(letter))
}

const fn special(code: KeyCode) -> Press {
    Press::Plain(code)
}

const fn ctrl(letter: char) -> Press {
    Press::Ctrl(letter)
}

/// Every key.
#[rustfmt::skip]
pub(crate) const TABLE: &[Binding] = &[
    binding(Group::Time, "Space", "play, pause", &[(key(' '), || Msg::Play)]),
    binding(Group::Time, "+ -", "faster, slower", &[
        (key('+'), || Msg::Speed(true)), (key('='), || Msg::Speed(true)), (key('-'), || Msg::Speed(false)),
    ]),
    binding(Group::Time, "→ ← l h", "one event on, back", &[
        (special(KeyCode::Right), || Msg::Step(Stride::Events(1))), (key('l'), || Msg::Step(Stride::Events(1))),
        (special(KeyCode::Left), || Msg::Step(Stride::Events(-1))), (key('h'), || Msg::Step(Stride::Events(-1))),
    ]),
    binding(Group::Time, "L H", "one scheduling cycle on, back", &[
        (key('L'), || Msg::Step(Stride::Cycles(1))), (key('H'), || Msg::Step(Stride::Cycles(-1))),
    ]),
    binding(Group::Time, ". ,", "one second on, back", &[
        (key('.'), || Msg::Step(Stride::Seconds(1))), (key(','), || Msg::Step(Stride::Seconds(-1))),
    ]),
    binding(Group::Time, "n N", "next, previous moment of the listed events", &[
        (key('n'), || Msg::Moment(true)), (key('N'), || Msg::Moment(false)),
    ]),
    binding(Group::Time, "] [", "next event of the selection, its previous state", &[
        (key(']'), || Msg::Selection(true)), (key('['), || Msg::Selection(false)),
    ]),
    binding(Group::Time, "Home End 0 $", "beginning, end of the run (a run that goes on is followed)", &[
        (special(KeyCode::Home), || Msg::Start), (key('0'), || Msg::Start),
        (special(KeyCode::End), || Msg::End), (key('$'), || Msg::End),
    ]),
    binding(Group::Time, "t", "go to a time: 1h30m, 00:10:00, +30s", &[(key('t'), || Msg::Ask(Question::Time))]),
    binding(Group::Time, "m '", "keep this moment, go to one that was kept", &[
        (key('m'), || Msg::Ask(Question::Bookmark)), (key('\''), || Msg::Menu(MenuKind::Bookmarks)),
    ]),
    binding(Group::Time, "D", "where this run and the other part", &[(key('D'), || Msg::Divergence)]),
    binding(Group::Look, "1 to 9", "a tab by its number", &[
        (key('1'), || Msg::Tab(Tab::Overview)), (key('2'), || Msg::Tab(Tab::Pods)), (key('3'), || Msg::Tab(Tab::Jobs)),
        (key('4'), || Msg::Tab(Tab::Nodes)), (key('5'), || Msg::Tab(Tab::Timeline)), (key('6'), || Msg::Tab(Tab::Gangs)),
        (key('7'), || Msg::Tab(Tab::Events)), (key('8'), || Msg::Tab(Tab::Why)), (key('9'), || Msg::Tab(Tab::Diff)),
    ]),
    binding(Group::Look, "Tab Shift-Tab", "next, previous tab", &[
        (special(KeyCode::Tab), || Msg::NextTab(1)), (special(KeyCode::BackTab), || Msg::NextTab(-1)),
    ]),
    binding(Group::Look, "Ctrl-O", "the tab before", &[(ctrl('o'), || Msg::LastTab)]),
    binding(Group::Look, "/", "filter: regex, !not this, -f fuzzy, -l label=value", &[(key('/'), || Msg::Ask(Question::Filter))]),
    binding(Group::Look, "a", "also what is over; every event; lanes of jobs", &[(key('a'), || Msg::All)]),
    binding(Group::Look, "F", "only what waits or has failed", &[(key('F'), || Msg::Faults)]),
    binding(Group::Look, "f", "events of the selection only", &[(key('f'), || Msg::Focus)]),
    binding(Group::Look, "o O", "order by the next column, from the other end", &[
        (key('o'), || Msg::Sort(true)), (key('O'), || Msg::Sort(false)),
    ]),
    binding(Group::Look, "C W", "choose columns, show every column", &[
        (key('C'), || Msg::Menu(MenuKind::Columns)), (key('W'), || Msg::Wide), (ctrl('w'), || Msg::Wide),
    ]),
    binding(Group::Look, "z Z", "zoom in, out; fold a gang, all gangs", &[
        (key('z'), || Msg::Zoom(true)), (key('Z'), || Msg::Zoom(false)),
    ]),
    binding(Group::Look, "R", "the next run, where several are open", &[(key('R'), || Msg::Run(None))]),
    binding(Group::Look, "T", "next theme", &[(key('T'), || Msg::Theme(None))]),
    binding(Group::Select, "↓ ↑ j k", "select the next, previous row", &[
        (special(KeyCode::Down), || Msg::Move(1)), (key('j'), || Msg::Move(1)),
        (special(KeyCode::Up), || Msg::Move(-1)), (key('k'), || Msg::Move(-1)),
    ]),
    binding(Group::Select, "PgDn PgUp Ctrl-D Ctrl-U", "half a page down, up", &[
        (special(KeyCode::PageDown), || Msg::Page(1)), (ctrl('d'), || Msg::Page(1)), (ctrl('f'), || Msg::Page(2)),
        (special(KeyCode::PageUp), || Msg::Page(-1)), (ctrl('u'), || Msg::Page(-1)), (ctrl('b'), || Msg::Page(-2)),
    ]),
    binding(Group::Select, "g G", "select the first, last row", &[
        (key('g'), || Msg::First), (key('G'), || Msg::Last),
    ]),
    binding(Group::Select, "Enter w", "why: the selected row explained", &[
        (special(KeyCode::Enter), || Msg::Why), (key('w'), || Msg::Why),
    ]),
    binding(Group::Select, "J K", "scroll the explanation", &[
        (key('J'), || Msg::Scroll(1)), (key('K'), || Msg::Scroll(-1)),
    ]),
    binding(Group::Select, "r", "what belongs to it: job, pods, nodes", &[(key('r'), || Msg::Related)]),
    binding(Group::Select, "x X", "mark a row, forget all marks", &[
        (key('x'), || Msg::Mark), (key('X'), || Msg::Unmark),
    ]),
    binding(Group::Select, "y Y", "copy the selection or what is marked, the explanation", &[
        (key('y'), || Msg::Copy(false)), (key('Y'), || Msg::Copy(true)),
    ]),
    binding(Group::Story, "e", "change the story: what can be done with the selection", &[(key('e'), || Msg::Menu(MenuKind::Deeds))]),
    binding(Group::Story, "!", "what would let the selection start now?", &[(key('!'), || Msg::Try)]),
    binding(Group::Story, "u", "take the last change back", &[(key('u'), || Msg::Undo)]),
    binding(Group::Story, ":", "a command; Tab completes it", &[(key(':'), || Msg::Ask(Question::Command))]),
    binding(Group::Other, "Ctrl-S", "save the screen as text", &[(ctrl('s'), || Msg::Screenshot(None))]),
    binding(Group::Other, "Esc", "close, clear, or go back one step", &[(special(KeyCode::Esc), || Msg::Back)]),
    binding(Group::Other, "?", "this help", &[(key('?'), || Msg::Help)]),
    binding(Group::Other, "q Ctrl-C", "quit", &[(key('q'), || Msg::Quit), (ctrl('c'), || Msg::Quit)]),
];

/// What a key means in this mode, if anything.
pub(crate) fn msg(mode: Mode, key: KeyEvent) -> Option<Msg> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && key.code == KeyCode::Char('c') {
        return Some(Msg::Quit);
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    match mode {
        Mode::Prompt => answer(key.code, control),
        Mode::Menu => in_menu(key.code, control),
        Mode::Normal => look_up(key.code, control),
    }
}

fn look_up(code: KeyCode, control: bool) -> Option<Msg> {
    let press = match (control, code) {
        (true, KeyCode::Char(letter)) => Press::Ctrl(letter.to_ascii_lowercase()),
        (true, _) => return None,
        (false, code) => Press::Plain(code),
    };
    let mut keys = TABLE.iter().flat_map(|binding| binding.keys);
    keys.find(|(bound, _)| *bound == press).map(|(_, msg)| msg())
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "a prompt has no use for the other keys, nor for those that terminals may yet get"
)]
fn answer(code: KeyCode, control: bool) -> Option<Msg> {
    match code {
        KeyCode::Char('u') if control => Some(Msg::Erase(Erase::All)),
        KeyCode::Char('w') if control => Some(Msg::Erase(Erase::Word)),
        KeyCode::Char('a') if control => Some(Msg::Cursor(isize::MIN)),
        KeyCode::Char('e') if control => Some(Msg::Cursor(isize::MAX)),
        KeyCode::Char(letter) if !control => Some(Msg::Type(letter)),
        KeyCode::Backspace => Some(Msg::Erase(Erase::Letter)),
        KeyCode::Left => Some(Msg::Cursor(-1)),
        KeyCode::Right => Some(Msg::Cursor(1)),
        KeyCode::Home => Some(Msg::Cursor(isize::MIN)),
        KeyCode::End => Some(Msg::Cursor(isize::MAX)),
        KeyCode::Up => Some(Msg::Recall(true)),
        KeyCode::Down => Some(Msg::Recall(false)),
        KeyCode::Tab => Some(Msg::Complete),
        KeyCode::Enter => Some(Msg::Accept),
        KeyCode::Esc => Some(Msg::Back),
        _ => None,
    }
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "a menu has no use for the other keys, nor for those that terminals may yet get"
)]
fn in_menu(code: KeyCode, control: bool) -> Option<Msg> {
    match code {
        _ if control => None,
        KeyCode::Down | KeyCode::Char('j') => Some(Msg::Move(1)),
        KeyCode::Up | KeyCode::Char('k') => Some(Msg::Move(-1)),
        KeyCode::Home | KeyCode::Char('g') => Some(Msg::First),
        KeyCode::End | KeyCode::Char('G') => Some(Msg::Last),
        KeyCode::Enter | KeyCode::Char(' ' | 'x') => Some(Msg::Accept),
        KeyCode::Esc | KeyCode::Char('q') => Some(Msg::Back),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        let mut seen: Vec<Press> = Vec::new();
        for (press, _) in TABLE.iter().flat_map(|binding| binding.keys) {
            assert!(!seen.contains(press), "{press:?} is bound twice");
            seen.push(*press);
        }
    }

    #[test]
    fn every_letter_is_named_in_its_label() {
        // Those that are left out are other names for what is there.
        let aliases = [key(' '), key('='), ctrl('w'), ctrl('f'), ctrl('b')];
        for binding in TABLE {
            for (press, _) in binding.keys {
                let named = match press {
                    Press::Plain(KeyCode::Char('1'..='9')) => binding.label == "1 to 9",
                    Press::Plain(KeyCode::Char(letter)) => {
                        binding.label.split(' ').any(|word| word == letter.to_string())
                    }
                    Press::Ctrl(letter) => {
                        binding.label.contains(&format!("Ctrl-{}", letter.to_ascii_uppercase()))
                    }
                    Press::Plain(_) => true,
                };
                assert!(named || aliases.contains(press), "{press:?} in `{}`", binding.label);
            }
        }
    }

    #[test]
    fn keys_mean_what_the_mode_says() {
        let (plain, ctrl) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        #[rustfmt::skip]
        let rows = [
            (Mode::Normal, KeyCode::Char('q'), plain,                 Some(Msg::Quit)),
            (Mode::Normal, KeyCode::Char('G'), KeyModifiers::SHIFT,   Some(Msg::Last)),
            (Mode::Normal, KeyCode::Char('d'), ctrl,                  Some(Msg::Page(1))),
            (Mode::Normal, KeyCode::Char('l'), ctrl,                  None),
            (Mode::Normal, KeyCode::Char('l'), KeyModifiers::ALT,     None),
            (Mode::Normal, KeyCode::F(1),      plain,                 None),
            (Mode::Prompt, KeyCode::Char('q'), plain,                 Some(Msg::Type('q'))),
            (Mode::Prompt, KeyCode::Char('u'), ctrl,                  Some(Msg::Erase(Erase::All))),
            (Mode::Prompt, KeyCode::Char('c'), ctrl,                  Some(Msg::Quit)),
            (Mode::Prompt, KeyCode::Enter,     plain,                 Some(Msg::Accept)),
            (Mode::Prompt, KeyCode::Up,        plain,                 Some(Msg::Recall(true))),
            (Mode::Menu,   KeyCode::Char('j'), plain,                 Some(Msg::Move(1))),
            (Mode::Menu,   KeyCode::Char('q'), plain,                 Some(Msg::Back)),
            (Mode::Menu,   KeyCode::Char('t'), plain,                 None),
        ];
        for (mode, code, modifiers, want) in rows {
            assert_eq!(msg(mode, KeyEvent::new(code, modifiers)), want, "{mode:?} {code:?}");
        }
    }
}
