//! A scenario that is explored: its world before the first event, and what it comes to undisturbed.

use drawbridge_scenarios::{Action, Aftermath, Scenario, World};
use drawbridge_sim::{Span, Time};

use crate::reference::Reference;

/// Faults may strike within this at least and at most.
const WINDOW: (Span, Span) = (Span::mins(2), Span::mins(30));
/// After the faults and the undisturbed run's length, everything must come to rest within this.
const REST: Span = Span::hours(2);
/// How many replicas there are where the work is shared.
const SHARED: usize = 2;

/// A scenario with all that its runs share.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The scenario.
    pub scenario: Scenario,
    /// Its world before the first event: runs begin with a clone of it.
    pub start: World,
    /// The same with several replicas of the bridge; none if the scenario has several anyway.
    pub shared: Option<World>,
    /// What the undisturbed run leaves behind.
    pub baseline: Aftermath,
    /// How long the undisturbed run takes.
    pub length: Time,
    /// How many requests the bridge sends in it.
    pub effects: u64,
    /// What was broken in it already.
    pub violations: Vec<String>,
    /// How many steps were refused in it.
    pub refusals: u64,
    /// Whether what comes of it doesn't depend on when things happen.
    pub is_steady: bool,
    /// What it may come to.
    pub reference: Reference,
}

impl Subject {
    /// Plays the scenario once without faults.
    pub fn new(scenario: Scenario) -> Self {
        let start = furnished(&scenario);
        let mut world = start.clone();
        while world.step() {
            world.forget_records();
        }
        Self {
            baseline: world.aftermath(),
            length: world.now(),
            effects: world.effects(),
            violations: world.violations().to_vec(),
            refusals: world.refusals(),
            is_steady: is_steady(&scenario),
            reference: Reference::of(&scenario),
            shared: (scenario.bridge_replicas < SHARED).then(|| furnished(&shared(&scenario))),
            start,
            scenario,
        }
    }

    /// Within which time faults may strike.
    pub fn window(&self) -> Span {
        let length = self.length.since(Time::ZERO);
        length.max(WINDOW.0).min(WINDOW.1)
    }
}

fn furnished(scenario: &Scenario) -> World {
    let mut start = World::new(scenario, scenario.seed);
    start.forget_records();
    start.take_note();
    start.play_until(scenario.until + WINDOW.1 + REST);
    start
}

/// The same with several replicas of the bridge.
fn shared(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.bridge_replicas = SHARED;
    if let Some(config) = &mut scenario.bridge {
        config.features.enable_leader_election = true;
    }
    scenario
}

/// Whether people only begin things, and nobody but the servers and the bridge gets into trouble.
/// Otherwise a fault may let a step come before or after what it was meant for.
fn is_steady(scenario: &Scenario) -> bool {
    scenario.steps.iter().all(|step| match &step.action {
        Action::Apply(objects) => !objects.iter().any(|object| object["kind"] == "CronJob"),
        Action::Fault(fault) => fault.verdict.is_harmless(),
        Action::Crash(_) | Action::Restart(_) | Action::Slurmrestd(_) | Action::SlurmToken(_) => {
            true
        }
        Action::Delete(_)
        | Action::Scale(..)
        | Action::Patch(..)
        | Action::Cordon(..)
        | Action::Sbatch(_)
        | Action::Scancel(_)
        | Action::Reconfigure(_)
        | Action::SlurmNode(..)
        | Action::Scontrol(_) => false,
    })
}
