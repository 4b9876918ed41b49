//! A question to the user, and the answer as it is typed.

use super::{Msg, moment};

/// What is asked, and what has been typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// What is asked.
    pub(crate) question: Question,
    /// The answer so far.
    pub(crate) text: String,
    /// What is wrong with it.
    pub(crate) error: Option<String>,
    /// The filter as it was, for whoever changes their mind.
    pub(crate) before: String,
}

/// What the user may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Which rows to show.
    Filter,
    /// Which moment to go to.
    Time,
}

impl Question {
    /// What stands before the answer.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Filter => "filter: ",
            Self::Time => "go to: ",
        }
    }

    /// What an answer may look like.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Filter => "words that a row must contain",
            Self::Time => moment::EXAMPLES,
        }
    }
}

impl Prompt {
    /// Asks. A filter begins with the one that is there.
    pub(crate) fn new(question: Question, filter: String) -> Self {
        let text = match question {
            Question::Filter => filter.clone(),
            Question::Time => String::new(),
        };
        Self { question, text, error: None, before: filter }
    }

    /// Types or erases. Other messages change nothing.
    pub(crate) fn edit(&mut self, msg: Msg) {
        self.error = None;
        if let Msg::Type(letter) = msg {
            self.text.push(letter);
        } else if msg == Msg::Erase {
            self.text.pop();
        } else if msg == Msg::EraseAll {
            self.text.clear();
        }
    }
}
