//! What came of a run: the document that `run -o json` prints.

use std::collections::BTreeMap;

use drawbridge_sim::{HashChain, Seed, Time};
use serde::Serialize;

use crate::{
    expect::{Expectation, Outcome, When},
    frame::{Frame, JobRow, NodeRow, PodRow},
    record::{Level, Record},
    scenario::Scenario,
    world::World,
};

/// The outcome of one scenario under one seed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// What it shows.
    pub why: String,
    /// The seed it ran with.
    pub seed: Seed,
    /// Every expectation was met, no step was refused and no law was broken.
    pub passed: bool,
    /// How much time passed in the world.
    pub virtual_ms: Time,
    /// How many records were written.
    pub events: u64,
    /// The hash over all of them.
    pub event_hash: HashChain,
    /// What was expected, and whether it came.
    pub expectations: Vec<Outcome>,
    /// Steps that were refused, each with its line; they count as failed.
    pub refused: Vec<String>,
    /// The laws that were broken, as sentences; they count as failed.
    pub violations: Vec<String>,
    /// Pods at the end.
    pub pods: Vec<PodRow>,
    /// Jobs at the end.
    pub jobs: Vec<JobRow>,
    /// Nodes at the end.
    pub nodes: Vec<NodeRow>,
    /// Counters at the end.
    pub metrics: BTreeMap<String, u64>,
    /// What the bridge had to be allowed to do in Kubernetes: `create pods/binding`.
    pub permissions: Vec<String>,
    /// Settings that the model knows but doesn't honour yet.
    pub notes: Vec<String>,
}

/// A report with the records that it rests on.
#[derive(Clone, Debug)]
pub struct Run {
    /// The outcome.
    pub report: Report,
    /// Everything that happened.
    pub records: Vec<Record>,
}

impl Run {
    /// The story: what a person wants to read of the records.
    pub fn story(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.level == Level::Story)
    }

    /// The story as text, between what it shows and how it ended: the body of a snapshot.
    pub fn story_text(&self) -> String {
        let Report { scenario, why, events, virtual_ms, event_hash, .. } = &self.report;
        let lines: String = self.story().map(|record| format!("{record}\n")).collect();
        format!(
            "{scenario}: {why}\n\n{lines}\n{events} events in {virtual_ms}, hash {event_hash}\n"
        )
    }
}

/// Plays a scenario and judges it.
pub fn run(scenario: &Scenario, seed: Seed) -> Run {
    let mut world = World::new(scenario, seed);
    let mut play = Play::new(scenario, &mut world);
    loop {
        play.look(&world);
        if !world.step() {
            break;
        }
        play.take(&mut world);
    }
    play.finish(seed, world)
}

/// A scenario that is being played: what happened so far, and what is expected yet.
pub(crate) struct Play<'a> {
    scenario: &'a Scenario,
    judge: Judge,
    records: Vec<Record>,
}

impl<'a> Play<'a> {
    pub(crate) fn new(scenario: &'a Scenario, world: &mut World) -> Self {
        Self { scenario, judge: Judge::new(scenario), records: world.take_records() }
    }

    /// Looks at what is expected before the world's next event.
    pub(crate) fn look(&mut self, world: &World) {
        self.judge.before(world.next_at(), world, &self.records);
    }

    /// Takes what happened.
    pub(crate) fn take(&mut self, world: &mut World) {
        self.records.extend(world.take_records());
    }

    /// The world is over.
    pub(crate) fn finish(mut self, seed: Seed, mut world: World) -> Run {
        self.take(&mut world);
        self.judge.before(None, &world, &self.records);
        let report = report(self.scenario, seed, &world, self.judge.outcomes());
        Run { report, records: self.records }
    }
}

fn report(scenario: &Scenario, seed: Seed, world: &World, expectations: Vec<Outcome>) -> Report {
    let Frame { now, events, pods, jobs, nodes, metrics, .. } = world.frame();
    let violations = world.violations().to_vec();
    let refused = world.refused().to_vec();
    let is_met = expectations.iter().all(|outcome| outcome.passed);
    Report {
        scenario: scenario.name.clone(),
        why: scenario.why.clone(),
        seed,
        passed: violations.is_empty() && refused.is_empty() && is_met,
        virtual_ms: now,
        events,
        event_hash: world.hash(),
        expectations,
        refused,
        violations,
        pods,
        jobs,
        nodes,
        metrics,
        permissions: world.permissions(),
        notes: scenario.notes.clone(),
    }
}

/// Looks at each expectation when its time has come.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    waiting: Vec<(usize, Expectation)>,
    outcomes: BTreeMap<usize, Outcome>,
}

impl Judge {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let waiting = scenario.expect.iter().cloned().enumerate().collect();
        Self { waiting, outcomes: BTreeMap::new() }
    }

    /// What is expected after a time: what came before has been judged.
    pub(crate) fn after(scenario: &Scenario, at: Time) -> Self {
        let mut judge = Self::new(scenario);
        judge.waiting.retain(|(_, it)| match it.at {
            When::At(when) => at < when,
            When::End => true,
        });
        judge
    }

    /// The world's next event is at `next`: whatever is expected before it is looked at now.
    pub(crate) fn before(&mut self, next: Option<Time>, world: &World, records: &[Record]) {
        let is_due = |when: When| match (when, next) {
            (_, None) => true,
            (When::At(at), Some(next)) => at < next,
            (When::End, Some(_)) => false,
        };
        if !self.waiting.iter().any(|(_, it)| is_due(it.at)) {
            return;
        }
        let frame = world.frame();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (due, waiting) = waiting.partition(|(_, it)| is_due(it.at));
        self.waiting = waiting;
        let due: Vec<(usize, Expectation)> = due;
        for (index, expectation) in due {
            self.outcomes.insert(index, expectation.check(&frame, records));
        }
    }

    pub(crate) fn outcomes(self) -> Vec<Outcome> {
        self.outcomes.into_values().collect()
    }
}
