//! A world on trial: requests go wrong, processes die or stand still, machines fail.
//!
//! ```text
//!   send ──▶ verdict ─┬─ crash, pause, reset, lose ──▶ settled here
//!                     └─ the rest travels with the request ──▶ arrive ──▶ refused, or its reply lost
//! ```

use std::collections::BTreeMap;

use drawbridge_bridge::slurm::encode;
use drawbridge_core::{Effect, Input, KubeReply, Lost, SlurmFault, StreamId, WatchEvent};
use drawbridge_fakes::{self as fakes, Response};
use drawbridge_sim::{EventQueue, Span, Time};
use serde_json::{Value, json};

use super::{
    KUBE_LATENCY, World,
    faults::Faults,
    outside::watch_event,
    process::{Life, Mail, Mind, Process},
};
use crate::{
    fault::{Fault, Fired, Verdict, WATCH_EVENT},
    log::Line,
    record::{Actor, Subject},
    swarm::Swarm,
};

/// How often each state of the bridge's machines met each kind of news.
pub type Seen = BTreeMap<(&'static str, &'static str), u64>;

impl World {
    /// Adds faults that strike when their request comes.
    pub fn list_faults(&mut self, faults: &[Fault]) {
        faults.iter().for_each(|fault| self.faults.list(*fault));
    }

    /// Draws faults from a seed.
    pub fn draw_faults(&mut self, swarm: Swarm) {
        self.faults.draw(swarm);
    }

    /// Goes on until this time at the latest, whatever was expected when.
    pub fn play_until(&mut self, until: Time) {
        self.until = until;
        self.checks_until = Time::ZERO;
    }

    /// Notes from now on what the bridge meets in which state.
    pub fn take_note(&mut self) {
        self.seen.get_or_insert_default();
    }

    /// How many replicas of the bridge there are.
    pub fn replicas(&self) -> usize {
        self.bridges.len()
    }

    /// The faults that struck, in order.
    pub fn fired(&self) -> &[Fired] {
        self.faults.fired()
    }

    /// How many requests the bridge has sent, or wanted to.
    pub fn effects(&self) -> u64 {
        self.faults.effects()
    }

    /// What the bridge met in which state.
    pub fn seen(&self) -> Seen {
        self.seen.clone().unwrap_or_default()
    }

    /// How long the bridge suffered from what went wrong.
    pub fn disturbed_for(&self) -> Span {
        self.laws.disturbed_for()
    }

    /// Forgets the records that nobody took.
    pub fn forget_records(&mut self) {
        self.log.take();
    }

    pub(super) fn cover(&mut self, life: Life, input: &Input) {
        let Some(seen) = &mut self.seen else { return };
        let Some(process) = self.bridges.get_mut(life.replica) else { return };
        let now = process.clock(self.now);
        if let Mind::Core(bridge) = &process.mind {
            let news = news(input);
            for state in bridge.meets(now, input) {
                *seen.entry((state, news)).or_default() += 1;
            }
        }
    }

    /// A request leaves the process, or doesn't; says whether the process is still alive.
    pub(super) fn set_out(
        &mut self,
        life: Life,
        effect: Effect,
        latency: Span,
        verdict: Option<Verdict>,
    ) -> bool {
        let at = self.now + latency;
        match verdict {
            Some(Verdict::CrashBefore(down_for)) => {
                self.crash(life.replica, down_for);
                return false;
            }
            Some(Verdict::LoseRequest) => {}
            Some(Verdict::Reset) => {
                self.post(life, latency, hung_up(&effect));
            }
            Some(Verdict::Delay(later)) => self.request(at + later, life, effect, None),
            Some(Verdict::Duplicate(later)) => {
                self.request(at, life, effect.clone(), None);
                self.request(at + later, life, effect, Some(Verdict::LoseReply));
            }
            Some(
                Verdict::Pause(_)
                | Verdict::ClockAhead(_)
                | Verdict::ClockBehind(_)
                | Verdict::Restart(_)
                | Verdict::Oust
                | Verdict::Mishap(_),
            ) => {
                self.request(at, life, effect, None);
                verdict.into_iter().for_each(|verdict| self.strike(life, verdict));
            }
            Some(
                Verdict::DelayReply(_)
                | Verdict::Stale
                | Verdict::Refuse(_)
                | Verdict::LoseReply
                | Verdict::ResetReply
                | Verdict::Conflict
                | Verdict::CrashAfter(_)
                | Verdict::End
                | Verdict::Gone
                | Verdict::Mute,
            )
            | None => self.request(at, life, effect, verdict),
        }
        true
    }

