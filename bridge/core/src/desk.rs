//! One pod's desk: at most one request about it is out at any time.
//!
//! ```text
//!          send                2xx, the reply is the pod
//!   Free ────────▶ Busy ─────────────────────────────────▶ Free
//!    ▲              │ 2xx without the pod ──▶ Settling ── seen, or read again ──▶ Free
//!    │              │ conflict, lost, failed
//!    └── later ── Resting, then the pod is read before anything else is decided
//! ```

use std::collections::BTreeMap;

use drawbridge_sim::{JobId, SlurmNode, Span};
use serde::Deserialize;

use crate::{
    backoff::Backoff,
    dra::{ClaimView, Kind, Step},
    effect::KubeRequest,
    input::{KubeReply, Lost},
    names::{KubeNode, ObjectKey, SUSPENDED_CONDITION, Uid},
    outbox::{Alarm, Outbox, Purpose},
    placement::Placement,
    requests::{self, Author, Claim},
    view::PodView,
};

/// How long a change may take to come back by the watch before the pod is read instead.
const SETTLE: Span = Span::secs(5);

/// So many failures in a row.
const UNLUCKY: u32 = 3;

/// Something to be done to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Read it.
    Read,
    /// Label it with its job and hold it with the finalizer.
    Mark(JobId),
    /// Say why it waits.
    Explain(String),
    /// Write down the node that it was given, and who it is there.
    Place(Box<Placement>),
    /// Bind it.
    Bind { job: JobId, slurm: SlurmNode, node: KubeNode },
    /// Say whether its job is suspended.
    Pause { is_paused: bool, message: String },
    /// Give it its devices, or take them back.
    Devices(Box<Step>),
    /// Say why it has to leave.
    Disrupt(String),
    /// Make it leave: by eviction, or by deletion where eviction was refused.
    Remove { grace: Option<u64> },
    /// Take the finalizer off.
    Release,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    Busy(Errand),
    Settling(Errand),
    Resting,
}

/// One pod's desk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Desk {
    state: State,
    failures: u32,
    /// What we know may be old: read before deciding.
    must_read: bool,
    /// A disruption budget forbade the eviction.
    eviction_refused: bool,
}

/// What a reply says about the pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// This is its state now.
    Is(Box<PodView>),
    /// This is its claim's state now.
    Claim(Box<ClaimView>),
    /// Its claim no longer exists.
    ClaimGone(ObjectKey),
    /// It no longer exists.
    Gone,
    /// Nothing that we can be sure of.
    Unsure,
}

/// The desks of all pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desks {
    desks: BTreeMap<Uid, Desk>,
}

impl Desks {
    /// Whether something may be sent about the pod.
    pub(crate) fn is_free(&self, pod: &Uid) -> bool {
        self.desks.get(pod).is_none_or(|desk| desk.state == State::Free && !desk.must_read)
    }

    /// Sends the errand if the desk is free; a read that is due goes first.
    pub(crate) fn send(
        &mut self,
        out: &mut Outbox,
        author: &Author,
        pod: &PodView,
        errand: Errand,
    ) {
        let desk = self.desks.entry(pod.uid().clone()).or_default();
        if desk.state != State::Free {
            return;
        }
        let errand = if desk.must_read { Errand::Read } else { errand };
        out.count(errand.metric());
        let request = errand.request(out, author, pod, desk.eviction_refused);
        out.kube(Purpose::Pod(pod.uid().clone()), request);
        desk.state = State::Busy(errand);
    }

