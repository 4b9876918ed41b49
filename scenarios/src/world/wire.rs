//! A world whose bridge is the real shell: requests come in as bytes, and leave as bytes.
//!
//! ```text
//!   shell ─ effect, as it is journalled ─▶ World::told_effect ─▶ mail, at its time, as in direct
//!         ─ request, as bytes ───────────▶ World::take_bytes ─▶ looked up when the mail arrives
//!   shell ◀─ Delivery ◀─ replies and watches, as bytes, at their time
//! ```
//!
//! Times, crashes, laws and the log are those of the direct world; only who answers differs: the whole
//! servers, from the request line to the last byte, in place of their `handle`.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use drawbridge_core::{
    BridgeFact, CallId, Config, Effect, Input, Instance, KubeRequest, SlurmRequest, StreamId,
    slurm::Via,
};
use drawbridge_fakes::{
    Answer, Attempt, Cluster, HttpRequest, Stream, Texts,
    slurmrestd::{RestRequest, token::Key},
};
use drawbridge_sim::{Seed, Time};

use super::{
    KUBE_LATENCY, SLURM_LATENCY, World,
    process::{Life, Mail, Spoken},
    rest::Verdict,
};
use crate::{
    log::Line,
    record::{Actor, Subject},
    scenario::Scenario,
};

/// The number under which a request goes: a call's, or a watch's.
pub(crate) type Tag = String;

/// What a shell asked for, as bytes.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// The API server.
    Kube(HttpRequest),
    /// A slurmrestd.
    Slurm(RestRequest),
}

/// A reply, as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

/// What a shell gets.
#[derive(Clone, Debug)]
pub(crate) enum Delivery {
    /// It is started.
    Start(Life),
    /// The time has come that it asked for.
    Wake(Life),
    /// It is told to end.
    Stop(Life),
    /// It is killed.
    Kill(Life),
    /// A whole reply.
    Reply(Life, Tag, Bytes),
    /// A watch is open.
    Open(Life, Tag),
    /// Lines of a watch.
    Lines(Life, Tag, Vec<u8>),
    /// A watch has ended.
    End(Life, Tag),
    /// The connection for this request, to the slurmrestd of this number, isn't made.
    Refuse(Life, Tag, usize),
}

/// What the wire adds to a world.
#[derive(Clone)]
pub(super) struct Wire {
    key: Key,
    asked: BTreeMap<(Life, Tag), Asked>,
    pub(super) deliveries: VecDeque<Delivery>,
}

/// The key that signs the token of the bridge.
pub(crate) fn key() -> Key {
    Key::new(b"the twin's own key, which opens nothing else".to_vec())
}

pub(super) fn watch_tag(stream: StreamId) -> Tag {
    format!("w{}", stream.0)
}

impl World {
    /// A world at time zero whose bridge is elsewhere: see [`crate::wire`].
    pub(crate) fn wired(scenario: &Scenario, seed: Seed) -> Self {
        let cluster = Cluster::new(scenario.epoch, seed, scenario.behaviours.clone());
        let mut world = Self::empty(scenario, cluster);
        let wire = Wire { key: key(), asked: BTreeMap::new(), deliveries: VecDeque::new() };
        world.wire = Some(wire);
        world.furnished(scenario)
    }

    /// What a shell gets next, at the world's time.
    pub(crate) fn take_delivery(&mut self) -> Option<Delivery> {
        self.wire.as_mut()?.deliveries.pop_front()
    }

    pub(super) fn deliver(&mut self, delivery: Delivery) {
        if let Some(wire) = &mut self.wire {
            wire.deliveries.push_back(delivery);
        }
    }

    /// A shell has sent these bytes.
    pub(crate) fn take_bytes(&mut self, life: Life, tag: Tag, asked: Asked) {
        if let Some(wire) = &mut self.wire {
            wire.asked.insert((life, tag), asked);
        }
    }

    /// A shell told its core this.
    pub(crate) fn told_input(&mut self, input: &Input) {
        self.laws.told(None, input);
    }

    /// A shell's core wants this done.
    pub(crate) fn told_effect(&mut self, life: Life, effect: Effect) {
        self.send(life, effect);
    }

    /// A shell's core did this.
    pub(crate) fn told_facts(&mut self, life: Life, facts: Vec<BridgeFact>) {
        self.write_facts(life, facts);
    }

    /// A shell's core leads, or doesn't.
    pub(crate) fn told_leading(&mut self, life: Life, leads: bool) {
        self.set_leading(life, leads);
    }

    /// Which slurmrestd take connections.
    pub(crate) fn open_doors(&self) -> Vec<bool> {
        self.rest.open_doors()
    }

