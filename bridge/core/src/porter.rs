//! Who writes on claims and volumes, so that a pod finds its volume where it is to be.
//!
//! ```text
//!  Free ── select a node, or give a volume ──▶ Busy ── 2xx ──▶ Free: the reply is the object now
//!   ▲                                           │ conflict, lost, failed
//!   └───────────────── later ────────────── Resting
//! ```
//!
//! One request for a claim at a time. A node that was selected and isn't any more means that nobody
//! can make the volume there: whoever makes volumes takes the annotation off.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    backoff::Backoff,
    effect::KubeRequest,
    input::{KubeReply, Lost},
    names::{KubeNode, ObjectKey, Uid},
    outbox::{Alarm, Outbox, Purpose},
    requests,
    storage::Storage,
    view::{ClaimView, VolumeView},
};

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Selecting(KubeNode),
    Giving,
    Resting,
}

/// What is under way for claims.
#[derive(Clone, Debug, Default)]
pub(crate) struct Porter {
    states: BTreeMap<ObjectKey, State>,
    failures: BTreeMap<ObjectKey, u32>,
    /// The nodes that we selected, for which claim.
    selected: BTreeMap<ObjectKey, (Uid, KubeNode)>,
}

impl Porter {
    /// Says on a claim for which node its volume is to be made.
    pub(crate) fn select(&mut self, out: &mut Outbox, claim: &ClaimView, node: &KubeNode) {
        let request = requests::select_node(&claim.metadata, node);
        self.send(out, claim, State::Selecting(node.clone()), request);
    }

    /// Gives a volume to a claim.
    pub(crate) fn give(&mut self, out: &mut Outbox, claim: &ClaimView, volume: &VolumeView) {
        let request = requests::give_volume(&volume.metadata, &claim.metadata);
        self.send(out, claim, State::Giving, request);
    }

    fn send(&mut self, out: &mut Outbox, claim: &ClaimView, state: State, request: KubeRequest) {
        let key = claim.metadata.key();
        if self.states.contains_key(&key) {
            return;
        }
        out.count(match state {
            State::Selecting(_) => "claims.selectNode",
            State::Giving | State::Resting => "claims.giveVolume",
        });
        out.kube(Purpose::Claim(key.clone()), request);
        self.states.insert(key, state);
    }

    /// Takes the reply.
    pub(crate) fn replied(
        &mut self,
        out: &mut Outbox,
        storage: &mut Storage,
        key: &ObjectKey,
        outcome: Result<KubeReply, Lost>,
    ) {
        let state = self.states.remove(key);
        match (outcome, state) {
            (Ok(KubeReply { status: 200..=299, body }), Some(state)) => {
                self.failures.remove(key);
                self.done(storage, key, state, &body);
            }
            (Ok(KubeReply { status: 404 | 409, .. }), Some(_)) => {
                self.rest(out, key, Backoff::CONFLICT);
            }
            (Ok(_) | Err(_), Some(_)) => self.rest(out, key, Backoff::REQUEST),
            (Ok(_) | Err(_), None) => {}
        }
    }

    fn done(
        &mut self,
        storage: &mut Storage,
        key: &ObjectKey,
        state: State,
        body: &serde_json::Value,
    ) {
        match state {
            State::Selecting(node) => {
                if let Ok(claim) = ClaimView::deserialize(body) {
                    self.selected.insert(key.clone(), (claim.metadata.uid.clone(), node));
                    storage.put_claim(claim);
                }
            }
            State::Giving => {
                if let Ok(volume) = VolumeView::deserialize(body) {
                    storage.put_volume(volume);
                }
            }
            State::Resting => {}
        }
    }

    fn rest(&mut self, out: &mut Outbox, key: &ObjectKey, backoff: Backoff) {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures += 1;
        out.count("kube.failures");
        out.wake_in(backoff.after(*failures), Alarm::Claim(key.clone()));
        self.states.insert(key.clone(), State::Resting);
    }

    /// The pause is over.
    pub(crate) fn woke(&mut self, key: &ObjectKey) {
        if self.states.get(key) == Some(&State::Resting) {
            self.states.remove(key);
        }
    }

    /// Whether somebody took the node off again that we had selected for the claim. Asked once, it
    /// is forgotten: the next selection is a new one.
    pub(crate) fn was_turned_down(&mut self, claim: &ClaimView) -> bool {
        let key = claim.metadata.key();
        let ours = |(uid, _): &&(Uid, KubeNode)| *uid == claim.metadata.uid;
        let is_off = claim.selected_node().is_none() && !claim.is_bound();
        let turned_down = is_off && self.selected.get(&key).filter(ours).is_some();
        if turned_down || claim.is_bound() {
            self.selected.remove(&key);
        }
        turned_down
    }

    /// The claim is gone.
    pub(crate) fn forget(&mut self, out: &mut Outbox, key: &ObjectKey) {
        out.cancel_alarm(&Alarm::Claim(key.clone()));
        self.selected.remove(key);
        self.failures.remove(key);
        if self.states.get(key) == Some(&State::Resting) {
            self.states.remove(key);
        }
    }
}
