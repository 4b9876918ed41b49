//! Since when the bridge could do what it must: it is up, Slurm is within reach, and what went wrong
//! is over.
//!
//! ```text
//!   fault ── lasts ──▶ over ── a pause, which the trouble before it made as long as this ──▶ able
//! ```
//!
//! A pause between two tries doubles with every failure, so none is longer than the trouble that came
//! before it, and none is longer than a minute. That is the whole time that a fault gives back.

use drawbridge_sim::{Span, Time};

/// The bridge's longest pause between two tries.
const LONGEST_PAUSE: Span = Span::mins(1);
/// Its first one.
const FIRST_PAUSE: Span = Span::secs(1);
/// Faults that follow each other within this make one trouble: pauses may still be growing.
const STREAK: Span = Span::mins(2);

/// What keeps the bridge from its work.
#[derive(Clone)]
pub(super) struct Ability {
    up_since: Option<Time>,
    /// Since when Slurm can be reached.
    reached_since: Option<Time>,
    /// The trouble that is or was last: when it began, and when its last fault was over.
    trouble: (Time, Time),
    /// Until when the bridge may still suffer from it.
    disturbed_until: Time,
    /// How long it suffered, over the whole run.
    disturbed_for: Span,
}

impl Ability {
    pub(super) fn new() -> Self {
        Self {
            up_since: None,
            reached_since: Some(Time::ZERO),
            trouble: (Time::ZERO, Time::ZERO),
            disturbed_until: Time::ZERO,
            disturbed_for: Span::ZERO,
        }
    }

    pub(super) fn bridge_up(&mut self, now: Time) {
        self.up_since = Some(now);
    }

    pub(super) fn bridge_down(&mut self) {
        self.up_since = None;
    }

    pub(super) fn slurm_within_reach(&mut self, now: Time, within_reach: bool) {
        self.reached_since = within_reach.then(|| self.reached_since.unwrap_or(now));
    }

    /// Something went wrong that isn't the bridge's fault, and lasts so long.
    pub(super) fn disturbed(&mut self, at: Time, lasts: Span) {
        let over = at + lasts;
        let (began, ended) = self.trouble;
        let begins = ended == Time::ZERO || ended + STREAK < at;
        self.trouble = if begins { (at, over) } else { (began, ended.max(over)) };
        let (began, ended) = self.trouble;
        let pause = (FIRST_PAUSE + (ended - began)).min(LONGEST_PAUSE);
        let until = (ended + pause).max(self.disturbed_until);
        self.disturbed_for = self.disturbed_for + (until - self.disturbed_until.max(at));
        self.disturbed_until = until;
    }

    /// How long it suffered from faults, over the whole run.
    pub(super) fn disturbed_for(&self) -> Span {
        self.disturbed_for
    }

    /// Since when the bridge could do what it must; never, while it can't.
    pub(super) fn since(&self) -> Option<Time> {
        Some(self.up_since?.max(self.reached_since?).max(self.disturbed_until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refusal_gives_back_a_second_and_a_long_trouble_a_minute() {
        let at = |secs| Time::ZERO + Span::secs(secs);
        let mut able = Ability::new();
        able.bridge_up(at(1));
        able.disturbed(at(100), Span::ZERO);
        assert_eq!(able.since(), Some(at(101)));
        able.disturbed(at(110), Span::secs(5));
        assert_eq!(able.since(), Some(at(115 + 16)));
        able.disturbed(at(200), Span::secs(30));
        assert_eq!(able.since(), Some(at(230 + 60)));
        assert_eq!(able.disturbed_for(), Span::secs(1 + 21 + 90));
        able.disturbed(at(1000), Span::ZERO);
        assert_eq!(able.since(), Some(at(1001)), "pauses start anew");
    }
}