    /// What a life is told at its start.
    pub(crate) fn life(&self, life: Life) -> Option<(Arc<Config>, Instance)> {
        let process = self.bridges.get(life.replica).filter(|process| process.life == life)?;
        Some((process.config.clone(), process.instance()))
    }

    fn bytes_of(&mut self, life: Life, tag: &str) -> Option<Asked> {
        self.wire.as_mut()?.asked.remove(&(life, tag.to_owned()))
    }

    /// A request reaches the API server.
    pub(super) fn kube_by_wire(&mut self, life: Life, call: CallId, request: &KubeRequest) {
        let tag = call.0.to_string();
        let Some(Asked::Kube(http)) = self.bytes_of(life, &tag) else { return };
        let Answer::Reply(reply) = self.answer(&http) else { return };
        self.note_kube(request, reply.status);
        let content_type = reply.headers.iter().find(|(name, _)| *name == "content-type");
        let content_type = content_type.map(|(_, value)| value.clone()).unwrap_or_default();
        let bytes = Bytes { status: reply.status, content_type, body: reply.body };
        self.mail.push(self.now + KUBE_LATENCY, Mail::Bytes(life, tag, bytes));
    }

    /// A request for a watch reaches the API server.
    pub(super) fn watch_by_wire(&mut self, life: Life, stream: StreamId, request: &KubeRequest) {
        let tag = watch_tag(stream);
        let Some(Asked::Kube(http)) = self.bytes_of(life, &tag) else { return };
        self.note(Line::detail(Actor::Bridge, Subject::Bridge, format!("watch {}", request.path)));
        let at = self.now + KUBE_LATENCY;
        match self.answer(&http) {
            Answer::Stream(opened) => {
                self.mail.push(at, Mail::Open(life, tag));
                self.keep_watch(life, stream, Spoken::Bytes(opened));
            }
            Answer::Reply(reply) => {
                let content_type = "application/json".to_owned();
                let bytes = Bytes { status: reply.status, content_type, body: reply.body };
                self.mail.push(at, Mail::Bytes(life, tag, bytes));
            }
            Answer::List(_) | Answer::Waits => {}
        }
    }

    /// A long list is written whole: here nobody waits for it.
    fn answer(&mut self, http: &HttpRequest) -> Answer {
        let mut hooks = self.hooks();
        let answer = self.cluster.answer(self.now, http, &mut Attempt::default(), &mut hooks);
        self.faults = hooks.faults;
        match answer {
            Answer::List(listing) => Answer::Reply(listing.reply()),
            Answer::Reply(_) | Answer::Stream(_) | Answer::Waits => answer,
        }
    }

    /// A request reaches a slurmrestd, or doesn't.
    pub(super) fn slurm_by_wire(
        &mut self,
        life: Life,
        call: CallId,
        via: Via,
        request: &SlurmRequest,
    ) {
        let tag = call.0.to_string();
        let at = self.now + SLURM_LATENCY;
        let asked = self.bytes_of(life, &tag);
        let bytes = match (self.rest.verdict(via, request), asked) {
            (Verdict::Fault(fault), _) => {
                self.note_asked(via, request, &fault.to_string());
                self.mail.push(at, Mail::Refuse(life, tag, via.endpoint));
                return;
            }
            (Verdict::Silence, _) => return self.note_asked(via, request, "silence"),
            (_, None | Some(Asked::Kube(_))) => return,
            (Verdict::Answer(response), Some(Asked::Slurm(_))) => {
                let (content_type, body) = match response.body.as_str() {
                    Some(text) => ("text/plain", text.to_owned()),
                    None => ("application/json", response.body.to_string()),
                };
                let content_type = content_type.to_owned();
                Bytes { status: response.status, content_type, body: body.into_bytes() }
            }
            (Verdict::Pass, Some(Asked::Slurm(http))) => {
                let Some(wire) = &self.wire else { return };
                let (now, key) = (self.now, wire.key.clone());
                let unix = self.slurm.ctld().epoch().unix(now);
                let response = self.slurm.answer(now, unix, &key, &http);
                let content_type = response.content_type.to_owned();
                Bytes { status: response.status, content_type, body: response.body.whole() }
            }
        };
        self.note_asked(via, request, &bytes.status.to_string());
        self.mail.push(at, Mail::Bytes(life, tag, bytes));
    }
}

/// What a stream has to say, as lines.
pub(super) fn lines(stream: &mut Stream, cluster: &Cluster, now: Time) -> (Vec<u8>, bool) {
    let news = stream.collect(cluster);
    let ended = news.ended;
    (stream.write(now, news, &Texts::default()), ended)
}

/// Where a stream stands, as a line.
pub(super) fn farewell(stream: &mut Stream, cluster: &Cluster, now: Time) -> Vec<u8> {
    let news = stream.farewell(cluster);
    stream.write(now, news, &Texts::default())
}
