//! Which nodes nobody has reserved, and until when: Slurm's table of stretches of time.
//!
//! ```text
//!   now, rounded down ──▶ stretch ──bound──▶ stretch ──bound──▶ … until bf_window ends
//!                                   │ nodes that come free here, nodes that are taken
//! ```
//!
//! Slurm keeps the free nodes of every stretch. Here only reservations are kept: few of many nodes
//! are reserved, and most stretches differ in few of them. The table only grows: a stretch that is
//! merged with its neighbour still counts against `bf_node_space_size`, as it does in Slurm. Times
//! are seconds since 1970.

mod licenses;
#[cfg(test)]
mod table;

use crate::{IndexSet, LicenseAsk, Licenses, index_set::Part};

use licenses::LicensePlan;

/// The stretches, in order of time.
pub(super) struct Plan {
    /// Everything in service.
    up: IndexSet,
    /// Where the stretches begin; the first is there from the start. It may be of no length.
    bounds: Vec<Bound>,
    changes: Vec<Change>,
    window_end: u64,
    resolution: u64,
    /// How many stretches were ever made.
    made: usize,
    reservations: Vec<Reservation>,
    /// When each begins, in order of time.
    by_begin: Vec<(u64, u32)>,
    /// The nodes of all reservations, one after the other.
    parts: Vec<Part>,
    /// With `bf_licenses`.
    licenses: Option<LicensePlan>,
}

/// Where a stretch begins, and the place of what differs from the one before.
#[derive(Clone, Copy)]
struct Bound {
    at: u64,
    change: usize,
}

/// What differs between two neighbouring stretches: nodes that come free, and that are taken. No node
/// is both.
#[derive(Default)]
struct Change {
    gained: Vec<Part>,
    lost: Vec<Part>,
}

struct Reservation {
    from: u64,
    to: u64,
    /// Its nodes, in the list of all.
    parts: (u32, u32),
}

impl Plan {
    /// Everything in service is free from now until the window ends.
    pub(super) fn new(
        now: u64,
        window: u64,
        resolution: u64,
        up: IndexSet,
        licenses: Option<Licenses>,
    ) -> Self {
        let at = now / resolution * resolution;
        let window_end = (now + window) / resolution * resolution;
        Self {
            up,
            bounds: vec![Bound { at, change: 0 }],
            changes: vec![Change::default()],
            window_end,
            resolution,
            made: 1,
            reservations: vec![],
            by_begin: vec![],
            parts: vec![],
            licenses: licenses.map(LicensePlan::new),
        }
    }

    /// Nothing is planned to start later than this.
    pub(super) const fn window_end(&self) -> u64 {
        self.window_end
    }

    /// How many stretches were ever made.
    pub(super) const fn size(&self) -> usize {
        self.made
    }

    /// A run from `start` until `end`, rounded outwards.
    pub(super) const fn stretch(&self, start: u64, limit: u64) -> (u64, u64) {
        let step = self.resolution;
        (start / step * step, (start + limit).div_ceil(step) * step)
    }

    /// Takes out nodes that somebody has reserved between `start` and `end`, both included. The first
    /// `seen` reservations were looked at before; how many are now.
    pub(super) fn subtract_reserved(
        &self,
        nodes: &mut IndexSet,
        seen: usize,
        start: u64,
        end: u64,
    ) -> usize {
        let new = self.reservations[seen..].iter();
        let overlapping = new.filter(|it| it.from <= end && start < it.to);
        nodes.subtract_parts(overlapping.flat_map(|it| self.parts_of(it)));
        self.reservations.len()
    }

    /// When nodes come free that aren't from `start` on; of what lies beyond `end` only the next.
    pub(super) fn later(&self, all: &IndexSet, start: u64, end: u64) -> Option<u64> {
        let first = self.bounds.partition_point(|bound| bound.at <= start).max(1);
        let beyond = self.bounds.partition_point(|bound| bound.at <= end);
        let last = (beyond + 2).min(self.bounds.len());
        let mut bounds = self.bounds[first.min(last)..last].iter();
        let gains = bounds.find(|bound| self.gains(bound, all)).map(|bound| bound.at);
        // Where nothing comes free Slurm looks at the end of the stretch after the next.
        gains.or_else(|| self.bounds.get(beyond + 2).map(|bound| bound.at))
    }

