//! What the screens are about: the state, and how each message changes it. Nothing here draws.
//!
//! ```text
//!   Msg ──▶ update ──▶ playhead, lists, prompt …      what the user decides
//!                         │ refresh
//!                         ▼
//!                      frame, rows, explanation        what follows from it
//! ```

use drawbridge_scenarios::{Frame, Level, Record, Subject};
use drawbridge_sim::{Span, Time};

pub(crate) mod explain;
mod log;
pub(crate) mod moment;
mod msg;
mod playhead;
mod prompt;
pub(crate) mod rows;

use explain::Explanation;
use log::{Ask, Log};
pub(crate) use msg::{Mode, Msg, Tab};
pub(crate) use playhead::Playhead;
pub(crate) use prompt::{Prompt, Question};
use rows::{Key, List, Rows};

use crate::Source;

/// Everything that a screen shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    /// What run this is.
    pub(crate) title: String,
    /// The tab in front.
    pub(crate) tab: Tab,
    /// Where in the run we are.
    pub(crate) playhead: Playhead,
    /// The world there.
    pub(crate) frame: Frame,
    /// What the tab in front lists.
    pub(crate) rows: Rows,
    /// Also what is over: ended jobs, deleted pods, every record.
    pub(crate) all: bool,
    /// Whose events alone are shown.
    pub(crate) focus: Option<Focus>,
    /// Whether the detail pane is open.
    pub(crate) detail: bool,
    /// What it says; `None` where nothing is selected.
    pub(crate) explanation: Option<Explanation>,
    /// How far it is scrolled.
    pub(crate) detail_scroll: u16,
    /// Whether the help is shown.
    pub(crate) help: bool,
    /// The question that the user is answering.
    pub(crate) prompt: Option<Prompt>,
    /// Whether the user has had enough.
    pub(crate) quit: bool,
    lists: [List; 4],
    log: Log,
    shown: u64,
}

/// What the events are narrowed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Focus {
    /// What it is called.
    pub(crate) title: String,
    /// What its records are about.
    pub(crate) subjects: Vec<Subject>,
}

impl Model {
    /// The beginning of a run, paused.
    pub(crate) fn new(source: &dyn Source, title: String) -> Self {
        let end = source.frame(source.len()).now;
        let mut model = Self {
            title,
            tab: Tab::Pods,
            playhead: Playhead::new(source.len(), end),
            frame: source.frame(0),
            rows: Rows::Pods(Vec::new()),
            all: false,
            focus: None,
            detail: false,
            explanation: None,
            detail_scroll: 0,
            help: false,
            prompt: None,
            quit: false,
            lists: Default::default(),
            log: Log::default(),
            shown: 0,
        };
        model.refresh(source);
        model
    }

    /// Changes what the message asks for, and all that follows from it.
    pub(crate) fn update(&mut self, source: &dyn Source, msg: Msg) {
        match msg {
            Msg::Quit => self.quit = true,
            Msg::Help => self.help = !self.help,
            Msg::Tab(tab) => self.tab = tab,
            Msg::NextTab => self.tab = self.tab.next(1),
            Msg::PreviousTab => self.tab = self.tab.next(Tab::ALL.len() - 1),
            Msg::Move(by) => self.move_by(source, by),
            Msg::First => self.move_to(source, 0),
            Msg::Last => self.move_to(source, usize::MAX),
            Msg::Step(events) => self.step(source, events),
            Msg::Start => self.step(source, i64::MIN),
            Msg::End => self.step(source, i64::MAX),
            Msg::NextMoment => self.next_moment(source),
            Msg::PreviousMoment => self.previous_moment(source),
            Msg::Play => self.playhead.toggle(),
            Msg::Faster => self.playhead.faster(),
            Msg::Slower => self.playhead.slower(),
            Msg::Tick(real) => self.tick(source, real),
            Msg::Why => self.detail = !self.detail,
            Msg::Scroll(by) => self.detail_scroll = self.detail_scroll.saturating_add_signed(by),
            Msg::Focus => self.focus(),
            Msg::All => self.all = !self.all,
            Msg::Back => self.back(),
            Msg::Ask(question) => self.ask(question),
            Msg::Type(_) | Msg::Erase | Msg::EraseAll => self.edit(msg),
            Msg::Accept => self.accept(source),
        }
        self.refresh(source);
    }

    /// What keys mean now.
    pub(crate) fn mode(&self) -> Mode {
        match self.prompt {
            Some(_) => Mode::Prompt,
            None => Mode::Normal,
        }
    }

    /// Filter and selection of the tab in front.
    pub(crate) fn list(&self) -> &List {
        &self.lists[self.tab as usize]
    }

    /// Where the selection stands, if there is anything to select.
    pub(crate) fn selected(&self) -> Option<usize> {
        (self.list().at < self.rows.len()).then_some(self.list().at)
    }

