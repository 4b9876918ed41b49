//! The loop: what happens, one after the other, and a picture of it.
//!
//! ```text
//!   draw ──▶ wait for a key, news of a run, or a tick ──▶ update ──▶ effects ──▶ draw …
//! ```
//!
//! The only place that waits and looks at a clock.

pub(crate) mod cast;
mod effects;
mod terminal;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

use crossterm::event::{self, KeyEventKind};
use drawbridge_sim::{Span, Time};
use ratatui::{Terminal, backend::Backend};

use crate::{
    feed::{Opening, Worker},
    input::{self, mouse},
    model::{
        Model,
        msg::{Effect, Msg, News, Tab},
    },
    theme::ThemeName,
    view,
};
pub(crate) use effects::Doer;

/// Time between two pictures while a run plays or comes in.
const TICK: Duration = Duration::from_millis(50);
/// Time between two looks at everything while nothing moves.
const IDLE: Duration = Duration::from_secs(3600);
/// News that may wait: enough to keep the makers of runs busy, few enough not to delay a key.
const WAITING_MAX: usize = 4;

/// How to show runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How the screens are painted.
    pub theme: ThemeName,
    /// The tab to begin with, by its name.
    pub view: Option<String>,
    /// The moment to begin with.
    pub at: Option<Time>,
    /// Where to record the session.
    pub cast: Option<PathBuf>,
}

/// Why the screens could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The screens would go to a file or a pipe.
    #[error("standard output is not a terminal")]
    NoTerminal,
    /// There is no terminal to read keys from, or it went away.
    #[error("the terminal can't be used: {0}")]
    Terminal(#[source] io::Error),
    /// There is no such tab.
    #[error("there is no view `{0}`")]
    NoView(String),
    /// There is no run to show.
    #[error("there is nothing to show")]
    Nothing,
}

impl TuiError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoTerminal | Self::Terminal(_) => {
                "start it in an interactive terminal; `drawbridge run` prints the same run as text"
            }
            Self::NoView(_) => {
                "there are overview, pods, jobs, nodes, timeline, gangs, events, why and diff"
            }
            Self::Nothing => "give a scenario, a recorded run, --demo or --live",
        }
    }
}

/// What happens.
pub(crate) enum Event {
    /// On the terminal.
    Terminal(event::Event),
    /// In a run.
    News(Box<News>),
    /// The terminal went away.
    Gone(io::Error),
}

/// Shows runs until the user quits: the first, and beside it the second. The terminal is put back
/// in order however this ends, panics included.
pub fn run(openings: Vec<Opening>, options: &Options) -> Result<(), TuiError> {
    if !io::stdout().is_terminal() {
        return Err(TuiError::NoTerminal);
    }
    let (to, from) = sync_channel(WAITING_MAX);
    let (model, workers) = open(openings, options, &to)?;
    listen(to);
    let mut doer = Doer::new(workers);
    let mut terminal = terminal::start(doer.tee()).map_err(TuiError::Terminal)?;
    let shown = show(&mut terminal, model, options, &from, &mut doer);
    let restored = terminal::stop();
    shown.and(restored).map_err(TuiError::Terminal)
}

/// The model at its beginning, and the makers of its runs.
pub(crate) fn open(
    openings: Vec<Opening>,
    options: &Options,
    to: &SyncSender<Event>,
) -> Result<(Model, Vec<Worker>), TuiError> {
    let mut reels = openings.iter().map(Opening::reel);
    let reel = reels.next().ok_or(TuiError::Nothing)?;
    let mut model = Model::new(reel, reels.collect(), options.theme);
    if let Some(name) = &options.view {
        let found = Tab::ALL.into_iter().find(|tab| tab.name().eq_ignore_ascii_case(name));
        model.update(Msg::Tab(found.ok_or_else(|| TuiError::NoView(name.clone()))?));
    }
    let each = openings.into_iter().enumerate();
    let workers = each.map(|(which, opening)| opening.start(which, to.clone())).collect();
    Ok((model, workers))
}

/// Reads the terminal on a thread of its own.
fn listen(to: SyncSender<Event>) {
    thread::spawn(move || {
        loop {
            let happened = match event::read() {
                Ok(event) => Event::Terminal(event),
                Err(error) => Event::Gone(error),
            };
            let is_last = matches!(happened, Event::Gone(_));
            if to.send(happened).is_err() || is_last {
                return;
            }
        }
    });
}

