//! The log: numbers the records, hashes them into the chain and hands them out.
//!
//! ```text
//!   add(record) ──▶ seq ──▶ hash chain ──▶ fresh records, taken by whoever keeps them
//! ```
//!
//! The world's copy stays small: records that were taken are not in a checkpoint.

use drawbridge_sim::{HashChain, Time};

use crate::record::{Actor, Level, Record, Subject};

/// Counts, hashes and holds the records that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    chain: HashChain,
    count: u64,
    fresh: Vec<Record>,
    last_story: Time,
}

/// A record before it has a number.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) actor: Actor,
    pub(crate) level: Level,
    pub(crate) subject: Subject,
    pub(crate) text: String,
    pub(crate) digest: u64,
}

impl Line {
    /// A line that people read.
    pub(crate) fn story(actor: Actor, subject: Subject, text: impl Into<String>) -> Self {
        Self { actor, level: Level::Story, subject, text: text.into(), digest: 0 }
    }

    /// A line for those who look closer.
    pub(crate) fn detail(actor: Actor, subject: Subject, text: impl Into<String>) -> Self {
        Self { level: Level::Detail, ..Self::story(actor, subject, text) }
    }

    /// The same line, standing for more than it says.
    pub(crate) fn digest(self, digest: u64) -> Self {
        Self { digest, ..self }
    }
}

impl Log {
    /// Adds one record.
    pub(crate) fn add(&mut self, at: Time, line: Line) {
        let Line { actor, level, subject, text, digest } = line;
        if level == Level::Story {
            self.last_story = at;
        }
        let record = Record { seq: self.count, at, actor, level, subject, text, digest };
        self.chain.add(&bytes(&record));
        self.count += 1;
        self.fresh.push(record);
    }

    /// How many there have been.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The hash over all of them.
    pub(crate) fn hash(&self) -> HashChain {
        self.chain
    }

    /// When something last happened that people would read.
    pub(crate) fn last_story(&self) -> Time {
        self.last_story
    }

    /// Takes the records added since the last call.
    pub(crate) fn take(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.fresh)
    }
}

/// What is hashed: every field, as the JSON that `--events` prints.
fn bytes(record: &Record) -> Vec<u8> {
    serde_json::to_vec(record).expect("a record has only text, numbers and unit enums")
}
