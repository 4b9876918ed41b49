//! A session without a terminal: keys from a text, and the screen as a file.
//!
//! What is written in documents is made like this, and CI sees that it is still so.

use std::{
    fs, io,
    path::Path,
    sync::mpsc::{Receiver, sync_channel},
};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use drawbridge_sim::Time;
use ratatui::buffer::Buffer;

use crate::{
    export,
    feed::Opening,
    input,
    model::{Model, msg::Msg},
    run::{Doer, Event, Options, TuiError, cast, open, perform},
};

/// Seconds between two keys of a session that is played again.
const PACE: f64 = 0.7;

/// What is to be pressed, and what of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Keys, one after the other, with blanks between: `3 j Enter`, `:goto Space 5m Enter`.
    pub keys: String,
    /// The size of the screen.
    pub size: (u16, u16),
}

/// Why a script can't be played.
#[derive(Debug, thiserror::Error)]
pub enum PressError {
    /// The screens can't be shown.
    #[error(transparent)]
    Tui(#[from] TuiError),
    /// There is no such key.
    #[error("there is no key `{0}`")]
    Key(String),
    /// The file can't be written.
    #[error("{0}")]
    File(#[from] io::Error),
}

/// Plays a script and returns the last screen as text.
pub fn screen(
    openings: Vec<Opening>,
    options: &Options,
    script: &Script,
) -> Result<String, PressError> {
    let mut session = Session::new(openings, options, script)?;
    session.play(script, |_, _| {})?;
    Ok(export::text(&export::picture(&session.model)))
}

/// Plays a script and writes the last screen: as text, `.svg`, or the whole session as `.cast`.
pub fn save(
    openings: Vec<Opening>,
    options: &Options,
    script: &Script,
    path: &Path,
) -> Result<(), PressError> {
    let mut session = Session::new(openings, options, script)?;
    let mut pictures: Vec<Buffer> = vec![export::picture(&session.model)];
    session.play(script, |_, picture| pictures.push(picture))?;
    let title = session.model.reel.title.clone();
    let last = export::picture(&session.model);
    let text = match path.extension().and_then(|it| it.to_str()) {
        Some("svg") => export::svg(&last, session.model.theme, &title),
        Some("cast") => cast_of(&pictures, script.size, &title),
        Some("ansi") => String::from_utf8_lossy(&export::ansi(&last)).into_owned(),
        Some(_) | None => export::text(&last) + "\n",
    };
    fs::write(path, text)?;
    Ok(())
}

fn cast_of(pictures: &[Buffer], size: (u16, u16), title: &str) -> String {
    let mut lines = vec![cast::header(size, title)];
    let events = pictures.iter().zip(0_u32..);
    lines.extend(events.map(|(it, n)| cast::event(f64::from(n) * PACE, &export::ansi(it))));
    lines.join("\n") + "\n"
}

/// A session, and whoever makes its runs.
pub(crate) struct Session {
    pub(crate) model: Model,
    doer: Doer,
    from: Receiver<Event>,
}

impl Session {
    /// Opens the runs and waits until all of them are known.
    pub(crate) fn new(
        openings: Vec<Opening>,
        options: &Options,
        script: &Script,
    ) -> Result<Self, TuiError> {
        let (to, from) = sync_channel(64);
        let (model, workers) = open(openings, options, &to)?;
        let mut session = Self { model, doer: Doer::without_terminal(workers), from };
        session.tell(Msg::Resize(script.size.0, script.size.1));
        session.settle();
        if let Some(at) = options.at {
            session.tell(Msg::GoTo(at));
        }
        Ok(session)
    }

    fn tell(&mut self, msg: Msg) {
        perform(&mut self.model, msg, &mut self.doer);
    }

    /// Waits until nothing is on its way any more.
    fn settle(&mut self) {
        let asked = |model: &Model| model.tried.as_ref().is_some_and(|it| it.verdicts.is_none());
        let comes_in = |model: &Model| {
            !model.reel.is_over() || model.other.as_ref().is_some_and(|it| !it.is_over())
        };
        while comes_in(&self.model) || self.model.retelling || asked(&self.model) {
            match self.from.recv() {
                Ok(Event::News(news)) => self.tell(Msg::News(*news)),
                Ok(Event::Terminal(_) | Event::Gone(_)) | Err(_) => return,
            }
        }
        while self.model.is_busy() {
            self.tell(Msg::Work);
        }
    }

    /// Presses the keys, and shows each screen.
    pub(crate) fn play(
        &mut self,
        script: &Script,
        mut shown: impl FnMut(&str, Buffer),
    ) -> Result<(), PressError> {
        for word in script.keys.split_whitespace() {
            let keys = keys(word).ok_or_else(|| PressError::Key(word.to_owned()))?;
            for key in keys {
                if let Some(msg) = input::msg(self.model.mode(), key) {
                    self.tell(msg);
                }
                self.settle();
            }
            shown(word, export::picture(&self.model));
        }
        Ok(())
    }
}

/// The keys that a word stands for: one by its name, or letters.
fn keys(word: &str) -> Option<Vec<KeyEvent>> {
    let plain = |code: KeyCode| Some(vec![KeyEvent::new(code, KeyModifiers::NONE)]);
    match word {
        "Enter" => plain(KeyCode::Enter),
        "Esc" => plain(KeyCode::Esc),
        "Tab" => plain(KeyCode::Tab),
        "Space" => plain(KeyCode::Char(' ')),
        "Up" => plain(KeyCode::Up),
        "Down" => plain(KeyCode::Down),
        "Left" => plain(KeyCode::Left),
        "Right" => plain(KeyCode::Right),
        "Home" => plain(KeyCode::Home),
        "End" => plain(KeyCode::End),
        "PgUp" => plain(KeyCode::PageUp),
        "PgDn" => plain(KeyCode::PageDown),
        _ => match word.strip_prefix("Ctrl-") {
            Some(letter) => {
                let mut letters = letter.chars();
                let (Some(letter), None) = (letters.next(), letters.next()) else { return None };
                let code = KeyCode::Char(letter.to_ascii_lowercase());
                Some(vec![KeyEvent::new(code, KeyModifiers::CONTROL)])
            }
            None => {
                let letters = word.chars().map(KeyCode::Char);
                Some(letters.map(|code| KeyEvent::new(code, KeyModifiers::NONE)).collect())
            }
        },
    }
}

/// Every key and command as a table in Markdown, for the manual.
pub fn manual() -> String {
    let mut text = "| | keys | what they do |\n|---|---|---|\n".to_owned();
    let cell = |text: &str| text.replace('|', "\\|");
    for group in input::Group::ALL {
        let mut heading = group.name();
        for binding in input::TABLE.iter().filter(|binding| binding.group == group) {
            let keys: Vec<String> =
                binding.label.split(' ').map(|key| format!("`{}`", cell(key))).collect();
            let keys = keys.join(" ").replace("`to`", "to");
            text += &format!("| {heading} | {keys} | {} |\n", cell(binding.does));
            heading = "";
        }
    }
    text += "\n| command | what it does |\n|---|---|\n";
    for command in crate::command::TABLE {
        let names: Vec<String> = command.names.iter().map(|name| format!("`:{name}`")).collect();
        let wants = if command.wants.is_empty() {
            String::new()
        } else {
            format!(" `{}`", cell(command.wants))
        };
        text += &format!("| {}{wants} | {} |\n", names.join(", "), cell(command.does));
    }
    text
}

/// A moment as people write it: `1h30m`, `00:10:00`, `90` (seconds).
pub fn moment(text: &str) -> Result<Time, String> {
    crate::model::moment::parse(text, Time::ZERO)
}
