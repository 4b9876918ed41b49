//! Who is behind a pod: its controllers, up to the topmost that we may read.
//!
//! ```text
//!  unknown ── GET ──▶ Asked ── 200 ──▶ Known(annotations, its own controller) ──▶ the next one up
//!                       ├─ 403, 404 ─▶ Unreadable: the chain ends below it
//!                       └─ failed ───▶ Resting ──▶ Asked
//! ```
//!
//! Cached by uid: ten thousand pods of one Job cost one request.

mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_sim::{Span, Time};
use serde::Deserialize;

use crate::{
    backoff::Backoff,
    effect::{KubeRequest, Method},
    input::{KubeReply, Lost},
    names::Uid,
    outbox::{Outbox, Purpose},
    view::{OwnerRef, PodView},
};
pub(crate) use view::{OwnerView, ReplicatedJob};

/// A chain longer than this is a loop.
const DEPTH: usize = 32;
/// After so long an owner is read again: its annotations may have changed.
pub(crate) const FRESH: Span = Span::mins(1);

/// Kinds that we know how to read, with their plural.
const KINDS: [(&str, &str); 15] = [
    ("CronJob", "cronjobs"),
    ("DaemonSet", "daemonsets"),
    ("Deployment", "deployments"),
    ("Job", "jobs"),
    ("JobSet", "jobsets"),
    ("LeaderWorkerSet", "leaderworkersets"),
    ("MPIJob", "mpijobs"),
    ("Pod", "pods"),
    ("PyTorchJob", "pytorchjobs"),
    ("RayCluster", "rayclusters"),
    ("RayJob", "rayjobs"),
    ("ReplicaSet", "replicasets"),
    ("ReplicationController", "replicationcontrollers"),
    ("StatefulSet", "statefulsets"),
    ("TrainJob", "trainjobs"),
];

#[derive(Clone, Debug)]
enum Owner {
    Asked,
    Known { view: Arc<OwnerView>, read_at: Time },
    Unreadable { read_at: Time },
    Resting { until: Time },
}

/// What is known about owners.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    known: BTreeMap<Uid, Owner>,
    failures: BTreeMap<Uid, u32>,
    /// Who waits for which owner.
    waiters: BTreeMap<Uid, BTreeSet<Uid>>,
}

/// A pod's controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// All that can be read, the topmost first.
    Known(Vec<Arc<OwnerView>>),
    /// An answer is still out: the workload will be named when it comes, or may ask again then.
    Open(Option<Time>),
}

impl Owners {
    /// The pod's controllers; asks for what isn't known, or wasn't read for so long.
    pub(crate) fn chain(
        &mut self,
        out: &mut Outbox,
        pod: &PodView,
        workload: &Uid,
        fresh: Span,
    ) -> Chain {
        let mut chain = Vec::new();
        let mut next = pod.metadata.controller().cloned();
        while let Some(reference) = next.take() {
            let Some(path) = path(&pod.metadata.namespace, &reference) else {
                break;
            };
            match self.look_up(out, &reference, path, fresh) {
                Ok(None) => break,
                Ok(Some(view)) => {
                    next = view.metadata.controller().cloned().filter(|_| chain.len() < DEPTH);
                    chain.push(view);
                }
                Err(until) => {
                    let waiters = self.waiters.entry(reference.uid).or_default();
                    waiters.insert(workload.clone());
                    return Chain::Open(until);
                }
            }
        }
        chain.reverse();
        Chain::Known(chain)
    }

    fn look_up(
        &mut self,
        out: &mut Outbox,
        reference: &OwnerRef,
        path: String,
        fresh: Span,
    ) -> Result<Option<Arc<OwnerView>>, Option<Time>> {
        let now = out.now();
        match self.known.get(&reference.uid) {
            Some(Owner::Known { view, read_at }) if now - *read_at < fresh => {
                Ok(Some(Arc::clone(view)))
            }
            Some(Owner::Unreadable { read_at }) if now - *read_at < fresh => Ok(None),
            Some(Owner::Asked) => Err(None),
            Some(Owner::Resting { until }) if now < *until => Err(Some(*until)),
            Some(Owner::Known { .. } | Owner::Unreadable { .. } | Owner::Resting { .. }) | None => {
                let request =
                    KubeRequest { method: Method::Get, path, query: Vec::new(), body: None };
                out.kube(Purpose::Owner(reference.uid.clone()), request);
                self.known.insert(reference.uid.clone(), Owner::Asked);
                Err(None)
            }
        }
    }

    /// Takes the answer about one owner. Returns the workloads that waited for it.
    pub(crate) fn replied(
        &mut self,
        now: Time,
        uid: &Uid,
        outcome: Result<KubeReply, Lost>,
    ) -> BTreeSet<Uid> {
        self.learn(now, uid.clone(), outcome);
        self.waiters.remove(uid).unwrap_or_default()
    }

    fn learn(&mut self, now: Time, uid: Uid, outcome: Result<KubeReply, Lost>) {
        let owner = match outcome {
            Ok(reply) if reply.status == 200 => match OwnerView::deserialize(&*reply.body) {
                // Another object by the same name isn't the owner.
                Ok(view) if view.metadata.uid == uid => {
                    Owner::Known { view: Arc::new(view), read_at: now }
                }
                Ok(_) | Err(_) => Owner::Unreadable { read_at: now },
            },
            Ok(reply) if matches!(reply.status, 401 | 403 | 404) => {
                Owner::Unreadable { read_at: now }
            }
            Ok(_) | Err(_) => {
                let failures = self.failures.entry(uid.clone()).or_default();
                *failures += 1;
                let until = now + Backoff::REQUEST.after(*failures);
                self.known.insert(uid, Owner::Resting { until });
                return;
            }
        };
        self.failures.remove(&uid);
        self.known.insert(uid, owner);
    }

    /// Forgets what nobody has asked for in a while.
    pub(crate) fn tidy(&mut self, now: Time) {
        self.known.retain(|_, owner| match owner {
            Owner::Asked => true,
            Owner::Known { read_at, .. } | Owner::Unreadable { read_at } => now - *read_at < FRESH,
            Owner::Resting { until } => now < *until + FRESH,
        });
    }
}

/// What stands above the topmost owner that was read, and why it wasn't: it makes no gang, and its
/// annotations don't count.
pub(crate) fn unread(pod: &PodView, chain: &[Arc<OwnerView>]) -> Option<String> {
    let top = chain.first().map_or(&pod.metadata, |owner| &owner.metadata);
    let OwnerRef { kind, name, .. } = top.controller()?;
    let known = KINDS.iter().any(|(known, _)| known == kind);
    let why = if known { "it can't be read" } else { "the bridge doesn't know that kind" };
    Some(format!(
        "the owner {kind} {name} counts for nothing, because {why}: its annotations aren't read, \
         and its pods aren't taken for a gang"
    ))
}

fn path(namespace: &str, owner: &OwnerRef) -> Option<String> {
    let (_, plural) = KINDS.iter().find(|(kind, _)| *kind == owner.kind)?;
    let root = if owner.api_version.contains('/') { "apis" } else { "api" };
    let OwnerRef { api_version, name, .. } = owner;
    Some(format!("/{root}/{api_version}/namespaces/{namespace}/{plural}/{name}"))
}