    /// Takes the reply.
    pub(crate) fn replied(
        &mut self,
        out: &mut Outbox,
        pod: &Uid,
        outcome: Result<KubeReply, Lost>,
    ) -> (Option<Errand>, Verdict) {
        let Some(desk) = self.desks.get_mut(pod) else {
            return (None, Verdict::Unsure);
        };
        let State::Busy(errand) = std::mem::take(&mut desk.state) else {
            return (None, Verdict::Unsure);
        };
        match outcome {
            Ok(KubeReply { status: 200..=299, body }) => {
                desk.failures = 0;
                let verdict = desk.succeeded(out, pod, &errand, &body);
                (Some(errand), verdict)
            }
            Ok(KubeReply { status: 404, .. }) if errand == Errand::Read => (None, Verdict::Gone),
            Ok(KubeReply { status: 429, .. }) if matches!(errand, Errand::Remove { .. }) => {
                desk.eviction_refused = true;
                (None, Verdict::Unsure)
            }
            Ok(KubeReply { status: 404 | 409, .. }) => {
                desk.rest(out, pod, Backoff::CONFLICT);
                (None, Verdict::Unsure)
            }
            Ok(_) | Err(_) => {
                desk.rest(out, pod, Backoff::REQUEST);
                (None, Verdict::Unsure)
            }
        }
    }

    /// The pod was seen in this state.
    pub(crate) fn saw(&mut self, out: &mut Outbox, pod: &PodView) {
        if let Some(desk) = self.desks.get_mut(pod.uid())
            && let State::Settling(errand) = &desk.state
            && errand.shows_in(pod)
        {
            desk.state = State::Free;
            out.cancel_alarm(&Alarm::Pod(pod.uid().clone()));
        }
    }

    /// The pause is over.
    pub(crate) fn woke(&mut self, pod: &Uid) {
        if let Some(desk) = self.desks.get_mut(pod) {
            match desk.state {
                State::Resting => desk.state = State::Free,
                State::Settling(_) => {
                    desk.state = State::Free;
                    desk.must_read = true;
                }
                State::Free | State::Busy(_) => {}
            }
        }
    }

    /// The pod is gone.
    pub(crate) fn clear(&mut self, out: &mut Outbox, pod: &Uid) {
        out.cancel_alarm(&Alarm::Pod(pod.clone()));
        self.desks.remove(pod);
    }

    /// Whether requests about the pod failed again and again.
    pub(crate) fn is_unlucky(&self, pod: &Uid) -> bool {
        self.desks.get(pod).is_some_and(|desk| UNLUCKY <= desk.failures)
    }

    /// Where a pod's desk stands.
    pub(crate) fn state_name(&self, pod: &Uid) -> &'static str {
        match self.desks.get(pod).map(|desk| &desk.state) {
            None | Some(State::Free) => "desk free",
            Some(State::Settling(_)) => "desk settling",
            Some(State::Resting) => "desk resting",
            Some(State::Busy(errand)) => match errand {
                Errand::Read => "desk reading",
                Errand::Mark(_) => "desk marking",
                Errand::Explain(_) => "desk explaining",
                Errand::Place(_) => "desk placing",
                Errand::Bind { .. } => "desk binding",
                Errand::Pause { .. } => "desk pausing",
                Errand::Devices(_) => "desk giving devices",
                Errand::Disrupt(_) => "desk disrupting",
                Errand::Remove { .. } => "desk removing",
                Errand::Release => "desk releasing",
            },
        }
    }

    /// Whether the pod has to be read before anything is decided about it.
    pub(crate) fn must_read(&self, pod: &Uid) -> bool {
        self.desks.get(pod).is_some_and(|desk| desk.must_read)
    }
}

impl Desk {
    fn succeeded(
        &mut self,
        out: &mut Outbox,
        uid: &Uid,
        errand: &Errand,
        body: &serde_json::Value,
    ) -> Verdict {
        if let Errand::Devices(step) = errand
            && step.kind != Kind::Tell
        {
            let claim = ClaimView::deserialize(body).map(Box::new);
            return claim.map_or_else(|_| Verdict::ClaimGone(step.claim.clone()), Verdict::Claim);
        }
        if !errand.answers_with_the_pod() {
            self.state = State::Settling(errand.clone());
            out.wake_in(SETTLE, Alarm::Pod(uid.clone()));
            return Verdict::Unsure;
        }
        self.must_read = false;
        match PodView::deserialize(body) {
            Ok(pod) if pod.uid() == uid => Verdict::Is(Box::new(pod)),
            // The name belongs to another pod now.
            Ok(_) => Verdict::Gone,
            Err(_) => Verdict::Unsure,
        }
    }