    /// Something happens to the process that has just sent a request, or around it.
    fn strike(&mut self, life: Life, verdict: Verdict) {
        let now = self.now;
        let ms = |span: Span| i64::try_from(span.as_ms()).unwrap_or(i64::MAX);
        match verdict {
            Verdict::Mishap(mishap) => self.befall(mishap),
            Verdict::Oust => self.oust(),
            // What it wanted done at this moment goes first.
            Verdict::Restart(span) => self.mail.push(now, Mail::Stop(life, span)),
            Verdict::Pause(span) => {
                self.change(life, |process| process.paused_until = now + span);
            }
            Verdict::ClockAhead(span) => self.change(life, |process| process.shift_clock(ms(span))),
            Verdict::ClockBehind(span) => {
                self.change(life, |process| process.shift_clock(-ms(span)));
            }
            Verdict::Delay(_)
            | Verdict::DelayReply(_)
            | Verdict::Stale
            | Verdict::Refuse(_)
            | Verdict::LoseRequest
            | Verdict::LoseReply
            | Verdict::Reset
            | Verdict::ResetReply
            | Verdict::Duplicate(_)
            | Verdict::Conflict
            | Verdict::CrashBefore(_)
            | Verdict::CrashAfter(_)
            | Verdict::End
            | Verdict::Gone
            | Verdict::Mute => {}
        }
    }

    fn change(&mut self, life: Life, how: impl FnOnce(&mut Process)) {
        if let Some(process) = self.alive(life) {
            how(process);
        }
    }

    fn request(&mut self, at: Time, life: Life, effect: Effect, fate: Option<Verdict>) {
        self.mail.push(at, Mail::Request(life, Box::new(effect), fate));
    }

    /// Writes down the faults that struck, and gives the bridge time for them.
    pub(super) fn tell_faults(&mut self) {
        for Fired { at, fault } in self.faults.take_new() {
            self.laws.disturbed(at, fault.verdict.lasts());
            self.note(Line::story(Actor::Twin, Subject::Twin, format!("fault: {fault}")));
        }
    }

    /// What this question was answered with before, if that is what becomes of it; otherwise the
    /// answer, which is kept for the next time where anybody might want it.
    pub(super) fn stale_or(
        &mut self,
        question: impl FnOnce() -> String,
        fate: Option<Verdict>,
        answer: impl FnOnce(&mut Self) -> Response,
    ) -> Response {
        if !self.faults.may_be_stale() {
            return answer(self);
        }
        let question = question();
        let known = self.replies.get(&question).filter(|_| fate == Some(Verdict::Stale));
        if let Some(known) = known.cloned() {
            return known;
        }
        let fresh = answer(self);
        if fresh.status < 300 {
            self.replies.insert(question, fresh.clone());
        }
        fresh
    }
}

/// When a reply comes.
pub(super) enum Answer {
    /// So much later than usual.
    Comes(Span),
    /// The connection breaks instead.
    Breaks,
    /// Never.
    Never,
}

/// What becomes of the reply to a request that arrived.
pub(super) fn reply_of(fate: Option<Verdict>) -> Answer {
    match fate {
        Some(Verdict::DelayReply(later)) => Answer::Comes(later),
        Some(Verdict::LoseReply | Verdict::CrashAfter(_)) => Answer::Never,
        Some(Verdict::ResetReply) => Answer::Breaks,
        Some(_) | None => Answer::Comes(Span::ZERO),
    }
}

/// What the transport says of a connection that broke.
pub(super) fn broken() -> Lost {
    Lost { why: "connection reset by peer".to_owned() }
}

/// What the transport says where nobody listens.
pub(super) fn refused() -> Lost {
    Lost { why: "connection refused".to_owned() }
}

/// What the API server says instead of doing it.
pub(super) fn kube_refusal(status: u16) -> Response {
    let reason = match status {
        401 => "Unauthorized",
        403 => "Forbidden",
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "not now", "reason": reason, "code": status,
    });
    Response { status, body: body.into() }
}

/// What slurmrestd, or somebody before it, says instead of doing it.
pub(super) fn slurm_refusal(verdict: Verdict) -> Option<Response> {
    let Verdict::Refuse(status) = verdict else { return None };
    let body = match status {
        511 => error(1007, "Protocol authentication error"),
        500 => return Some(no_slurmctld()),
        _ => Value::from("<html>try again later</html>"),
    };
    Some(Response { status, body: body.into() })
}

/// What slurmrestd says while there is no slurmctld.
pub(super) fn no_slurmctld() -> Response {
    let body = error(1804, "Unable to contact slurm controller (connect failure)");
    Response { status: 500, body: body.into() }
}

fn error(number: i64, text: &str) -> Value {
    json!({ "errors": [{
        "description": text, "error_number": number, "error": text, "source": "slurmrestd",
    }], "warnings": [] })
}

