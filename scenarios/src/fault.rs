//! A fault: which request it strikes, and what becomes of that request.
//!
//! ```text
//!   point: the 3rd `slurm.submit` ──▶ verdict: loseReply ──▶ it takes effect, nobody hears of it
//! ```
//!
//! A fault is known by what it strikes, not by when, so a run that is made smaller keeps its other
//! faults. Scenario files write the same words: `fault: {request: slurm.submit, nth: 3, verdict:
//! loseReply}`.

mod mishap;

use std::{fmt, str::FromStr};

use drawbridge_sim::{Span, Time};
use serde::{Serialize, Serializer};

pub use self::mishap::Mishap;
use crate::format::Lasting;

/// Every request of the bridge, whatever its kind.
pub const ANY: &str = "effect";
/// One line of an open watch.
pub const WATCH_EVENT: &str = "watch.event";
/// A call of the API server to the bridge's webhooks.
pub const WEBHOOK: &str = "webhook";

/// What a fault can strike, by the name under which requests are counted.
pub const REQUESTS: [&str; 28] = [
    ANY,
    "slurm.ping",
    "slurm.testToken",
    "slurm.submit",
    "slurm.states",
    "slurm.job",
    "slurm.jobs",
    "slurm.cancel",
    "slurm.signal",
    "slurm.remark",
    "slurm.revise",
    "slurm.nodes",
    "slurm.updateNode",
    "slurm.createNode",
    "slurm.describeNode",
    "slurm.deleteNode",
    "slurm.reservations",
    "kube.bind",
    "kube.evict",
    "kube.list",
    "kube.get",
    "kube.lease",
    "kube.write",
    "kube.patch",
    "kube.delete",
    "kube.watch",
    WATCH_EVENT,
    WEBHOOK,
];

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// What it strikes: one of [`REQUESTS`].
    pub request: &'static str,
    /// The how manieth of those, from 1, over all lives of the bridge.
    pub nth: u64,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// A fault that struck, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// When.
    pub at: Time,
    /// What.
    pub fault: Fault,
}

/// What becomes of a request, of who sends it, or of the world around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It arrives so much later.
    Delay(Span),
    /// It takes effect; the reply, which says how things were then, comes so much later.
    DelayReply(Span),
    /// A question is answered as it was the last time.
    Stale,
    /// It is answered with this status and changes nothing.
    Refuse(u16),
    /// It never arrives, and nobody hears of it.
    LoseRequest,
    /// It takes effect, and nobody hears of it. The cruel one.
    LoseReply,
    /// The connection isn't made.
    Reset,
    /// It takes effect, and then the connection breaks.
    ResetReply,
    /// It arrives again, so much later.
    Duplicate(Span),
    /// Somebody else writes the object just before it arrives.
    Conflict,
    /// The process dies before it is sent, and starts again so much later.
    CrashBefore(Span),
    /// The process dies when it takes effect.
    CrashAfter(Span),
    /// The process is told to end, and starts again so much later.
    Restart(Span),
    /// It is sent, and then the process stands still for so long.
    Pause(Span),
    /// The process's clock leaps ahead.
    ClockAhead(Span),
    /// The process's clock falls behind: as clocks never go back, it stands still for so long.
    ClockBehind(Span),
    /// Somebody takes the lease away from whoever leads.
    Oust,
    /// The watch ends.
    End,
    /// The watch has fallen too far behind: 410.
    Gone,
    /// The watch says nothing any more, and doesn't end.
    Mute,
    /// It is sent, and something happens elsewhere.
    Mishap(Mishap),
}

/// What a verdict carries besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    Nothing,
    Status(u16),
    Span(Span),
    Which(u8, Span),
}

/// The names of verdicts that are no mishaps, in the order of the enum.
const OWN: [&str; 20] = [
    "delay",
    "delayReply",
    "stale",
    "refuse",
    "loseRequest",
    "loseReply",
    "reset",
    "resetReply",
    "duplicate",
    "conflict",
    "crashBefore",
    "crashAfter",
    "restart",
    "pause",
    "clockAhead",
    "clockBehind",
    "oust",
    "end",
    "gone",
    "mute",
];

