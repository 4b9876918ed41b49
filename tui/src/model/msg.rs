//! What can be asked for, and what is asked of others.

use std::path::PathBuf;

use drawbridge_scenarios::recording::Chunk;
use drawbridge_sim::{JobId, Span, Time};

use super::{
    deed::Deed,
    explain::{Remedy, Verdict},
    prompt::Question,
};
use crate::theme::ThemeName;

/// A screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tab {
    /// The cluster, the queue, what is wrong.
    Overview,
    /// Pods, with gangs.
    Pods,
    /// Jobs as squeue shows them.
    Jobs,
    /// Who holds what on which node.
    Nodes,
    /// Who held what when.
    Timeline,
    /// Gangs and their ranks.
    Gangs,
    /// What happened.
    Events,
    /// Why the selected thing is as it is.
    Why,
    /// Two runs side by side.
    Diff,
}

impl Tab {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 9] = [
        Self::Overview,
        Self::Pods,
        Self::Jobs,
        Self::Nodes,
        Self::Timeline,
        Self::Gangs,
        Self::Events,
        Self::Why,
        Self::Diff,
    ];

    /// The name on the tab.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Pods => "Pods",
            Self::Jobs => "Jobs",
            Self::Nodes => "Nodes",
            Self::Timeline => "Timeline",
            Self::Gangs => "Gangs",
            Self::Events => "Events",
            Self::Why => "Why",
            Self::Diff => "Diff",
        }
    }

    /// Its place among all.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}

/// What keys mean at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What the key table says.
    Normal,
    /// Text for the prompt.
    Prompt,
    /// A choice from a menu.
    Menu,
}

/// How far to go in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stride {
    /// So many events.
    Events(i64),
    /// So many scheduling cycles.
    Cycles(i64),
    /// So many seconds.
    Seconds(i64),
}

/// What a user, the clock, or whoever makes the run may ask for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Msg {
    /// Leave.
    Quit,
    /// Show or hide the help.
    Help,
    /// Go to a tab.
    Tab(Tab),
    /// Go to the next tab, or so many on.
    NextTab(isize),
    /// Go back to the tab before.
    LastTab,
    /// Move the selection by so many rows.
    Move(isize),
    /// Move it by so many half pages.
    Page(isize),
    /// Select the first row.
    First,
    /// Select the last row.
    Last,
    /// Select this row of the list.
    Select(usize),
    /// Move in time.
    Step(Stride),
    /// Go to the beginning of the run.
    Start,
    /// Go to its end.
    End,
    /// Go to a time.
    GoTo(Time),
    /// Go to a place on the scrub bar: so many thousandths of the run.
    Scrub(u64),
    /// Go to the next moment that the events tell of, or to the previous one.
    Moment(bool),
    /// Go to the next event of the selection, or to the last one before now.
    Selection(bool),
    /// Play or pause.
    Play,
    /// Play faster, or slower.
    Speed(bool),
    /// Play at so many times real time.
    SetSpeed(u64),
    /// So much of our time has passed.
    Tick(Span),
    /// Open or close the detail pane.
    Why,
    /// Show what belongs to the selection on another tab.
    Related,
    /// Scroll the explanation by so many lines.
    Scroll(i16),
    /// Show only events of the selected object, or all again.
    Focus,
    /// Show also, or no longer, what is over.
    All,
    /// Show only, or no longer only, what waits or has failed.
    Faults,
    /// Show every column, or the usual ones.
    Wide,
    /// Order by the next column, or from the other end.
    Sort(bool),
    /// Order by the column of this name.
    SortBy(String),
    /// Zoom in, or out; fold.
    Zoom(bool),
    /// Mark the selected row, or no longer.
    Mark,
    /// Forget all marks.
    Unmark,
    /// Keep this moment under a name.
    Bookmark(String),
    /// Look at another of the runs; the next one if none is named.
    Run(Option<usize>),
    /// Open a menu.
    Menu(MenuKind),
    /// Go to where the two runs part.
    Divergence,
    /// The next theme, or this one.
    Theme(Option<ThemeName>),
    /// Copy the selection, or all that is marked; or the whole explanation.
    Copy(bool),
    /// Save the screen.
    Screenshot(Option<PathBuf>),
    /// Begin to record the session, or end that.
    Cast(Option<PathBuf>),
    /// Undo the last thing that is open.
    Back,
    /// Ask the user something.
    Ask(Question),
    /// A letter of the answer.
    Type(char),
    /// Text from the clipboard.
    Paste(String),
    /// Take letters back.
    Erase(Erase),
    /// Move the cursor in the answer.
    Cursor(isize),
    /// Complete the answer, or its next completion.
    Complete,
    /// An earlier answer, or a later one.
    Recall(bool),
    /// That is the answer.
    Accept,
    /// Change the story, or a real cluster.
    Do(Deed),
    /// Write down what was changed as a scenario.
    Save(PathBuf),
    /// Take the last change of the story back.
    Undo,
    /// What would let the selection start?
    Try,
    /// The terminal has this size.
    Resize(u16, u16),
    /// Something came in from outside.
    News(News),
    /// There is time to go on with what takes long.
    Work,
}

/// What is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Erase {
    /// The letter before the cursor.
    Letter,
    /// The word before it.
    Word,
    /// Everything.
    All,
}

/// What a menu is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MenuKind {
    /// What can be done with the selection.
    Deeds,
    /// Columns to show.
    Columns,
    /// Moments that were kept.
    Bookmarks,
}

/// What comes from whoever makes the runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// The next piece of a run: this one (0) or the other (1).
    Chunk(usize, Chunk),
    /// How long a run is going to be, in records and time.
    Length(usize, u64, Time),
    /// A run can't go on.
    Broken(usize, String),
    /// The story was changed: so many records stay, up to a time. Its text as a scenario.
    Retold(u64, Time, String),
    /// The change was refused.
    Refused(String),
    /// What came of trying things, for a job at a moment.
    Tried(JobId, u64, Vec<Verdict>),
    /// What can't be reached, or is to be told beside the screens.
    Notices(Vec<String>),
    /// Something was done elsewhere, or wasn't.
    Done(Result<String, String>),
}

/// What the model wants done outside of itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Put this into the clipboard.
    Copy(String),
    /// Write the screen to a file.
    Screenshot(PathBuf),
    /// Begin or end recording the session.
    Cast(Option<PathBuf>),
    /// Write a text to a file.
    Write(PathBuf, String),
    /// Play on from a time as if these steps stood in the scenario.
    Retell {
        /// The last moment of the story so far.
        at: Time,
        /// What is done then.
        deed: Deed,
        /// The scenario so far.
        text: String,
    },
    /// Go back to the story with this text, and play it from a time on.
    Restore {
        /// The scenario.
        text: String,
        /// From when on it differs.
        at: Time,
    },
    /// Try things on copies of the world.
    Try {
        /// Whose start they may bring about.
        job: JobId,
        /// When.
        at: Time,
        /// After how many records that is.
        event: u64,
        /// The things.
        remedies: Vec<Remedy>,
    },
    /// Do something to a real cluster.
    Act(Deed),
}
