//! Plays a world and hands out what happens, piece by piece.
//!
//! ```text
//!   world ──step──▶ records, touched rows ──▶ Chunk
//!     │
//!     └── a clone now and then: where another story may begin
//! ```

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Seed, SlurmNode, Time};

use super::{Change, Chunk, Ending};
use crate::{record::Record, report::Judge, scenario::Scenario, world::World};

/// How many clones of the world there may be; beyond it every second one is dropped. What lies
/// between two of them is played again when a story is changed there, and only then.
const CHECKPOINTS_MAX: usize = 24;
/// Records between two readings of the counters.
const METRICS_EVERY: u64 = 256;

/// A world that is being played.
#[derive(Debug)]
pub struct Recorder {
    scenario: Arc<Scenario>,
    state: State,
    checkpoints: Vec<State>,
    spacing: u64,
    judge: Option<Judge>,
    /// What the expectations may ask for.
    kept: Vec<Record>,
    over: bool,
}

/// The world, and what is known to those who look at it.
#[derive(Clone, Debug)]
struct State {
    world: World,
    /// The names of Slurm's nodes' rows.
    slurm_nodes: BTreeMap<SlurmNode, String>,
    bridge_up: Option<bool>,
    metrics_at: Option<u64>,
}

impl Recorder {
    /// The scenario at its beginning.
    pub fn new(scenario: Arc<Scenario>, seed: Seed) -> Self {
        let mut world = World::noting(&scenario, seed);
        world.note_all();
        let state =
            State { world, slurm_nodes: BTreeMap::new(), bridge_up: None, metrics_at: None };
        let judge = (!scenario.expect.is_empty()).then(|| Judge::new(&scenario));
        Self {
            scenario,
            state,
            checkpoints: vec![],
            spacing: 256,
            judge,
            kept: vec![],
            over: false,
        }
    }

    /// The world as far as it is played.
    pub const fn world(&self) -> &World {
        &self.state.world
    }

    /// Plays on until `enough` says so, which is asked after each event; the first piece is what is
    /// there before any. `None` once the end has been told.
    pub fn next(&mut self, mut enough: impl FnMut(&Chunk) -> bool) -> Option<Chunk> {
        if self.over {
            return None;
        }
        let mut chunk = Chunk::default();
        if self.checkpoints.is_empty() {
            self.take(0, &mut chunk);
            self.keep_checkpoint();
        }
        while !self.over && !enough(&chunk) {
            self.keep_checkpoint();
            if let Some(judge) = &mut self.judge {
                judge.before(self.state.world.next_at(), &self.state.world, &self.kept);
            }
            let before = self.state.world.events();
            let goes_on = self.state.world.step();
            self.take(before + 1, &mut chunk);
            if !goes_on {
                self.end(&mut chunk);
            }
        }
        chunk.now = self.state.world.now();
        Some(chunk)
    }

    /// Takes what is new, to be seen from so many records on.
    fn take(&mut self, from: u64, chunk: &mut Chunk) {
        let records = self.state.world.take_records();
        if self.judge.is_some() {
            self.kept.extend(records.iter().cloned());
        }
        chunk.records.extend(records);
        self.state.changes(from, &mut chunk.changes);
    }

    fn keep_checkpoint(&mut self) {
        let newest = self.checkpoints.last().map(|state| state.world.events());
        let events = self.state.world.events();
        if newest.is_none_or(|newest| newest + self.spacing <= events) {
            self.checkpoints.push(self.state.clone());
        }
        if CHECKPOINTS_MAX < self.checkpoints.len() {
            self.spacing *= 2;
            let all = std::mem::take(&mut self.checkpoints);
            self.checkpoints = all.into_iter().step_by(2).collect();
        }
    }

    fn end(&mut self, chunk: &mut Chunk) {
        self.over = true;
        // No record comes any more that could bring to light what changed without one.
        let events = self.state.world.events();
        chunk.changes.iter_mut().for_each(|(from, _)| *from = (*from).min(events));
        chunk.ending = Some(self.ending());
    }

