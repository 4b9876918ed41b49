//! Where a cycle may stop because nobody who is left can start now.
//!
//! ```text
//!   queue   ■ ■ ■ □ ■ □ □ ■ □ □ □ □       ■ could start now, as far as counting tells
//!           look at these ─▶ ╵ behind the last ■ there are only plans
//! ```
//!
//! Only for those who don't look at plans: see [`Slurmctld::hide_plans`]. Room only shrinks in a cycle,
//! so whoever has too little now never gets enough: the last ■ is looked for from the end, and again
//! now and then, because it may be one no more. What a plan leaves behind for the next cycle is
//! whether any node is shown as planned, so a cycle goes on until that is known.

use std::collections::btree_set;

use super::{Cycle, Quest, QueueKey, Share};
use crate::{Slurmctld, census::Kind};

/// Whether the last one that could start still could is asked so often in a cycle, or for every job of
/// a short queue.
const QUESTIONS: usize = 32;

/// Who is the last that could start now.
pub(in crate::backfill) struct Hope<'a> {
    /// The queue before that one.
    before: btree_set::Iter<'a, QueueKey>,
    last: Option<QueueKey>,
    /// Jobs from one question to the next, and until the next.
    step: usize,
    patience: usize,
}

impl<'a> Hope<'a> {
    /// `None` where every plan counts: where somebody looks at them, and where plans are told of
    /// licences.
    pub(in crate::backfill) fn of(ctld: &'a Slurmctld) -> Option<Self> {
        let stops = ctld.plans_hidden && !ctld.params().backfill.licenses && !ctld.rows.matters();
        let mut before = ctld.queue.iter();
        let step = ctld.queue.len() / QUESTIONS;
        stops.then(|| Self { last: before.next_back().copied(), before, step, patience: 0 })
    }

    /// Whether neither the job at `key` nor anybody behind it starts in this cycle, and what it
    /// leaves behind is known.
    pub(in crate::backfill) fn is_over(&mut self, cycle: &mut Cycle<'_>, key: QueueKey) -> bool {
        if self.last.is_some_and(|last| key <= last) && 0 < self.patience {
            self.patience -= 1;
            return false;
        }
        self.patience = self.step;
        while let Some(last) = self.last.filter(|last| key <= *last) {
            if cycle.may_start(last) {
                return false;
            }
            self.last = self.before.next_back().copied();
        }
        self.last = None;
        cycle.knows_whether_nodes_are_planned()
    }
}

impl Cycle<'_> {
    /// Whether there are as many nodes and CPUs free right now as the job needs: `false` is certain.
    fn may_start(&mut self, key: QueueKey) -> bool {
        let ctld = self.ctld;
        let Some(job) = ctld.job(key.job).filter(|job| !self.tally.is_spent(job)) else {
            return false;
        };
        let Some(ask) = ctld.ask_in(job, key.partition) else { return false };
        let policy = ctld.policy(key.partition);
        let Ok(quest) = Quest::new(&ask, &policy) else { return false };
        let by_count = matches!(policy.share, Share::No | Share::Exclusive)
            && !ask.features.counts()
            && !ask.features.each();
        if !by_count {
            return true;
        }
        let wish = (&**ask, &policy, &quest);
        if !self.future.has_now(&ctld.partition_nodes[key.partition], wish) {
            return false;
        }
        let (limit, _) = self.limit_of(job, key.partition);
        let free = (self.now, self.now + limit);
        let room = self.rooms.find_room(ctld, &self.plan, key.partition, free);
        self.future.has_now(&self.rooms.get(room).nodes, wish)
    }

    /// Whether it is certain that some node will be shown as planned, or that none will.
    fn knows_whether_nodes_are_planned(&self) -> bool {
        let ctld = self.ctld;
        let open = ctld.census.open();
        let mut left = self.outcome.planned.clone();
        left.keep(open);
        left.subtract(&self.taken);
        left.iter().any(|place| !ctld.seems_full(place)) || ctld.everything_seems_full()
    }
}

impl Slurmctld {
    /// Whether every node that takes jobs is given out to the last CPU.
    fn everything_seems_full(&self) -> bool {
        let open = self.census.open();
        if open.overlaps(&self.up) {
            return false;
        }
        // Without a free core a node is given out, but where somebody leaves; where some cores are
        // nobody's, their number doesn't tell.
        let unsure = |kind: &Kind| !kind.spec.spec_cores.is_empty() || kind.cores == 0;
        let full = match self.census.kinds().iter().any(unsure) {
            true => self.up.iter().all(|place| self.seems_full(place)),
            false => {
                let mut leaving = self.up.clone();
                leaving.keep(&self.completing);
                leaving.iter().all(|place| self.seems_full(place))
            }
        };
        debug_assert_eq!(full, self.up.iter().all(|place| self.seems_full(place)));
        full
    }
}
