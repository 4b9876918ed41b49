//! What the controllers have to look at, and when.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Span, Time};

use super::{controllers::Controller, object::Key};

/// One thing to look at. Whoever looks decides from what is there then, not from what changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// A node that may have to register.
    Node(Arc<str>),
    /// An object that one of the controllers looks after.
    Of(Controller, Key),
    /// The pods of a Job that is gone, by its uid.
    Orphans(Arc<str>),
    /// The pods that wait for the default scheduler.
    Schedule,
    /// A pod that couldn't be bound and waits again.
    Rejoin(Key),
    /// A pod that is bound once its volumes are there.
    Bind(Key),
    /// A pod on a node with taints.
    Taint(Key),
    /// A pod on its node.
    Kubelet(Key),
    /// A node that may be lost, or tainted because it was.
    Health(Arc<str>),
    /// A node whose conditions may ask for taints.
    Conditions(Arc<str>),
    /// What its owners left behind.
    Garbage,
    /// Pods that nobody else removes.
    PodGc,
}

/// Work with its times: one entry for each thing, at the earliest time that was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkQueue {
    due: BTreeMap<(Time, u64), Work>,
    when: BTreeMap<Work, (Time, u64)>,
    /// How often it couldn't be done, and what was said the last time.
    failures: BTreeMap<Work, (u32, Arc<str>)>,
    added: u64,
}

/// The first retry after a failure comes this much later, each further one twice as late.
const RETRY: Span = Span::ms(5);
/// The latest retry.
const RETRY_MAX: Span = Span::secs(1000);

impl WorkQueue {
    /// Asks for a look at `at` or before.
    pub(crate) fn add(&mut self, at: Time, work: Work) {
        if let Some(place) = self.when.get(&work) {
            if place.0 <= at {
                return;
            }
            self.due.remove(place);
        }
        let place = (at, self.added);
        self.added += 1;
        self.due.insert(place, work.clone());
        self.when.insert(work, place);
    }

    /// Takes the next piece of work that is due.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<Work> {
        let entry = self.due.first_entry()?;
        if now < entry.key().0 {
            return None;
        }
        let work = entry.remove();
        self.when.remove(&work);
        Some(work)
    }

    /// When the next piece of work is due.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// It couldn't be done: it's tried again, later each time.
    pub(crate) fn failed(&mut self, now: Time, work: Work, why: &str) {
        let (n, last) = self.failures.entry(work.clone()).or_insert_with(|| (0, why.into()));
        let wait = RETRY.times(1 << (*n).min(20)).min(RETRY_MAX);
        *n += 1;
        if **last != *why {
            *last = why.into();
        }
        self.add(now + wait, work);
    }

    /// What was said when it last couldn't be done.
    pub(crate) fn failure(&self, work: &Work) -> Option<Arc<str>> {
        self.failures.get(work).map(|(_, why)| why.clone())
    }

    /// It could be done.
    pub(crate) fn succeeded(&mut self, work: &Work) {
        self.failures.remove(work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_time_asked_for_counts() {
        let mut queue = WorkQueue::default();
        let job = || Work::Of(Controller::Job, Key::new("d", "j"));
        queue.add(Time::from_ms(30), job());
        queue.add(Time::from_ms(20), job());
        queue.add(Time::from_ms(40), job());
        queue.add(Time::from_ms(20), Work::Schedule);
        assert_eq!(queue.pop_due(Time::from_ms(19)), None);
        assert_eq!(queue.pop_due(Time::from_ms(20)), Some(job()));
        assert_eq!(queue.pop_due(Time::from_ms(20)), Some(Work::Schedule));
        assert_eq!(queue.next_at(), None);
    }

    #[test]
    fn retries_come_later_each_time_until_one_succeeds() {
        let mut queue = WorkQueue::default();
        let mut waits = vec![];
        for _ in 0..20 {
            queue.failed(Time::ZERO, Work::Garbage, "no");
            waits.extend(queue.next_at().map(Time::as_ms));
            queue.pop_due(Time::MAX);
        }
        assert_eq!(waits[..4], [5, 10, 20, 40]);
        assert_eq!(waits[19], 1_000_000);
        queue.succeeded(&Work::Garbage);
        queue.failed(Time::ZERO, Work::Garbage, "no");
        assert_eq!(queue.next_at(), Some(Time::from_ms(5)));
    }
}
