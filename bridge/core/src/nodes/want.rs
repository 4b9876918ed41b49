//! What Kubernetes wants of a Slurm node, and the one step towards it that is due.
//!
//! ```text
//!  cordoned · not ready for long · gone         ─▶ Drain   ─▶ DRAIN with our reason
//!  external and ours: no label, no node, a new size ─▶ Remove ─▶ DRAIN, then DELETE once it is empty
//!  none of them                                 ─▶ Serve   ─▶ UNDRAIN, if the drain is ours
//!  never a Kubernetes node that we saw          ─▶ Nothing
//! ```
//!
//! There is one decision for each node, so nothing that one rule drains is resumed by another. What
//! somebody else took out stays as he left it.

use super::{Scene, external};
use crate::{
    effect::NodeTarget,
    names::{KubeNode, REASON_PREFIX},
    plants::Plant,
    slurm::NodeInfo,
};

/// How the reason of an external node begins that is drained to be made anew.
const ANEW: &str = "slurm-bridge: making external node anew:";

/// What is wanted of a Slurm node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// It is none of our business.
    Nothing,
    /// It takes jobs.
    Serve(KubeNode),
    /// It takes no more jobs.
    Drain(KubeNode, Cause),
    /// It goes, once it is empty.
    Remove(Cause),
}

/// Why a Slurm node takes no more jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Cordoned,
    NotReady,
    Gone,
    /// An external node that is to be one no more.
    Unlabelled,
    /// An external node whose Kubernetes node is gone.
    Orphaned,
    /// An external node that has another size now.
    Resized,
    /// An external node that is to be in other partitions.
    Moved,
}

/// One step towards what is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Drain or resume it, with this reason, and tell it so.
    Set { state: NodeTarget, reason: String, why: String },
    /// Delete it.
    Delete { why: String },
}

/// What is wanted of this Slurm node, as things are.
pub(super) fn want(scene: &Scene<'_>, info: &NodeInfo) -> Want {
    let ours = external::is_ours(scene.config, info);
    let node = scene.mapping.kube(&info.name).and_then(|kube| scene.store.node(kube));
    let Some(node) = node else {
        let disputed = scene.mapping.conflicts().contains_key(&info.name);
        return match scene.memory.departed.get(&info.name) {
            _ if disputed => Want::Nothing,
            _ if ours => Want::Remove(Cause::Orphaned),
            Some(kube) => Want::Drain(kube.clone(), Cause::Gone),
            None => Want::Nothing,
        };
    };
    let kube = node.name();
    match () {
        () if ours && !node.is_external() => Want::Remove(Cause::Unlabelled),
        () if ours && scene.is_resized(node, info) => Want::Remove(Cause::Resized),
        () if ours && scene.is_moved(node, info) => Want::Remove(Cause::Moved),
        () if node.spec.unschedulable => Want::Drain(kube, Cause::Cordoned),
        () if scene.is_lost(node) => Want::Drain(kube, Cause::NotReady),
        () => Want::Serve(kube),
    }
}

/// The step that is due, if one is.
pub(super) fn step(scene: &Scene<'_>, info: &NodeInfo) -> Option<Move> {
    let (drained, ours) = (info.has("DRAIN"), is_ours(info));
    match want(scene, info) {
        Want::Nothing => None,
        Want::Serve(kube) => {
            let any = scene.config.has(Plant::UndrainsAnything);
            (drained && (ours || any)).then(|| of_kube(NodeTarget::Undrain, &kube, "schedulable"))
        }
        Want::Drain(kube, _) if drained && ours && scene.config.has(Plant::UndrainsAtOnce) => {
            Some(of_kube(NodeTarget::Undrain, &kube, "schedulable"))
        }
        Want::Drain(kube, cause) => {
            may_drain(info).then(|| of_kube(NodeTarget::Drain, &kube, cause.word()))
        }
        Want::Remove(cause) if drained => {
            let undone = scene.config.has(Plant::UndrainsWhatItRemoves);
            let why = cause.word().to_owned();
            match () {
                () if undone => Some(removal(NodeTarget::Undrain, info, cause)),
                () if ours && is_empty(info) => Some(Move::Delete { why }),
                () => None,
            }
        }
        Want::Remove(cause) => may_drain(info).then(|| removal(NodeTarget::Drain, info, cause)),
    }
}

/// Somebody may have taken it out already, and nothing starts there: to drain it would write over his
/// reason, and to resume it later would undo what he did.
fn may_drain(info: &NodeInfo) -> bool {
    let taken_out = info.has("DOWN") && !info.reason.is_empty() && !is_ours(info);
    !info.has("DRAIN") && !taken_out
}

fn of_kube(state: NodeTarget, kube: &KubeNode, what: &str) -> Move {
    Move::Set {
        state,
        reason: format!("{REASON_PREFIX} Corresponding Kubernetes node ({kube}) is {what}"),
        why: format!("Kubernetes node {kube} is {what}"),
    }
}

fn removal(state: NodeTarget, info: &NodeInfo, cause: Cause) -> Move {
    let (name, what) = (&info.name, cause.word());
    let reason = match cause {
        Cause::Resized | Cause::Moved => format!("{ANEW} {name}: {what}"),
        Cause::Cordoned | Cause::NotReady | Cause::Gone | Cause::Unlabelled | Cause::Orphaned => {
            format!("{REASON_PREFIX} removing external node {name}: {what}")
        }
    };
    Move::Set { state, reason, why: what.to_owned() }
}

impl Cause {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Cordoned => "unschedulable",
            Self::NotReady => "not ready",
            Self::Gone => "gone",
            Self::Unlabelled => "it is no longer labelled as one",
            Self::Orphaned => "its Kubernetes node is gone",
            Self::Resized => "its size has changed",
            Self::Moved => "its partitions have changed",
        }
    }
}

/// Whether the drain is ours.
pub(super) fn is_ours(info: &NodeInfo) -> bool {
    info.reason.starts_with(REASON_PREFIX)
}

/// Whether it is drained to be made anew.
pub(super) fn is_made_anew(info: &NodeInfo) -> bool {
    info.has("DRAIN") && info.reason.starts_with(ANEW)
}

/// Whether no job holds any of it.
pub(super) fn is_empty(info: &NodeInfo) -> bool {
    !["ALLOCATED", "MIXED", "COMPLETING"].iter().any(|flag| info.has(flag))
}
