//! What the bridge sees as the outside: its requests are performed here, one by one.
//!
//! ```text
//!   step ──▶ Effect ──latency──▶ server.handle ──latency──▶ Input ──▶ step
//! ```
//!
//! The core gets only what `handle` answered; nothing here looks into the store or the model on its
//! behalf.

use drawbridge_core::{
    BridgeFact, CallId, Effect, Input, KubeReply, KubeRequest, Role, StreamId, WatchEvent,
    names::{BRIDGE_NAMESPACE, BRIDGE_USER},
};
use drawbridge_fakes as fakes;
use drawbridge_fakes::{Request, Response};
use drawbridge_sim::{Span, fnv1a};
use serde_json::{Value, json};

use super::{
    KUBE_LATENCY, SLURM_LATENCY, World,
    process::{Hooks, Life, Mail, Mind, OpenWatch, Process, Spoken, metric},
    trial::{self, Answer, Saying},
    wire::{self, Delivery},
};
use crate::{
    fault::Verdict,
    log::Line,
    record::{Actor, Subject},
    scenario::CrashPoint,
};

/// How often an open watch says where it stands.
const BOOKMARK_EVERY: Span = Span::mins(1);
/// How long the API server keeps a watch open.
const LONGEST_WATCH: Span = Span::mins(30);

