//! One run, with what is worked out of it while it comes in.

use drawbridge_scenarios::{
    Actor, Level, Record,
    recording::{Chunk, Film},
};
use drawbridge_sim::Time;

use super::{lanes::Lanes, series::Series};

/// A run and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Reel {
    /// What run this is.
    pub(crate) title: String,
    /// What it shows.
    pub(crate) why: String,
    /// Where it comes from.
    pub(crate) origin: Origin,
    /// The run itself.
    pub(crate) film: Film,
    /// How busy everything was.
    pub(crate) series: Series,
    /// Which job was where when.
    pub(crate) lanes: Lanes,
    /// When the first piece of it came in.
    pub(crate) began: Option<Time>,
    /// What the scrub bar marks.
    pub(crate) marks: Vec<(Time, Mark)>,
    /// How long it is going to be, where that is known before it has come in.
    pub(crate) length: Option<(u64, Time)>,
    /// Why it can't go on.
    pub(crate) broken: Option<String>,
}

/// Something worth finding on the scrub bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Somebody did something.
    Step,
    /// Something broke, or was broken.
    Trouble,
}

/// Where a run comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A scenario with this text is being played: the story can be changed.
    Twin(String),
    /// It was recorded.
    Tape,
    /// Real clusters are being looked at; and, if so, changed.
    Live {
        /// Whether they may be changed.
        write: bool,
        /// Unix time of the run's zero, in milliseconds.
        zero_unix_ms: u64,
    },
}

impl Reel {
    /// A run of which nothing is known yet.
    pub(crate) fn new(title: String, why: String, origin: Origin) -> Self {
        Self {
            title,
            why,
            origin,
            film: Film::default(),
            series: Series::default(),
            lanes: Lanes::default(),
            marks: vec![],
            began: None,
            length: None,
            broken: None,
        }
    }

    /// Takes in what happened next.
    pub(crate) fn add(&mut self, chunk: Chunk) {
        self.began = self.began.or(Some(chunk.now));
        for record in &chunk.records {
            self.mark(record);
        }
        self.film.add(chunk);
        self.series.follow(&self.film);
        self.lanes.follow(&self.film);
    }

    fn mark(&mut self, record: &Record) {
        let mark = match (record.level, record.actor) {
            (Level::Story, Actor::User) => Mark::Step,
            (Level::Story, Actor::Twin) => Mark::Trouble,
            (Level::Story, Actor::Kube | Actor::Kubelet | Actor::Bridge | Actor::Slurm)
            | (Level::Detail, _) => return,
        };
        // What is done at one time is one mark.
        if self.marks.last() != Some(&(record.at, mark)) {
            self.marks.push((record.at, mark));
        }
    }

    /// Forgets what came after so many records.
    pub(crate) fn cut(&mut self, events: u64, now: Time) {
        self.film.cut(events, now);
        self.marks.retain(|(at, _)| *at <= now);
    }

    /// Whether all of it is known.
    pub(crate) fn is_over(&self) -> bool {
        self.film.ending().is_some() || self.broken.is_some()
    }

    /// Unix time of its zero in milliseconds, where it is of real clusters.
    pub(crate) const fn zero(&self) -> Option<u64> {
        match self.origin {
            Origin::Live { zero_unix_ms, .. } => Some(zero_unix_ms),
            Origin::Twin(_) | Origin::Tape => None,
        }
    }

    /// Whether it is of real clusters.
    pub(crate) const fn is_live(&self) -> bool {
        matches!(self.origin, Origin::Live { .. })
    }
}
