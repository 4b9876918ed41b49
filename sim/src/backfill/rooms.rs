//! Which nodes the plan leaves for a stretch of time, remembered from job to job.
//!
//! ```text
//!   partition, from, until ──▶ free nodes, and how many reservations were looked at
//! ```
//!
//! Jobs that wait ask for few limits, and begin to look at few times. Who asks for the same stretch
//! again has only to look at what was reserved since.

use std::collections::BTreeMap;

use crate::{IndexSet, Slurmctld, conf::NodeSpec};

use super::plan::Plan;

/// The room of those who have nobody to share one with: they exclude nodes, wait for nodes' owners,
/// or need more than some nodes have.
const OWN: usize = 0;

/// What was asked for so far.
pub(super) struct Rooms {
    all: Vec<Room>,
    places: BTreeMap<(usize, u64, u64), usize>,
}

/// The nodes that are free for a stretch of time.
#[derive(Default)]
pub(super) struct Room {
    pub(super) nodes: IndexSet,
    /// How many of them are open at most, at one moment after the other: see `Horizon::enough_from`.
    pub(super) counts: Vec<usize>,
    /// Reservations that were looked at.
    seen: usize,
}

impl Rooms {
    pub(super) fn new() -> Self {
        let mut all = Vec::with_capacity(16);
        all.push(Room::default());
        Self { all, places: BTreeMap::new() }
    }

    /// The place of the room in a partition that is free from `start` to `end`, both included, and
    /// when other nodes come free.
    pub(super) fn find(
        &mut self,
        ctld: &Slurmctld,
        plan: &Plan,
        partition: usize,
        (start, end): (u64, u64),
    ) -> (usize, Option<u64>) {
        let place = self.find_room(ctld, plan, partition, (start, end));
        (place, plan.later(&ctld.partition_nodes[partition], start, end))
    }

    /// The place of the room alone.
    pub(super) fn find_room(
        &mut self,
        ctld: &Slurmctld,
        plan: &Plan,
        partition: usize,
        (start, end): (u64, u64),
    ) -> usize {
        let all = &ctld.partition_nodes[partition];
        let place = *self.places.entry((partition, start, end)).or_insert_with(|| {
            let mut nodes = all.clone();
            nodes.keep(&ctld.up);
            self.all.push(Room { nodes, ..Room::default() });
            self.all.len() - 1
        });
        self.look_again(place, plan, start, end);
        place
    }

    /// The same of some nodes, which are in service.
    pub(super) fn find_among(
        &mut self,
        nodes: IndexSet,
        plan: &Plan,
        (start, end): (u64, u64),
    ) -> (usize, Option<u64>) {
        let later = plan.later(&nodes, start, end);
        self.all[OWN] = Room { nodes, ..Room::default() };
        self.look_again(OWN, plan, start, end);
        (OWN, later)
    }

    fn look_again(&mut self, place: usize, plan: &Plan, start: u64, end: u64) {
        let room = &mut self.all[place];
        room.seen = plan.subtract_reserved(&mut room.nodes, room.seen, start, end);
    }

    /// The place of the room without the nodes that don't suit.
    pub(super) fn narrow(
        &mut self,
        place: usize,
        ctld: &Slurmctld,
        suits: impl Fn(&NodeSpec) -> bool,
    ) -> usize {
        if ctld.census.kinds().iter().all(|kind| suits(&kind.spec)) {
            return place;
        }
        let mut nodes = self.all[place].nodes.clone();
        ctld.census.keep(&mut nodes, suits);
        self.all[OWN] = Room { nodes, ..Room::default() };
        OWN
    }

    /// A room that was just found.
    pub(super) fn get(&mut self, place: usize) -> &mut Room {
        &mut self.all[place]
    }
}
