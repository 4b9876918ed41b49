//! Which nodes are reserved for whom, and until when.

use crate::{Allocation, Epoch, IndexSet, Span, Time};

/// Stretches of time, one after another; the last has no end.
pub(super) struct Plan {
    slots: Vec<Slot>,
    epoch: Epoch,
    resolution: Span,
}

struct Slot {
    from: Time,
    free: IndexSet,
}

impl Plan {
    pub(super) fn new(now: Time, free: IndexSet, epoch: Epoch, resolution: Span) -> Self {
        Self { slots: vec![Slot { from: now, free }], epoch, resolution }
    }

    /// Nodes that nobody has reserved at any moment from `from` to `to`.
    pub(super) fn free_throughout(&self, from: Time, to: Time) -> IndexSet {
        let mut touched = self.touched(from, to);
        let mut free = touched.next().map_or_else(IndexSet::new, |slot| slot.free.clone());
        touched.for_each(|slot| free.keep(&slot.free));
        free
    }

    /// Whether the nodes of a share are unreserved for so long.
    pub(super) fn is_free(&self, allocation: &Allocation, start: Time, limit: Span) -> bool {
        self.touched(start, start + limit)
            .all(|slot| allocation.nodes.iter().all(|share| slot.free.contains(share.index)))
    }

    /// When reservations next change after `from`.
    pub(super) fn next_change(&self, from: Time) -> Option<Time> {
        self.slots.get(self.after(from)).map(|slot| slot.from)
    }

    /// Reserves nodes, rounded outwards.
    pub(super) fn reserve(&mut self, nodes: &IndexSet, from: Time, to: Time) {
        let (from, to) = (self.round(from, false), self.round(to, true));
        let from = from.max(self.slots[0].from);
        self.split(from);
        self.split(to);
        for slot in self.slots.iter_mut().filter(|slot| from <= slot.from && slot.from < to) {
            slot.free.subtract(nodes);
        }
    }

    fn touched(&self, from: Time, to: Time) -> impl Iterator<Item = &Slot> {
        let first = self.after(from).saturating_sub(1);
        let slots = self.slots[first..].iter();
        slots.take_while(move |slot| slot.from < to || slot.from <= from)
    }

    /// The first slot that begins later.
    fn after(&self, at: Time) -> usize {
        self.slots.partition_point(|slot| slot.from <= at)
    }

    fn split(&mut self, at: Time) {
        let next = self.after(at);
        if next == 0 || self.slots[next - 1].from == at {
            return;
        }
        let free = self.slots[next - 1].free.clone();
        self.slots.insert(next, Slot { from: at, free });
    }

    /// Rounds in calendar time: a resolution of 600 s gives full ten minutes.
    fn round(&self, at: Time, up: bool) -> Time {
        let step = self.resolution.as_ms().max(1);
        let offset = self.epoch.unix(Time::ZERO).saturating_mul(1000);
        let absolute = offset.saturating_add(at.as_ms());
        let down = absolute - absolute % step;
        let rounded = if up && down != absolute { down.saturating_add(step) } else { down };
        Time::from_ms(rounded.saturating_sub(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_rounded_outwards_and_cut_the_time_into_slots() {
        let secs = |secs| Time::ZERO + Span::secs(secs);
        let mut plan = Plan::new(secs(5), IndexSet::below(4), Epoch::DEFAULT, Span::secs(60));
        plan.reserve(&[1, 2].into_iter().collect(), secs(130), secs(190));
        let free = |from, to| plan.free_throughout(secs(from), secs(to)).to_string();
        assert_eq!(free(5, 120), "0-3");
        assert_eq!(free(5, 121), "0,3");
        assert_eq!(free(200, 210), "0,3");
        assert_eq!(free(240, 300), "0-3");
        assert_eq!(plan.next_change(secs(5)), Some(secs(120)));
        assert_eq!(plan.next_change(secs(120)), Some(secs(240)));
        assert_eq!(plan.next_change(secs(240)), None);
    }
}
