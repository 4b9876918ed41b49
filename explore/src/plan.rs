//! Which runs there are, in which order, and who plays them.
//!
//! ```text
//!   index:   0 …            each scenario undisturbed
//!            …              crash points of each scenario, in slices
//!            …              pairs, one of each scenario for each seed
//!            …              seeds: for each seed, each scenario
//!   threads: whoever is free takes the next index; the tally doesn't care about the order
//! ```

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use drawbridge_sim::Seed;

use crate::{
    crash_points::{crash_points, pairs},
    subject::Subject,
    tally::Tally,
    trial::{Trial, run},
};

/// Into so many parts the crash points of a scenario are cut, so that several threads share them.
const SLICES: u64 = 16;

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many seeds, for each scenario.
    pub seeds: u64,
    /// The first of them.
    pub first_seed: u64,
    /// Crash the bridge at every request of each scenario with at most so many.
    pub crash_points: Option<u64>,
    /// How many pairs of crashes, for each scenario.
    pub pairs: u64,
    /// Which part of it all.
    pub shard: Shard,
    /// How many tasks were done before.
    pub done: u64,
}

/// One of several equal parts of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 0.
    pub index: u64,
    /// Of how many.
    pub of: u64,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

/// A piece of work: one run, or a slice of crash points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Nothing goes wrong.
    Undisturbed {
        /// Which subject.
        subject: usize,
    },
    /// This part of the crash points of the subject of this number.
    CrashPoints {
        /// Which subject.
        subject: usize,
        /// Which slice.
        slice: u64,
    },
    /// Two crashes.
    Pair {
        /// Which subject.
        subject: usize,
        /// Drawn from this.
        seed: Seed,
    },
    /// Faults of all kinds.
    Swarm {
        /// Which subject.
        subject: usize,
        /// Drawn from this.
        seed: Seed,
    },
}

impl Plan {
    /// The task at this place, if the plan is that long. Seeds have no end where none was given.
    pub fn task(&self, subjects: &[Subject], index: u64) -> Option<Task> {
        let n = subjects.len() as u64;
        let subject = |at: u64| usize::try_from(at % n.max(1)).unwrap_or_default();
        if index < n {
            return Some(Task::Undisturbed { subject: subject(index) });
        }
        let index = index - n;
        let slices = if self.crash_points.is_some() { n * SLICES } else { 0 };
        if index < slices {
            return Some(Task::CrashPoints {
                subject: subject(index / SLICES),
                slice: index % SLICES,
            });
        }
        let index = index - slices;
        if index < n * self.pairs {
            let seed = Seed(self.first_seed + index / n);
            return Some(Task::Pair { subject: subject(index), seed });
        }
        let index = index - n * self.pairs;
        if n == 0 || self.seeds <= index / n {
            return None;
        }
        Some(Task::Swarm { subject: subject(index), seed: Seed(self.first_seed + index / n) })
    }

    /// How many tasks there are.
    pub fn len(&self, subjects: &[Subject]) -> u64 {
        let n = subjects.len() as u64;
        let slices = if self.crash_points.is_some() { SLICES } else { 0 };
        n.saturating_mul((1 + slices).saturating_add(self.pairs).saturating_add(self.seeds))
    }

    fn perform(&self, subjects: &[Subject], index: u64, task: Task) -> Tally {
        let mut tally = Tally { tasks: 1, ..Tally::default() };
        match task {
            Task::Undisturbed { subject } => {
                let (subject, trial) = (&subjects[subject], Trial::listed(vec![], false));
                tally.add(index, &subject.scenario.name, &trial, &run(subject, &trial));
            }
            Task::CrashPoints { subject, slice } => {
                let subject = &subjects[subject];
                let most = self.crash_points.unwrap_or_default();
                if subject.effects <= most {
                    self.sweep(&mut tally, subject, index, slice);
                }
            }
            Task::Pair { subject, seed } => {
                let subject = &subjects[subject];
                let (faults, outcome) = pairs(subject, seed);
                let trial = Trial::listed(faults, false);
                tally.pairs = 1;
                tally.add(index, &subject.scenario.name, &trial, &outcome);
            }
            Task::Swarm { subject, seed } => {
                let (subject, trial) = (&subjects[subject], Trial::of_seed(seed));
                let outcome = run(subject, &trial);
                tally.add(index, &subject.scenario.name, &trial, &outcome);
            }
        }
        tally
    }

    fn sweep(&self, tally: &mut Tally, subject: &Subject, index: u64, slice: u64) {
        let name = &subject.scenario.name;
        let sweep = crash_points(subject, slice, SLICES);
        tally.effects.insert(name.clone(), sweep.effects);
        tally.crash_points.insert(name.clone(), sweep.runs.len() as u64);
        for (fault, outcome) in sweep.runs {
            tally.add(index, name, &Trial::listed(vec![fault], false), &outcome);
        }
    }
}

/// How many tasks are done between two words on how far it is.
const CHUNK: u64 = 64;

/// Plays a plan on so many threads, as long as it may go on. `done` hears how far it is: every task before
/// that is done. So does whoever calls.
pub fn explore(
    subjects: &[Subject],
    plan: &Plan,
    threads: usize,
    may_go_on: impl Fn(&Tally) -> bool + Sync,
    mut done: impl FnMut(&Tally, u64),
) -> (Tally, u64) {
    let total = Mutex::new(Tally::default());
    let lock = || total.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut from, end) = (plan.done, plan.len(subjects));
    while from < end && may_go_on(&lock()) {
        let next = AtomicU64::new(from);
        let until = end.min(from + CHUNK * plan.shard.of.max(1));
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    while may_go_on(&lock()) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let task = plan.task(subjects, index).filter(|_| index < until);
                        let Some(task) = task else { break };
                        if index % plan.shard.of.max(1) == plan.shard.index {
                            let tally = plan.perform(subjects, index, task);
                            lock().merge(&tally);
                        }
                    }
                });
            }
        });
        // Whoever took a task has done it, also if he was told to stop then.
        from = next.into_inner().min(until);
        done(&lock(), from);
    }
    (total.into_inner().unwrap_or_else(PoisonError::into_inner), from.min(end))
}
