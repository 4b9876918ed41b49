//! What the screens are about: the state, and how each message changes it. Nothing here draws, and
//! nothing here touches the world: what is to be done outside comes back as effects.
//!
//! ```text
//!   Msg ──▶ update ──▶ playhead, lists, prompt …      what the user decides
//!              │          │ refresh
//!              ▼          ▼
//!           Effects    still, rows, explanation        what follows from it
//! ```

mod alerts;
pub(crate) mod columns;
pub(crate) mod deed;
pub(crate) mod divergence;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod gang;
pub(crate) mod groups;
pub(crate) mod lanes;
pub(crate) mod list;
mod log;
pub(crate) mod look;
pub(crate) mod menu;
pub(crate) mod moment;
pub(crate) mod msg;
mod news;
mod playhead;
pub(crate) mod prompt;
pub(crate) mod reel;
mod refresh;
pub(crate) mod rows;
pub(crate) mod scene;
mod select;
mod series;
pub(crate) mod stages;
mod story;
mod talk;
mod travel;

use std::collections::BTreeSet;

use drawbridge_scenarios::{Subject, recording::Still};
use drawbridge_sim::{JobId, Time};

pub(crate) use alerts::Alert;
use divergence::Divergence;
use explain::{Explanation, Verdict};
pub(crate) use gang::natural;
use list::{Key, List};
use log::Log;
use menu::Menu;
use msg::{Effect, Mode, Msg, Tab};
pub(crate) use playhead::Playhead;
use prompt::Prompt;
use reel::Reel;
use refresh::Shown;
use rows::Rows;
use scene::Scene;
pub(crate) use series::Load;
use story::Changed;

use crate::theme::{ThemeName, Tone};

/// Everything that a screen shows.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// The run.
    pub(crate) reel: Reel,
    /// Which of the runs that is.
    pub(crate) reel_id: usize,
    /// Another one, to compare it with.
    pub(crate) other: Option<Reel>,
    /// Which of the runs that is; `None` if nobody makes it.
    other_id: Option<usize>,
    /// The others.
    shelf: Vec<(usize, Reel)>,
    /// The tab in front.
    pub(crate) tab: Tab,
    /// Where in the run we are.
    pub(crate) playhead: Playhead,
    /// What the tab in front lists.
    pub(crate) rows: Rows,
    /// What is wrong at the moment.
    pub(crate) alerts: Vec<Alert>,
    /// Also what is over: ended jobs, deleted pods, every record.
    pub(crate) all: bool,
    /// Only what waits or has failed.
    pub(crate) faults: bool,
    /// Every column.
    pub(crate) wide: bool,
    /// Whose events alone are shown.
    pub(crate) focus: Option<Focus>,
    /// Whether the detail pane is open.
    pub(crate) detail: bool,
    /// What it says; `None` where nothing is selected.
    pub(crate) explanation: Option<Explanation>,
    /// How far it is scrolled.
    pub(crate) detail_scroll: u16,
    /// What came of trying to let a job start: at which moment, and what.
    pub(crate) tried: Option<Tried>,
    /// Whether the help is shown, and how far it is scrolled.
    pub(crate) help: Option<u16>,
    /// A menu over the screen.
    pub(crate) menu: Option<Menu>,
    /// The question that the user is answering.
    pub(crate) prompt: Option<Prompt>,
    /// What is said in the last line.
    pub(crate) said: Option<(Tone, String)>,
    /// What can't be reached, and the like.
    pub(crate) notices: Vec<String>,
    /// Moments that were kept.
    pub(crate) bookmarks: Vec<(String, Time)>,
    /// What was changed in the story.
    pub(crate) changes: Vec<Changed>,
    /// A change is being played.
    pub(crate) retelling: bool,
    /// The session is being recorded.
    pub(crate) casting: bool,
    /// How the map of nodes is zoomed; `None` is as fits best.
    pub(crate) map_zoom: Option<u8>,
    /// How far the timeline is zoomed in.
    pub(crate) time_zoom: u8,
    /// How the screens are painted.
    pub(crate) theme: ThemeName,
    /// The size of the terminal.
    pub(crate) size: (u16, u16),
    /// Whether the user has had enough.
    pub(crate) quit: bool,
    still: Still,
    other_still: Still,
    lists: [List; Tab::ALL.len()],
    /// What was last selected on any list.
    subject: Option<Key>,
    tabs_before: Vec<Tab>,
    folded: BTreeSet<(String, String)>,
    log: Log,
    divergence: Divergence,
    answers: Vec<String>,
    shown: Option<Shown>,
    effects: Vec<Effect>,
}

/// What the events are narrowed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Focus {
    /// What it is called.
    pub(crate) title: String,
    /// What its records are about.
    pub(crate) subjects: Vec<Subject>,
}

/// Things that were tried to let a job start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    /// Which job.
    pub(crate) job: JobId,
    /// After how many records.
    pub(crate) event: u64,
    /// What came of it; `None` while it is being found out.
    pub(crate) verdicts: Option<Vec<Verdict>>,
}

impl Model {
    /// The beginning of a run, paused; of real clusters, their present.
    pub(crate) fn new(reel: Reel, others: Vec<Reel>, theme: ThemeName) -> Self {
        let mut playhead = Playhead::new();
        playhead.following = reel.is_live();
        let mut others = others.into_iter();
        let other = others.next();
        let mut model = Self {
            reel,
            reel_id: 0,
            other_id: other.as_ref().map(|_| 1),
            other,
            shelf: others.enumerate().map(|(i, reel)| (i + 2, reel)).collect(),
            tab: Tab::Overview,
            playhead,
            rows: Rows::default(),
            alerts: vec![],
            all: false,
            faults: false,
            wide: false,
            focus: None,
            detail: false,
            explanation: None,
            detail_scroll: 0,
            tried: None,
            help: None,
            menu: None,
            prompt: None,
            said: None,
            notices: vec![],
            bookmarks: vec![],
            changes: vec![],
            retelling: false,
            casting: false,
            map_zoom: None,
            time_zoom: 0,
            theme,
            size: (80, 24),
            quit: false,
            still: Still::default(),
            other_still: Still::default(),
            lists: Default::default(),
            subject: None,
            tabs_before: vec![],
            folded: BTreeSet::new(),
            log: Log::default(),
            divergence: Divergence::default(),
            answers: vec![],
            shown: None,
            effects: vec![],
        };
        model.refresh();
        model
    }