impl World {
    /// Puts the objects that are there from the start in place, and then the bridge's webhooks.
    pub(super) fn furnish(&mut self, objects: &[Value]) {
        objects.iter().for_each(|object| self.apply(object));
        if let Some(process) = self.bridges.first() {
            let hooks = drawbridge_core::admission::configurations(&process.config);
            hooks.iter().for_each(|object| self.apply(object));
        }
        if self.bridges.len() > 1 {
            // Their lease lives where they do.
            self.apply(&json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": BRIDGE_NAMESPACE },
            }));
        }
        self.observe();
    }

    /// Starts a replica of the bridge.
    pub(super) fn boot(&mut self, replica: usize) {
        let Some(process) = self.bridges.get_mut(replica) else { return };
        match self.wire {
            Some(_) => process.start_shell(),
            None => process.start(),
        }
        let life = process.life;
        if life.start > 1 {
            let text = format!("{} started again", self.name_of(replica));
            self.note(Line::story(Actor::Twin, Subject::Bridge, text));
        }
        self.tell(life, Input::Started);
    }

    /// What the story calls a replica.
    pub(super) fn name_of(&self, replica: usize) -> String {
        match self.bridges.len() {
            1 => "the bridge".to_owned(),
            _ => format!("bridge {replica}"),
        }
    }

    /// Handles the next piece of mail.
    pub(super) fn open_mail(&mut self) {
        let Some((_, mail)) = self.mail.pop() else { return };
        match mail {
            Mail::Request(life, effect, fate) => self.arrive(life, *effect, fate),
            Mail::News(life, input) => self.tell(life, *input),
            Mail::Restart(replica) => self.boot(replica),
            Mail::Stop(life, down_for) => {
                if self.alive(life).is_some() {
                    self.stop(life.replica, down_for);
                }
            }
            Mail::Mended(mishap) => self.mend(mishap),
            Mail::Bytes(life, tag, bytes) => self.deliver(Delivery::Reply(life, tag, bytes)),
            Mail::Open(life, tag) => self.deliver(Delivery::Open(life, tag)),
            Mail::Lines(life, tag, lines, ends) => {
                self.deliver(Delivery::Lines(life, tag.clone(), lines));
                if ends {
                    self.deliver(Delivery::End(life, tag));
                }
            }
            Mail::Refuse(life, tag, server) => self.deliver(Delivery::Refuse(life, tag, server)),
        }
    }

    /// Wakes a replica at the time it asked for.
    pub(super) fn wake_bridge(&mut self) {
        let now = self.now;
        let due = |process: &&mut Process| process.wake_at().is_some_and(|at| at <= now);
        let Some(process) = self.bridges.iter_mut().find(due) else { return };
        process.set_wake(None);
        let life = process.life;
        self.tell(life, Input::Woke);
    }

    /// Lets the controllers, kubelets and the default scheduler do what is due.
    pub(super) fn wake_cluster(&mut self) {
        let mut hooks = self.hooks();
        self.cluster.wake(self.now, &mut hooks);
        self.faults = hooks.faults;
    }

    /// One request to the API server, by whoever.
    pub(super) fn kube(&mut self, request: &Request) -> Response {
        let mut hooks = self.hooks();
        let response = self.cluster.handle(self.now, request, &mut hooks);
        self.faults = hooks.faults;
        response
    }

    /// The webhooks as they are now. Whoever calls gives the faults in them back.
    pub(super) fn hooks(&mut self) -> Hooks {
        let up = self.bridges.iter().any(Process::is_up);
        let bridge = self.bridges.first().map(|process| (process.config.clone(), up));
        let down_until = self.troubles.webhooks;
        Hooks { faults: std::mem::take(&mut self.faults), bridge, others: self.live, down_until }
    }

    /// The replica, if it still lives that life.
    pub(super) fn alive(&mut self, life: Life) -> Option<&mut Process> {
        let process = self.bridges.get_mut(life.replica)?;
        (process.is_up() && process.life == life).then_some(process)
    }

    /// Gives a replica one input and sends what it wants sent.
    pub(super) fn tell(&mut self, life: Life, input: Input) {
        let now = self.now;
        let Some(process) = self.alive(life) else { return };
        if now < process.paused_until {
            let until = process.paused_until;
            return self.mail.push(until, Mail::News(life, Box::new(input)));
        }
        if self.wire.is_some() {
            return self.tell_shell(life, &input);
        }
        self.laws.told(Some(life), &input);
        self.cover(life, &input);
        let Some(process) = self.alive(life) else { return };
        let now = process.clock(now);
        let Mind::Core(bridge) = &mut process.mind else { return };
        let led = bridge.role() == Role::Leading;
        let effects = bridge.step(now, input);
        let (leads, facts) = (bridge.role() == Role::Leading, bridge.take_facts());
        self.note_leading(led, leads);
        self.write_facts(life, facts);
        for effect in effects {
            if !self.send(life, effect) {
                break;
            }
        }
    }

    fn tell_shell(&mut self, life: Life, input: &Input) {
        match input {
            Input::Started => self.deliver(Delivery::Start(life)),
            Input::Woke => self.deliver(Delivery::Wake(life)),
            Input::Stopping => self.deliver(Delivery::Stop(life)),
            // These come to it as bytes.
            Input::KubeReplied { .. } | Input::Watched { .. } | Input::SlurmReplied { .. } => {}
        }
    }

    /// A shell says whether its core leads.
    pub(super) fn set_leading(&mut self, life: Life, now_leads: bool) {
        let Some(Mind::Shell { leads }) = self.alive(life).map(|process| &mut process.mind) else {
            return;
        };
        let led = std::mem::replace(leads, now_leads);
        self.note_leading(led, now_leads);
    }

    fn note_leading(&mut self, led: bool, leads: bool) {
        match (led, leads) {
            (false, true) => self.laws.bridge_up(self.now),
            (true, false) => self.note_letting_go(),
            (true, true) | (false, false) => {}
        }
    }

    /// One no longer leads. Where it stood still, another may have begun before it noticed.
    fn note_letting_go(&mut self) {
        if !self.bridges.iter().any(Process::leads) {
            self.laws.bridge_down();
        }
    }

    /// Writes down what a replica's core did.
    pub(super) fn write_facts(&mut self, life: Life, facts: Vec<BridgeFact>) {
        for fact in facts {
            let mut line = super::story::bridge_fact(&fact);
            if 1 < self.bridges.len() && line.subject == Subject::Bridge {
                line.text = format!("{}: {}", self.name_of(life.replica), line.text);
            }
            self.log.add(self.now, line);
        }
    }

    /// Sends one effect off; says whether the process is still alive afterwards.
    pub(super) fn send(&mut self, life: Life, effect: Effect) -> bool {
        let now = self.now;
        let Some(process) = self.alive(life) else { return false };
        let clock = process.clock(now);
        let latency = match &effect {
            Effect::WakeAt(at) => {
                process.set_wake(Some((*at).max(clock)));
                return true;
            }
            Effect::Unwatch { stream } => {
                process.watches.remove(stream);
                return true;
            }
            Effect::StepDown => {
                self.end_life(life, Span::ms(0));
                return false;
            }
            Effect::Exit => {
                let down_for = process.stops_for.unwrap_or_default();
                self.end_life(life, down_for);
                return false;
            }
            Effect::Kube { .. } | Effect::KubeWatch { .. } => KUBE_LATENCY,
            Effect::Slurm { .. } => SLURM_LATENCY,
        };
        if let Some(down_for) = self.traps.spring(CrashPoint::Before, &effect) {
            self.crash(life.replica, down_for);
            return false;
        }
        if let Some(unsent) = trial::unsent(clock, &effect) {
            self.post(life, Span::ZERO, unsent);
            return true;
        }
        self.laws.sends(life, &effect, self.slurm.ctld());
        let verdict = self.faults.ask_effect(now, &effect);
        self.tell_faults();
        self.set_out(life, effect, latency, verdict)
    }

    /// A process is gone; it starts again after a while.
    pub(super) fn end_life(&mut self, life: Life, down_for: Span) {
        let Some(process) = self.alive(life) else { return };
        let led = process.leads();
        process.die();
        self.deliver(Delivery::Kill(life));
        self.mail.push(self.now + down_for, Mail::Restart(life.replica));
        if led {
            self.note_letting_go();
        }
    }

    /// A request of the bridge reaches its server, even if the process has died meanwhile.
    pub(super) fn arrive(&mut self, life: Life, effect: Effect, fate: Option<Verdict>) {
        *self.requests.entry(metric(&effect)).or_default() += 1;
        let alive = self.alive(life).is_some();
        let crash = alive.then(|| self.traps.spring(CrashPoint::After, &effect)).flatten();
        let crash = crash.or(match fate {
            Some(Verdict::CrashAfter(down_for)) if alive => Some(down_for),
            Some(_) | None => None,
        });
        self.laws.arrives(self.now, life, &effect, self.slurm.ctld());
        match effect {
            Effect::Kube { call, request, .. } => self.arrive_at_kube(life, call, &request, fate),
            Effect::KubeWatch { stream, request } if self.wire.is_some() => {
                self.watch_by_wire(life, stream, &request);
            }
            Effect::KubeWatch { stream, request } => self.open_watch(life, stream, request, fate),
            Effect::Slurm { call, via, request, .. } => {
                self.arrive_at_slurm(life, call, via, &request, fate);
            }
            Effect::Unwatch { .. } | Effect::WakeAt(_) | Effect::StepDown | Effect::Exit => {}
        }
        if let Some(down_for) = crash {
            self.crash(life.replica, down_for);
        }
    }

    fn arrive_at_kube(
        &mut self,
        life: Life,
        call: CallId,
        request: &KubeRequest,
        fate: Option<Verdict>,
    ) {
        if self.wire.is_some() {
            return self.kube_by_wire(life, call, request);
        }
        if self.now < self.troubles.api_server {
            let outcome = Err(trial::refused());
            return self.post(life, KUBE_LATENCY, Input::KubeReplied { call, outcome });
        }
        let Response { status, body } = self.ask_kube(request, fate);
        self.note_kube(request, status);
        match trial::reply_of(fate) {
            Answer::Comes(later) => {
                let outcome = Ok(KubeReply { status, body });
                self.post(life, KUBE_LATENCY + later, Input::KubeReplied { call, outcome });
            }
            Answer::Breaks => {
                let outcome = Err(trial::broken());
                self.post(life, KUBE_LATENCY, Input::KubeReplied { call, outcome });
            }
            Answer::Never => {}
        }
    }

    fn ask_kube(&mut self, request: &KubeRequest, fate: Option<Verdict>) -> Response {
        match fate {
            Some(Verdict::Refuse(status)) => return trial::kube_refusal(status),
            Some(Verdict::Conflict) => self.touch(&request.path),
            Some(_) | None => {}
        }
        let ask = |world: &mut Self| world.kube(&kube_request(request.clone()));
        match request.method {
            drawbridge_core::Method::Get => {
                let question = || format!("{} {:?}", request.path, request.query);
                self.stale_or(question, fate, ask)
            }
            drawbridge_core::Method::Post
            | drawbridge_core::Method::Put
            | drawbridge_core::Method::MergePatch
            | drawbridge_core::Method::JsonPatch
            | drawbridge_core::Method::StrategicPatch
            | drawbridge_core::Method::Delete => ask(self),
        }
    }

    pub(super) fn note_kube(&mut self, request: &KubeRequest, status: u16) {
        let text = format!("{:?} {} -> {status}", request.method, request.path);
        self.note(
            Line::detail(Actor::Bridge, Subject::Bridge, text)
                .digest(digest(request.body.as_ref())),
        );
    }

    fn open_watch(
        &mut self,
        life: Life,
        stream: StreamId,
        request: KubeRequest,
        fate: Option<Verdict>,
    ) {
        let request = kube_request(request);
        self.note(Line::detail(Actor::Bridge, Subject::Bridge, format!("watch {}", request.path)));
        let refused = match fate {
            _ if self.now < self.troubles.api_server => Some(WatchEvent::Ended),
            Some(Verdict::Refuse(status)) => Some(WatchEvent::Failed(status)),
            Some(_) | None => None,
        };
        if let Some(event) = refused {
            return self.post(life, KUBE_LATENCY, Input::Watched { stream, event });
        }
        match self.cluster.api().watch(&request) {
            Ok(watch) => self.keep_watch(life, stream, Spoken::Objects(Box::new(watch))),
            Err(response) => {
                let event = WatchEvent::Failed(response.status);
                self.post(life, KUBE_LATENCY, Input::Watched { stream, event });
            }
        }
    }

    /// A watch is open. What changed since the list that it follows is told at once.
    pub(super) fn keep_watch(&mut self, life: Life, stream: StreamId, spoken: Spoken) {
        let now = self.now;
        let Some(process) = self.alive(life) else { return };
        let open = OpenWatch { spoken, ends_at: now + LONGEST_WATCH, not_before: now };
        process.watches.insert(stream, open);
        self.bookmarks.push(now + BOOKMARK_EVERY, (life, stream));
        self.speak_watches();
    }

    pub(super) fn post(&mut self, life: Life, latency: Span, input: Input) {
        self.mail.push(self.now + latency, Mail::News(life, Box::new(input)));
    }

    /// Looks at what the event did: records it, keeps rows and laws current, and lets watches speak.
    pub(super) fn observe(&mut self) {
        self.tell_faults();
        for fact in self.slurm.take_facts() {
            self.log.add(self.now, super::story::slurm_fact(&fact, self.slurm.ctld()));
            self.rows.slurm_fact(self.now, &fact, self.slurm.ctld());
            self.laws.slurm_fact(self.now, &fact, self.slurm.ctld());
        }
        self.cycles += self.rows.cycled(self.now, self.slurm.ctld());
        let changes = self.cluster.api_mut().take_changes();
        for change in &changes {
            self.log.add(self.now, super::story::kube_change(change));
            self.rows.kube_change(self.now, change);
            self.laws.kube_change(self.now, change, self.slurm.ctld());
        }
        if !changes.is_empty() {
            self.speak_watches();
        }
        self.laws.after_event(self.now, self.log.count(), self.slurm.ctld(), self.cluster.api());
        self.report();
    }

    /// Sends the replicas what their watches have seen.
    fn speak_watches(&mut self) {
        let now = self.now;
        for process in &mut self.bridges {
            let life = process.life;
            process.watches.retain(|stream, open| match &mut open.spoken {
                Spoken::Objects(watch) => {
                    let events = self.cluster.api().poll(watch);
                    let saying = Saying { now, life, stream: *stream, events };
                    saying.speak(&mut open.not_before, &mut self.faults, &mut self.mail)
                }
                Spoken::Bytes(bytes) => {
                    let (lines, ends) = wire::lines(bytes, &self.cluster, now);
                    if !lines.is_empty() {
                        let tag = wire::watch_tag(*stream);
                        self.mail.push(now + KUBE_LATENCY, Mail::Lines(life, tag, lines, ends));
                    }
                    !ends
                }
            });
        }
    }

    /// An open watch says where it stands; after half an hour the server ends it.
    pub(super) fn bookmark(&mut self) {
        let Some((now, (life, stream))) = self.bookmarks.pop() else { return };
        let Some(process) = self.bridges.get_mut(life.replica).filter(|it| it.life == life) else {
            return;
        };
        let Some(open) = process.watches.get_mut(&stream) else { return };
        let (ends, at) = (open.ends_at <= now, open.not_before.max(now) + KUBE_LATENCY);
        match &mut open.spoken {
            Spoken::Objects(watch) => {
                let bookmark = self.cluster.api().bookmark(watch).map(watch_event);
                for event in bookmark.into_iter().chain(ends.then_some(WatchEvent::Ended)) {
                    let input = Input::Watched { stream, event };
                    self.mail.push(at, Mail::News(life, Box::new(input)));
                }
            }
            Spoken::Bytes(bytes) => {
                let lines = wire::farewell(bytes, &self.cluster, now);
                self.mail.push(at, Mail::Lines(life, wire::watch_tag(stream), lines, ends));
            }
        }
        if ends {
            process.watches.remove(&stream);
        } else {
            self.bookmarks.push(now + BOOKMARK_EVERY, (life, stream));
        }
    }

    /// Writes broken laws down.
    pub(super) fn report(&mut self) {
        for finding in self.laws.take_new() {
            self.note(Line::story(Actor::Twin, Subject::Twin, finding));
        }
    }

    pub(super) fn note(&mut self, line: Line) {
        self.log.add(self.now, line);
    }
}

