//! Every record of a run, in little room.
//!
//! A million records would take a quarter of a gigabyte as they are. Here what they are about is
//! kept once, and their sentences stand one after the other in pages.

use std::collections::HashMap;

use drawbridge_sim::Time;

use crate::record::{Actor, Level, Record, Subject};

/// Records per page.
const PAGE: usize = 4096;

/// All records.
#[derive(Clone, Debug, Default)]
pub struct Diary {
    entries: Vec<Entry>,
    /// The sentences, a page each.
    pages: Vec<String>,
    subjects: Vec<Subject>,
    // Only looked things up in, never gone through.
    numbers: HashMap<Subject, u32>,
    /// The records about each subject.
    about: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    digest: u64,
    subject: u32,
    /// Where its sentence ends in the page.
    end: u32,
    actor: Actor,
    level: Level,
}

/// One record, as the diary has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// Counts from 0.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// Who did it.
    pub actor: Actor,
    /// Whether a person wants to read it.
    pub level: Level,
    /// What it was done to.
    pub subject: &'a Subject,
    /// The sentence.
    pub text: &'a str,
    /// A hash of everything that the sentence leaves out.
    pub digest: u64,
}

impl Diary {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds one.
    pub(super) fn add(&mut self, record: Record) {
        let Record { seq: _, at, actor, level, subject, text, digest } = record;
        let seq = self.entries.len();
        if seq.is_multiple_of(PAGE) {
            self.pages.push(String::with_capacity(PAGE * 48));
        }
        let Some(page) = self.pages.last_mut() else { return };
        page.push_str(&text);
        let end = u32::try_from(page.len()).unwrap_or(u32::MAX);
        let subject = self.number(subject);
        self.about[subject as usize].push(u32::try_from(seq).unwrap_or(u32::MAX));
        self.entries.push(Entry { at, digest, subject, end, actor, level });
    }

    fn number(&mut self, subject: Subject) -> u32 {
        if let Some(number) = self.numbers.get(&subject) {
            return *number;
        }
        let number = u32::try_from(self.subjects.len()).unwrap_or(u32::MAX);
        self.subjects.push(subject.clone());
        self.about.push(vec![]);
        self.numbers.insert(subject, number);
        number
    }

    /// One record.
    pub fn get(&self, seq: usize) -> Option<RecordRef<'_>> {
        let entry = self.entries.get(seq)?;
        let begins = if seq.is_multiple_of(PAGE) { 0 } else { self.entries[seq - 1].end };
        Some(RecordRef {
            seq: seq as u64,
            at: entry.at,
            actor: entry.actor,
            level: entry.level,
            subject: self.subjects.get(entry.subject as usize)?,
            text: self.pages.get(seq / PAGE)?.get(begins as usize..entry.end as usize)?,
            digest: entry.digest,
        })
    }

    /// Records from this one on, in order.
    pub fn from(&self, seq: usize) -> impl Iterator<Item = RecordRef<'_>> {
        (seq..self.len()).filter_map(|seq| self.get(seq))
    }

    /// The numbers of the records about this, in order.
    pub fn about(&self, subject: &Subject) -> &[u32] {
        let number = self.numbers.get(subject);
        number.map_or(&[], |number| &self.about[*number as usize])
    }

    /// How many records there are up to and including this time.
    pub fn until(&self, at: Time) -> usize {
        self.entries.partition_point(|entry| entry.at <= at)
    }

    /// Forgets what came after the first `n` records.
    pub(super) fn cut(&mut self, n: usize) {
        self.entries.truncate(n);
        self.pages.truncate(n.div_ceil(PAGE));
        if let (Some(page), Some(last)) = (self.pages.last_mut(), self.entries.last()) {
            page.truncate(last.end as usize);
        }
        for about in &mut self.about {
            about.truncate(about.partition_point(|seq| (*seq as usize) < n));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64) -> Record {
        Record {
            seq,
            at: Time::from_ms(seq * 10),
            actor: Actor::Slurm,
            level: Level::Story,
            subject: Subject::SlurmNode(format!("n{}", seq % 3)),
            text: format!("sentence {seq}"),
            digest: seq,
        }
    }

    fn diary(n: u64) -> Diary {
        let mut diary = Diary::default();
        (0..n).for_each(|seq| diary.add(record(seq)));
        diary
    }

    #[test]
    fn records_come_out_as_they_went_in() {
        let diary = diary(PAGE as u64 * 2 + 5);
        for seq in [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 4] {
            let (got, want) = (diary.get(seq).unwrap(), record(seq as u64));
            assert_eq!((got.text, got.subject, got.at), (&*want.text, &want.subject, want.at));
        }
        assert_eq!(diary.get(PAGE * 2 + 5), None);
        assert_eq!(diary.about(&Subject::SlurmNode("n1".into()))[..3], [1, 4, 7]);
        assert_eq!(diary.until(Time::from_ms(25)), 3);
    }

    #[test]
    fn what_is_cut_off_can_be_written_anew() {
        for n in [0, 1, PAGE - 1, PAGE, PAGE + 1] {
            let mut diary = diary(PAGE as u64 + 7);
            diary.cut(n);
            assert_eq!(diary.len(), n);
            diary.add(Record { text: "another end".into(), ..record(n as u64) });
            assert_eq!(diary.get(n).map(|it| it.text), Some("another end"));
            assert_eq!(diary.from(0).count(), n + 1);
        }
    }
}
