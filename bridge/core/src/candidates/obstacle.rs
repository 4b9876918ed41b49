//! Why a node is out of the question for a pod.

use std::fmt;

use drawbridge_sim::Quantity;

use crate::{mapping::Conflict, names::ObjectKey};

/// Why a node is out of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    Unmapped,
    Conflict(Conflict),
    Cordoned,
    Selector,
    Affinity,
    Taint(String),
    /// It has no such thing, or less than is asked for even when nobody else is there.
    TooSmall {
        resource: String,
        asks: Quantity,
        has: Quantity,
    },
    /// Others hold it: pods that Slurm doesn't know, or something that Slurm doesn't count.
    Full {
        resource: String,
        asks: Quantity,
        held: Quantity,
        has: Quantity,
    },
    Port {
        number: u32,
        who: ObjectKey,
    },
    /// The pod must not be near that one.
    Apart {
        key: String,
        who: ObjectKey,
    },
    /// That one must not have the pod near it.
    KeptOff {
        key: String,
        who: ObjectKey,
    },
    /// None of those is near that the pod must be near to.
    Alone {
        key: String,
    },
    /// There are more here already than elsewhere.
    Uneven {
        key: String,
        max_skew: u64,
    },
    /// It lacks a label that says what is near.
    NoPlace {
        key: String,
    },
    Volume {
        claim: ObjectKey,
        why: &'static str,
    },
    /// One node alone can have the claim, and that pod uses it elsewhere.
    Held {
        claim: ObjectKey,
        who: ObjectKey,
    },
    /// The pod can't go anywhere yet.
    NotYet(String),
    /// A kubelet refused a pod like it a while ago.
    Refused {
        reason: String,
    },
    /// An allocation there was of no use to this workload.
    Tried(String),
}

impl Obstacle {
    /// Whether it may go away while a job waits. A job is kept off such nodes only as long as
    /// enough others are left: it must not lose its place in the queue because of them.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unmapped
            | Self::Conflict(_)
            | Self::Cordoned
            | Self::Selector
            | Self::Affinity
            | Self::Taint(_)
            | Self::TooSmall { .. }
            | Self::NoPlace { .. }
            | Self::Volume { .. } => false,
            Self::Full { .. }
            | Self::Port { .. }
            | Self::Apart { .. }
            | Self::KeptOff { .. }
            | Self::Alone { .. }
            | Self::Uneven { .. }
            | Self::Held { .. }
            | Self::NotYet(_)
            | Self::Refused { .. }
            | Self::Tried(_) => true,
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmapped => f.write_str("it is no Kubernetes node"),
            Self::Conflict(conflict) => write!(f, "{conflict}"),
            Self::Cordoned => f.write_str("it is cordoned"),
            Self::Selector => f.write_str("it doesn't match the node selector"),
            Self::Affinity => f.write_str("it doesn't match the node affinity"),
            Self::Taint(key) => write!(f, "its taint {key} isn't tolerated"),
            Self::TooSmall { resource, asks, has } => {
                let (asks, has) = (shown(resource, *asks), shown(resource, *has));
                write!(f, "it has {has} of {resource}, and {asks} is asked for")
            }
            Self::Full { resource, asks, held, has } => {
                let [asks, held, has] = [asks, held, has].map(|amount| shown(resource, *amount));
                write!(f, "other pods hold {held} of its {has} {resource}, and {asks} is asked for")
            }
            Self::Port { number, who } => write!(f, "pod {who} has its port {number}"),
            Self::Apart { key, who } => {
                write!(f, "pod {who} is in the same {key}, which the pod's anti-affinity forbids")
            }
            Self::KeptOff { key, who } => {
                write!(f, "pod {who} is in the same {key}, and its anti-affinity forbids it")
            }
            Self::Alone { key } => {
                write!(f, "no pod that the pod's affinity asks for is in the same {key}")
            }
            Self::Uneven { key, max_skew } => {
                write!(f, "the pods' spread over {key} would differ by more than {max_skew}")
            }
            Self::NoPlace { key } => write!(f, "it has no label {key}"),
            Self::Volume { claim, why } => write!(f, "claim {claim} {why}"),
            Self::Held { claim, who } => {
                write!(f, "claim {claim} permits one node alone, and pod {who} uses it elsewhere")
            }
            Self::NotYet(words) => write!(f, "the pod is {words}"),
            Self::Refused { reason } => write!(f, "its kubelet refused such a pod: {reason}"),
            Self::Tried(why) => f.write_str(why),
        }
    }
}

/// Bytes as MiB; everything else as Kubernetes writes it.
fn shown(resource: &str, amount: Quantity) -> String {
    let bytes =
        ["memory", "ephemeral-storage"].contains(&resource) || resource.starts_with("hugepages-");
    if bytes { format!("{}Mi", amount.ceil_mib()) } else { amount.to_string() }
}
