//! Kinds of faults: verdicts before their lengths are drawn, and where each can strike.

use drawbridge_sim::Span;
use rand_chacha::ChaCha8Rng;

use super::{Side, below, pick};
use crate::fault::{Mishap, Verdict};

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Delay,
    DelayReply,
    /// A little later than others: replies and streams overtake each other.
    Jitter,
    Stale,
    Refuse,
    LoseRequest,
    LoseReply,
    Reset,
    ResetReply,
    Duplicate,
    Conflict,
    /// Of several that are sent at once the first arrives, the others are refused.
    Batch,
    Crash,
    Restart,
    Pause,
    ClockAhead,
    ClockBehind,
    Oust,
    /// One side answers nobody for a while.
    Outage,
    NodeDown,
    Unplug,
    CutOff,
    NotReady,
    NodeGone,
    ApiServerDown,
    ControllersDown,
    WebhooksDown,
    SlurmctldDown,
    SlurmctldForgets,
    Reconfigure,
    SlurmrestdDown,
    TokenExpires,
    WatchDelay,
    WatchEnd,
    Webhook,
}

/// All of them.
pub(super) const KINDS: [Kind; 35] = [
    Kind::Delay,
    Kind::DelayReply,
    Kind::Jitter,
    Kind::Stale,
    Kind::Refuse,
    Kind::LoseRequest,
    Kind::LoseReply,
    Kind::Reset,
    Kind::ResetReply,
    Kind::Duplicate,
    Kind::Conflict,
    Kind::Batch,
    Kind::Crash,
    Kind::Restart,
    Kind::Pause,
    Kind::ClockAhead,
    Kind::ClockBehind,
    Kind::Oust,
    Kind::Outage,
    Kind::NodeDown,
    Kind::Unplug,
    Kind::CutOff,
    Kind::NotReady,
    Kind::NodeGone,
    Kind::ApiServerDown,
    Kind::ControllersDown,
    Kind::WebhooksDown,
    Kind::SlurmctldDown,
    Kind::SlurmctldForgets,
    Kind::Reconfigure,
    Kind::SlurmrestdDown,
    Kind::TokenExpires,
    Kind::WatchDelay,
    Kind::WatchEnd,
    Kind::Webhook,
];

/// How far a fault reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// One request.
    Request,
    /// A process, a server or a machine.
    Process,
    Watch,
    Webhook,
}

/// What the API server may say instead of doing it.
const KUBE_STATUSES: [u16; 7] = [401, 403, 409, 429, 500, 503, 504];
/// What a watch may be refused with.
const WATCH_STATUSES: [u16; 4] = [410, 429, 500, 503];
/// What slurmrestd, or somebody before it, may say.
const SLURM_STATUSES: [u16; 5] = [500, 502, 503, 504, 511];
/// What an outage of slurmrestd looks like, and one of the API server.
const SLURM_OUTAGES: [Verdict; 4] =
    [Verdict::Refuse(511), Verdict::Reset, Verdict::LoseRequest, Verdict::Refuse(500)];
const KUBE_OUTAGES: [Verdict; 3] = [Verdict::Reset, Verdict::Refuse(503), Verdict::Refuse(429)];

impl Kind {
    pub(super) fn reach(self) -> Reach {
        match self {
            Self::Delay
            | Self::DelayReply
            | Self::Jitter
            | Self::Stale
            | Self::Refuse
            | Self::LoseRequest
            | Self::LoseReply
            | Self::Reset
            | Self::ResetReply
            | Self::Duplicate
            | Self::Conflict
            | Self::Batch => Reach::Request,
            Self::WatchDelay | Self::WatchEnd => Reach::Watch,
            Self::Webhook => Reach::Webhook,
            Self::Crash
            | Self::Restart
            | Self::Pause
            | Self::ClockAhead
            | Self::ClockBehind
            | Self::Oust
            | Self::Outage
            | Self::NodeDown
            | Self::Unplug
            | Self::CutOff
            | Self::NotReady
            | Self::NodeGone
            | Self::ApiServerDown
            | Self::ControllersDown
            | Self::WebhooksDown
            | Self::SlurmctldDown
            | Self::SlurmctldForgets
            | Self::Reconfigure
            | Self::SlurmrestdDown
            | Self::TokenExpires => Reach::Process,
        }
    }

    /// Whether it can strike such a request.
    pub(super) fn fits(self, request: &str, side: Side) -> bool {
        // A watch that is asked for and never heard of again is `mute`.
        let is_watch = request == "kube.watch";
        let is_sent = matches!(side, Side::Kube | Side::Slurm);
        match self {
            Self::DelayReply
            | Self::LoseRequest
            | Self::LoseReply
            | Self::ResetReply
            | Self::Duplicate => is_sent && !is_watch,
            Self::Stale => is_question(request),
            Self::Conflict => is_written_again(request),
            Self::WatchDelay | Self::WatchEnd => side == Side::Watch,
            Self::Webhook => side == Side::Webhook,
            Self::Delay
            | Self::Jitter
            | Self::Refuse
            | Self::Reset
            | Self::Batch
            | Self::Crash
            | Self::Restart
            | Self::Pause
            | Self::ClockAhead
            | Self::ClockBehind
            | Self::Oust
            | Self::Outage
            | Self::NodeDown
            | Self::Unplug
            | Self::CutOff
            | Self::NotReady
            | Self::NodeGone
            | Self::ApiServerDown
            | Self::ControllersDown
            | Self::WebhooksDown
            | Self::SlurmctldDown
            | Self::SlurmctldForgets
            | Self::Reconfigure
            | Self::SlurmrestdDown
            | Self::TokenExpires => is_sent,
        }
    }

