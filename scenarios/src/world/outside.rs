//! What the bridge sees as the outside: its requests are performed here, one by one.
//!
//! ```text
//!   step ──▶ Effect ──latency──▶ server.handle ──latency──▶ Input ──▶ step
//! ```
//!
//! The core gets only what `handle` answered; nothing here looks into the store or the model on its
//! behalf.

use drawbridge_bridge::slurm::{HttpMethod, HttpRequest, decode, encode};
use drawbridge_core::{
    CallId, Effect, Input, KubeReply, KubeRequest, SlurmRequest, StreamId, WatchEvent,
    names::BRIDGE_USER,
};
use drawbridge_fakes as fakes;
use drawbridge_fakes::{Request, Response, slurmrestd};
use drawbridge_sim::{Span, fnv1a};
use serde_json::Value;

use super::{
    World,
    process::{Hooks, Life, Mail},
};
use crate::{
    log::Line,
    record::{Actor, Subject},
    scenario::CrashPoint,
};

/// The way to the API server and back takes twice this long.
const KUBE_LATENCY: Span = Span::ms(2);
/// The way to slurmrestd and back takes twice this long.
const SLURM_LATENCY: Span = Span::ms(5);
/// Whose token the bridge shows to slurmrestd.
const SLURM_USER: &str = "slurm";

impl World {
    /// Puts the objects that are there from the start in place, and then the bridge's webhooks.
    pub(super) fn furnish(&mut self, objects: &[Value]) {
        objects.iter().for_each(|object| self.apply(object));
        if let Some(process) = &self.process {
            let hooks = drawbridge_core::admission::configurations(&process.config);
            hooks.iter().for_each(|object| self.apply(object));
        }
        self.observe();
    }

    /// Starts the bridge.
    pub(super) fn boot(&mut self) {
        let Some(process) = &mut self.process else { return };
        process.start();
        let again = process.life > 1;
        self.laws.bridge_up(self.now);
        if again {
            self.note(Line::story(Actor::Twin, Subject::Bridge, "the bridge started again"));
        }
        self.tell(Input::Started);
    }

    /// Handles the next piece of mail.
    pub(super) fn open_mail(&mut self) {
        let Some((_, mail)) = self.mail.pop() else { return };
        match mail {
            Mail::Request(life, effect) => self.arrive(life, *effect),
            Mail::News(life, input) => {
                if self.is_life(life) {
                    self.tell(*input);
                }
            }
            Mail::Restart => self.boot(),
        }
    }

    /// Wakes the bridge at the time it asked for.
    pub(super) fn wake_bridge(&mut self) {
        if let Some(process) = &mut self.process {
            process.set_wake(None);
        }
        self.tell(Input::Woke);
    }

    /// Lets the controllers, kubelets and the default scheduler do what is due.
    pub(super) fn wake_cluster(&mut self) {
        let mut hooks = self.hooks();
        self.cluster.wake(self.now, &mut hooks);
    }

    /// One request to the API server, by whoever.
    pub(super) fn kube(&mut self, request: &Request) -> Response {
        let mut hooks = self.hooks();
        self.cluster.handle(self.now, request, &mut hooks)
    }

    fn hooks(&self) -> Hooks {
        Hooks(self.process.as_ref().map(|process| (process.config.clone(), process.is_up())))
    }

    fn is_life(&self, life: Life) -> bool {
        self.process.as_ref().is_some_and(|process| process.is_up() && process.life == life)
    }

    /// Gives the bridge one input and sends what it wants sent.
    fn tell(&mut self, input: Input) {
        self.laws.told(&input);
        let Some(process) = &mut self.process else { return };
        let Some(bridge) = &mut process.bridge else { return };
        let effects = bridge.step(self.now, input);
        for fact in bridge.take_facts() {
            self.log.add(self.now, super::story::bridge_fact(&fact));
        }
        for effect in effects {
            if !self.send(effect) {
                break;
            }
        }
    }

    /// Sends one effect off; says whether the process is still alive afterwards.
    fn send(&mut self, effect: Effect) -> bool {
        let Some(process) = &mut self.process else { return false };
        let latency = match &effect {
            Effect::WakeAt(at) => {
                process.set_wake(Some((*at).max(self.now)));
                return true;
            }
            Effect::Kube { .. } | Effect::KubeWatch { .. } => KUBE_LATENCY,
            Effect::Slurm { .. } => SLURM_LATENCY,
        };
        if let Some(down_for) = process.spring(CrashPoint::Before, &effect) {
            self.crash(down_for);
            return false;
        }
        let life = process.life;
        self.mail.push(self.now + latency, Mail::Request(life, Box::new(effect)));
        true
    }