    fn ending(&mut self) -> Ending {
        let world = &self.state.world;
        let judge = self.judge.take().map(|mut judge| {
            judge.before(None, world, &self.kept);
            judge.outcomes()
        });
        Ending {
            hash: world.hash().to_string(),
            expectations: judge.unwrap_or_default(),
            refused: world.refused().to_vec(),
            violations: world.violations().to_vec(),
        }
    }

    /// The world at a time: after everything that happened until then, itself included.
    pub fn world_at(&self, at: Time) -> Option<World> {
        self.state_at(at).map(|state| state.world)
    }

    fn state_at(&self, at: Time) -> Option<State> {
        let after = self.checkpoints.partition_point(|state| state.world.now() <= at);
        let mut state = self.checkpoints.get(after.checked_sub(1)?)?.clone();
        while state.world.next_at().is_some_and(|next| next <= at) && state.world.step() {
            // What has been seen is no news: only what is known must stay right.
            state.world.take_records();
            state.changes(0, &mut vec![]);
        }
        Some(state)
    }

    /// The same run up to a time, and from there on as another scenario has it. Both must be the
    /// same until then. Returns it with the number of records that they share.
    pub fn retold(&self, scenario: Arc<Scenario>, at: Time) -> Option<(Self, u64)> {
        let mut state = self.state_at(at)?;
        state.world.retell(&scenario);
        let events = state.world.events();
        let judge = (!scenario.expect.is_empty()).then(|| Judge::after(&scenario, at));
        let checkpoints = self.checkpoints.iter().filter(|kept| kept.world.now() <= at);
        let mut checkpoints: Vec<State> = checkpoints.cloned().collect();
        checkpoints.iter_mut().for_each(|kept| kept.world.retell(&scenario));
        let recorder = Self {
            scenario,
            state,
            checkpoints,
            spacing: self.spacing,
            judge,
            kept: vec![],
            over: false,
        };
        Some((recorder, events))
    }

    /// What is played.
    pub const fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }
}

impl State {
    /// What looks different, seen from so many records on.
    fn changes(&mut self, from: u64, changes: &mut Vec<(u64, Change)>) {
        let touched = self.world.take_touched();
        let mut note = |change| changes.push((from, change));
        for uid in &touched.pods {
            self.world.pod_row(uid).into_iter().for_each(|row| note(Change::Pod(row.clone())));
        }
        for id in &touched.jobs {
            self.world.job_row(*id).into_iter().for_each(|row| note(Change::Job(row.clone())));
        }
        for node in touched.slurm_nodes {
            let row = self.world.slurm_node_row(&node);
            let name = row.as_ref().map(|row| row.name.clone());
            let before = match &name {
                Some(name) => self.slurm_nodes.insert(node, name.clone()),
                None => self.slurm_nodes.remove(&node),
            };
            before.filter(|before| Some(before) != name.as_ref()).into_iter().for_each(|gone| {
                note(Change::NodeGone(gone));
            });
            row.into_iter().for_each(|row| note(Change::Node(Arc::new(row))));
        }
        for node in touched.kube_nodes {
            match self.world.kube_node_row(&node) {
                Some(Some(row)) => note(Change::Node(Arc::new(row))),
                Some(None) => note(Change::NodeGone(node)),
                // It is one of Slurm's, and told above.
                None => {}
            }
        }
        self.rest(from, changes);
    }

    fn rest(&mut self, from: u64, changes: &mut Vec<(u64, Change)>) {
        let bridge_up = self.world.bridge_up();
        if bridge_up != self.bridge_up {
            changes.extend(bridge_up.map(|up| (from, Change::Bridge(up))));
            self.bridge_up = bridge_up;
        }
        let cycles = self.world.take_cycles();
        changes.extend((cycles != 0).then_some((from, Change::Cycles(cycles))));
        if self.metrics_at.is_none_or(|at| at + METRICS_EVERY <= from) {
            self.metrics_at = Some(from);
            changes.push((from, Change::Metrics(Arc::new(self.world.metrics()))));
        }
    }
}
