//! The prompt: what is typed, and what comes of it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the model's update says which messages come here"
)]

use super::{
    Model,
    menu::Does,
    moment,
    msg::{MenuKind, Msg},
    prompt::{Note, Question},
};
use crate::command;

/// Commands that are remembered.
const ANSWERS_MAX: usize = 100;
/// Completions that are shown.
const CHOICES_MAX: usize = 12;

impl Model {
    pub(super) fn edit(&mut self, msg: &Msg) {
        let Some(prompt) = &mut self.prompt else { return };
        match msg {
            Msg::Type(letter) => prompt.insert(letter.encode_utf8(&mut [0; 4])),
            Msg::Paste(text) => prompt.insert(text),
            Msg::Erase(what) => prompt.erase(*what),
            Msg::Cursor(by) => prompt.go(*by),
            Msg::Recall(earlier) => prompt.recall(*earlier, &self.answers),
            Msg::Complete => return self.complete(),
            _ => {}
        }
        if prompt.question == Question::Filter {
            let text = prompt.text.clone();
            self.set_filter(&text);
            let wrong = self.list().filter.wrong.clone().map(Note::Wrong);
            if let Some(prompt) = &mut self.prompt {
                prompt.note = wrong;
            }
        }
    }

    /// Goes as far as there is no choice, and shows what there is to choose from.
    fn complete(&mut self) {
        let Some(prompt) = self.prompt.as_ref().filter(|it| it.question == Question::Command)
        else {
            return;
        };
        let mut choices = command::complete(&prompt.text, self.scene());
        let common = common_start(&choices).unwrap_or_else(|| prompt.text.clone());
        let only = choices.len() == 1;
        choices.truncate(CHOICES_MAX);
        let last_word = |text: String| text.rsplit(' ').next().unwrap_or_default().to_owned();
        let note = match choices.is_empty() {
            true => Note::Wrong("nothing to complete".to_owned()),
            false => Note::Choices(choices.into_iter().map(last_word).collect()),
        };
        if let Some(prompt) = &mut self.prompt {
            prompt.set(if only && !common.contains(' ') { common + " " } else { common });
            prompt.note = (!only).then_some(note);
        }
    }

    pub(super) fn accept(&mut self) {
        if self.menu.is_some() {
            return self.choose_from_menu();
        }
        let Some(mut prompt) = self.prompt.take() else { return };
        let text = prompt.text.trim().to_owned();
        let done = match prompt.question {
            Question::Filter => Ok(()),
            _ if text.is_empty() => Ok(()),
            Question::Time => {
                moment::parse(&text, self.playhead.now).map(|time| self.dispatch(Msg::GoTo(time)))
            }
            Question::Bookmark => {
                self.dispatch(Msg::Bookmark(text));
                Ok(())
            }
            Question::Command => self.run_command(&text),
        };
        if let Err(wrong) = done {
            prompt.note = Some(Note::Wrong(wrong));
            self.prompt = Some(prompt);
        }
    }

    fn run_command(&mut self, text: &str) -> Result<(), String> {
        let msg = command::parse(text, self.playhead.now)?;
        self.answers.retain(|answer| answer != text);
        self.answers.push(text.to_owned());
        let excess = self.answers.len().saturating_sub(ANSWERS_MAX);
        self.answers.drain(..excess);
        self.dispatch(msg);
        Ok(())
    }

    fn choose_from_menu(&mut self) {
        let Some(menu) = self.menu.take() else { return };
        let Some(choice) = menu.choices.get(menu.at).cloned() else { return };
        match choice.does {
            Does::Msg(msg) => self.dispatch(*msg),
            Does::Type(command) => {
                self.ask(Question::Command);
                if let Some(prompt) = &mut self.prompt {
                    prompt.set(command);
                }
            }
            Does::Column(name) => {
                let columns = &mut self.list_mut().columns;
                if !columns.remove(name) {
                    columns.insert(name);
                }
                self.menu = Some(menu);
                self.open_menu(MenuKind::Columns);
            }
        }
    }
}

/// What all of them begin with; `None` if there are none.
fn common_start(texts: &[String]) -> Option<String> {
    let first = texts.first()?;
    let shared = |other: &String| {
        let same = first.chars().zip(other.chars()).take_while(|(a, b)| a == b);
        same.map(|(a, _)| a.len_utf8()).sum::<usize>()
    };
    let length = texts.iter().map(shared).min().unwrap_or(0);
    Some(first[..length].to_owned())
}
