//! The bridge as processes: each lives, crashes, starts again, and gets mail.
//!
//! ```text
//!   bridge 0 ─ life 1 ─✗   life 2 ──────────▶      several replicas share the work by a lease;
//!   bridge 1 ─ life 1 ──────────────────────▶      without an election there is one
//! ```
//!
//! Requests that were sent still arrive after a crash; what is answered to a dead process is lost.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_core::{
    Bridge, Config, Duties, Effect, Input, Instance, KubeRequest, Method, Role, SlurmRequest,
    StreamId,
    admission::{self, SERVICE},
    names::{BRIDGE_NAMESPACE, BRIDGE_USER},
};
use drawbridge_fakes::{Asked, Place, ReviewCall, Stream, Watch, Webhooks};
use drawbridge_sim::{Epoch, Span, Time};
use serde_json::Value;

use super::faults::Faults;
use super::wire::{Bytes, Tag};
use crate::{
    fault::{Mishap, Verdict, WEBHOOK},
    scenario::{Crash, CrashPoint, EffectKind},
};

/// Which replica, and which start of it, something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Life {
    pub(crate) replica: usize,
    /// Counts the starts; mail for an earlier one is lost.
    pub(crate) start: u32,
}

/// What is on its way.
#[derive(Clone, Debug)]
pub(super) enum Mail {
    /// A request of the bridge, to one of the servers, and what becomes of it there.
    Request(Life, Box<Effect>, Option<Verdict>),
    /// Something that the bridge will hear.
    News(Life, Box<Input>),
    /// A process is started again.
    Restart(usize),
    /// A process is told to end, and started again after so long.
    Stop(Life, Span),
    /// What befell a component or a machine is over.
    Mended(Mishap),
    /// A reply to a shell.
    Bytes(Life, Tag, Bytes),
    /// A shell's watch is open.
    Open(Life, Tag),
    /// What a shell's watch says, and whether it ends with that.
    Lines(Life, Tag, Vec<u8>, bool),
    /// The connection that a shell wants, to the slurmrestd of this number, isn't made.
    Refuse(Life, Tag, usize),
}

/// One process, alive or not.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) config: Arc<Config>,
    epoch: Epoch,
    pub(super) life: Life,
    pub(super) mind: Mind,
    wake_at: Option<Time>,
    pub(super) watches: BTreeMap<StreamId, OpenWatch>,
    /// How long it stays down once it has let go, if it was told to.
    pub(super) stops_for: Option<Span>,
    /// It stands still until then.
    pub(super) paused_until: Time,
    /// By how much its clock is ahead, in milliseconds.
    ahead_ms: i64,
    /// The last time that its core was told: clocks never go back.
    told: Time,
}

/// Who thinks for the process.
#[derive(Clone)]
pub(super) enum Mind {
    /// Nobody: it is down.
    None,
    /// The core, here.
    Core(Box<Bridge>),
    /// A shell, elsewhere; whether its core leads.
    Shell { leads: bool },
}

/// A watch that the process holds open.
#[derive(Clone)]
pub(super) struct OpenWatch {
    pub(super) spoken: Spoken,
    /// When the server closes it.
    pub(super) ends_at: Time,
    /// What it says comes then at the earliest.
    pub(super) not_before: Time,
}

/// How a watch is told.
#[derive(Clone)]
pub(super) enum Spoken {
    /// As objects.
    Objects(Box<Watch>),
    /// As lines.
    Bytes(Box<Stream>),
}

/// Crashes that wait for their point, each with the line of its step unless it may never come.
#[derive(Clone, Default)]
pub(super) struct Traps(Vec<(Crash, Option<usize>)>);

impl Traps {
    /// Lays a trap: a process will crash when it next does this.
    pub(super) fn arm(&mut self, crash: Crash, line: Option<usize>) {
        self.0.push((crash, line));
    }

    /// The lines of the crashes that should have come and never did.
    pub(super) fn unsprung(&mut self) -> impl Iterator<Item = usize> + use<> {
        std::mem::take(&mut self.0).into_iter().filter_map(|(_, line)| line)
    }