    /// The time that the screens show.
    pub(crate) fn now(&self) -> Time {
        self.playhead.now
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.tab as usize]
    }

    fn move_by(&mut self, source: &dyn Source, rows: isize) {
        self.move_to(source, self.list().at.saturating_add_signed(rows));
    }

    fn move_to(&mut self, source: &dyn Source, at: usize) {
        let last = self.rows.len().saturating_sub(1);
        let at = at.min(last);
        // At the last event the log goes on following the time.
        let follows = self.tab == Tab::Events && at == last;
        let key = self.rows.key(&self.frame, source.records(), at);
        self.list_mut().at = at;
        self.list_mut().wanted = if follows { None } else { key };
        self.detail_scroll = 0;
    }

    fn step(&mut self, source: &dyn Source, events: i64) {
        self.playhead.step(events);
        self.load(source);
        self.playhead.now = self.frame.now;
    }

    fn tick(&mut self, source: &dyn Source, real: Span) {
        if !self.playhead.playing {
            return;
        }
        self.playhead.pass(real);
        let reached = source.event_at(self.playhead.now).min(self.playhead.len);
        self.playhead.event = reached.max(self.playhead.event);
        self.playhead.playing = !self.playhead.at_end();
    }

    fn go_to(&mut self, source: &dyn Source, time: Time) {
        self.playhead.now = time.min(self.playhead.end);
        self.playhead.event = source.event_at(self.playhead.now).min(self.playhead.len);
    }

    fn next_moment(&mut self, source: &dyn Source) {
        let next = self.log.next_moment(source.records(), self.now());
        self.playhead.playing = false;
        self.go_to(source, next.unwrap_or(self.playhead.end));
    }

    fn previous_moment(&mut self, source: &dyn Source) {
        let previous = self.log.previous_moment(source.records(), self.now());
        self.playhead.playing = false;
        self.go_to(source, previous.unwrap_or(Time::ZERO));
    }

    fn focus(&mut self) {
        let selected = self
            .explanation
            .as_ref()
            .map(|it| Focus { title: it.title.clone(), subjects: it.subjects.clone() });
        let undo = self.tab == Tab::Events && self.focus.is_some();
        self.focus = if undo { None } else { selected };
        if self.focus.is_some() {
            self.tab = Tab::Events;
        }
    }

    fn back(&mut self) {
        if let Some(prompt) = self.prompt.take() {
            self.list_mut().filter = prompt.before;
        } else if self.help {
            self.help = false;
        } else if self.tab == Tab::Events && self.focus.is_some() {
            self.focus = None;
        } else if !self.list().filter.is_empty() {
            self.list_mut().filter.clear();
        } else {
            self.detail = false;
        }
    }

    fn ask(&mut self, question: Question) {
        let before = self.list().filter.clone();
        self.prompt = Some(Prompt::new(question, before));
    }

    fn edit(&mut self, msg: Msg) {
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        prompt.edit(msg);
        if prompt.question == Question::Filter {
            let filter = prompt.text.clone();
            self.list_mut().filter = filter;
        }
    }

    fn accept(&mut self, source: &dyn Source) {
        let Some(mut prompt) = self.prompt.take() else {
            return;
        };
        if prompt.question == Question::Time && !prompt.text.trim().is_empty() {
            match moment::parse(&prompt.text, self.now()) {
                Ok(time) => self.go_to(source, time),
                Err(error) => {
                    prompt.error = Some(error);
                    self.prompt = Some(prompt);
                }
            }
        }
    }

    /// Works out everything that follows from what the user decided.
    fn refresh(&mut self, source: &dyn Source) {
        self.load(source);
        self.list_rows(source.records());
        self.find_selection(source.records());
        self.explanation = self.explain(source.records());
        let lines = self.explanation.as_ref().map_or(0, Explanation::n_lines);
        self.detail_scroll = self.detail_scroll.min(lines);
    }

    fn load(&mut self, source: &dyn Source) {
        if self.shown != self.playhead.event {
            self.frame = source.frame(self.playhead.event);
            self.shown = self.playhead.event;
        }
    }

    fn list_rows(&mut self, records: &[Record]) {
        let ask = Ask {
            words: self.lists[Tab::Events as usize].words(),
            all: self.all,
            subjects: self.focus.as_ref().map(|focus| focus.subjects.clone()),
        };
        self.log.look(records, ask);
        self.rows = match self.tab {
            Tab::Events => Rows::Events(self.log.matching(self.n_records(records)).to_vec()),
            tab @ (Tab::Pods | Tab::Jobs | Tab::Nodes) => {
                Rows::of(tab, &self.frame, &self.list().words(), self.all)
            }
        };
    }

    fn find_selection(&mut self, records: &[Record]) {
        let list = self.list();
        let last = self.rows.len().saturating_sub(1);
        let place = |key: &Key| self.rows.position(&self.frame, records, key);
        let at = match (&list.wanted, self.tab) {
            (Some(key), _) => place(key).unwrap_or(list.at.min(last)),
            (None, Tab::Events) => last,
            (None, Tab::Pods | Tab::Jobs | Tab::Nodes) => list.at.min(last),
        };
        self.list_mut().at = at;
    }

    fn explain(&self, records: &[Record]) -> Option<Explanation> {
        let key = self.rows.key(&self.frame, records, self.selected()?)?;
        let mut explanation = explain::explain(&self.frame, records, self.now(), &key)?;
        let chain = self.log.about(&explanation.subjects, self.n_records(records));
        let told = |i: &usize| self.all || records[*i].level == Level::Story;
        explanation.chain = chain.into_iter().filter(told).collect();
        Some(explanation)
    }

    /// Records that have been written by now: each is an event.
    fn n_records(&self, records: &[Record]) -> usize {
        let written = usize::try_from(self.playhead.event).unwrap_or(usize::MAX);
        written.min(records.len())
    }
}
