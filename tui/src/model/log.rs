//! The records that the user wants to see, of the whole run.
//!
//! Moving in time only cuts the list shorter, which costs a binary search. Finding them is done in
//! pieces, so that a million records never keep a key waiting.

use drawbridge_scenarios::{
    Level, Subject,
    recording::{Film, RecordRef},
};
use drawbridge_sim::Time;

use super::filter::{Filter, Hay};

/// Records looked at in one go.
const PIECE: usize = 40_000;

/// Which records, and those that were found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    asked: Ask,
    found: Vec<u32>,
    looked_at: usize,
    cuts: u64,
}

/// Which records the user wants to see.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ask {
    /// What they must match.
    pub(crate) filter: Filter,
    /// Every record, not only the story.
    pub(crate) all: bool,
    /// Only records about these.
    pub(crate) subjects: Option<Vec<Subject>>,
}

impl Ask {
    fn wants(&self, record: &RecordRef<'_>, text: &mut String) -> bool {
        if !(self.all || record.level == Level::Story) {
            return false;
        }
        self.filter.is_empty() || {
            text.clear();
            text.push_str(record.actor.name());
            text.push('\n');
            text.push_str(record.text);
            self.filter.passes(Hay { text, labels: None })
        }
    }
}

impl Log {
    /// Looks for what is asked for, a piece further.
    pub(crate) fn look(&mut self, film: &Film, ask: &Ask) {
        if self.asked != *ask || self.cuts != film.cuts() {
            *self = Self { asked: ask.clone(), cuts: film.cuts(), ..Self::default() };
        }
        if let Some(subjects) = &ask.subjects {
            return self.look_about(film, subjects);
        }
        let mut text = String::new();
        let piece = film.diary().from(self.looked_at).take(PIECE);
        let wanted = piece.filter(|record| self.asked.wants(record, &mut text));
        self.found.extend(wanted.map(|record| u32::try_from(record.seq).unwrap_or(u32::MAX)));
        self.looked_at = (self.looked_at + PIECE).min(film.diary().len());
    }

    /// What is about something is indexed: all of it is found at once.
    fn look_about(&mut self, film: &Film, subjects: &[Subject]) {
        if self.looked_at == film.diary().len() {
            return;
        }
        let mut text = String::new();
        let mut wants = |seq: &u32| {
            film.record(u64::from(*seq)).is_some_and(|record| self.asked.wants(&record, &mut text))
        };
        let mut found = about(film, subjects, usize::MAX);
        found.retain(|seq| wants(seq));
        self.found = found;
        self.looked_at = film.diary().len();
    }

    /// Whether there is more to look through.
    pub(crate) fn is_busy(&self, film: &Film) -> bool {
        self.looked_at < film.diary().len()
    }

    /// What was found of the first `n_records`.
    pub(crate) fn found(&self, n_records: u64) -> &[u32] {
        until(&self.found, usize::try_from(n_records).unwrap_or(usize::MAX))
    }

    /// When something next happens that the user wants to see.
    pub(crate) fn next_moment(&self, film: &Film, now: Time) -> Option<Time> {
        let next = self.found.partition_point(|seq| *seq < number(film.event_at(now)));
        self.found.get(next).map(|seq| film.time_of(u64::from(*seq) + 1))
    }

    /// When something last happened, before now.
    pub(crate) fn previous_moment(&self, film: &Film, now: Time) -> Option<Time> {
        let before = now.as_ms().checked_sub(1).map(Time::from_ms)?;
        let earlier = self.found.partition_point(|seq| *seq < number(film.event_at(before)));
        let seq = self.found[earlier.checked_sub(1)?];
        Some(film.time_of(u64::from(seq) + 1))
    }
}

/// The numbers of the records about any of these, of the first `n_records`, in order.
pub(crate) fn about(film: &Film, subjects: &[Subject], n_records: usize) -> Vec<u32> {
    let each = subjects.iter().map(|subject| until(film.diary().about(subject), n_records));
    let mut chain: Vec<u32> = each.flatten().copied().collect();
    chain.sort_unstable();
    chain.dedup();
    chain
}

fn until(numbers: &[u32], n_records: usize) -> &[u32] {
    &numbers[..numbers.partition_point(|seq| (*seq as usize) < n_records)]
}

fn number(event: u64) -> u32 {
    u32::try_from(event).unwrap_or(u32::MAX)
}