    /// Springs the trap if this effect is its point; says how long the process stays down.
    pub(super) fn spring(
        &mut self,
        point: impl Fn(EffectKind) -> CrashPoint,
        effect: &Effect,
    ) -> Option<Span> {
        let kind = effect_kind(effect)?;
        let index = self.0.iter().position(|(trap, _)| trap.point == point(kind))?;
        Some(self.0.remove(index).0.down_for)
    }
}

impl Process {
    /// So many processes with one configuration, none of them started.
    pub(super) fn replicas(config: Option<&Config>, epoch: Epoch, count: usize) -> Vec<Self> {
        let Some(config) = config else { return vec![] };
        let config = Arc::new(config.clone());
        let process = |replica| Self {
            config: config.clone(),
            epoch,
            life: Life { replica, start: 0 },
            mind: Mind::None,
            wake_at: None,
            watches: BTreeMap::new(),
            stops_for: None,
            paused_until: Time::ZERO,
            ahead_ms: 0,
            told: Time::ZERO,
        };
        (0..count).map(process).collect()
    }

    /// Begins a new life with nothing remembered.
    pub(super) fn start(&mut self) {
        self.life.start += 1;
        self.mind = Mind::Core(Box::new(Bridge::new((*self.config).clone(), self.instance())));
    }

    /// Begins a new life somewhere else.
    pub(super) fn start_shell(&mut self) {
        self.life.start += 1;
        self.mind = Mind::Shell { leads: false };
    }

    /// What its life is told at its start.
    pub(super) fn instance(&self) -> Instance {
        let Life { replica, start } = self.life;
        Instance {
            epoch: self.epoch,
            identity: format!("bridge-{replica}_{start}"),
            namespace: BRIDGE_NAMESPACE.to_owned(),
            duties: Duties::ALL,
        }
    }

    /// Ends this life: memory, watches and wake-ups are gone.
    pub(super) fn die(&mut self) {
        self.mind = Mind::None;
        self.wake_at = None;
        self.stops_for = None;
        self.watches.clear();
        self.paused_until = Time::ZERO;
        (self.ahead_ms, self.told) = (0, Time::ZERO);
    }

    /// What its clock says now.
    pub(super) fn clock(&mut self, now: Time) -> Time {
        let ms = now.as_ms().saturating_add_signed(self.ahead_ms);
        self.told = self.told.max(Time::from_ms(ms));
        self.told
    }

    /// Its clock leaps ahead, or falls behind.
    pub(super) fn shift_clock(&mut self, by_ms: i64) {
        self.ahead_ms = self.ahead_ms.saturating_add(by_ms);
    }

    pub(super) fn is_up(&self) -> bool {
        !matches!(self.mind, Mind::None)
    }

    /// When it wants to be woken, which it said by its own clock.
    pub(super) fn wake_at(&self) -> Option<Time> {
        let at = self.wake_at?;
        Some(Time::from_ms(at.as_ms().saturating_add_signed(self.ahead_ms.saturating_neg())))
    }

    pub(super) fn set_wake(&mut self, at: Option<Time>) {
        self.wake_at = at;
    }

    /// Whether it does the work.
    pub(super) fn leads(&self) -> bool {
        match &self.mind {
            Mind::None => false,
            Mind::Core(bridge) => bridge.role() == Role::Leading,
            Mind::Shell { leads } => *leads,
        }
    }
}

/// The bridge's webhooks as the API server reaches them: only while a process is up.
///
/// Where the world is live, others may have webhooks too; they are called over the network.
pub(super) struct Hooks {
    pub(super) faults: Faults,
    pub(super) bridge: Option<(Arc<Config>, bool)>,
    pub(super) others: bool,
    /// Nobody reaches them before.
    pub(super) down_until: Time,
}

impl Webhooks for Hooks {
    fn call(&mut self, now: Time, path: &str, review: &Value) -> Result<Value, String> {
        if now < self.down_until || self.faults.ask(now, WEBHOOK).is_some() {
            return Err("connection refused".to_owned());
        }
        match &self.bridge {
            Some((config, true)) => Ok(admission::review(config, BRIDGE_USER, path, review)),
            Some((_, false)) | None => Err("connection refused".to_owned()),
        }
    }