    /// Whether some of `nodes` come free there.
    fn gains(&self, bound: &Bound, nodes: &IndexSet) -> bool {
        self.changes[bound.change].gained.iter().any(|part| nodes.bits_of(*part) != 0)
    }

    /// Whether the stretches before and after it have the same in them.
    fn changes_nothing(&self, bound: &Bound) -> bool {
        let Change { gained, lost } = &self.changes[bound.change];
        let licenses = self.licenses.as_ref();
        gained.is_empty()
            && lost.is_empty()
            && licenses.is_none_or(|licenses| licenses.changes_nothing(bound.at))
    }

    fn parts_of(&self, reservation: &Reservation) -> &[Part] {
        let (from, to) = reservation.parts;
        &self.parts[from as usize..to as usize]
    }

    /// Whether somebody has reserved one of `nodes` between `start` and `end`.
    fn is_taken(&self, nodes: &IndexSet, start: u64, end: u64) -> bool {
        let inside = start < self.window_end && self.bounds[0].at < end;
        let some_time = start < end || self.bounds.iter().all(|bound| bound.at != start);
        if !inside || !some_time {
            return false;
        }
        let end = end.max(start + 1);
        let mut overlapping = self.reservations.iter().filter(|it| it.from < end && start < it.to);
        !self.up.holds(nodes)
            || overlapping.any(|it| self.parts_of(it).iter().any(|part| nodes.bits_of(*part) != 0))
    }

    /// Whether somebody has reserved licences, or one of these nodes, between `start` and `end`. The
    /// nodes are known to be free from `from` to `to`, both included; `start` isn't before `from`.
    pub(super) fn is_taken_beyond(
        &self,
        (nodes, ask): (&IndexSet, &LicenseAsk),
        (from, to): (u64, u64),
        (start, end): (u64, u64),
    ) -> bool {
        if self.lacks(ask, start, end) || start == end {
            return self.lacks(ask, start, end) || self.is_taken(nodes, start, end);
        }
        let first = self.by_begin.partition_point(|(begin, _)| *begin <= to);
        let beyond = self.by_begin[first..].iter().take_while(|(begin, _)| *begin < end);
        let taken = beyond
            .map(|(_, it)| &self.reservations[*it as usize])
            .filter(|it| start < it.to)
            .flat_map(|it| self.parts_of(it))
            .any(|part| nodes.bits_of(*part) != 0);
        debug_assert!(from / self.resolution * self.resolution <= start);
        debug_assert_eq!(taken, self.is_taken(nodes, start, end));
        taken
    }

    /// Reserves nodes from `start` to `end`, which nobody has, and licences.
    pub(super) fn reserve_free(
        &mut self,
        nodes: &IndexSet,
        ask: &LicenseAsk,
        start: u64,
        end: u64,
    ) {
        debug_assert!(!self.is_taken(nodes, start, end));
        if start < end {
            self.put((nodes, ask), start.max(self.bounds[0].at), end, false);
        } else {
            self.reserve(nodes, ask, start, end);
        }
    }

    /// Reserves nodes from `start` to `end`, as far as nobody has them, and licences.
    pub(super) fn reserve(&mut self, nodes: &IndexSet, ask: &LicenseAsk, start: u64, end: u64) {
        let start = start.max(self.bounds[0].at);
        let end = end.max(start + self.resolution);
        let mut nodes = nodes.clone();
        nodes.keep(&self.up);
        self.put((&nodes, ask), start, end, self.is_taken(&nodes, start, end));
    }

    fn put(&mut self, (nodes, ask): (&IndexSet, &LicenseAsk), start: u64, end: u64, taken: bool) {
        if self.window_end < start {
            return;
        }
        let (before, first) = self.cut_at_start(start);
        let after = self.cut_at_end(end);
        if taken {
            self.reserve_rest(nodes, first, after);
        } else {
            self.add(nodes, start, end);
        }
        if let Some(licenses) = &mut self.licenses {
            licenses.reserve(ask, start, end);
        }
        self.merge(before, after);
    }

    /// Makes a stretch begin at `start`: the one before it that merging begins with, and itself.
    fn cut_at_start(&mut self, start: u64) -> (usize, usize) {
        // The first that ends there or later.
        let at = self.bounds[1..].partition_point(|next| next.at < start);
        if start < self.end_of(at) {
            self.insert(at + 1, start);
        }
        (at.saturating_sub(1), at + 1)
    }