/// The loop.
fn show<B>(
    terminal: &mut Terminal<B>,
    mut model: Model,
    options: &Options,
    from: &Receiver<Event>,
    doer: &mut Doer,
) -> io::Result<()>
where
    B: Backend<Error: Send + Sync + 'static>,
{
    if let Ok(size) = terminal.size() {
        model.update(Msg::Resize(size.width, size.height));
    }
    if let Some(path) = &options.cast {
        perform(&mut model, Msg::Cast(Some(path.clone())), doer);
    }
    let mut wanted = options.at;
    let mut screen = Pictures::new();
    while !model.quit {
        if screen.is_due() {
            screen.draw(terminal, &model, doer)?;
        }
        let waited = Instant::now();
        let happened = wait(from, screen.patience(&model));
        if model.playhead.playing {
            let real = Span::ms(u64::try_from(waited.elapsed().as_millis()).unwrap_or(u64::MAX));
            perform(&mut model, Msg::Tick(real), doer);
        }
        match happened {
            None if model.is_busy() => perform(&mut model, Msg::Work, doer),
            None => {}
            Some(Event::Gone(error)) => return Err(error),
            Some(Event::News(news)) => {
                perform(&mut model, Msg::News(*news), doer);
                screen.soon();
                // A moment that was asked for at the start, as soon as it is known.
                if let Some(at) =
                    wanted.take_if(|at| *at <= model.playhead.end || model.reel.is_over())
                {
                    perform(&mut model, Msg::GoTo(at), doer);
                }
                continue;
            }
            Some(Event::Terminal(event)) => {
                for msg in msgs(&model, &screen.areas, &event) {
                    perform(&mut model, msg, doer);
                }
            }
        }
        screen.now();
    }
    Ok(())
}

/// Changes the model, and does what it wants done.
pub(crate) fn perform(model: &mut Model, msg: Msg, doer: &mut Doer) {
    let mut effects = model.update(msg);
    while !effects.is_empty() {
        let said: Vec<Msg> = effects.drain(..).filter_map(|it| doer.perform(it, model)).collect();
        effects = said.into_iter().flat_map(|msg| model.update(msg)).collect::<Vec<Effect>>();
    }
}

fn wait(from: &Receiver<Event>, patience: Duration) -> Option<Event> {
    match from.recv_timeout(patience) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => {
            Some(Event::Gone(io::Error::other("the terminal went away")))
        }
    }
}

/// What something on the terminal asks for.
pub(crate) fn msgs(model: &Model, areas: &mouse::Areas, event: &event::Event) -> Vec<Msg> {
    match event {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => {
            input::msg(model.mode(), *key).into_iter().collect()
        }
        event::Event::Mouse(mouse) => mouse::msgs(areas, *mouse, model.selected()),
        event::Event::Paste(text) => vec![Msg::Paste(text.clone())],
        event::Event::Resize(width, height) => vec![Msg::Resize(*width, *height)],
        event::Event::Key(_) | event::Event::FocusGained | event::Event::FocusLost => vec![],
    }
}

/// When the next picture is due, and what stood where on the last one.
struct Pictures {
    last: Option<Instant>,
    due: Option<Instant>,
    areas: mouse::Areas,
}

impl Pictures {
    fn new() -> Self {
        Self { last: None, due: Some(Instant::now()), areas: mouse::Areas::default() }
    }

    fn is_due(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    /// At once.
    fn now(&mut self) {
        self.due = Some(Instant::now());
    }

    /// As soon as the last one has stood for a while: news come faster than eyes see.
    fn soon(&mut self) {
        let earliest = self.last.map_or_else(Instant::now, |last| last + TICK);
        self.due = Some(self.due.map_or(earliest, |due| due.min(earliest)));
    }

    fn patience(&self, model: &Model) -> Duration {
        let until_due = self.due.map(|due| due.saturating_duration_since(Instant::now()));
        let usual = match (model.playhead.playing, model.is_busy()) {
            (_, true) => Duration::ZERO,
            (true, false) => TICK,
            (false, false) => IDLE,
        };
        until_due.map_or(usual, |due| due.min(usual))
    }

    fn draw<B>(
        &mut self,
        terminal: &mut Terminal<B>,
        model: &Model,
        doer: &mut Doer,
    ) -> io::Result<()>
    where
        B: Backend<Error: Send + Sync + 'static>,
    {
        let mut areas = mouse::Areas::default();
        doer.begin_picture()?;
        terminal.draw(|frame| areas = view::draw(model, frame)).map_err(io::Error::other)?;
        doer.end_picture()?;
        (self.areas, self.last, self.due) = (areas, Some(Instant::now()), None);
        Ok(())
    }
}
