//! Faults drawn from a seed, swarm style: each run draws which kinds are on, where, and how often.
//!
//! ```text
//!   seed ──▶ rules: "submit: loseReply, 1 in 3", "any request: crash, 1 in 100", …
//!        ──▶ window: until when anything may strike     ──▶ pulse: all the time, or in bursts
//! ```
//!
//! A run with every fault on all the time finds little: nothing ever gets far enough. So most runs have
//! few kinds on, and some of them strike one kind of request only, or one object, but often.

mod kinds;

use drawbridge_sim::{Seed, Span, Time};
use rand_chacha::{ChaCha8Rng, rand_core::Rng};

use self::kinds::{KINDS, Kind, Reach};
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
    /// The last requests of one kind that were sent at one moment, and how many they were.
    batch: (Time, &'static str, u32),
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
    scope: Scope,
    /// How many of 10,000 requests it strikes.
    rate: u32,
}

/// Whom a rule strikes.
#[derive(Clone, Copy, Debug)]
enum Scope {
    Everybody,
    /// One kind of request.
    Request(&'static str),
    /// Every so manieth object, whatever is done to it.
    Objects(u64),
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Kube,
    Slurm,
    Watch,
    Webhook,
}

/// Of 10,000 requests.
const RATES: [u32; 5] = [50, 200, 700, 2_000, 5_000];
/// How many groups objects fall into, of which a rule may strike one.
const GROUPS: u64 = 3;

impl Swarm {
    /// What the seed draws for a run whose faults may strike within so long, of a bridge with so many
    /// replicas.
    pub fn new(seed: Seed, within: Span, replicas: usize) -> Self {
        let mut random = seed.stream("swarm");
        let window = within.as_ms() / 4 + below(&mut random, within.as_ms().max(4) * 3 / 4);
        let pulse = match below(&mut random, 4) {
            0 => Pulse::Bursts(Span::secs(5), Span::secs(10 + below(&mut random, 50))),
            _ => Pulse::Always,
        };
        let n_rules = 1 + below(&mut random, 4);
        let rules = (0..n_rules).map(|_| Rule::draw(&mut random, replicas)).collect();
        let until = Time::ZERO + Span::ms(window);
        Self { random, until, pulse, rules, outage: None, batch: (Time::ZERO, "", 0) }
    }

    /// Whether questions may be answered with what was true before.
    pub(crate) fn may_be_stale(&self) -> bool {
        self.rules.iter().any(|rule| rule.kind == Kind::Stale)
    }

    /// What becomes of a request of this name about this object.
    pub(crate) fn draw(&mut self, now: Time, request: &'static str, about: u64) -> Option<Verdict> {
        let place = self.place_in_batch(now, request);
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
            let strikes = rule.strikes(request, side, about)
                && below(&mut self.random, 10_000) < rule.rate.into()
                && (rule.kind != Kind::Batch || 1 < place);
            if strikes {
                let verdict = rule.kind.verdict(&mut self.random, request, side);
                if rule.kind == Kind::Outage {
                    let until = now + Span::secs(2 + below(&mut self.random, 90));
                    self.outage = Some((side, verdict, until));
                }
                return Some(verdict);
            }
        }
        None
    }

    /// The how manieth of its kind it is among those that are sent at this moment.
    fn place_in_batch(&mut self, now: Time, request: &'static str) -> u32 {
        let (at, name, count) = self.batch;
        let count = if at == now && name == request { count + 1 } else { 1 };
        self.batch = (now, request, count);
        count
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
    fn draw(random: &mut ChaCha8Rng, replicas: usize) -> Self {
        let mut kind = pick(random, &KINDS);
        // Nobody can be ousted who doesn't hold a lease.
        if kind == Kind::Oust && replicas < 2 {
            kind = Kind::Restart;
        }
        let scope = match (kind.reach(), below(random, 6)) {
            (Reach::Watch | Reach::Webhook, _) => Scope::Everybody,
            (Reach::Request | Reach::Process, 0 | 1) => {
                Scope::Request(pick(random, &REQUESTS[1..REQUESTS.len() - 2]))
            }
            (Reach::Request | Reach::Process, 2) => Scope::Objects(below(random, GROUPS)),
            (Reach::Request | Reach::Process, _) => Scope::Everybody,
        };
        let rate = pick(random, &RATES);
        // What takes the whole process, a server or a node with it comes seldom.
        let rate = match (kind.reach(), scope) {
            (Reach::Process, Scope::Everybody) => rate / 10,
            (Reach::Watch, _) => rate / 2,
            (Reach::Process | Reach::Request | Reach::Webhook, _) => rate,
        };
        Self { kind, scope, rate }
    }

    fn strikes(self, request: &'static str, side: Side, about: u64) -> bool {
        let in_scope = match self.scope {
            Scope::Everybody => true,
            Scope::Request(only) => only == request,
            Scope::Objects(group) => about != 0 && about % GROUPS == group,
        };
        in_scope && self.kind.fits(request, side)
    }
}

fn side_of(request: &str) -> Side {
    match request {
        WATCH_EVENT => Side::Watch,
        WEBHOOK => Side::Webhook,
        name if name.starts_with("slurm.") => Side::Slurm,
        _ => Side::Kube,
    }
}

fn pick<T: Copy>(random: &mut ChaCha8Rng, from: &[T]) -> T {
    let index = below(random, from.len() as u64);
    from[usize::try_from(index).unwrap_or_default()]
}

fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    random.next_u64() % bound.max(1)
}