    /// Makes a stretch end at `end`: the one behind it, or how many there are.
    fn cut_at_end(&mut self, end: u64) -> usize {
        let at = self.bounds.partition_point(|bound| bound.at < end);
        let there = self.bounds.get(at).is_some_and(|bound| bound.at == end);
        if end < self.window_end && !there {
            self.insert(at, end);
        }
        at
    }

    fn insert(&mut self, place: usize, at: u64) {
        self.bounds.insert(place, Bound { at, change: self.changes.len() });
        self.changes.push(Change::default());
        self.made += 1;
    }

    fn end_of(&self, stretch: usize) -> u64 {
        self.bounds.get(stretch + 1).map_or(self.window_end, |next| next.at)
    }

    /// Where some of them are taken already: stretch by stretch what is left.
    fn reserve_rest(&mut self, nodes: &IndexSet, first: usize, after: usize) {
        for stretch in first..after {
            let (from, to) = (self.bounds[stretch].at, self.end_of(stretch));
            let mut left = nodes.clone();
            let taken = self.reservations.iter().filter(|it| it.from < to && from < it.to);
            left.subtract_parts(taken.flat_map(|it| self.parts_of(it)));
            self.add(&left, from, to);
        }
    }

    /// Adds a reservation of nodes that nobody has reserved then. Its bounds are there.
    fn add(&mut self, nodes: &IndexSet, from: u64, to: u64) {
        if nodes.is_empty() || self.window_end <= from {
            return;
        }
        let to = to.min(self.window_end);
        let new = number(self.reservations.len());
        let first = number(self.parts.len());
        self.parts.extend(nodes.parts());
        let parts = (first, number(self.parts.len()));
        for part in nodes.parts() {
            let Change { gained, lost } = self.change_at(from);
            exchange(part, gained, lost);
            if to < self.window_end {
                let Change { gained, lost } = self.change_at(to);
                exchange(part, lost, gained);
            }
        }
        self.reservations.push(Reservation { from, to, parts });
        let place = self.by_begin.partition_point(|(begin, _)| *begin <= from);
        self.by_begin.insert(place, (from, new));
    }

    fn change_at(&mut self, at: u64) -> &mut Change {
        // The first stretch may be of no length: what begins there begins with the second.
        let bound = self.bounds[1..].partition_point(|bound| bound.at < at) + 1;
        &mut self.changes[self.bounds[bound].change]
    }

    /// Makes one of the first two neighbours with the same nodes: of one pair only.
    fn merge(&mut self, from: usize, to: usize) {
        let last = to.min(self.bounds.len() - 1);
        let same = (from + 1..=last).find(|at| self.changes_nothing(&self.bounds[*at]));
        if let Some(same) = same {
            self.bounds.remove(same);
        }
    }
}

