//! Who leads: one of several replicas, by a Lease in Kubernetes.
//!
//! ```text
//!             nobody's, run out                  written
//!  Looking ───────────────────────▶ Taking ────────────────▶ Leading ◀──┐ renewed
//!   ▲   │ somebody else's              │ conflict, lost         │       │
//!   │   ▼                              ▼                        ├──▶ Renewing
//!   └─ Resting ◀──────────────────────────                      │
//!                                             not renewed in time, or somebody else's ──▶ Over
//! ```
//!
//! A lease has run out when nobody renewed it for its whole duration *as seen from here*: clocks of
//! other machines are never compared with ours. Every write carries the resourceVersion that it was
//! decided on, so of two that try at once one wins. A leader that could not renew gives up well before
//! others may take over ([`Election::until`]), and nothing that it wanted done may be sent after that.

use drawbridge_sim::{Epoch, Span, Time};
use serde_json::{Value, json};

use crate::{
    config::{LeaderElection, secs},
    effect::{KubeRequest, Method},
    input::{KubeReply, Lost},
    outbox::{Alarm, Outbox, Purpose},
};

/// One replica's part in the election.
#[derive(Clone, Debug)]
pub(crate) struct Election {
    terms: LeaderElection,
    epoch: Epoch,
    namespace: String,
    identity: String,
    state: State,
    /// The lease as it was last read, and since when it has been so.
    seen: Option<(Record, Time)>,
    /// The object, to be written back whole.
    object: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Looking,
    Resting,
    Taking {
        sent: Time,
    },
    /// Rests between two renewals; after one that failed, the lease is read first.
    Leading {
        until: Time,
        must_read: bool,
    },
    Renewing {
        until: Time,
        sent: Time,
    },
    Checking {
        until: Time,
    },
    Releasing,
    Over,
}

/// What changes when somebody takes or renews the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    holder: String,
    duration: Span,
    renewed: String,
    acquired: String,
    transitions: u64,
}

impl Record {
    /// Whatever is missing is nothing: a lease that says little still belongs to whom it names.
    fn of(lease: &Value) -> Self {
        let spec = &lease["spec"];
        let text = |key: &str| spec[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| spec[key].as_u64().unwrap_or_default();
        Self {
            holder: text("holderIdentity"),
            duration: Span::secs(number("leaseDurationSeconds")),
            renewed: text("renewTime"),
            acquired: text("acquireTime"),
            transitions: number("leaseTransitions"),
        }
    }
}

/// What came of a reply or of time passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing to speak of.
    Same,
    /// This one leads from now on.
    Elected,
    /// This one leads no more.
    Ousted,
    /// The lease was given back, or can't be.
    Released,
}

impl Election {
    pub(crate) fn new(
        terms: LeaderElection,
        epoch: Epoch,
        namespace: &str,
        identity: &str,
    ) -> Self {
        Self {
            terms,
            epoch,
            namespace: namespace.into(),
            identity: identity.into(),
            state: State::Resting,
            seen: None,
            object: Value::Null,
        }
    }

    /// Looks who holds the lease.
    pub(crate) fn look(&mut self, out: &mut Outbox) {
        self.state = match self.until() {
            Some(until) => State::Checking { until },
            None => State::Looking,
        };
        out.kube(Purpose::Lease, request(Method::Get, self.path(), None));
    }

    /// Until when this one leads, if it does.
    pub(crate) fn until(&self) -> Option<Time> {
        match self.state {
            State::Leading { until, .. }
            | State::Renewing { until, .. }
            | State::Checking { until } => Some(until),
            State::Looking
            | State::Resting
            | State::Taking { .. }
            | State::Releasing
            | State::Over => None,
        }
    }

