//! `run --transport wire`: the real shell and its clients against the fakes, over HTTP in memory.
//!
//! ```text
//!        one thread, time stands still
//!   ┌──────────────────────────────────────────────────────────────────────────────────────┐
//!   │  World::step ─▶ Delivery ─▶ a shell: reply, line of a watch, "it is time"             │
//!   │      ▲                         │ runs until nothing moves any more                    │
//!   │      └── effects as journalled, requests as bytes ◀┘                                  │
//!   └──────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The world owns the only timer. One thing is delivered at a time, and what comes of it is collected
//! before the next: so the order is the world's, and a scenario ends as it does in direct, to the
//! millisecond. Start at [`run`].

mod clock;
mod doors;
mod replica;

use std::{collections::BTreeMap, io, time::Duration};

use drawbridge_sim::Seed;
use tokio::runtime::Builder;

use self::{clock::TwinClock, doors::Doors, replica::Replica};
use crate::{
    report::{Play, Run},
    scenario::Scenario,
    world::{World, process::Life, wire::Delivery},
};

/// Plays a scenario over the wire and judges it.
///
/// Fails only where the system can't give a runtime for one thread.
pub fn run(scenario: &Scenario, seed: Seed) -> io::Result<Run> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(async {
        let mut world = World::wired(scenario, seed);
        let mut wires = Wires::default();
        let mut play = Play::new(scenario, &mut world);
        wires.deliver_all(&mut world).await;
        loop {
            play.look(&world);
            if !world.step() {
                break;
            }
            wires.deliver_all(&mut world).await;
            play.take(&mut world);
        }
        play.finish(seed, world)
    }))
}

/// All shells, and the ways to them.
#[derive(Default)]
struct Wires {
    clock: TwinClock,
    replicas: BTreeMap<Life, Replica>,
    doors: Doors,
}

impl Wires {
    /// Delivers one thing after the other, and collects what comes of each.
    async fn deliver_all(&mut self, world: &mut World) {
        self.doors.set_open(world.open_doors());
        while let Some(delivery) = world.take_delivery() {
            self.clock.set(world.now());
            self.deliver(world, delivery);
            until_nothing_moves().await;
            self.collect(world);
        }
    }

    fn deliver(&mut self, world: &World, delivery: Delivery) {
        match delivery {
            Delivery::Start(life) => {
                let started = Replica::start(world, life, &self.clock, &self.doors);
                self.replicas.extend(started.map(|replica| (life, replica)));
            }
            Delivery::Wake(life) => self.with(life, Replica::wake),
            Delivery::Stop(life) => self.with(life, Replica::stop),
            Delivery::Kill(life) => {
                self.replicas.remove(&life);
                self.doors.forget(life);
            }
            Delivery::Reply(life, tag, bytes) => self.doors.reply(life, &tag, bytes),
            Delivery::Open(life, tag) => self.doors.open(life, &tag),
            Delivery::Lines(life, tag, lines) => self.doors.lines(life, &tag, lines),
            Delivery::End(life, tag) => self.doors.end(life, &tag),
            Delivery::Refuse(life, tag, endpoint) => self.doors.refuse(life, &tag, endpoint),
        }
    }

    fn with(&mut self, life: Life, act: impl FnOnce(&mut Replica)) {
        if let Some(replica) = self.replicas.get_mut(&life) {
            act(replica);
        }
    }

    /// What shells told and sent since the last time.
    fn collect(&mut self, world: &mut World) {
        for (life, tag, asked) in self.doors.take() {
            world.take_bytes(life, tag, asked);
        }
        for (life, replica) in &self.replicas {
            replica.tell(*life, world);
        }
    }
}

/// Lets every task run until all wait. Time may pass only when nobody has anything to do, so whoever
/// sleeps for a moment is woken when nothing moves any more.
async fn until_nothing_moves() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