    /// Changes what the message asks for, and all that follows from it. Returns what is to be done
    /// elsewhere.
    pub(crate) fn update(&mut self, msg: Msg) -> Vec<Effect> {
        if !matches!(msg, Msg::Tick(_) | Msg::News(_) | Msg::Work | Msg::Resize(..)) {
            self.said = None;
        }
        self.dispatch(msg);
        self.refresh();
        std::mem::take(&mut self.effects)
    }

    fn dispatch(&mut self, msg: Msg) {
        match msg {
            Msg::Quit => self.quit = true,
            Msg::Resize(width, height) => self.size = (width, height),
            Msg::News(news) => self.news(news),
            Msg::Work => {}
            Msg::Step(_) | Msg::Start | Msg::End | Msg::GoTo(_) | Msg::Scrub(_) => self.go(&msg),
            Msg::Moment(_) | Msg::Selection(_) | Msg::Divergence => self.go(&msg),
            Msg::Play | Msg::Speed(_) | Msg::SetSpeed(_) | Msg::Tick(_) => self.go(&msg),
            Msg::Tab(_) | Msg::NextTab(_) | Msg::LastTab | Msg::Related => self.switch(&msg),
            Msg::Move(_) | Msg::Page(_) | Msg::First | Msg::Last | Msg::Select(_) => {
                self.choose(&msg);
            }
            Msg::Mark | Msg::Unmark => self.mark(&msg),
            Msg::Why | Msg::Scroll(_) | Msg::Help | Msg::Back => self.open(&msg),
            Msg::Focus | Msg::All | Msg::Faults | Msg::Wide | Msg::Zoom(_) | Msg::Theme(_) => {
                self.look(&msg);
            }
            Msg::Sort(_) | Msg::SortBy(_) => self.look(&msg),
            Msg::Run(which) => self.go_to_run(which),
            Msg::Menu(kind) => self.open_menu(kind),
            Msg::Bookmark(_) | Msg::Copy(_) | Msg::Screenshot(_) | Msg::Cast(_) => self.keep(&msg),
            Msg::Ask(question) => self.ask(question),
            Msg::Type(_) | Msg::Paste(_) | Msg::Erase(_) | Msg::Cursor(_) => self.edit(&msg),
            Msg::Complete | Msg::Recall(_) => self.edit(&msg),
            Msg::Accept => self.accept(),
            Msg::Do(deed) => self.do_it(deed),
            Msg::Save(_) | Msg::Undo | Msg::Try => self.tell(&msg),
        }
    }

    /// What keys mean now.
    pub(crate) fn mode(&self) -> Mode {
        match (&self.prompt, &self.menu) {
            (Some(_), _) => Mode::Prompt,
            (None, Some(_)) => Mode::Menu,
            (None, None) => Mode::Normal,
        }
    }

    /// What there is to see.
    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            film: &self.reel.film,
            still: &self.still,
            zero: self.reel.zero(),
            now: self.playhead.now,
        }
    }

    /// What there is to see at the same time in the other run.
    pub(crate) fn other_scene(&self) -> Option<Scene<'_>> {
        let other = self.other.as_ref()?;
        let (film, zero, now) = (&other.film, other.zero(), self.playhead.now);
        Some(Scene { film, still: &self.other_still, zero, now })
    }

    /// Tabs that there are: without a second run there is nothing to compare.
    pub(crate) fn tabs(&self) -> impl Iterator<Item = Tab> {
        let alone = self.other.is_none();
        Tab::ALL.into_iter().filter(move |tab| !(alone && *tab == Tab::Diff))
    }

    /// Settings of the list in front.
    pub(crate) fn list(&self) -> &List {
        &self.lists[self.tab.place()]
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.tab.place()]
    }

    /// Where the selection stands, if there is anything to select.
    pub(crate) fn selected(&self) -> Option<usize> {
        (self.list().at < self.rows.len()).then_some(self.list().at)
    }

    /// The record that a row of the log is.
    pub(crate) fn logged(&self, row: usize) -> Option<u64> {
        self.log.found(self.playhead.event).get(row).map(|seq| u64::from(*seq))
    }

    /// What the row at this place is.
    pub(crate) fn key_at(&self, at: usize) -> Option<Key> {
        match self.tab {
            Tab::Events => self.logged(at).map(Key::Record),
            Tab::Overview => self.alerts.get(at)?.about.clone(),
            Tab::Pods
            | Tab::Jobs
            | Tab::Nodes
            | Tab::Timeline
            | Tab::Gangs
            | Tab::Why
            | Tab::Diff => self.rows.key(self.scene(), at),
        }
    }

    /// Where two runs part, as far as is known.
    pub(crate) fn divergence(&self) -> Option<u64> {
        self.divergence.first()
    }

    /// Whether something takes long and is to be gone on with.
    pub(crate) fn is_busy(&self) -> bool {
        let film = &self.reel.film;
        let comparing = |other: &Reel| self.divergence.is_busy(film, &other.film);
        self.log.is_busy(film) || self.other.as_ref().is_some_and(comparing)
    }

    fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.said = Some((tone, text.into()));
    }
}
