//! One run under faults, and the judgement on it.

use std::collections::BTreeMap;

use drawbridge_scenarios::{Seen, Swarm, World, fault::Fault};
use drawbridge_sim::{HashChain, Seed, Time};

use crate::subject::Subject;

/// So many events at one time are taken for an endless loop.
const STEPS_AT_ONCE_MAX: u64 = 20_000;

/// What goes wrong in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// What this seed draws.
    Seed(Seed),
    /// Exactly this.
    Faults(Vec<Fault>),
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is wrong, as sentences; empty if all is well.
    pub findings: Vec<String>,
    /// The faults that struck.
    pub fired: Vec<Fault>,
    /// How many pods ended by themselves.
    pub finished: u64,
    /// How long it took in the world.
    pub length: Time,
    /// How many records were written.
    pub events: u64,
    /// The hash over all records.
    pub hash: HashChain,
    /// What the bridge met in which state.
    pub seen: Seen,
}

impl Outcome {
    /// Whether it shows anything: something went wrong, and somebody got through all the same.
    pub fn counts(&self) -> bool {
        !self.fired.is_empty() && self.finished > 0
    }

    /// How many faults of each kind struck each kind of request.
    pub fn faults(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        let mut faults = BTreeMap::new();
        for fault in &self.fired {
            *faults.entry((fault.request, fault.verdict.name())).or_default() += 1;
        }
        faults
    }
}

/// Plays a subject under faults and judges it.
pub fn run(subject: &Subject, trial: &Trial) -> Outcome {
    let mut world = subject.start.clone();
    match trial {
        Trial::Seed(seed) => world.draw_faults(Swarm::new(*seed, subject.window())),
        Trial::Faults(faults) => world.list_faults(faults),
    }
    let ends = play(&mut world);
    let mut outcome = judge(subject, &world);
    outcome.findings.extend(ends.err());
    outcome
}

/// Plays a world to its end. One that goes round in circles is a finding.
pub(crate) fn play(world: &mut World) -> Result<(), String> {
    let (mut at, mut steps) = (world.now(), 0_u64);
    while world.step() {
        world.forget_records();
        steps = if at == world.now() { steps + 1 } else { 0 };
        at = world.now();
        if STEPS_AT_ONCE_MAX <= steps {
            return Err(format!("end: time stands still at {at}"));
        }
    }
    Ok(())
}

/// Judges a world that is over.
pub fn judge(subject: &Subject, world: &World) -> Outcome {
    let aftermath = world.aftermath();
    let fired: Vec<Fault> = world.fired().iter().map(|fired| fired.fault).collect();
    let mut findings: Vec<String> = world.violations().to_vec();
    findings.retain(|finding| !subject.violations.contains(finding));
    findings.extend(aftermath.beyond(&subject.baseline));
    let refused = world.refusals() != subject.refusals;
    let harmless = fired.iter().all(|fault| fault.verdict.is_harmless());
    if subject.is_steady && harmless && !refused && aftermath.is_quiet {
        findings.extend(aftermath.differs_from(&subject.baseline));
    }
    Outcome {
        findings,
        fired,
        finished: aftermath.finished,
        length: world.now(),
        events: world.events(),
        hash: world.hash(),
        seen: world.seen(),
    }
}