    fn rest(&mut self, out: &mut Outbox, uid: &Uid, backoff: Backoff) {
        self.failures += 1;
        self.must_read = true;
        self.state = State::Resting;
        out.count("kube.failures");
        out.wake_in(backoff.after(self.failures), Alarm::Pod(uid.clone()));
    }
}

impl Errand {
    pub(crate) fn devices(step: Step) -> Self {
        Self::Devices(Box::new(step))
    }

    fn request(
        &self,
        out: &Outbox,
        author: &Author,
        pod: &PodView,
        eviction_refused: bool,
    ) -> KubeRequest {
        match self {
            Self::Read => requests::read(pod),
            Self::Mark(job) => requests::mark(pod, *job),
            Self::Explain(message) => author.pod_condition(out.now(), pod, waits(message)),
            Self::Place(placement) => requests::place(pod, placement),
            Self::Bind { job, slurm, node } => requests::bind(pod, *job, slurm, node),
            Self::Pause { is_paused, message } => {
                author.pod_condition(out.now(), pod, pauses(*is_paused, message))
            }
            Self::Devices(step) => step.request.clone(),
            Self::Disrupt(message) => author.pod_condition(out.now(), pod, leaves(message)),
            Self::Remove { grace } if eviction_refused => requests::delete(pod, *grace),
            Self::Remove { grace } => requests::evict(pod, *grace),
            Self::Release => requests::release(pod),
        }
    }

    fn answers_with_the_pod(&self) -> bool {
        match self {
            Self::Bind { .. } | Self::Remove { .. } => false,
            Self::Read
            | Self::Mark(_)
            | Self::Explain(_)
            | Self::Place(_)
            | Self::Pause { .. }
            | Self::Devices(_)
            | Self::Disrupt(_)
            | Self::Release => true,
        }
    }

    /// Whether the pod's state shows that the errand was done.
    fn shows_in(&self, pod: &PodView) -> bool {
        match self {
            Self::Bind { .. } => pod.is_bound() || pod.is_leaving() || pod.is_terminal(),
            Self::Remove { .. } => pod.is_leaving() || pod.is_terminal(),
            Self::Read
            | Self::Mark(_)
            | Self::Explain(_)
            | Self::Place(_)
            | Self::Pause { .. }
            | Self::Devices(_)
            | Self::Disrupt(_)
            | Self::Release => true,
        }
    }

    fn metric(&self) -> &'static str {
        match self {
            Self::Read => "pods.read",
            Self::Mark(_) => "pods.mark",
            Self::Explain(_) => "pods.explain",
            Self::Place(_) => "pods.place",
            Self::Bind { .. } => "pods.bind",
            Self::Pause { .. } => "pods.pause",
            Self::Devices(step) => match step.kind {
                Kind::Create => "claims.create",
                Kind::Protect => "claims.protect",
                Kind::Allocate => "claims.allocate",
                Kind::Free => "claims.free",
                Kind::Tell => "claims.tell",
                Kind::Delete => "claims.delete",
            },
            Self::Disrupt(_) => "pods.disrupt",
            Self::Remove { .. } => "pods.remove",
            Self::Release => "pods.release",
        }
    }
}

fn waits(message: &str) -> Claim<'_> {
    Claim { kind: "PodScheduled", status: false, reason: "Unschedulable", message }
}

fn pauses(is_paused: bool, message: &str) -> Claim<'_> {
    let reason = if is_paused { "SlurmSuspended" } else { "SlurmRunning" };
    Claim { kind: SUSPENDED_CONDITION, status: is_paused, reason, message }
}

fn leaves(message: &str) -> Claim<'_> {
    Claim { kind: "DisruptionTarget", status: true, reason: "SlurmJobEnded", message }
}
