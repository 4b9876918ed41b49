//! The event queue: a total order over what will happen.
//!
//! ```text
//!   push(at, event) ──▶ [ (at, seq, event) … ] ──▶ pop(): least time, then first pushed
//! ```

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::Time;

/// Events ordered by time, then by the order in which they were pushed.
///
/// The sequence number is what makes equal times deterministic; a heap alone promises nothing
/// about ties.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    pushed: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Time,
    seq: u64,
    event: E,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), pushed: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Schedules `event`.
    pub fn push(&mut self, at: Time, event: E) {
        self.heap.push(Entry { at, seq: self.pushed, event });
        self.pushed += 1;
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// Takes the next event if it is due at `now`.
    pub fn pop_due(&mut self, now: Time) -> Option<(Time, E)> {
        if self.next_at()? <= now { self.pop() } else { None }
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// The next event, without taking it.
    pub fn peek(&self) -> Option<(Time, &E)> {
        self.heap.peek().map(|entry| (entry.at, &entry.event))
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<E> Entry<E> {
    fn key(&self) -> (Time, u64) {
        (self.at, self.seq)
    }
}

// A `BinaryHeap` gives the greatest first, so the order is turned round here.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_come_out_in_the_order_they_went_in() {
        let mut queue = EventQueue::default();
        for (at, name) in [(2, "c"), (1, "a"), (2, "d"), (1, "b")] {
            queue.push(Time::from_ms(at), name);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, ["a", "b", "c", "d"]);
    }

    #[test]
    fn only_due_events_are_taken_by_pop_due() {
        let mut queue = EventQueue::default();
        queue.push(Time::from_ms(5), ());
        assert_eq!(queue.pop_due(Time::from_ms(4)), None);
        assert_eq!(queue.pop_due(Time::from_ms(5)), Some((Time::from_ms(5), ())));
    }
}