/// Adds a part to `to`, but for what it undoes of `from`.
fn exchange(part: Part, from: &mut Vec<Part>, to: &mut Vec<Part>) {
    let mut bits = part.bits;
    if let Ok(at) = from.binary_search_by_key(&part.word, |part| part.word) {
        let undone = from[at].bits & bits;
        from[at].bits &= !undone;
        bits &= !undone;
        if from[at].bits == 0 {
            from.remove(at);
        }
    }
    if bits != 0 {
        match to.binary_search_by_key(&part.word, |part| part.word) {
            Ok(at) => to[at].bits |= bits,
            Err(at) => to.insert(at, Part { bits, ..part }),
        }
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the plan leaves to a job that would start at some time.
    pub(super) struct Room {
        pub(super) nodes: IndexSet,
        pub(super) later: Option<u64>,
        pub(super) unlicensed: bool,
    }

    fn room(plan: &Plan, all: &IndexSet, ask: &LicenseAsk, start: u64, end: u64) -> Room {
        let mut nodes = all.clone();
        if start < plan.window_end {
            nodes.keep(&plan.up);
        }
        plan.subtract_reserved(&mut nodes, 0, start, end);
        let without = plan.unlicensed(ask, start, end);
        let later = without.or(plan.later(all, start, end));
        Room { nodes, later, unlicensed: without.is_some() }
    }

    fn shown(plan: &Plan) -> String {
        let stretch = |at: usize| {
            let (from, to) = (plan.bounds[at].at, plan.end_of(at));
            let last = if from == to { 0 } else { to - 1 };
            let free = room(plan, &plan.up, &LicenseAsk::default(), from, last).nodes;
            format!("{from}-{to} {free}")
        };
        (0..plan.bounds.len()).map(stretch).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn reservations_cut_the_window_into_stretches_and_equal_neighbours_become_one() {
        let none = LicenseAsk::default();
        let mut plan = Plan::new(65, 600, 60, IndexSet::below(4), None);
        assert_eq!(plan.stretch(130, 60), (120, 240));
        let set = |nodes: &[usize]| nodes.iter().copied().collect::<IndexSet>();
        plan.reserve(&set(&[1, 2]), &none, 120, 240);
        assert_eq!(shown(&plan), "60-120 0-3; 120-240 0,3; 240-660 0-3");
        plan.reserve(&set(&[1, 2]), &none, 240, 300);
        assert_eq!(shown(&plan), "60-120 0-3; 120-300 0,3; 300-660 0-3");
        plan.reserve(&set(&[0]), &none, 0, 10);
        assert_eq!(shown(&plan), "60-60 0-3; 60-120 1-3; 120-300 0,3; 300-660 0-3");
        plan.reserve(&set(&[0]), &none, 900, 960);
        assert_eq!((plan.size(), plan.window_end()), (5, 660));
    }

    #[test]
    fn room_is_what_is_free_throughout_and_later_is_when_more_comes_free() {
        let none = LicenseAsk::default();
        let mut plan = Plan::new(60, 600, 60, IndexSet::below(4), None);
        plan.reserve(&[1, 2].into_iter().collect(), &none, 120, 240);
        let room = |start, end| {
            let room = room(&plan, &IndexSet::below(4), &none, start, end);
            (room.nodes.to_string(), room.later)
        };
        assert_eq!(room(60, 119), ("0-3".into(), Some(240)));
        assert_eq!(room(60, 120), ("0,3".into(), Some(240)));
        assert_eq!(room(240, 900), ("0-3".into(), None));
        assert!(plan.is_taken(&IndexSet::below(2), 180, 200));
        assert!(!plan.is_taken(&IndexSet::below(1), 180, 200));
        assert!(!plan.is_taken(&IndexSet::below(4), 240, 300));
    }

    fn nodes() -> impl Strategy<Value = IndexSet> {
        prop::collection::vec(0..140_usize, 0..12).prop_map(|all| all.into_iter().collect())
    }

    fn licenses() -> impl Strategy<Value = LicenseAsk> {
        let asks = prop::sample::select(vec!["", "", "a", "a:3", "b:2", "a:2,b"]);
        asks.prop_map(|text| LicenseAsk::parse(text).unwrap())
    }

    proptest! {
        #[test]
        fn it_is_slurms_table(
            asked in prop::collection::vec(
                (nodes(), licenses(), 0..90_u64, 0..40_u64, any::<bool>()),
                1..40,
            ),
            up in nodes(),
            all in prop::option::of(Just(LicenseAsk::parse("a:9,b:4").unwrap())),
        ) {
            let mut up = up;
            up.insert_range(0, 100);
            let all = all.map(|all| Licenses::new(&all));
            let mut plan = Plan::new(605, 4000, 60, up.clone(), all.clone());
            let mut table = table::Table::new(605, 4000, 60, up, all);
            for (nodes, ask, start, length, anyway) in asked {
                let (start, end) = (600 + start * 60, 600 + (start + length) * 60);
                let taken = plan.is_taken(&nodes, start, end) || plan.lacks(&ask, start, end);
                prop_assert_eq!(taken, table.is_taken(&nodes, &ask, start, end));
                for from in [start, 605, end] {
                    let a = room(&plan, &nodes, &ask, from, end);
                    let b = table.room(nodes.clone(), &ask, from, end);
                    prop_assert_eq!(a.unlicensed, b.unlicensed);
                    prop_assert_eq!((a.nodes, a.later), (b.nodes, b.later));
                }
                if anyway || !taken {
                    plan.reserve(&nodes, &ask, start, end);
                    table.reserve(&nodes, &ask, start, end);
                }
                prop_assert_eq!(plan.size(), table.size());
            }
        }
    }
}
