//! What befalls the world around the bridge at the moment when a request is sent.
//!
//! Each is over after a while: a component is down and comes back, a machine is lost and returns.

use drawbridge_sim::Span;

use super::Carries;

/// Something that happens to a component or a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mishap {
    /// An administrator takes a Slurm node, the one of this number, down for so long.
    NodeDown(u8, Span),
    /// A machine has no power for so long.
    Unplug(u8, Span),
    /// A machine's kubelet isn't heard of for so long; what runs there goes on.
    CutOff(u8, Span),
    /// A kubelet says for so long that its node isn't ready.
    NotReady(u8, Span),
    /// A machine's Node is deleted in Kubernetes, and registers again so much later.
    NodeGone(u8, Span),
    /// The API server is down, and comes back without its history of changes.
    ApiServerDown(Span),
    /// Controllers, kubelets and the default scheduler stand still.
    ControllersDown(Span),
    /// The bridge's webhooks aren't reached.
    WebhooksDown(Span),
    /// slurmctld is down, and reads its state again when it comes back. Jobs go on.
    SlurmctldDown(Span),
    /// slurmctld starts again from a save that is so old: jobs that came later are unknown, and their
    /// numbers are given out again.
    SlurmctldForgets(Span),
    /// `scontrol reconfigure`.
    Reconfigure,
    /// The slurmrestd of this number refuses connections.
    SlurmrestdDown(u8, Span),
    /// The bridge's token has expired, and is renewed so much later.
    TokenExpires(Span),
}

/// The names of mishaps, in the order of the enum.
pub(super) const NAMES: [&str; 13] = [
    "nodeDown",
    "unplug",
    "cutOff",
    "notReady",
    "nodeGone",
    "apiServerDown",
    "controllersDown",
    "webhooksDown",
    "slurmctldDown",
    "slurmctldForgets",
    "reconfigure",
    "slurmrestdDown",
    "tokenExpires",
];

impl Mishap {
    pub(super) const fn parts(self) -> (&'static str, Carries) {
        match self {
            Self::NodeDown(n, span) => (NAMES[0], Carries::Which(n, span)),
            Self::Unplug(n, span) => (NAMES[1], Carries::Which(n, span)),
            Self::CutOff(n, span) => (NAMES[2], Carries::Which(n, span)),
            Self::NotReady(n, span) => (NAMES[3], Carries::Which(n, span)),
            Self::NodeGone(n, span) => (NAMES[4], Carries::Which(n, span)),
            Self::ApiServerDown(span) => (NAMES[5], Carries::Span(span)),
            Self::ControllersDown(span) => (NAMES[6], Carries::Span(span)),
            Self::WebhooksDown(span) => (NAMES[7], Carries::Span(span)),
            Self::SlurmctldDown(span) => (NAMES[8], Carries::Span(span)),
            Self::SlurmctldForgets(span) => (NAMES[9], Carries::Span(span)),
            Self::Reconfigure => (NAMES[10], Carries::Nothing),
            Self::SlurmrestdDown(n, span) => (NAMES[11], Carries::Which(n, span)),
            Self::TokenExpires(span) => (NAMES[12], Carries::Span(span)),
        }
    }

    pub(super) fn of(name: &str, carries: Carries) -> Option<Self> {
        Some(match (name, carries) {
            ("nodeDown", Carries::Which(n, span)) => Self::NodeDown(n, span),
            ("unplug", Carries::Which(n, span)) => Self::Unplug(n, span),
            ("cutOff", Carries::Which(n, span)) => Self::CutOff(n, span),
            ("notReady", Carries::Which(n, span)) => Self::NotReady(n, span),
            ("nodeGone", Carries::Which(n, span)) => Self::NodeGone(n, span),
            ("apiServerDown", Carries::Span(span)) => Self::ApiServerDown(span),
            ("controllersDown", Carries::Span(span)) => Self::ControllersDown(span),
            ("webhooksDown", Carries::Span(span)) => Self::WebhooksDown(span),
            ("slurmctldDown", Carries::Span(span)) => Self::SlurmctldDown(span),
            ("slurmctldForgets", Carries::Span(span)) => Self::SlurmctldForgets(span),
            ("reconfigure", Carries::Nothing) => Self::Reconfigure,
            ("slurmrestdDown", Carries::Which(n, span)) => Self::SlurmrestdDown(n, span),
            ("tokenExpires", Carries::Span(span)) => Self::TokenExpires(span),
            _ => return None,
        })
    }

    /// For how long it goes on.
    pub(crate) const fn lasts(self) -> Span {
        match self {
            // Down for a moment; what it doesn't know any more isn't counted in time.
            Self::SlurmctldForgets(_) | Self::Reconfigure => Span::secs(5),
            Self::NodeDown(_, span)
            | Self::Unplug(_, span)
            | Self::CutOff(_, span)
            | Self::NotReady(_, span)
            | Self::NodeGone(_, span)
            | Self::ApiServerDown(span)
            | Self::ControllersDown(span)
            | Self::WebhooksDown(span)
            | Self::SlurmctldDown(span)
            | Self::SlurmrestdDown(_, span)
            | Self::TokenExpires(span) => span,
        }
    }

    /// Whether what runs may be lost to it.
    pub const fn takes_work(self) -> bool {
        match self {
            Self::NodeDown(..)
            | Self::Unplug(..)
            | Self::CutOff(..)
            | Self::NotReady(..)
            | Self::NodeGone(..)
            | Self::SlurmctldForgets(_) => true,
            Self::ApiServerDown(_)
            | Self::ControllersDown(_)
            | Self::WebhooksDown(_)
            | Self::SlurmctldDown(_)
            | Self::Reconfigure
            | Self::SlurmrestdDown(..)
            | Self::TokenExpires(_) => false,
        }
    }
}
