//! A fault: which request it strikes, and what becomes of that request.
//!
//! ```text
//!   point: the 3rd `slurm.submit` ──▶ verdict: loseReply ──▶ it takes effect, nobody hears of it
//! ```
//!
//! A fault is known by what it strikes, not by when, so a run that is made smaller keeps its other
//! faults. Scenario files write the same words: `fault: {request: slurm.submit, nth: 3, verdict:
//! loseReply}`.

use std::{fmt, str::FromStr};

use drawbridge_sim::{Span, Time};
use serde::{Serialize, Serializer};

use crate::format::Lasting;

/// Every request of the bridge, whatever its kind.
pub const ANY: &str = "effect";
/// One line of an open watch.
pub const WATCH_EVENT: &str = "watch.event";
/// A call of the API server to the bridge's webhooks.
pub const WEBHOOK: &str = "webhook";

/// What a fault can strike, by the name under which requests are counted.
pub const REQUESTS: [&str; 26] = [
    ANY,
    "slurm.ping",
    "slurm.testToken",
    "slurm.submit",
    "slurm.states",
    "slurm.job",
    "slurm.jobs",
    "slurm.cancel",
    "slurm.signal",
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

/// What becomes of a request. The last of each pair is the cruel one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It arrives so much later.
    Delay(Span),
    /// It takes effect; the reply, which says how things were then, comes so much later.
    DelayReply(Span),
    /// It is answered with this status and changes nothing.
    Refuse(u16),
    /// It never arrives, and nobody hears of it.
    LoseRequest,
    /// It takes effect, and nobody hears of it.
    LoseReply,
    /// The connection isn't made.
    Reset,
    /// It takes effect, and then the connection breaks.
    ResetReply,
    /// It arrives again, so much later.
    Duplicate(Span),
    /// The process dies before it is sent, and starts again so much later.
    CrashBefore(Span),
    /// The process dies when it takes effect.
    CrashAfter(Span),
    /// It is sent, and then the process stands still for so long.
    Pause(Span),
    /// The watch ends.
    End,
    /// The watch has fallen too far behind: 410.
    Gone,
    /// The watch says nothing any more, and doesn't end.
    Mute,
    /// An administrator takes a Slurm node, the one of this number, down for so long.
    NodeDown(u8, Span),
    /// A machine, the one of this number, has no power for so long.
    Unplug(u8, Span),
    /// A machine's kubelet isn't heard of for so long.
    CutOff(u8, Span),
}

/// The names of verdicts, in the order of the enum.
pub const VERDICTS: [&str; 17] = [
    "delay",
    "delayReply",
    "refuse",
    "loseRequest",
    "loseReply",
    "reset",
    "resetReply",
    "duplicate",
    "crashBefore",
    "crashAfter",
    "pause",
    "end",
    "gone",
    "mute",
    "nodeDown",
    "unplug",
    "cutOff",
];

impl Verdict {
    /// Its name without what it carries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay(_) => "delay",
            Self::DelayReply(_) => "delayReply",
            Self::Refuse(_) => "refuse",
            Self::LoseRequest => "loseRequest",
            Self::LoseReply => "loseReply",
            Self::Reset => "reset",
            Self::ResetReply => "resetReply",
            Self::Duplicate(_) => "duplicate",
            Self::CrashBefore(_) => "crashBefore",
            Self::CrashAfter(_) => "crashAfter",
            Self::Pause(_) => "pause",
            Self::End => "end",
            Self::Gone => "gone",
            Self::Mute => "mute",
            Self::NodeDown(..) => "nodeDown",
            Self::Unplug(..) => "unplug",
            Self::CutOff(..) => "cutOff",
        }
    }

    /// For how long nobody can expect anything of the bridge because of it.
    pub(crate) const fn lasts(self) -> Span {
        match self {
            Self::Delay(span)
            | Self::DelayReply(span)
            | Self::Duplicate(span)
            | Self::CrashBefore(span)
            | Self::CrashAfter(span)
            | Self::Pause(span)
            | Self::NodeDown(_, span)
            | Self::Unplug(_, span)
            | Self::CutOff(_, span) => span,
            // As long as the bridge waits for a reply at most.
            Self::LoseRequest | Self::LoseReply => Span::secs(60),
            // As long as it believes in a watch that says nothing.
            Self::Mute => Span::mins(6),
            Self::Refuse(_) | Self::Reset | Self::ResetReply | Self::End | Self::Gone => Span::ZERO,
        }
    }

    /// Whether it leaves what was asked for undone or done, but takes nothing away that was there.
    pub const fn is_harmless(self) -> bool {
        !matches!(self, Self::NodeDown(..) | Self::Unplug(..) | Self::CutOff(..))
    }
}

/// As scenario files write it: `delay 5s`, `refuse 503`, `loseReply`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Delay(span)
            | Self::DelayReply(span)
            | Self::Duplicate(span)
            | Self::CrashBefore(span)
            | Self::CrashAfter(span)
            | Self::Pause(span) => write!(f, " {}", Lasting(*span)),
            Self::Refuse(status) => write!(f, " {status}"),
            Self::NodeDown(node, span) | Self::Unplug(node, span) | Self::CutOff(node, span) => {
                write!(f, " {node} {}", Lasting(*span))
            }
            Self::LoseRequest
            | Self::LoseReply
            | Self::Reset
            | Self::ResetReply
            | Self::End
            | Self::Gone
            | Self::Mute => Ok(()),
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
    Some(match *words {
        ["delay", it] => Verdict::Delay(span(it)?),
        ["delayReply", it] => Verdict::DelayReply(span(it)?),
        ["refuse", status] => Verdict::Refuse(status.parse().ok()?),
        ["loseRequest"] => Verdict::LoseRequest,
        ["loseReply"] => Verdict::LoseReply,
        ["reset"] => Verdict::Reset,
        ["resetReply"] => Verdict::ResetReply,
        ["duplicate", it] => Verdict::Duplicate(span(it)?),
        ["crashBefore", it] => Verdict::CrashBefore(span(it)?),
        ["crashAfter", it] => Verdict::CrashAfter(span(it)?),
        ["pause", it] => Verdict::Pause(span(it)?),
        ["end"] => Verdict::End,
        ["gone"] => Verdict::Gone,
        ["mute"] => Verdict::Mute,
        ["nodeDown", node, it] => Verdict::NodeDown(node.parse().ok()?, span(it)?),
        ["unplug", node, it] => Verdict::Unplug(node.parse().ok()?, span(it)?),
        ["cutOff", node, it] => Verdict::CutOff(node.parse().ok()?, span(it)?),
        _ => return None,
    })
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
        ];
        for text in texts {
            let fault: Fault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
        }
        assert!("slurm.sumbit #1: loseReply".parse::<Fault>().is_err());
        assert!("slurm.submit #1: forget".parse::<Fault>().is_err());
    }
}
