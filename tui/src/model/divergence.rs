//! Two runs side by side: where they part, and what became of the same things in both.
//!
//! ```text
//!   this    a b c d e f …
//!   other   a b c x y …
//!                 └ the first difference
//! ```

use std::collections::{BTreeMap, HashMap};

use drawbridge_scenarios::{
    JobRow,
    recording::{Film, RecordRef},
};
use drawbridge_sim::{Span, Time};

use super::scene::Scene;

/// Records compared in one go.
const PIECE: u64 = 40_000;

/// How far two runs were compared, and where they part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Divergence {
    compared: u64,
    first: Option<u64>,
    cuts: (u64, u64),
}

impl Divergence {
    /// Compares a piece further.
    pub(crate) fn follow(&mut self, this: &Film, other: &Film) {
        let cuts = (this.cuts(), other.cuts());
        if self.cuts != cuts {
            *self = Self { cuts, ..Self::default() };
        }
        if self.first.is_some() {
            return;
        }
        let both = this.len().min(other.len());
        let piece = self.compared..both.min(self.compared + PIECE);
        let differs = |seq: &u64| {
            let (a, b) = (this.record(*seq), other.record(*seq));
            a.zip(b).is_none_or(|(a, b)| !is_same(&a, &b))
        };
        self.first = piece.clone().find(differs);
        self.compared = piece.end;
        // One of them ends where the other goes on.
        let over = this.ending().is_some() && other.ending().is_some();
        if self.first.is_none() && over && self.compared == both && this.len() != other.len() {
            self.first = Some(both);
        }
    }

    /// Whether there is more to compare.
    pub(crate) fn is_busy(&self, this: &Film, other: &Film) -> bool {
        self.first.is_none() && self.compared < this.len().min(other.len())
    }

    /// The number of the first record that isn't the same, as far as is known.
    pub(crate) const fn first(&self) -> Option<u64> {
        self.first
    }
}

fn is_same(a: &RecordRef<'_>, b: &RecordRef<'_>) -> bool {
    (a.at, a.actor, a.text, a.subject, a.digest) == (b.at, b.actor, b.text, b.subject, b.digest)
}

/// One job in both runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair<'a> {
    /// What both call it: its name, and which of that name it is.
    pub(crate) name: String,
    /// In this run.
    pub(crate) this: Option<&'a JobRow>,
    /// In the other.
    pub(crate) other: Option<&'a JobRow>,
}

impl Pair<'_> {
    /// Whether it is the same in both.
    pub(crate) fn is_same(&self) -> bool {
        let told = |job: &JobRow| {
            (job.start_ms, job.end_ms, job.nodes.clone(), job.state.clone(), job.submit_ms)
        };
        self.this.map(told) == self.other.map(told)
    }

    /// How much later (or, negative, earlier) it started in the other run, in milliseconds.
    pub(crate) fn moved(&self) -> Option<i64> {
        let ms = |job: Option<&JobRow>| i64::try_from(job?.start_ms?.as_ms()).ok();
        Some(ms(self.other)? - ms(self.this)?)
    }
}

/// The jobs of both, by what they are called: numbers differ as soon as one job is submitted
/// earlier.
pub(crate) fn pairs<'a>(this: Scene<'a>, other: Scene<'a>) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair<'a>> = vec![];
    let mut places: HashMap<String, usize> = HashMap::new();
    for (name, job) in named(this) {
        places.insert(name.clone(), pairs.len());
        pairs.push(Pair { name, this: Some(job), other: None });
    }
    for (name, job) in named(other) {
        match places.get(&name) {
            Some(place) => pairs[*place].other = Some(job),
            None => pairs.push(Pair { name, this: None, other: Some(job) }),
        }
    }
    pairs
}

/// Jobs with names that are theirs alone: the second `train` is `train#2`.
fn named(scene: Scene<'_>) -> impl Iterator<Item = (String, &JobRow)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    scene.jobs().map(move |(_, job)| {
        let nth = seen.entry(&job.name).or_default();
        *nth += 1;
        let name = if *nth == 1 { job.name.clone() } else { format!("{}#{nth}", job.name) };
        (name, job)
    })
}

/// What a run comes to, as far as it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Jobs that have started.
    pub(crate) started: usize,
    /// How long those waited, on average.
    pub(crate) mean_wait: Span,
    /// How long the one did that waited longest.
    pub(crate) longest_wait: Span,
    /// When the last job ended.
    pub(crate) last_end: Time,
}

/// Adds up a run.
pub(crate) fn sum(scene: Scene<'_>) -> Sum {
    let mut sum = Sum::default();
    let mut waited = 0_u64;
    for (_, job) in scene.jobs() {
        sum.last_end = sum.last_end.max(job.end_ms.unwrap_or(Time::ZERO));
        if let Some(start) = job.start_ms {
            let wait = start - job.submit_ms;
            sum.started += 1;
            waited = waited.saturating_add(wait.as_ms());
            sum.longest_wait = sum.longest_wait.max(wait);
        }
    }
    sum.mean_wait = Span::ms(waited / sum.started.max(1) as u64);
    sum
}
