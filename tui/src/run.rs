//! The terminal: the only file that reads keys, waits and looks at a clock.
//!
//! ```text
//!   draw ──▶ wait for a key or a tick ──▶ update ──▶ draw …
//! ```

use std::{
    env,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use crossterm::event::{self, Event, KeyEventKind};
use drawbridge_sim::Span;
use ratatui::{Terminal, backend::Backend};

use crate::{
    Source, input,
    model::{Model, Msg},
    theme::Theme,
    view,
};

/// Time between two pictures while a run plays.
const TICK: Duration = Duration::from_millis(50);
/// Time between two looks at the keyboard while nothing moves.
const IDLE: Duration = Duration::from_secs(3600);

/// How to show a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is shown, usually the scenario's name.
    pub title: String,
    /// Whether to use colours.
    pub colour: bool,
}

impl Options {
    /// Colours unless the environment sets `NO_COLOR` (<https://no-color.org>).
    pub fn new(title: impl Into<String>) -> Self {
        let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { title: title.into(), colour: !no_colour }
    }
}

/// Why the screens could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The screens would go to a file or a pipe.
    #[error("standard output is not a terminal")]
    NoTerminal,
    /// There is no terminal to read keys from, or it went away.
    #[error("the terminal can't be used")]
    Terminal(#[source] io::Error),
}

impl TuiError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoTerminal | Self::Terminal(_) => {
                "start it in an interactive terminal; `drawbridge run` prints the same run as text"
            }
        }
    }
}

/// Shows a run until the user quits. The terminal is put back in order however this ends,
/// panics included.
#[allow(
    clippy::needless_pass_by_value,
    reason = "callers have no use for a recording once the screens are closed"
)]
pub fn run(source: impl Source, options: Options) -> Result<(), TuiError> {
    if !io::stdout().is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let mut terminal = ratatui::try_init().map_err(|error| {
        ratatui::restore();
        TuiError::Terminal(error)
    })?;
    let shown = show(&mut terminal, &source, options, next_event);
    let restored = ratatui::try_restore();
    shown.and(restored).map_err(TuiError::Terminal)
}

/// Waits for something to happen on the terminal, but not longer than this.
fn next_event(patience: Duration) -> io::Result<Option<Event>> {
    match event::poll(patience)? {
        true => event::read().map(Some),
        false => Ok(None),
    }
}

/// The loop. `next` is where events come from: the terminal, or a test's list.
pub(crate) fn show<B>(
    terminal: &mut Terminal<B>,
    source: &dyn Source,
    options: Options,
    mut next: impl FnMut(Duration) -> io::Result<Option<Event>>,
) -> io::Result<()>
where
    B: Backend<Error: Send + Sync + 'static>,
{
    let theme = Theme::new(options.colour);
    let mut model = Model::new(source, options.title);
    while !model.quit {
        terminal
            .draw(|frame| view::draw(&model, source.records(), theme, frame))
            .map_err(io::Error::other)?;
        let (playing, waited) = (model.playhead.playing, Instant::now());
        let mut event = next(if playing { TICK } else { IDLE })?;
        if playing {
            model.update(source, Msg::Tick(span(waited.elapsed())));
        }
        // Keys that came in the meantime are answered with one picture.
        while let Some(happened) = event {
            if let Some(msg) = msg(&model, &happened) {
                model.update(source, msg);
            }
            event = if model.quit { None } else { next(Duration::ZERO)? };
        }
    }
    Ok(())
}

fn msg(model: &Model, event: &Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => input::msg(model.mode(), *key),
        // A new size needs a new picture, nothing more.
        Event::Key(_)
        | Event::FocusGained
        | Event::FocusLost
        | Event::Mouse(_)
        | Event::Paste(_)
        | Event::Resize(..) => None,
    }
}

fn span(elapsed: Duration) -> Span {
    Span::ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
