//! What can be asked for, and the few words that the asking needs.

use drawbridge_sim::Span;

use super::Question;

/// A screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    /// Pods, with gangs.
    Pods,
    /// Jobs as squeue shows them.
    Jobs,
    /// Who holds what on which node.
    Nodes,
    /// What happened.
    Events,
}

impl Tab {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Pods, Self::Jobs, Self::Nodes, Self::Events];

    /// The name on the tab.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pods => "Pods",
            Self::Jobs => "Jobs",
            Self::Nodes => "Nodes",
            Self::Events => "Events",
        }
    }

    /// The tab so many further on, round and round.
    pub(crate) fn next(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

/// What keys mean at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What the key table says.
    Normal,
    /// Text for the prompt.
    Prompt,
}

/// What a user, or the clock, may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Msg {
    /// Leave.
    Quit,
    /// Show or hide the help.
    Help,
    /// Go to a tab.
    Tab(Tab),
    /// Go to the next tab.
    NextTab,
    /// Go to the previous tab.
    PreviousTab,
    /// Move the selection by so many rows.
    Move(isize),
    /// Select the first row.
    First,
    /// Select the last row.
    Last,
    /// Move in time by so many events.
    Step(i64),
    /// Go to the beginning of the run.
    Start,
    /// Go to its end.
    End,
    /// Go to the next moment that the events tell of.
    NextMoment,
    /// Go to the previous one.
    PreviousMoment,
    /// Play or pause.
    Play,
    /// Play faster.
    Faster,
    /// Play slower.
    Slower,
    /// So much of our time has passed.
    Tick(Span),
    /// Open or close the detail pane.
    Why,
    /// Scroll it by so many lines.
    Scroll(i16),
    /// Show only events of the selected object, or all again.
    Focus,
    /// Show also, or no longer, what is over.
    All,
    /// Undo the last thing that is open: help, focus, filter, detail.
    Back,
    /// Ask the user something.
    Ask(Question),
    /// A letter of the answer.
    Type(char),
    /// Take the last letter back.
    Erase,
    /// Take the whole answer back.
    EraseAll,
    /// That is the answer.
    Accept,
}