/// What the process hears when the connection isn't made.
fn hung_up(effect: &Effect) -> Input {
    let Lost { why } = refused();
    match effect {
        Effect::Slurm { call, .. } => {
            Input::SlurmReplied { call: *call, outcome: Err(SlurmFault::Unreachable { why }) }
        }
        Effect::Kube { call, .. } => Input::KubeReplied { call: *call, outcome: Err(Lost { why }) },
        Effect::KubeWatch { stream, .. } => {
            Input::Watched { stream: *stream, event: WatchEvent::Ended }
        }
        Effect::Unwatch { .. } | Effect::WakeAt(_) | Effect::StepDown | Effect::Exit => Input::Woke,
    }
}

/// What the process hears of a request that it may no longer send, because another may lead by now.
pub(super) fn unsent(now: Time, effect: &Effect) -> Option<Input> {
    let why = "it was not sent: the lease has run out".to_owned();
    match effect {
        Effect::Slurm { call, limits, .. } if limits.send_by < now => {
            let outcome = Err(SlurmFault::Unreachable { why });
            Some(Input::SlurmReplied { call: *call, outcome })
        }
        // The version has no such request: whoever would send it knows at once.
        Effect::Slurm { call, via, request, .. } => {
            let unserved = encode(request, via.version).err()?;
            let outcome = Err(SlurmFault::Refused { number: 0, text: unserved.to_string() });
            Some(Input::SlurmReplied { call: *call, outcome })
        }
        Effect::Kube { call, limits, .. } if limits.send_by < now => {
            Some(Input::KubeReplied { call: *call, outcome: Err(Lost { why }) })
        }
        Effect::Kube { .. }
        | Effect::KubeWatch { .. }
        | Effect::Unwatch { .. }
        | Effect::WakeAt(_)
        | Effect::StepDown
        | Effect::Exit => None,
    }
}

/// What a watch has to say.
pub(super) struct Saying {
    pub(super) now: Time,
    pub(super) life: Life,
    pub(super) stream: StreamId,
    pub(super) events: Vec<fakes::WatchEvent>,
}

impl Saying {
    /// Says it, in order, or less than that; whether the watch is still open.
    pub(super) fn speak(
        self,
        not_before: &mut Time,
        faults: &mut Faults,
        mail: &mut EventQueue<Mail>,
    ) -> bool {
        let Self { now, life, stream, events } = self;
        let mut say = |event, at: Time| {
            let input = Input::Watched { stream, event };
            mail.push(at.max(now) + KUBE_LATENCY, Mail::News(life, Box::new(input)));
        };
        for event in events {
            match faults.ask(now, WATCH_EVENT) {
                Some(Verdict::Delay(later)) => *not_before = (*not_before).max(now + later),
                Some(Verdict::Gone) => {
                    say(WatchEvent::Failed(410), *not_before);
                    return false;
                }
                Some(Verdict::Mute) => return false,
                // Whatever else happens to a connection, the watch is over.
                Some(_) => {
                    say(WatchEvent::Ended, *not_before);
                    return false;
                }
                None => {}
            }
            say(watch_event(event), *not_before);
        }
        true
    }
}

/// What kind of news an input is.
fn news(input: &Input) -> &'static str {
    match input {
        Input::Started => "started",
        Input::Stopping => "stopping",
        Input::Woke => "woke",
        Input::KubeReplied { outcome: Ok(KubeReply { status, .. }), .. } => match status {
            0..=399 => "kube: done",
            404 => "kube: not found",
            409 => "kube: conflict",
            _ => "kube: refused",
        },
        Input::KubeReplied { outcome: Err(_), .. } => "kube: lost",
        Input::Watched { event, .. } => match event {
            WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_) => {
                "watch: change"
            }
            WatchEvent::Bookmark(_) => "watch: bookmark",
            WatchEvent::Failed(410) => "watch: gone",
            WatchEvent::Failed(_) | WatchEvent::Ended => "watch: ended",
        },
        Input::SlurmReplied { outcome: Ok(_), .. } => "slurm: done",
        Input::SlurmReplied { outcome: Err(fault), .. } => match fault {
            SlurmFault::Refused { .. } => "slurm: refused",
            SlurmFault::Unauthorized { .. } => "slurm: token",
            SlurmFault::NotServed { .. } => "slurm: not served",
            SlurmFault::Unreachable { .. } => "slurm: unreachable",
            SlurmFault::Unintelligible { .. } => "slurm: riddle",
            SlurmFault::Lost { .. } => "slurm: lost",
        },
    }
}

/// All kinds of news.
pub const NEWS: [&str; 19] = [
    "started",
    "stopping",
    "woke",
    "kube: done",
    "kube: not found",
    "kube: conflict",
    "kube: refused",
    "kube: lost",
    "watch: change",
    "watch: bookmark",
    "watch: gone",
    "watch: ended",
    "slurm: done",
    "slurm: refused",
    "slurm: token",
    "slurm: not served",
    "slurm: unreachable",
    "slurm: riddle",
    "slurm: lost",
];
