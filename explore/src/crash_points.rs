//! Crash points: the bridge dies before and after every request that it ever sends, one run each.
//!
//! ```text
//!   undisturbed run:   ─●─────●──●───────●──▶     a clone before each event that sends something;
//!                       │     │  │       │        from there on, one run for each of its requests
//!                       ✗─▶   ✗─▶ …               and each side of it
//! ```

use drawbridge_scenarios::{
    World,
    fault::{ANY, Fault, Verdict},
};
use drawbridge_sim::{Seed, Span};

use crate::{
    subject::Subject,
    trial::{Outcome, Trial, judge, play, run},
};

/// How long a bridge that crashed stays down.
const DOWN_FOR: Span = Span::secs(5);

/// All crash points of a subject, and what came of them.
#[derive(Clone, Debug, Default)]
pub struct CrashSweep {
    /// How many requests there are.
    pub effects: u64,
    /// How many runs there were: two for each request.
    pub runs: Vec<(Fault, Outcome)>,
}

/// Crashes the bridge before and after the requests of this share: those whose number leaves `part`
/// when divided by `of`.
pub fn crash_points(subject: &Subject, part: u64, of: u64) -> CrashSweep {
    let mut sweep = CrashSweep { effects: subject.effects, runs: vec![] };
    let mut world = subject.start.clone();
    loop {
        let before = world.clone();
        if !world.step() {
            return sweep;
        }
        world.forget_records();
        for nth in before.effects() + 1..=world.effects() {
            if nth % of.max(1) == part {
                sweep.runs.extend(both_sides(subject, &before, nth));
            }
        }
    }
}

fn both_sides(subject: &Subject, before: &World, nth: u64) -> [(Fault, Outcome); 2] {
    [Verdict::CrashBefore(DOWN_FOR), Verdict::CrashAfter(DOWN_FOR)].map(|verdict| {
        let fault = Fault { request: ANY, nth, verdict };
        let mut world = before.clone();
        world.list_faults(&[fault]);
        let ends = play(&mut world);
        let mut outcome = judge(subject, &world);
        outcome.findings.extend(ends.err());
        (fault, outcome)
    })
}

/// Two crashes in one run, the second soon after the first, as this seed draws them.
pub fn pairs(subject: &Subject, seed: Seed) -> (Vec<Fault>, Outcome) {
    use rand_chacha::rand_core::Rng;
    let mut random = seed.stream("pairs");
    let mut below = |bound: u64| random.next_u64() % bound.max(1);
    let first = 1 + below(subject.effects);
    let second = first + 1 + below(30);
    let mut side = |nth| {
        let down_for = Span::ms(1 + below(20_000));
        let verdict = match below(2) {
            0 => Verdict::CrashBefore(down_for),
            _ => Verdict::CrashAfter(down_for),
        };
        Fault { request: ANY, nth, verdict }
    };
    let faults = vec![side(first), side(second)];
    let outcome = run(subject, &Trial::listed(faults.clone(), false));
    (faults, outcome)
}