    /// Where it stands.
    pub(crate) const fn state_name(&self) -> &'static str {
        match self.state {
            State::Looking => "election looking",
            State::Resting => "election resting",
            State::Taking { .. } => "election taking",
            State::Leading { .. } => "election leading",
            State::Renewing { .. } => "election renewing",
            State::Checking { .. } => "election checking",
            State::Releasing => "election releasing",
            State::Over => "election over",
        }
    }

    /// Who held the lease when it was last read.
    pub(crate) fn holder(&self) -> Option<&str> {
        let (record, _) = self.seen.as_ref()?;
        Some(&*record.holder).filter(|holder| !holder.is_empty())
    }

    /// Whether the lease was never read, nor taken.
    pub(crate) fn is_blind(&self) -> bool {
        self.seen.is_none()
    }

    /// The time has come to look, to renew, or to give up.
    pub(crate) fn woke(&mut self, out: &mut Outbox) -> Turn {
        if self.is_too_late(out.now()) {
            return Turn::Ousted;
        }
        match self.state {
            State::Resting | State::Leading { must_read: true, .. } => self.look(out),
            State::Leading { until, must_read: false } => self.renew(out, until),
            State::Looking
            | State::Taking { .. }
            | State::Renewing { .. }
            | State::Checking { .. }
            | State::Releasing
            | State::Over => {}
        }
        Turn::Same
    }

    /// Takes a reply to whatever was asked last.
    pub(crate) fn replied(&mut self, out: &mut Outbox, outcome: &Result<KubeReply, Lost>) -> Turn {
        if self.is_too_late(out.now()) {
            return Turn::Ousted;
        }
        let done = match outcome {
            Ok(KubeReply { status: 200..=299, body }) => Some(body),
            Ok(_) | Err(_) => None,
        };
        let status = outcome.as_ref().map_or(0, |reply| reply.status);
        match (self.state, done) {
            (State::Looking, Some(body)) => {
                self.read(out.now(), body);
                self.take_or_wait(out);
            }
            (State::Looking, None) if status == 404 => self.create(out),
            (State::Looking | State::Taking { .. }, None) => self.rest(out),
            // Won, but so long ago that somebody else may have it by now.
            (State::Taking { sent }, Some(_)) if self.end_of(sent) <= out.now() => self.look(out),
            (State::Taking { sent }, Some(body)) => {
                self.won(out, sent, body);
                return Turn::Elected;
            }
            (State::Renewing { sent, .. }, Some(body)) => self.won(out, sent, body),
            (State::Renewing { .. }, None) if status == 409 => self.look(out),
            (State::Renewing { until, .. } | State::Checking { until }, None) => {
                self.lead(out, until, true);
            }
            (State::Checking { until }, Some(body)) => return self.checked(out, until, body),
            (State::Releasing, _) => {
                self.state = State::Over;
                return Turn::Released;
            }
            (State::Resting | State::Leading { .. } | State::Over, _) => {}
        }
        Turn::Same
    }

    /// Gives the lease back, so that the next one needn't wait for its end. Says whether there is
    /// anything to wait for.
    pub(crate) fn release(&mut self, out: &mut Outbox) -> bool {
        if self.until().is_none() {
            self.state = State::Over;
            return false;
        }
        self.state = State::Releasing;
        let mut object = self.object.clone();
        object["spec"]["holderIdentity"] = json!("");
        object["spec"]["leaseDurationSeconds"] = json!(1);
        object["spec"]["renewTime"] = json!(self.epoch.rfc3339_micro(out.now()));
        out.kube(Purpose::Lease, request(Method::Put, self.path(), Some(object)));
        true
    }

    /// The lease was read because a renewal failed.
    fn checked(&mut self, out: &mut Outbox, until: Time, body: &Value) -> Turn {
        self.read(out.now(), body);
        if self.holder() != Some(&*self.identity) {
            self.state = State::Over;
            return Turn::Ousted;
        }
        self.renew(out, until);
        Turn::Same
    }

    /// The lease is ours, as written at `sent` or later.
    fn won(&mut self, out: &mut Outbox, sent: Time, body: &Value) {
        self.read(out.now(), body);
        self.lead(out, self.end_of(sent), false);
    }

    /// Until when a lease that was written at this time lets us lead.
    fn end_of(&self, sent: Time) -> Time {
        sent + secs(self.terms.renew_deadline_seconds)
    }

    /// Whether this one led, and could not renew the lease in time.
    fn is_too_late(&mut self, now: Time) -> bool {
        let too_late = self.until().is_some_and(|until| until <= now);
        if too_late {
            self.state = State::Over;
        }
        too_late
    }

    fn lead(&mut self, out: &mut Outbox, until: Time, must_read: bool) {
        self.state = State::Leading { until, must_read };
        let again = out.now() + self.pause();
        out.wake_at(again.min(until), Alarm::Lease);
    }

    fn renew(&mut self, out: &mut Outbox, until: Time) {
        self.state = State::Renewing { until, sent: out.now() };
        out.wake_at(until, Alarm::Lease);
        self.write(out);
    }

    fn take_or_wait(&mut self, out: &mut Outbox) {
        let Some((record, since)) = &self.seen else {
            return self.rest(out);
        };
        let held = !record.holder.is_empty() && record.holder != self.identity;
        if held && out.now() < *since + record.duration {
            return self.rest(out);
        }
        self.state = State::Taking { sent: out.now() };
        self.write(out);
    }

    fn rest(&mut self, out: &mut Outbox) {
        self.state = State::Resting;
        out.wake_in(self.pause(), Alarm::Lease);
    }

    fn pause(&self) -> Span {
        secs(self.terms.retry_period_seconds)
    }

    fn read(&mut self, now: Time, body: &Value) {
        let record = Record::of(body);
        let since = match &self.seen {
            Some((known, since)) if *known == record => *since,
            Some(_) | None => now,
        };
        self.seen = Some((record, since));
        self.object = body.clone();
    }

    fn create(&mut self, out: &mut Outbox) {
        self.seen = None;
        self.state = State::Taking { sent: out.now() };
        self.object = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": self.terms.id, "namespace": self.namespace },
        });
        let body = self.filled(out.now());
        out.kube(Purpose::Lease, request(Method::Post, self.collection(), Some(body)));
    }

    /// Writes the lease as it was read, with us as its holder.
    fn write(&mut self, out: &mut Outbox) {
        let body = self.filled(out.now());
        out.kube(Purpose::Lease, request(Method::Put, self.path(), Some(body)));
    }

    fn filled(&self, now: Time) -> Value {
        let time = self.epoch.rfc3339_micro(now);
        let known = self.seen.as_ref().map(|(record, _)| record);
        let ours = known.filter(|record| record.holder == self.identity);
        let changes_hands = known.is_some() && ours.is_none();
        let before = known.map_or(0, |record| record.transitions);
        let transitions = before + u64::from(changes_hands);
        let mut object = self.object.clone();
        object["spec"] = json!({
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.terms.lease_duration_seconds,
            "acquireTime": ours.map_or(&time, |record| &record.acquired),
            "renewTime": time,
            "leaseTransitions": transitions,
        });
        object
    }

    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.terms.id)
    }
}

fn request(method: Method, path: String, body: Option<Value>) -> KubeRequest {
    KubeRequest { method, path, query: Vec::new(), body }
}

#[cfg(test)]
mod tests;
