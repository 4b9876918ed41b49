//! Rounds of pings: when they are, and who is in them.
//!
//! ```text
//!   3 s after slurmctld began, then every SlurmdTimeout/3
//!     in turn, some nodes are to register
//!     of the others, those who weren't heard of for a whole round are pinged
//! ```
//!
//! Who answers changes nothing by that, so rounds are events only while some slurmd is silent; otherwise
//! their times are worked out.

use crate::{Span, Time};

/// How many nodes register in a round, and after how many rounds the first of them do again.
const REGISTER: u64 = 16;
const ROUNDS: u64 = 20;

/// Where the rounds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pings {
    /// A round, and its number since slurmctld began.
    at: Time,
    number: u64,
    /// The one before it.
    before: Option<Time>,
    /// The round that is waited for, where somebody is silent.
    pub(crate) due: Option<Time>,
}

/// One round of pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) at: Time,
    pub(crate) number: u64,
    pub(crate) before: Option<Time>,
}

impl Pings {
    /// slurmctld began at `now`.
    pub(crate) fn begin(now: Time) -> Self {
        Self { at: now + Span::secs(3), number: 1, before: None, due: None }
    }

    /// The last round until `now`.
    pub(crate) fn last(&self, now: Time, step: Span) -> Option<Round> {
        let since = now.as_ms().checked_sub(self.at.as_ms())?;
        let passed = since / step.as_ms();
        let at = self.at + step.times(passed);
        let earlier = Time::from_ms(at.as_ms().saturating_sub(step.as_ms()));
        let before = if passed == 0 { self.before } else { Some(earlier) };
        Some(Round { at, number: self.number + passed, before })
    }

    /// The next round after `now`.
    pub(crate) fn next(&self, now: Time, step: Span) -> Time {
        self.last(now, step).map_or(self.at, |round| round.at + step)
    }

    /// A round out of turn, from which the others count.
    pub(crate) fn put(&mut self, now: Time, at: Time, step: Span) {
        let last = self.last(now, step);
        self.number = last.map_or(self.number, |round| round.number + 1);
        (self.before, self.at) = (last.map(|round| round.at).or(self.before), at);
    }

    /// When a slurmd that answers, and was `heard` of then, was last heard of.
    pub(crate) fn last_heard(&self, heard: Time, now: Time, step: Span, node: Seat) -> Time {
        let Some(last) = self.last(now, step) else { return heard };
        let ago = step.times(node.rounds_since_it_registered(last.number)).as_ms();
        let registered = Time::from_ms(last.at.as_ms().saturating_sub(ago));
        let heard = if self.at <= registered { heard.max(registered) } else { heard };
        // It answers every second round: the one after that finds that it was heard of.
        let first = self.next(heard + step, step).max(self.at);
        match now.as_ms().checked_sub(first.as_ms()) {
            Some(since) => first + step.times(2 * (since / step.times(2).as_ms())),
            None => heard,
        }
    }
}

/// A node's place among how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) place: usize,
    pub(crate) nodes: usize,
}

impl Seat {
    /// Whether it is its turn to register.
    pub(crate) const fn registers_in(self, round: u64) -> bool {
        self.rounds_since_it_registered(round) == 0
    }

    const fn rounds_since_it_registered(self, round: u64) -> u64 {
        let mut cycle = self.nodes as u64 / REGISTER + 1;
        if cycle < ROUNDS {
            cycle = ROUNDS;
        }
        let turn = (self.place as u64 + 1) / REGISTER;
        (round + cycle - turn) % cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Span = Span::secs(20);
    const SEAT: Seat = Seat { place: 0, nodes: 4 };

    fn at(secs: u64) -> Time {
        Time::from_ms(1000 * secs)
    }

    #[test]
    fn whoever_answers_is_heard_of_every_second_round() {
        let pings = Pings::begin(at(0));
        let rows = [
            // now, when last heard of
            (2, 1),
            (3, 1),
            (22, 1),
            (23, 23),
            (43, 23),
            (62, 23),
            (63, 63),
            (102, 63),
            (103, 103),
        ];
        for (now, expected) in rows {
            assert_eq!(pings.last_heard(at(1), at(now), STEP, SEAT), at(expected), "at {now} s");
        }
        // Whoever was heard of in between is passed over until a whole round went by.
        assert_eq!(pings.last_heard(at(50), at(69), STEP, SEAT), at(50));
        assert_eq!(pings.last_heard(at(50), at(90), STEP, SEAT), at(83));
    }

    #[test]
    fn every_twentieth_round_the_first_nodes_register() {
        let registers: Vec<u64> = (1..50).filter(|round| SEAT.registers_in(*round)).collect();
        assert_eq!(registers, [20, 40]);
        let later = Seat { place: 16, nodes: 400 };
        let registers: Vec<u64> = (1..60).filter(|round| later.registers_in(*round)).collect();
        assert_eq!(registers, [1, 27, 53]);
        // The twentieth round is at 383 s: it registers there though it was pinged a round before.
        let pings = Pings::begin(at(0));
        assert_eq!(pings.last_heard(at(1), at(384), STEP, SEAT), at(383));
        assert_eq!(pings.last_heard(at(1), at(410), STEP, SEAT), at(383));
    }

    #[test]
    fn a_round_out_of_turn_moves_the_others() {
        let mut pings = Pings::begin(at(0));
        pings.put(at(50), at(51), STEP);
        assert_eq!(pings.last(at(50), STEP), None);
        let round = Round { at: at(51), number: 4, before: Some(at(43)) };
        assert_eq!(pings.last(at(51), STEP), Some(round));
        assert_eq!(pings.next(at(51), STEP), at(71));
    }
}
