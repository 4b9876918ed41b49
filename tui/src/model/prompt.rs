//! A question to the user, and the answer as it is typed.

use super::{filter, moment, msg::Erase};

/// What is asked, and what has been typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// What is asked.
    pub(crate) question: Question,
    /// The answer so far.
    pub(crate) text: String,
    /// Where the cursor stands, in letters.
    pub(crate) cursor: usize,
    /// What is wrong with it, or what would complete it.
    pub(crate) note: Option<Note>,
    /// The filter as it was, for whoever changes their mind.
    pub(crate) before: String,
    /// How many answers back we are, and what was typed before going back.
    recalled: Option<(usize, String)>,
}

/// What stands behind the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// It is wrong.
    Wrong(String),
    /// What it could become.
    Choices(Vec<String>),
}

/// What the user may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Which rows to show.
    Filter,
    /// Which moment to go to.
    Time,
    /// What to do.
    Command,
    /// How this moment shall be called.
    Bookmark,
}

impl Question {
    /// What stands before the answer.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Filter => "/",
            Self::Time => "go to: ",
            Self::Command => ":",
            Self::Bookmark => "bookmark: ",
        }
    }

    /// What an answer may look like.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Filter => filter::EXAMPLES,
            Self::Time => moment::EXAMPLES,
            Self::Command => "Tab completes; `help` lists all commands",
            Self::Bookmark => "a name for this moment",
        }
    }
}

impl Prompt {
    /// Asks, with an answer to begin with.
    pub(crate) fn new(question: Question, text: String, before: String) -> Self {
        let cursor = text.chars().count();
        Self { question, text, cursor, note: None, before, recalled: None }
    }

    /// Types letters.
    pub(crate) fn insert(&mut self, letters: &str) {
        let letters: String = letters.chars().filter(|c| !c.is_control()).collect();
        let at = self.byte(self.cursor);
        self.text.insert_str(at, &letters);
        self.cursor += letters.chars().count();
        self.note = None;
    }

    /// Takes letters back.
    pub(crate) fn erase(&mut self, what: Erase) {
        let from = match what {
            Erase::Letter => self.cursor.saturating_sub(1),
            Erase::Word => self.word_start(),
            Erase::All => 0,
        };
        let to = if what == Erase::All { self.text.chars().count() } else { self.cursor };
        let (start, end) = (self.byte(from), self.byte(to));
        self.text.replace_range(start..end, "");
        self.cursor = from;
        self.note = None;
    }

    /// Moves the cursor.
    pub(crate) fn go(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.text.chars().count());
    }

    /// Puts another answer in place of this one.
    pub(crate) fn set(&mut self, text: String) {
        self.cursor = text.chars().count();
        self.text = text;
    }

    /// Goes back or on in what was answered before, the last of which comes first.
    pub(crate) fn recall(&mut self, earlier: bool, answers: &[String]) {
        let (back, typed) = self.recalled.clone().unwrap_or((0, self.text.clone()));
        let back = match earlier {
            true => (back + 1).min(answers.len()),
            false => back.saturating_sub(1),
        };
        let text = match back {
            0 => typed.clone(),
            back => answers[answers.len() - back].clone(),
        };
        self.set(text);
        self.recalled = Some((back, typed));
    }

    fn word_start(&self) -> usize {
        let letters: Vec<char> = self.text.chars().take(self.cursor).collect();
        let end = letters.iter().rposition(|c| !c.is_whitespace()).map_or(0, |at| at + 1);
        letters[..end].iter().rposition(|c| c.is_whitespace()).map_or(0, |at| at + 1)
    }

    fn byte(&self, letter: usize) -> usize {
        self.text.char_indices().nth(letter).map_or(self.text.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_edited_as_anywhere() {
        let mut prompt = Prompt::new(Question::Command, String::new(), String::new());
        prompt.insert("drain n模1");
        prompt.go(-1);
        prompt.erase(Erase::Letter);
        assert_eq!((prompt.text.as_str(), prompt.cursor), ("drain n1", 7));
        prompt.go(99);
        prompt.erase(Erase::Word);
        assert_eq!(prompt.text, "drain ");
        prompt.erase(Erase::Word);
        assert_eq!(prompt.text, "");
        prompt.insert("x\ny");
        assert_eq!(prompt.text, "xy");
    }

    #[test]
    fn earlier_answers_come_back_and_so_does_what_was_typed() {
        let answers = ["first".to_owned(), "second".to_owned()];
        let mut prompt = Prompt::new(Question::Command, "half".to_owned(), String::new());
        let mut recalled = |earlier| {
            prompt.recall(earlier, &answers);
            prompt.text.clone()
        };
        let seen = [true, true, true, false, false, false].map(&mut recalled);
        assert_eq!(seen, ["second", "first", "first", "second", "half", "half"]);
    }
}
