//! A run that can be looked at from any moment.
//!
//! ```text
//!   records: every one                  checkpoints: a clone of the world now and then
//!   frame(n) = nearest checkpoint before n, stepped forward to n
//! ```
//!
//! Going back costs as much as going forward: never more than the way from one checkpoint to the
//! next.

use drawbridge_sim::{Seed, Time};

use crate::{frame::Frame, record::Record, scenario::Scenario, world::World};

/// How many checkpoints there may be; beyond it every second one is dropped.
const CHECKPOINTS_MAX: usize = 128;

/// Every record of a run, and enough of the world to see each moment again.
#[derive(Debug)]
pub struct Recording {
    records: Vec<Record>,
    checkpoints: Vec<World>,
    last: World,
}

impl Recording {
    /// Plays the scenario to its end.
    pub fn record(scenario: &Scenario, seed: Seed) -> Self {
        let mut world = World::new(scenario, seed);
        let mut records = world.take_records();
        let mut checkpoints = vec![world.clone()];
        let mut spacing = 64;
        while world.step() {
            records.extend(world.take_records());
            let newest = checkpoints.last().map_or(0, World::events);
            if newest + spacing <= world.events() {
                checkpoints.push(world.clone());
            }
            if CHECKPOINTS_MAX < checkpoints.len() {
                spacing *= 2;
                checkpoints = checkpoints.into_iter().step_by(2).collect();
            }
        }
        records.extend(world.take_records());
        Self { records, checkpoints, last: world }
    }

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// Whether nothing happened at all.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Every record, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The world at its end.
    pub fn last(&self) -> &World {
        &self.last
    }

    /// The number of records up to and including this time.
    pub fn event_at(&self, at: Time) -> u64 {
        self.records.partition_point(|record| record.at <= at) as u64
    }

    /// What there was to see once `event` records had been written.
    ///
    /// What happens in one event happens at once: in its midst one sees its end.
    pub fn frame(&self, event: u64) -> Frame {
        let after = self.checkpoints.partition_point(|world| world.events() <= event);
        let Some(nearest) = self.checkpoints.get(after.saturating_sub(1)) else {
            return self.last.frame();
        };
        let mut world = nearest.clone();
        while world.events() < event && world.step() {
            world.take_records();
        }
        world.frame()
    }
}
