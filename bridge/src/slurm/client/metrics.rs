//! What was sent, as plain numbers: by call and by outcome.

use std::{collections::BTreeMap, time::Duration};

use drawbridge_core::SlurmFault;

/// All requests so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// By the call's name and what came of it.
    pub by_call: BTreeMap<(&'static str, Outcome), Tally>,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// An answer.
    Answered,
    /// See [`SlurmFault::Refused`].
    Refused,
    /// See [`SlurmFault::Unauthorized`].
    Unauthorized,
    /// See [`SlurmFault::NotServed`].
    NotServed,
    /// See [`SlurmFault::Unreachable`].
    Unreachable,
    /// See [`SlurmFault::Unintelligible`].
    Unintelligible,
    /// See [`SlurmFault::Lost`].
    Lost,
}

/// How many requests there were, and how long they took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// Bytes of their replies.
    pub bytes: u64,
    /// How long they took together.
    pub time: Duration,
    /// The longest.
    pub longest: Duration,
    /// How many took up to each of [`Tally::BOUNDS_MS`], not counting those that took less.
    pub buckets: [u64; Tally::BOUNDS_MS.len()],
}

impl Tally {
    /// Milliseconds. What took longer than the last is in no bucket.
    pub const BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 20_000];

    /// One more, which took so long and brought so much.
    pub(crate) fn count(&mut self, time: Duration, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
        self.time += time;
        self.longest = self.longest.max(time);
        let fits = |bound: &u64| time <= Duration::from_millis(*bound);
        if let Some(bucket) = Self::BOUNDS_MS.iter().position(fits) {
            self.buckets[bucket] += 1;
        }
    }
}

impl Outcome {
    /// As a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::Unauthorized => "unauthorized",
            Self::NotServed => "notServed",
            Self::Unreachable => "unreachable",
            Self::Unintelligible => "unintelligible",
            Self::Lost => "lost",
        }
    }

    pub(super) fn of(fault: Option<&SlurmFault>) -> Self {
        match fault {
            None => Self::Answered,
            Some(SlurmFault::Refused { .. }) => Self::Refused,
            Some(SlurmFault::Unauthorized { .. }) => Self::Unauthorized,
            Some(SlurmFault::NotServed { .. }) => Self::NotServed,
            Some(SlurmFault::Unreachable { .. }) => Self::Unreachable,
            Some(SlurmFault::Unintelligible { .. }) => Self::Unintelligible,
            Some(SlurmFault::Lost { .. }) => Self::Lost,
        }
    }
}

impl Metrics {
    pub(crate) fn count(
        &mut self,
        call: &'static str,
        outcome: Outcome,
        time: Duration,
        bytes: usize,
    ) {
        self.by_call.entry((call, outcome)).or_default().count(time, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_the_first_bucket_that_holds_it() {
        let mut metrics = Metrics::default();
        for ms in [1, 3, 5, 60_000] {
            metrics.count("jobs", Outcome::Answered, Duration::from_millis(ms), 10);
        }
        let tally = &metrics.by_call[&("jobs", Outcome::Answered)];
        assert_eq!((tally.count, tally.bytes), (4, 40));
        assert_eq!(tally.buckets[..4], [1, 0, 2, 0]);
        assert_eq!(tally.buckets.iter().sum::<u64>(), 3);
    }
}
