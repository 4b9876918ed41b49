//! Faults drawn from a seed, swarm style: each run draws which kinds are on, where, and how often.
//!
//! ```text
//!   seed ──▶ rules: "submit: loseReply, 1 in 3", "any request: crash, 1 in 100", …
//!        ──▶ window: until when anything may strike     ──▶ pulse: all the time, or in bursts
//! ```
//!
//! A run with every fault on all the time finds little: nothing ever gets far enough. So most runs have
//! few kinds on, and some of them strike one request only, but often.

use drawbridge_sim::{Seed, Span, Time};
use rand_chacha::{ChaCha8Rng, rand_core::Rng};

use crate::fault::{REQUESTS, Verdict, WATCH_EVENT, WEBHOOK};

/// What a seed has drawn, and the stream of what it draws yet.
#[derive(Clone, Debug)]
pub struct Swarm {
    random: ChaCha8Rng,
    until: Time,
    pulse: Pulse,
    rules: Vec<Rule>,
    /// What every request of one side gets until then.
    outage: Option<(Side, Verdict, Time)>,
}

/// When faults may strike within the window.
#[derive(Clone, Copy, Debug)]
enum Pulse {
    Always,
    /// For so long of every so long.
    Bursts(Span, Span),
}

/// One kind of fault that is on.
#[derive(Clone, Copy, Debug)]
struct Rule {
    kind: Kind,
    /// One kind of request only.
    only: Option<&'static str>,
    /// How many of 10,000 requests it strikes.
    rate: u32,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Kube,
    Slurm,
    Watch,
    Webhook,
}

/// Kinds of faults: verdicts before their lengths are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Delay,
    DelayReply,
    Refuse,
    LoseRequest,
    LoseReply,
    Reset,
    ResetReply,
    Duplicate,
    Crash,
    Pause,
    WatchDelay,
    WatchEnd,
    Outage,
    Webhook,
    NodeDown,
}

const KINDS: [Kind; 15] = [
    Kind::Delay,
    Kind::DelayReply,
    Kind::Refuse,
    Kind::LoseRequest,
    Kind::LoseReply,
    Kind::Reset,
    Kind::ResetReply,
    Kind::Duplicate,
    Kind::Crash,
    Kind::Pause,
    Kind::WatchDelay,
    Kind::WatchEnd,
    Kind::Outage,
    Kind::Webhook,
    Kind::NodeDown,
];

/// Of 10,000 requests.
const RATES: [u32; 5] = [50, 200, 700, 2_000, 5_000];
/// What the API server may say instead of doing it.
const KUBE_STATUSES: [u16; 6] = [401, 409, 429, 500, 503, 504];
/// What a watch may be refused with.
const WATCH_STATUSES: [u16; 4] = [410, 429, 500, 503];
/// What slurmrestd, or somebody before it, may say.
const SLURM_STATUSES: [u16; 5] = [500, 502, 503, 504, 511];

impl Swarm {
    /// What the seed draws for a run whose faults may strike within so long.
    pub fn new(seed: Seed, within: Span) -> Self {
        let mut random = seed.stream("swarm");
        let window = within.as_ms() / 4 + below(&mut random, within.as_ms().max(4) * 3 / 4);
        let pulse = match below(&mut random, 4) {
            0 => Pulse::Bursts(Span::secs(5), Span::secs(10 + below(&mut random, 50))),
            _ => Pulse::Always,
        };
        let n_rules = 1 + below(&mut random, 4);
        let rules = (0..n_rules).map(|_| rule(&mut random)).collect();
        Self { random, until: Time::ZERO + Span::ms(window), pulse, rules, outage: None }
    }

    /// What becomes of a request of this name.
    pub(crate) fn draw(&mut self, now: Time, request: &'static str) -> Option<Verdict> {
        if self.until <= now || !self.pulse.beats(now) {
            return None;
        }
        let side = side_of(request);
        if let Some((struck, verdict, until)) = self.outage
            && struck == side
            && now < until
        {
            return Some(verdict);
        }
        for index in 0..self.rules.len() {
            let rule = self.rules[index];
            if rule.strikes(request, side) && below(&mut self.random, 10_000) < rule.rate.into() {
                return self.verdict(now, rule.kind, request, side);
            }
        }
        None
    }

