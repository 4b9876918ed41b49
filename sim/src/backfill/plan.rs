//! Which nodes nobody has reserved, and until when: Slurm's table of stretches of time.
//!
//! ```text
//!   now, rounded down ──▶ [begin, end) free ──next──▶ [begin, end) free ──▶ … until bf_window ends
//! ```
//!
//! The table only grows: a stretch that is merged with its neighbour still counts against
//! `bf_node_space_size`, as it does in Slurm. Times are seconds since 1970.

use crate::IndexSet;

/// The stretches, linked in order of time. The first is never replaced.
pub(super) struct Plan {
    slots: Vec<Slot>,
    resolution: u64,
}

struct Slot {
    begin: u64,
    end: u64,
    free: IndexSet,
    next: Option<usize>,
}

/// What the plan leaves to a job that would start at some time.
pub(super) struct Room {
    /// Nodes that are free for as long as it may run.
    pub(super) nodes: IndexSet,
    /// When to look again: other nodes are free then.
    pub(super) later: Option<u64>,
}

impl Plan {
    /// Everything in service is free from now until the window ends.
    pub(super) fn new(now: u64, window: u64, resolution: u64, free: IndexSet) -> Self {
        let begin = now / resolution * resolution;
        let end = (now + window) / resolution * resolution;
        Self { slots: vec![Slot { begin, end, free, next: None }], resolution }
    }

    /// Nothing is planned to start later than this.
    pub(super) fn window_end(&self) -> u64 {
        self.in_order().last().map_or(0, |slot| slot.end)
    }

    /// How many stretches were ever made.
    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    /// A run from `start` until `end`, rounded outwards.
    pub(super) const fn stretch(&self, start: u64, limit: u64) -> (u64, u64) {
        let step = self.resolution;
        (start / step * step, (start + limit).div_ceil(step) * step)
    }

    /// Which of `nodes` are free from `start` to `end`, both included.
    pub(super) fn room(&self, nodes: IndexSet, start: u64, end: u64) -> Room {
        let all = nodes.clone();
        let mut room = Room { nodes, later: None };
        for slot in self.in_order() {
            let next = slot.next.map(|next| &self.slots[next]);
            if let Some(next) = next.filter(|_| start < slot.end && room.later.is_none()) {
                // Look again where nodes come free that weren't before.
                if all.gains(&next.free, &room.nodes, &slot.free) {
                    room.later = Some(slot.end);
                }
            }
            if slot.end <= start {
                continue;
            }
            if end < slot.begin {
                let after = next.filter(|next| room.later.is_none() && next.next.is_some());
                room.later = room.later.or(after.map(|next| next.end));
                break;
            }
            room.nodes.keep(&slot.free);
        }
        room
    }

    /// Whether somebody has reserved one of `nodes` between `start` and `end`.
    pub(super) fn is_taken(&self, nodes: &IndexSet, start: u64, end: u64) -> bool {
        self.in_order()
            .filter(|slot| start < slot.end && slot.begin < end)
            .any(|slot| !slot.free.holds(nodes))
    }

    /// Reserves nodes from `start` to `end`.
    pub(super) fn reserve(&mut self, nodes: &IndexSet, start: u64, end: u64) {
        let start = start.max(self.slots[0].begin);
        let end = end.max(start + self.resolution);
        let (mut before, mut at) = (0, 0);
        while self.slots[at].end < start {
            before = at;
            let Some(next) = self.slots[at].next else { return };
            at = next;
        }
        if start < self.slots[at].end {
            self.split(at, start);
        }
        let mut after = None;
        while let Some(next) = self.slots[at].next {
            at = next;
            if end < self.slots[at].end {
                self.split(at, end);
            }
            self.slots[at].free.subtract(nodes);
            if end == self.slots[at].end {
                after = self.slots[at].next;
                break;
            }
        }
        self.merge(before, after);
    }

    /// Cuts a stretch in two.
    fn split(&mut self, at: usize, when: u64) {
        let slot = &self.slots[at];
        let rest = Slot { begin: when, end: slot.end, free: slot.free.clone(), next: slot.next };
        let new = self.slots.len();
        self.slots.push(rest);
        self.slots[at].end = when;
        self.slots[at].next = Some(new);
    }

    /// Makes one of the first two neighbours with the same nodes: of one pair only.
    fn merge(&mut self, from: usize, to: Option<usize>) {
        let mut at = from;
        while let Some(next) = self.slots[at].next.filter(|_| Some(at) != to) {
            if self.slots[at].free == self.slots[next].free {
                self.slots[at].end = self.slots[next].end;
                self.slots[at].next = self.slots[next].next;
                return;
            }
            at = next;
        }
    }

    fn in_order(&self) -> impl Iterator<Item = &Slot> {
        std::iter::successors(self.slots.first(), |slot| slot.next.map(|next| &self.slots[next]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(plan: &Plan) -> String {
        let slots =
            plan.in_order().map(|slot| format!("{}-{} {}", slot.begin, slot.end, slot.free));
        slots.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn reservations_cut_the_window_into_stretches_and_equal_neighbours_become_one() {
        let mut plan = Plan::new(65, 600, 60, IndexSet::below(4));
        assert_eq!(plan.stretch(130, 60), (120, 240));
        let set = |nodes: &[usize]| nodes.iter().copied().collect::<IndexSet>();
        plan.reserve(&set(&[1, 2]), 120, 240);
        assert_eq!(shown(&plan), "60-120 0-3; 120-240 0,3; 240-660 0-3");
        plan.reserve(&set(&[1, 2]), 240, 300);
        assert_eq!(shown(&plan), "60-120 0-3; 120-300 0,3; 300-660 0-3");
        plan.reserve(&set(&[0]), 0, 10);
        assert_eq!(shown(&plan), "60-60 0-3; 60-120 1-3; 120-300 0,3; 300-660 0-3");
        plan.reserve(&set(&[0]), 900, 960);
        assert_eq!((plan.size(), plan.window_end()), (5, 660));
    }

    #[test]
    fn room_is_what_is_free_throughout_and_later_is_when_more_comes_free() {
        let mut plan = Plan::new(60, 600, 60, IndexSet::below(4));
        plan.reserve(&[1, 2].into_iter().collect(), 120, 240);
        let room = |start, end| {
            let room = plan.room(IndexSet::below(4), start, end);
            (room.nodes.to_string(), room.later)
        };
        assert_eq!(room(60, 119), ("0-3".into(), Some(240)));
        assert_eq!(room(60, 120), ("0,3".into(), Some(240)));
        assert_eq!(room(240, 900), ("0-3".into(), None));
        assert!(plan.is_taken(&IndexSet::below(2), 180, 200));
        assert!(!plan.is_taken(&IndexSet::below(1), 180, 200));
        assert!(!plan.is_taken(&IndexSet::below(4), 240, 300));
    }
}