pub(super) fn watch_event(event: fakes::WatchEvent) -> WatchEvent {
    match event {
        fakes::WatchEvent::Added(object) => WatchEvent::Added(object),
        fakes::WatchEvent::Modified(object) => WatchEvent::Modified(object),
        fakes::WatchEvent::Deleted(object) => WatchEvent::Deleted(object),
        fakes::WatchEvent::Bookmark(version) | fakes::WatchEvent::InitialEnd(version) => {
            WatchEvent::Bookmark(version.to_string())
        }
        fakes::WatchEvent::Expired => WatchEvent::Failed(410),
    }
}

fn kube_request(request: KubeRequest) -> Request {
    use drawbridge_core::Method;
    let method = match request.method {
        Method::Get => fakes::Method::Get,
        Method::Post => fakes::Method::Post,
        Method::Put => fakes::Method::Put,
        Method::MergePatch => fakes::Method::MergePatch,
        Method::JsonPatch => fakes::Method::JsonPatch,
        Method::StrategicPatch => fakes::Method::StrategicPatch,
        Method::Delete => fakes::Method::Delete,
    };
    let KubeRequest { path, query, body, .. } = request;
    Request { query, body, ..Request::new(BRIDGE_USER, method, path) }
}

/// Stands for a body in the hash chain.
pub(super) fn digest(body: Option<&Value>) -> u64 {
    body.map_or(0, |body| fnv1a(body.to_string().as_bytes()))
}
