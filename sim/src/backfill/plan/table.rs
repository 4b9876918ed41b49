//! The plan as Slurm keeps it, with the free nodes of every stretch: what [`super::Plan`] is
//! compared with.

use crate::{IndexSet, LicenseAsk, Licenses};

use super::tests::Room;

/// The stretches, linked in order of time. The first is never replaced.
pub(super) struct Table {
    slots: Vec<Slot>,
    resolution: u64,
}

struct Slot {
    begin: u64,
    end: u64,
    free: IndexSet,
    /// With `bf_licenses`, what is left of them.
    licenses: Option<Licenses>,
    next: Option<usize>,
}

impl Table {
    /// Everything in service is free from now until the window ends.
    pub(super) fn new(
        now: u64,
        window: u64,
        resolution: u64,
        free: IndexSet,
        licenses: Option<Licenses>,
    ) -> Self {
        let begin = now / resolution * resolution;
        let end = (now + window) / resolution * resolution;
        Self { slots: vec![Slot { begin, end, free, licenses, next: None }], resolution }
    }

    /// How many stretches were ever made.
    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    /// Which of `nodes` are free from `start` to `end`, both included, and whether licences are.
    pub(super) fn room(&self, nodes: IndexSet, ask: &LicenseAsk, start: u64, end: u64) -> Room {
        let all = nodes.clone();
        let mut room = Room { nodes, later: None, unlicensed: false };
        for slot in self.in_order() {
            let next = slot.next.map(|next| &self.slots[next]);
            if let Some(next) = next.filter(|_| start < slot.end && room.later.is_none()) {
                // Look again where nodes come free that weren't before.
                if gains(&all, &next.free, &room.nodes, &slot.free) {
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
            if !slot.has(ask) {
                (room.unlicensed, room.later) = (true, Some(slot.end));
            }
        }
        room
    }

    /// Whether somebody has reserved one of `nodes`, or the licences, between `start` and `end`.
    pub(super) fn is_taken(
        &self,
        nodes: &IndexSet,
        ask: &LicenseAsk,
        start: u64,
        end: u64,
    ) -> bool {
        self.in_order()
            .filter(|slot| start < slot.end && slot.begin < end)
            .any(|slot| !slot.free.holds(nodes) || !slot.has(ask))
    }

    /// Reserves nodes and licences from `start` to `end`.
    pub(super) fn reserve(&mut self, nodes: &IndexSet, ask: &LicenseAsk, start: u64, end: u64) {
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
            if let Some(licenses) = &mut self.slots[at].licenses {
                licenses.take(ask);
            }
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
        let rest = Slot {
            begin: when,
            end: slot.end,
            free: slot.free.clone(),
            licenses: slot.licenses.clone(),
            next: slot.next,
        };
        let new = self.slots.len();
        self.slots.push(rest);
        self.slots[at].end = when;
        self.slots[at].next = Some(new);
    }

    /// Makes one of the first two neighbours with the same in them: of one pair only.
    fn merge(&mut self, from: usize, to: Option<usize>) {
        let mut at = from;
        while let Some(next) = self.slots[at].next.filter(|_| Some(at) != to) {
            let (slot, after) = (&self.slots[at], &self.slots[next]);
            if (&slot.free, &slot.licenses) == (&after.free, &after.licenses) {
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

impl Slot {
    fn has(&self, ask: &LicenseAsk) -> bool {
        self.licenses.as_ref().is_none_or(|licenses| licenses.can_give(ask))
    }
}

/// Whether `next` has some of `all` that `room` and `now` together don't.
fn gains(all: &IndexSet, next: &IndexSet, room: &IndexSet, now: &IndexSet) -> bool {
    let (mut gained, mut before) = (all.clone(), room.clone());
    gained.keep(next);
    before.keep(now);
    gained.subtract(&before);
    !gained.is_empty()
}