    fn verdict(
        &mut self,
        now: Time,
        kind: Kind,
        request: &'static str,
        side: Side,
    ) -> Option<Verdict> {
        let random = &mut self.random;
        Some(match kind {
            Kind::Delay => Verdict::Delay(short(random)),
            Kind::DelayReply => Verdict::DelayReply(short(random)),
            Kind::Refuse if request == "kube.watch" => {
                Verdict::Refuse(pick(random, &WATCH_STATUSES))
            }
            Kind::Refuse if side == Side::Kube => Verdict::Refuse(pick(random, &KUBE_STATUSES)),
            Kind::Refuse => Verdict::Refuse(pick(random, &SLURM_STATUSES)),
            Kind::LoseRequest => Verdict::LoseRequest,
            Kind::LoseReply => Verdict::LoseReply,
            Kind::Reset => Verdict::Reset,
            Kind::ResetReply => Verdict::ResetReply,
            Kind::Duplicate => Verdict::Duplicate(short(random)),
            Kind::Crash if below(random, 2) == 0 => Verdict::CrashBefore(short(random)),
            Kind::Crash => Verdict::CrashAfter(short(random)),
            Kind::Pause => Verdict::Pause(short(random)),
            Kind::WatchDelay => Verdict::Delay(short(random)),
            Kind::WatchEnd => pick(random, &[Verdict::End, Verdict::Gone, Verdict::Mute]),
            Kind::Webhook => Verdict::Refuse(500),
            Kind::NodeDown => {
                let node = u8::try_from(below(random, 8)).unwrap_or_default();
                let span = Span::secs(5 + below(random, 120));
                pick(
                    random,
                    &[
                        Verdict::NodeDown(node, span),
                        Verdict::Unplug(node, span),
                        Verdict::CutOff(node, span),
                    ],
                )
            }
            Kind::Outage => {
                let verdict = match side {
                    Side::Slurm => pick(
                        random,
                        &[
                            Verdict::Refuse(511),
                            Verdict::Reset,
                            Verdict::LoseRequest,
                            Verdict::Refuse(500),
                        ],
                    ),
                    Side::Kube | Side::Watch | Side::Webhook => {
                        pick(random, &[Verdict::Reset, Verdict::Refuse(503), Verdict::Refuse(429)])
                    }
                };
                let until = now + Span::secs(2 + below(random, 90));
                self.outage = Some((side, verdict, until));
                verdict
            }
        })
    }
}

impl Pulse {
    fn beats(self, now: Time) -> bool {
        match self {
            Self::Always => true,
            Self::Bursts(on, every) => now.as_ms() % every.as_ms().max(1) < on.as_ms(),
        }
    }
}

impl Rule {
    fn strikes(self, request: &'static str, side: Side) -> bool {
        if self.only.is_some_and(|only| only != request) {
            return false;
        }
        // A watch that is asked for and never heard of again is `mute`.
        let is_watch = request == "kube.watch";
        match self.kind {
            Kind::Delay | Kind::Refuse | Kind::Reset | Kind::Outage => {
                matches!(side, Side::Kube | Side::Slurm)
            }
            Kind::DelayReply | Kind::LoseRequest | Kind::LoseReply | Kind::ResetReply => {
                matches!(side, Side::Kube | Side::Slurm) && !is_watch
            }
            Kind::Duplicate => matches!(side, Side::Kube | Side::Slurm) && !is_watch,
            Kind::Crash | Kind::Pause | Kind::NodeDown => {
                matches!(side, Side::Kube | Side::Slurm)
            }
            Kind::WatchDelay | Kind::WatchEnd => side == Side::Watch,
            Kind::Webhook => side == Side::Webhook,
        }
    }
}

fn rule(random: &mut ChaCha8Rng) -> Rule {
    let kind = pick(random, &KINDS);
    let only = (below(random, 3) == 0).then(|| pick(random, &REQUESTS[1..20]));
    let rate = pick(random, &RATES);
    // What takes the whole process, a server or a node with it comes seldom.
    let rate = match kind {
        Kind::Crash | Kind::Pause | Kind::Outage | Kind::NodeDown if only.is_none() => rate / 10,
        Kind::WatchDelay | Kind::WatchEnd => rate / 2,
        Kind::Crash
        | Kind::Pause
        | Kind::Outage
        | Kind::NodeDown
        | Kind::Delay
        | Kind::DelayReply
        | Kind::Refuse
        | Kind::LoseRequest
        | Kind::LoseReply
        | Kind::Reset
        | Kind::ResetReply
        | Kind::Duplicate
        | Kind::Webhook => rate,
    };
    // These have one place to strike.
    let only = match kind {
        Kind::WatchDelay | Kind::WatchEnd | Kind::Webhook => None,
        Kind::Crash
        | Kind::Pause
        | Kind::Outage
        | Kind::NodeDown
        | Kind::Delay
        | Kind::DelayReply
        | Kind::Refuse
        | Kind::LoseRequest
        | Kind::LoseReply
        | Kind::Reset
        | Kind::ResetReply
        | Kind::Duplicate => only,
    };
    Rule { kind, only, rate }
}

fn side_of(request: &str) -> Side {
    match request {
        WATCH_EVENT => Side::Watch,
        WEBHOOK => Side::Webhook,
        name if name.starts_with("slurm.") => Side::Slurm,
        _ => Side::Kube,
    }
}

/// Mostly a moment, sometimes longer than anybody waits.
fn short(random: &mut ChaCha8Rng) -> Span {
    match below(random, 8) {
        0 => Span::secs(10 + below(random, 80)),
        1..=3 => Span::secs(1 + below(random, 10)),
        _ => Span::ms(1 + below(random, 1_000)),
    }
}

fn pick<T: Copy>(random: &mut ChaCha8Rng, from: &[T]) -> T {
    let index = below(random, from.len() as u64);
    from[usize::try_from(index).unwrap_or_default()]
}

fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    random.next_u64() % bound.max(1)
}