    fn ask(&mut self, now: Time, call: &ReviewCall) -> Asked {
        if self.others && !(self.bridge.is_some() && is_ours(&call.place)) {
            return Asked::Later;
        }
        match self.call(now, &call.path, &call.review) {
            Ok(answer) => Asked::Answered(answer),
            Err(why) => Asked::Failed(why),
        }
    }
}

fn is_ours(place: &Place) -> bool {
    match place {
        Place::Service { namespace, name, .. } => (namespace.as_str(), name.as_str()) == SERVICE,
        Place::Url { .. } => false,
    }
}

/// The request by which a scenario would name this effect.
fn effect_kind(effect: &Effect) -> Option<EffectKind> {
    match effect {
        Effect::Slurm { request: SlurmRequest::Submit(_), .. } => Some(EffectKind::Submit),
        Effect::Slurm { request: SlurmRequest::Cancel { .. }, .. } => Some(EffectKind::Cancel),
        Effect::Kube { request, .. } if request.path.ends_with("/binding") => {
            Some(EffectKind::Bind)
        }
        Effect::Kube { request, .. } if is_patch(request) && request.path.contains("/pods/") => {
            Some(EffectKind::PatchPod)
        }
        Effect::Slurm { .. }
        | Effect::Kube { .. }
        | Effect::KubeWatch { .. }
        | Effect::Unwatch { .. }
        | Effect::WakeAt(_)
        | Effect::StepDown
        | Effect::Exit => None,
    }
}

fn is_patch(request: &KubeRequest) -> bool {
    matches!(request.method, Method::MergePatch | Method::JsonPatch | Method::StrategicPatch)
}

/// The name under which a request is counted.
pub(super) fn metric(effect: &Effect) -> &'static str {
    match effect {
        Effect::Slurm { request, .. } => match request {
            SlurmRequest::Ping => "bridge.slurm.ping",
            SlurmRequest::TestToken => "bridge.slurm.testToken",
            SlurmRequest::Submit(_) => "bridge.slurm.submit",
            SlurmRequest::JobStates => "bridge.slurm.states",
            SlurmRequest::Job(_) => "bridge.slurm.job",
            SlurmRequest::Jobs => "bridge.slurm.jobs",
            SlurmRequest::Cancel { signal: None, .. } => "bridge.slurm.cancel",
            SlurmRequest::Cancel { signal: Some(_), .. } => "bridge.slurm.signal",
            SlurmRequest::Nodes => "bridge.slurm.nodes",
            SlurmRequest::Remark { .. } => "bridge.slurm.remark",
            SlurmRequest::Revise { .. } => "bridge.slurm.revise",
            SlurmRequest::UpdateNode { .. } => "bridge.slurm.updateNode",
            SlurmRequest::CreateNode { .. } => "bridge.slurm.createNode",
            SlurmRequest::DescribeNode { .. } => "bridge.slurm.describeNode",
            SlurmRequest::DeleteNode(_) => "bridge.slurm.deleteNode",
            SlurmRequest::Reservations => "bridge.slurm.reservations",
        },
        Effect::Kube { request, .. } if request.path.ends_with("/binding") => "bridge.kube.bind",
        Effect::Kube { request, .. } if request.path.ends_with("/eviction") => "bridge.kube.evict",
        Effect::Kube { request, .. } => match request.method {
            Method::Get => "bridge.kube.get",
            Method::Post | Method::Put => "bridge.kube.write",
            Method::MergePatch | Method::JsonPatch | Method::StrategicPatch => "bridge.kube.patch",
            Method::Delete => "bridge.kube.delete",
        },
        Effect::KubeWatch { .. } => "bridge.kube.watch",
        Effect::Unwatch { .. } => "bridge.kube.unwatch",
        Effect::WakeAt(_) | Effect::StepDown | Effect::Exit => "bridge.self",
    }
}