    /// What becomes of the request.
    pub(super) fn verdict(self, random: &mut ChaCha8Rng, request: &str, side: Side) -> Verdict {
        let (number, machine) = (below(random, 8), below(random, 8));
        let which = u8::try_from(machine).unwrap_or_default();
        match self {
            Self::Delay | Self::WatchDelay => Verdict::Delay(short(random)),
            Self::DelayReply => Verdict::DelayReply(short(random)),
            Self::Jitter if number < 4 || request == "kube.watch" => {
                Verdict::Delay(Span::ms(1 + below(random, 30)))
            }
            Self::Jitter => Verdict::DelayReply(Span::ms(1 + below(random, 30))),
            Self::Stale => Verdict::Stale,
            Self::Refuse | Self::Batch => Verdict::Refuse(status(random, request, side)),
            Self::LoseRequest => Verdict::LoseRequest,
            Self::LoseReply => Verdict::LoseReply,
            Self::Reset => Verdict::Reset,
            Self::ResetReply => Verdict::ResetReply,
            Self::Duplicate => Verdict::Duplicate(short(random)),
            Self::Conflict => Verdict::Conflict,
            Self::Crash if number < 4 => Verdict::CrashBefore(short(random)),
            Self::Crash => Verdict::CrashAfter(short(random)),
            Self::Restart => Verdict::Restart(short(random)),
            Self::Pause => Verdict::Pause(short(random)),
            Self::ClockAhead => Verdict::ClockAhead(leap(random)),
            Self::ClockBehind => Verdict::ClockBehind(short(random)),
            Self::Oust => Verdict::Oust,
            Self::Outage if side == Side::Slurm => pick(random, &SLURM_OUTAGES),
            Self::Outage => pick(random, &KUBE_OUTAGES),
            Self::WatchEnd => pick(random, &[Verdict::End, Verdict::Gone, Verdict::Mute]),
            Self::Webhook => Verdict::Refuse(500),
            Self::NodeDown => Verdict::Mishap(Mishap::NodeDown(which, long(random))),
            Self::Unplug => Verdict::Mishap(Mishap::Unplug(which, long(random))),
            Self::CutOff => Verdict::Mishap(Mishap::CutOff(which, long(random))),
            Self::NotReady => Verdict::Mishap(Mishap::NotReady(which, long(random))),
            Self::NodeGone => Verdict::Mishap(Mishap::NodeGone(which, long(random))),
            Self::ApiServerDown => Verdict::Mishap(Mishap::ApiServerDown(short(random))),
            Self::ControllersDown => Verdict::Mishap(Mishap::ControllersDown(short(random))),
            Self::WebhooksDown => Verdict::Mishap(Mishap::WebhooksDown(short(random))),
            Self::SlurmctldDown => Verdict::Mishap(Mishap::SlurmctldDown(short(random))),
            Self::SlurmctldForgets => Verdict::Mishap(Mishap::SlurmctldForgets(leap(random))),
            Self::Reconfigure => Verdict::Mishap(Mishap::Reconfigure),
            Self::SlurmrestdDown => Verdict::Mishap(Mishap::SlurmrestdDown(which, short(random))),
            Self::TokenExpires => Verdict::Mishap(Mishap::TokenExpires(short(random))),
        }
    }
}

fn status(random: &mut ChaCha8Rng, request: &str, side: Side) -> u16 {
    match side {
        _ if request == "kube.watch" => pick(random, &WATCH_STATUSES),
        Side::Slurm => pick(random, &SLURM_STATUSES),
        Side::Kube | Side::Watch | Side::Webhook => pick(random, &KUBE_STATUSES),
    }
}

/// Requests that change nothing and are asked again and again.
fn is_question(request: &str) -> bool {
    matches!(
        request,
        "kube.get" | "kube.list" | "slurm.states" | "slurm.job" | "slurm.jobs" | "slurm.nodes"
    )
}

/// Requests that carry the version of what they change.
fn is_written_again(request: &str) -> bool {
    matches!(request, "kube.patch" | "kube.lease")
}

/// Mostly a moment, sometimes longer than anybody waits.
fn short(random: &mut ChaCha8Rng) -> Span {
    match below(random, 8) {
        0 => Span::secs(10 + below(random, 80)),
        1..=3 => Span::secs(1 + below(random, 10)),
        _ => Span::ms(1 + below(random, 1_000)),
    }
}

/// As long as machines are away.
fn long(random: &mut ChaCha8Rng) -> Span {
    Span::secs(5 + below(random, 120))
}

/// A moment, a minute, an hour.
fn leap(random: &mut ChaCha8Rng) -> Span {
    match below(random, 4) {
        0 => Span::mins(1 + below(random, 60)),
        1 => Span::secs(10 + below(random, 50)),
        _ => Span::secs(1 + below(random, 10)),
    }
}