/// The names of all verdicts.
pub fn verdicts() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().chain(mishap::NAMES)
}

impl Verdict {
    /// Its name without what it carries.
    pub const fn name(self) -> &'static str {
        self.parts().0
    }

    const fn parts(self) -> (&'static str, Carries) {
        match self {
            Self::Delay(span) => (OWN[0], Carries::Span(span)),
            Self::DelayReply(span) => (OWN[1], Carries::Span(span)),
            Self::Stale => (OWN[2], Carries::Nothing),
            Self::Refuse(status) => (OWN[3], Carries::Status(status)),
            Self::LoseRequest => (OWN[4], Carries::Nothing),
            Self::LoseReply => (OWN[5], Carries::Nothing),
            Self::Reset => (OWN[6], Carries::Nothing),
            Self::ResetReply => (OWN[7], Carries::Nothing),
            Self::Duplicate(span) => (OWN[8], Carries::Span(span)),
            Self::Conflict => (OWN[9], Carries::Nothing),
            Self::CrashBefore(span) => (OWN[10], Carries::Span(span)),
            Self::CrashAfter(span) => (OWN[11], Carries::Span(span)),
            Self::Restart(span) => (OWN[12], Carries::Span(span)),
            Self::Pause(span) => (OWN[13], Carries::Span(span)),
            Self::ClockAhead(span) => (OWN[14], Carries::Span(span)),
            Self::ClockBehind(span) => (OWN[15], Carries::Span(span)),
            Self::Oust => (OWN[16], Carries::Nothing),
            Self::End => (OWN[17], Carries::Nothing),
            Self::Gone => (OWN[18], Carries::Nothing),
            Self::Mute => (OWN[19], Carries::Nothing),
            Self::Mishap(mishap) => mishap.parts(),
        }
    }

    fn of(name: &str, carries: Carries) -> Option<Self> {
        Some(match (name, carries) {
            ("delay", Carries::Span(span)) => Self::Delay(span),
            ("delayReply", Carries::Span(span)) => Self::DelayReply(span),
            ("stale", Carries::Nothing) => Self::Stale,
            ("refuse", Carries::Status(status)) => Self::Refuse(status),
            ("loseRequest", Carries::Nothing) => Self::LoseRequest,
            ("loseReply", Carries::Nothing) => Self::LoseReply,
            ("reset", Carries::Nothing) => Self::Reset,
            ("resetReply", Carries::Nothing) => Self::ResetReply,
            ("duplicate", Carries::Span(span)) => Self::Duplicate(span),
            ("conflict", Carries::Nothing) => Self::Conflict,
            ("crashBefore", Carries::Span(span)) => Self::CrashBefore(span),
            ("crashAfter", Carries::Span(span)) => Self::CrashAfter(span),
            ("restart", Carries::Span(span)) => Self::Restart(span),
            ("pause", Carries::Span(span)) => Self::Pause(span),
            ("clockAhead", Carries::Span(span)) => Self::ClockAhead(span),
            ("clockBehind", Carries::Span(span)) => Self::ClockBehind(span),
            ("oust", Carries::Nothing) => Self::Oust,
            ("end", Carries::Nothing) => Self::End,
            ("gone", Carries::Nothing) => Self::Gone,
            ("mute", Carries::Nothing) => Self::Mute,
            (name, carries) => Self::Mishap(Mishap::of(name, carries)?),
        })
    }

    /// For how long nobody can expect anything of the bridge because of it.
    pub(crate) const fn lasts(self) -> Span {
        match self {
            Self::Delay(span)
            | Self::DelayReply(span)
            | Self::Duplicate(span)
            | Self::CrashBefore(span)
            | Self::CrashAfter(span)
            | Self::Restart(span)
            | Self::Pause(span)
            | Self::ClockBehind(span) => span,
            // As long as the bridge waits for a reply at most. A clock that leaps ahead makes it give
            // up on replies that come all the same.
            Self::LoseRequest | Self::LoseReply | Self::ClockAhead(_) => Span::secs(30),
            // As long as it believes in a watch that says nothing.
            Self::Mute => Span::mins(5),
            // Until the next one may take the lease, and has read everything.
            Self::Oust => Span::secs(15),
            // As long as it takes what it may not list for something that isn't there.
            Self::Refuse(403) => Span::mins(5),
            Self::Refuse(_)
            | Self::Stale
            | Self::Conflict
            | Self::Reset
            | Self::ResetReply
            | Self::End
            | Self::Gone => Span::ZERO,
            Self::Mishap(mishap) => mishap.lasts(),
        }
    }

    /// Whether it leaves what was asked for undone or done, but takes nothing away that was there.
    pub const fn is_harmless(self) -> bool {
        !matches!(self, Self::Mishap(mishap) if mishap.takes_work())
    }
}

