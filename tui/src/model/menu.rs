//! A list to choose from, over the screen.

use super::{
    deed::Deed,
    msg::{MenuKind, Msg},
};

/// A menu.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Menu {
    /// What it is about.
    pub(crate) kind: MenuKind,
    /// Its heading.
    pub(crate) title: String,
    /// What can be chosen.
    pub(crate) choices: Vec<Choice>,
    /// Which is selected.
    pub(crate) at: usize,
}

/// One line of a menu.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// What it says.
    pub(crate) text: String,
    /// What choosing it does.
    pub(crate) does: Does,
}

/// What a choice does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Does {
    /// Asks for something.
    Msg(Box<Msg>),
    /// Begins a command that is to be finished.
    Type(String),
    /// Shows a column, or no longer.
    Column(&'static str),
}

impl Choice {
    /// A line that does something at once.
    pub(crate) fn deed(deed: Deed) -> Self {
        Self { text: deed.words(), does: Does::Msg(Box::new(Msg::Do(deed))) }
    }

    /// A line that begins a command.
    pub(crate) fn typed(text: &str, command: String) -> Self {
        Self { text: text.to_owned(), does: Does::Type(command) }
    }
}

impl Menu {
    /// Moves the selection.
    pub(crate) fn go(&mut self, by: isize) {
        let last = self.choices.len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(by).min(last);
    }
}
