//! Does what the model wants done.

use std::{cell::RefCell, fs, io, path::Path, rc::Rc};

use crossterm::{
    clipboard::CopyToClipboard,
    execute, queue,
    terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate},
};

use super::cast::{Cast, Tee};
use crate::{
    export,
    feed::{Order, Worker},
    model::{
        Model,
        msg::{Effect, Msg, News},
        reel::Origin,
    },
};

/// Who does things.
pub(crate) struct Doer {
    workers: Vec<Worker>,
    cast: Rc<RefCell<Option<Cast>>>,
    /// Whether there is a terminal to write to.
    on_terminal: bool,
}

impl Doer {
    /// Somebody who has a terminal.
    pub(super) fn new(workers: Vec<Worker>) -> Self {
        Self { workers, cast: Rc::default(), on_terminal: true }
    }

    /// Somebody who has none.
    pub(crate) fn without_terminal(workers: Vec<Worker>) -> Self {
        Self { on_terminal: false, ..Self::new(workers) }
    }

    pub(super) fn tee(&self) -> Tee {
        Tee::new(self.cast.clone())
    }

    /// The terminal shows nothing before the picture is whole: no flicker.
    pub(super) fn begin_picture(&mut self) -> io::Result<()> {
        queue!(io::stdout(), BeginSynchronizedUpdate)
    }

    /// It is.
    pub(super) fn end_picture(&mut self) -> io::Result<()> {
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// Does it. Returns what is to be said about it.
    pub(crate) fn perform(&mut self, effect: Effect, model: &Model) -> Option<Msg> {
        let done = match effect {
            Effect::Copy(text) => self.copy(text),
            Effect::Screenshot(path) => screenshot(&path, model),
            Effect::Cast(path) => self.cast(path.as_deref(), model),
            Effect::Write(path, text) => {
                let written = fs::write(&path, text);
                written
                    .map(|()| format!("Saved: {}", path.display()))
                    .map_err(|it| failed(&path, &it))
            }
            Effect::Retell { at, deed, text } => {
                return self.order(model, Order::Retell { at, deed, text });
            }
            Effect::Restore { text, at } => return self.order(model, Order::Restore { at, text }),
            Effect::Try { job, at, event, remedies } => {
                let Origin::Twin(text) = &model.reel.origin else { return None };
                let text = text.clone();
                return self.order(model, Order::Try { job, at, event, remedies, text });
            }
            Effect::Act(deed) => return self.order(model, Order::Act(deed)),
        };
        // What went well and was said before needs no second word.
        match done {
            Ok(text) if text.is_empty() => None,
            done => Some(Msg::News(News::Done(done))),
        }
    }

    /// Asks whoever makes the run in front.
    fn order(&self, model: &Model, order: Order) -> Option<Msg> {
        if let Some(worker) = self.workers.get(model.reel_id) {
            worker.order(order);
        }
        None
    }

    /// By the terminal itself, so that it works over SSH.
    fn copy(&self, text: String) -> Result<String, String> {
        if self.on_terminal {
            let copied = execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text));
            copied.map_err(|error| format!("could not copy: {error}"))?;
        }
        Ok(String::new())
    }

    fn cast(&mut self, path: Option<&Path>, model: &Model) -> Result<String, String> {
        if let Some(cast) = self.cast.borrow_mut().take() {
            cast.end().map_err(|error| format!("the recording failed: {error}"))?;
        }
        let Some(path) = path else { return Ok("The session is no longer recorded.".to_owned()) };
        // The first picture must be whole: what follows only says what changes.
        let first = export::ansi(&export::picture(model));
        let cast = Cast::begin(path, model.size, &model.reel.title, &first);
        *self.cast.borrow_mut() = Some(cast.map_err(|error| failed(path, &error))?);
        Ok(format!("Recording the session to {}; :cast stops.", path.display()))
    }
}

fn screenshot(path: &Path, model: &Model) -> Result<String, String> {
    let picture = export::picture(model);
    let text = match path.extension().and_then(|it| it.to_str()) {
        Some("svg") => export::svg(&picture, model.theme, &model.reel.title),
        Some("ansi") => String::from_utf8_lossy(&export::ansi(&picture)).into_owned(),
        Some(_) | None => export::text(&picture) + "\n",
    };
    let saved = fs::write(path, text);
    saved.map(|()| format!("Saved: {}", path.display())).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
