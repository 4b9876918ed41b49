//! One run under faults, and the judgement on it.

use std::collections::BTreeMap;

use drawbridge_scenarios::{
    Aftermath, Seen, Swarm, World,
    fault::{Fault, WEBHOOK},
    format::Lasting,
};
use drawbridge_sim::{HashChain, Seed, Span, Time};

use crate::{reference::Circumstances, subject::Subject};

/// So many events at one time are taken for an endless loop.
const STEPS_AT_ONCE_MAX: u64 = 20_000;

/// Of so many seeds one is played with several replicas of the bridge.
const SHARED_ONE_IN: u64 = 4;
/// How much later than without faults everything may be over, where faults explain nothing: two polls.
const SLACK: Span = Span::mins(1);
/// Who waits longer than this in the undisturbed run waits for somebody else's place.
const WAITS_FOR_ROOM: Span = Span::secs(15);

/// One run: what goes wrong in it, and whether several replicas share the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What goes wrong.
    pub faults: Faults,
    /// Whether there are several replicas, also if the scenario has one.
    pub shared: bool,
}

/// What goes wrong in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Faults {
    /// What this seed draws.
    Drawn(Seed),
    /// Exactly this.
    Listed(Vec<Fault>),
}

impl Trial {
    /// The run that this seed stands for.
    pub fn of_seed(seed: Seed) -> Self {
        Self { faults: Faults::Drawn(seed), shared: seed.0.is_multiple_of(SHARED_ONE_IN) }
    }

    /// A run with exactly these faults.
    pub fn listed(faults: Vec<Fault>, shared: bool) -> Self {
        Self { faults: Faults::Listed(faults), shared }
    }

    /// What the command line has to say to repeat it.
    pub fn repeat(&self) -> String {
        match &self.faults {
            Faults::Drawn(seed) => format!("--first-seed {seed} --seeds 1 --no-crash-points"),
            Faults::Listed(faults) if faults.is_empty() => "--seeds 0 --no-crash-points".to_owned(),
            Faults::Listed(faults) => {
                let shared = if self.shared { "--shared " } else { "" };
                let faults: Vec<_> =
                    faults.iter().map(|fault| format!("--fault '{fault}'")).collect();
                format!("{shared}{}", faults.join(" "))
            }
        }
    }

    /// The world in which it is played, before anything happens.
    pub fn world(&self, subject: &Subject) -> World {
        let shared = subject.shared.as_ref().filter(|_| self.shared);
        let mut world = shared.unwrap_or(&subject.start).clone();
        match &self.faults {
            Faults::Drawn(seed) => {
                world.draw_faults(Swarm::new(*seed, subject.window(), world.replicas()));
            }
            Faults::Listed(faults) => world.list_faults(faults),
        }
        world
    }
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
    let mut world = trial.world(subject);
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
    if aftermath.is_quiet {
        let refused = world.refusals() != subject.refusals;
        let around = Circumstances::of(&fired, refused);
        findings.extend(subject.reference.judge(&world.ends(), around));
        if subject.is_steady && around == Circumstances::default() {
            findings.extend(aftermath.differs_from(&subject.baseline));
            findings.extend(is_late(subject, world, &aftermath, &fired));
        }
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

/// Whether everything was over later than the undisturbed run and the time of the faults explain. Where
/// somebody waits for another's place, faults may have changed who goes first: then, at worst, all run one
/// after the other.
fn is_late(
    subject: &Subject,
    world: &World,
    aftermath: &Aftermath,
    fired: &[Fault],
) -> Option<String> {
    // Controllers whose pods are refused try again at a pace of their own.
    if fired.iter().any(|fault| fault.request == WEBHOOK) {
        return None;
    }
    let without = &subject.baseline;
    let queue = if without.longest_wait < WAITS_FOR_ROOM { Span::ZERO } else { without.work };
    let latest = without.last_finish + world.disturbed_for() + queue + SLACK;
    let last = aftermath.last_finish;
    (latest < last).then(|| {
        let (before, faults) = (without.last_finish, Lasting(world.disturbed_for()));
        format!(
            "end: the last pod ended at {last}, without faults at {before}; faults lasted {faults}"
        )
    })
}