/// As scenario files write it: `delay 5s`, `refuse 503`, `loseReply`, `nodeDown 0 1m`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, carries) = self.parts();
        f.write_str(name)?;
        match carries {
            Carries::Nothing => Ok(()),
            Carries::Status(status) => write!(f, " {status}"),
            Carries::Span(span) => write!(f, " {}", Lasting(span)),
            Carries::Which(n, span) => write!(f, " {n} {}", Lasting(span)),
        }
    }
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        read(&words).ok_or_else(|| format!("`{text}` is no verdict"))
    }
}

fn read(words: &[&str]) -> Option<Verdict> {
    let span = |text: &str| Lasting::parse(text).ok().map(|lasting| lasting.0);
    let (name, carries) = match *words {
        [name] => (name, Carries::Nothing),
        ["refuse", status] => ("refuse", Carries::Status(status.parse().ok()?)),
        [name, it] => (name, Carries::Span(span(it)?)),
        [name, which, it] => (name, Carries::Which(which.parse().ok()?, span(it)?)),
        _ => return None,
    };
    Verdict::of(name, carries)
}

/// `slurm.submit #3: loseReply`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}: {}", self.request, self.nth, self.verdict)
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (point, verdict) =
            text.split_once(": ").ok_or_else(|| format!("`{text}`: no colon"))?;
        let (name, nth) = point.split_once(" #").ok_or_else(|| format!("`{text}`: no number"))?;
        let nth = nth.parse().map_err(|_| format!("`{nth}` is no number"))?;
        Ok(Self { request: request(name)?, nth, verdict: verdict.parse()? })
    }
}

/// The request of this name.
pub(crate) fn request(name: &str) -> Result<&'static str, String> {
    let found = REQUESTS.iter().find(|it| **it == name);
    found.copied().ok_or_else(|| format!("there is no request `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_as_it_is_written() {
        let texts = [
            "slurm.submit #3: loseReply",
            "effect #17: crashAfter 10s",
            "kube.bind #1: refuse 409",
            "watch.event #4: delay 1m500ms",
            "effect #2: nodeDown 1 30s",
            "effect #2: reconfigure",
        ];
        for text in texts {
            let fault: Fault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
        }
        assert!("slurm.sumbit #1: loseReply".parse::<Fault>().is_err());
        assert!("slurm.submit #1: forget".parse::<Fault>().is_err());
        assert!("slurm.submit #1: delay".parse::<Fault>().is_err());
    }

    #[test]
    fn every_verdict_has_its_own_name() {
        let (span, mut names) = (Span::secs(1), std::collections::BTreeSet::new());
        for name in verdicts() {
            let ways = [
                Carries::Nothing,
                Carries::Status(500),
                Carries::Span(span),
                Carries::Which(0, span),
            ];
            let read: Vec<_> = ways.into_iter().filter_map(|it| Verdict::of(name, it)).collect();
            assert_eq!(read.iter().map(|it| it.name()).collect::<Vec<_>>(), [name]);
            assert!(names.insert(name));
        }
    }
}
