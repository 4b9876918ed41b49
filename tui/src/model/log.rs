//! Records, found fast: by what they are about, and by what the user wants to see.
//!
//! Both indexes are over the whole run. Moving in time only cuts them shorter, which costs a
//! binary search, so a million records scrub as smoothly as a hundred.

use std::collections::BTreeMap;

use drawbridge_scenarios::{Level, Record, Subject};
use drawbridge_sim::Time;

/// The indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    by_subject: BTreeMap<Subject, Vec<usize>>,
    indexed: usize,
    asked: Ask,
    matching: Vec<usize>,
    looked_at: usize,
}

/// Which records the user wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ask {
    /// Words that must all be there, in lower case.
    pub(crate) words: Vec<String>,
    /// Every record, not only the story.
    pub(crate) all: bool,
    /// Only records about these.
    pub(crate) subjects: Option<Vec<Subject>>,
}

impl Ask {
    fn wants(&self, record: &Record) -> bool {
        (self.all || record.level == Level::Story)
            && self.subjects.as_ref().is_none_or(|these| these.contains(&record.subject))
            && holds(&self.words, &[&record.text, record.actor.name()])
    }
}

/// Whether every word is in one of the texts. Words are in lower case.
pub(crate) fn holds(words: &[String], texts: &[&str]) -> bool {
    words.iter().all(|word| texts.iter().any(|text| text.to_lowercase().contains(word)))
}

impl Log {
    /// Takes in records that are new, and a question that is.
    pub(crate) fn look(&mut self, records: &[Record], ask: Ask) {
        for (i, record) in records.iter().enumerate().skip(self.indexed) {
            self.by_subject.entry(record.subject.clone()).or_default().push(i);
        }
        self.indexed = records.len();
        if self.asked != ask {
            self.matching.clear();
            self.looked_at = 0;
            self.asked = ask;
        }
        let wanted = records.iter().enumerate().skip(self.looked_at);
        self.matching.extend(wanted.filter(|(_, r)| self.asked.wants(r)).map(|(i, _)| i));
        self.looked_at = records.len();
    }

    /// The records that answer the question, of the first `n_records`.
    pub(crate) fn matching(&self, n_records: usize) -> &[usize] {
        until(&self.matching, n_records)
    }

    /// When something next happens that the user wants to see.
    pub(crate) fn next_moment(&self, records: &[Record], now: Time) -> Option<Time> {
        let next = self.matching.partition_point(|&i| records[i].at <= now);
        self.matching.get(next).map(|&i| records[i].at)
    }

    /// When something last happened, before now.
    pub(crate) fn previous_moment(&self, records: &[Record], now: Time) -> Option<Time> {
        let first = self.matching.partition_point(|&i| records[i].at < now);
        let previous = first.checked_sub(1)?;
        Some(records[self.matching[previous]].at)
    }

    /// The records about any of these, of the first `n_records`, in order.
    pub(crate) fn about(&self, subjects: &[Subject], n_records: usize) -> Vec<usize> {
        let mut chain: Vec<usize> = subjects
            .iter()
            .filter_map(|subject| self.by_subject.get(subject))
            .flat_map(|about| until(about, n_records))
            .copied()
            .collect();
        chain.sort_unstable();
        chain.dedup();
        chain
    }
}

fn until(indexes: &[usize], n_records: usize) -> &[usize] {
    &indexes[..indexes.partition_point(|&i| i < n_records)]
}
