//! `bf_licenses`: licences are planned too, stretch by stretch.

use std::collections::BTreeMap;

use crate::{LicenseAsk, Licenses};

use super::Plan;

/// What is reserved of them.
pub(super) struct LicensePlan {
    /// With nothing used.
    all: Licenses,
    reserved: Vec<(u64, u64, LicenseAsk)>,
}

impl LicensePlan {
    pub(super) const fn new(all: Licenses) -> Self {
        Self { all, reserved: vec![] }
    }

    pub(super) fn reserve(&mut self, ask: &LicenseAsk, from: u64, to: u64) {
        if !ask.is_empty() {
            self.reserved.push((from, to, ask.clone()));
        }
    }

    /// Whether so many are left at a time.
    fn has(&self, ask: &LicenseAsk, at: u64) -> bool {
        let mut left = self.all.clone();
        let then = self.reserved.iter().filter(|(from, to, _)| *from <= at && at < *to);
        then.for_each(|(_, _, ask)| left.take(ask));
        left.can_give(ask)
    }

    /// Whether before and after a time there are as many.
    pub(super) fn changes_nothing(&self, at: u64) -> bool {
        let mut more: BTreeMap<&str, i128> = BTreeMap::new();
        for (from, to, ask) in &self.reserved {
            let sign = i128::from(*from == at) - i128::from(*to == at);
            for (name, count) in ask.iter().filter(|_| sign != 0) {
                *more.entry(name).or_default() += sign * i128::from(count);
            }
        }
        more.values().all(|more| *more == 0)
    }
}

impl Plan {
    /// The end of the last stretch between `start` and `end`, both included, without the licences.
    pub(in crate::backfill) fn unlicensed(
        &self,
        ask: &LicenseAsk,
        start: u64,
        end: u64,
    ) -> Option<u64> {
        let licenses = self.licenses.as_ref().filter(|_| !ask.is_empty())?;
        let without = |at: &usize| {
            let begin = self.bounds[*at].at;
            start < self.end_of(*at) && begin <= end && !licenses.has(ask, begin)
        };
        (0..self.bounds.len()).rev().find(without).map(|at| self.end_of(at))
    }

    /// Whether somebody has reserved the licences between `start` and `end`.
    pub(super) fn lacks(&self, ask: &LicenseAsk, start: u64, end: u64) -> bool {
        end.checked_sub(1).is_some_and(|last| self.unlicensed(ask, start, last).is_some())
    }
}