    /// A request of the bridge reaches its server, even if the process has died meanwhile.
    pub(super) fn arrive(&mut self, life: Life, effect: Effect) {
        let crash = self.process.as_mut().and_then(|process| {
            process.count(&effect);
            if process.life == life { process.spring(CrashPoint::After, &effect) } else { None }
        });
        self.laws.arrives(&effect, &self.slurm);
        match effect {
            Effect::Kube { call, request } => self.arrive_at_kube(life, call, request),
            Effect::KubeWatch { stream, request } => self.open_watch(life, stream, request),
            Effect::Slurm { call, request } => self.arrive_at_slurm(life, call, &request),
            Effect::WakeAt(_) => {}
        }
        if let Some(down_for) = crash {
            self.crash(down_for);
        }
    }

    fn arrive_at_kube(&mut self, life: Life, call: CallId, request: KubeRequest) {
        let request = kube_request(request);
        let Response { status, body } = self.kube(&request);
        let text = format!("{:?} {} -> {status}", request.method, request.path);
        self.note(
            Line::detail(Actor::Bridge, Subject::Bridge, text)
                .digest(digest(request.body.as_ref())),
        );
        let outcome = Ok(KubeReply { status, body });
        self.post(life, KUBE_LATENCY, Input::KubeReplied { call, outcome });
    }

    fn open_watch(&mut self, life: Life, stream: StreamId, request: KubeRequest) {
        let request = kube_request(request);
        self.note(Line::detail(Actor::Bridge, Subject::Bridge, format!("watch {}", request.path)));
        match self.cluster.api().watch(&request) {
            Ok(watch) if self.is_life(life) => {
                if let Some(process) = &mut self.process {
                    process.watches.insert(stream, watch);
                }
                // What changed since the list that it follows is told at once.
                self.speak_watches();
            }
            Ok(_) => {}
            Err(response) => {
                let event = WatchEvent::Failed(response.status);
                self.post(life, KUBE_LATENCY, Input::Watched { stream, event });
            }
        }
    }

    fn arrive_at_slurm(&mut self, life: Life, call: CallId, request: &SlurmRequest) {
        let http = slurm_request(encode(request));
        let Response { status, body } = slurmrestd::handle(&mut self.slurm, self.now, &http);
        let text = format!("{:?} {} -> {status}", http.method, http.path);
        self.note(
            Line::detail(Actor::Bridge, Subject::Bridge, text).digest(digest(http.body.as_ref())),
        );
        let outcome = decode(request, status, &body);
        self.post(life, SLURM_LATENCY, Input::SlurmReplied { call, outcome });
    }

    fn post(&mut self, life: Life, latency: Span, input: Input) {
        self.mail.push(self.now + latency, Mail::News(life, Box::new(input)));
    }

    /// Looks at what the event did: records it, keeps rows and laws current, and lets watches speak.
    pub(super) fn observe(&mut self) {
        for fact in self.slurm.take_facts() {
            self.log.add(self.now, super::story::slurm_fact(&fact, &self.slurm));
            self.rows.slurm_fact(&fact, &self.slurm);
            self.laws.slurm_fact(self.now, &fact, &self.slurm);
        }
        let changes = self.cluster.api_mut().take_changes();
        for change in &changes {
            self.log.add(self.now, super::story::kube_change(change));
            self.rows.kube_change(self.now, change);
            self.laws.kube_change(self.now, change, &self.slurm);
        }
        if !changes.is_empty() {
            self.speak_watches();
        }
        self.laws.after_event(self.now, self.log.count(), &self.slurm, self.cluster.api());
        self.report();
    }

    /// Sends the bridge what its watches have seen.
    fn speak_watches(&mut self) {
        let Some(process) = &mut self.process else { return };
        let life = process.life;
        for (stream, watch) in &mut process.watches {
            for event in self.cluster.api().poll(watch) {
                let input = Input::Watched { stream: *stream, event: watch_event(event) };
                self.mail.push(self.now + KUBE_LATENCY, Mail::News(life, Box::new(input)));
            }
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

fn watch_event(event: fakes::WatchEvent) -> WatchEvent {
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

fn slurm_request(request: HttpRequest) -> Request {
    let HttpRequest { method, path, query, body } = request;
    let method = match method {
        HttpMethod::Get => fakes::Method::Get,
        HttpMethod::Post => fakes::Method::Post,
        HttpMethod::Delete => fakes::Method::Delete,
    };
    Request { query, body, ..Request::new(SLURM_USER, method, path) }
}

/// Stands for a body in the hash chain.
fn digest(body: Option<&Value>) -> u64 {
    body.map_or(0, |body| fnv1a(body.to_string().as_bytes()))
}
