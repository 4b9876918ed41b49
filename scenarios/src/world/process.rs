//! The bridge as a process: it lives, crashes, starts again, and gets mail.
//!
//! Requests that were sent still arrive after a crash; what is answered to a dead process is lost.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_core::{Bridge, Config, Effect, Input, KubeRequest, Method, SlurmRequest, StreamId};
use drawbridge_fakes::{Watch, Webhooks};
use drawbridge_sim::{Epoch, Span, Time};
use serde_json::Value;

use crate::scenario::{Crash, CrashPoint, EffectKind};

/// Which start of the process something belongs to.
pub(super) type Life = u32;

/// What is on its way.
#[derive(Clone, Debug)]
pub(super) enum Mail {
    /// A request of the bridge, to one of the servers.
    Request(Life, Box<Effect>),
    /// Something that the bridge will hear.
    News(Life, Box<Input>),
    /// The process is started again.
    Restart,
}

/// The process, alive or not.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) config: Arc<Config>,
    epoch: Epoch,
    /// Counts the starts; mail for an earlier life is lost.
    pub(super) life: Life,
    pub(super) bridge: Option<Bridge>,
    wake_at: Option<Time>,
    pub(super) watches: BTreeMap<StreamId, Watch>,
    /// Crashes that wait for their point, each with the line of its step unless it may never come.
    traps: Vec<(Crash, Option<usize>)>,
    /// Requests by kind, over all lives.
    pub(super) requests: BTreeMap<&'static str, u64>,
}

impl Process {
    pub(super) fn new(config: Config, epoch: Epoch) -> Self {
        Self {
            config: Arc::new(config),
            epoch,
            life: 0,
            bridge: None,
            wake_at: None,
            watches: BTreeMap::new(),
            traps: vec![],
            requests: BTreeMap::new(),
        }
    }

    /// Begins a new life with nothing remembered.
    pub(super) fn start(&mut self) {
        self.life += 1;
        self.bridge = Some(Bridge::new((*self.config).clone(), self.epoch));
    }

    /// Ends this life: memory, watches and wake-ups are gone.
    pub(super) fn die(&mut self) {
        self.bridge = None;
        self.wake_at = None;
        self.watches.clear();
    }

    pub(super) fn is_up(&self) -> bool {
        self.bridge.is_some()
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        self.wake_at
    }

    pub(super) fn set_wake(&mut self, at: Option<Time>) {
        self.wake_at = at;
    }

    /// Lays a trap: the process will crash when it next does this.
    pub(super) fn arm(&mut self, crash: Crash, line: Option<usize>) {
        self.traps.push((crash, line));
    }

    /// The lines of the crashes that should have come and never did.
    pub(super) fn unsprung(&mut self) -> impl Iterator<Item = usize> {
        std::mem::take(&mut self.traps).into_iter().filter_map(|(_, line)| line)
    }

    /// Springs the trap if this effect is its point; says how long the process stays down.
    pub(super) fn spring(
        &mut self,
        point: impl Fn(EffectKind) -> CrashPoint,
        effect: &Effect,
    ) -> Option<Span> {
        let kind = effect_kind(effect)?;
        let index = self.traps.iter().position(|(trap, _)| trap.point == point(kind))?;
        Some(self.traps.remove(index).0.down_for)
    }

    /// Counts a request.
    pub(super) fn count(&mut self, effect: &Effect) {
        *self.requests.entry(metric(effect)).or_default() += 1;
    }
}

/// The bridge's webhooks as the API server reaches them: only while the process is up.
pub(super) struct Hooks(pub(super) Option<(Arc<Config>, bool)>);

impl Webhooks for Hooks {
    fn call(&mut self, _now: Time, path: &str, review: &Value) -> Result<Value, String> {
        match &self.0 {
            Some((config, true)) => Ok(drawbridge_core::admission::review(config, path, review)),
            Some((_, false)) | None => Err("connection refused".to_owned()),
        }
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
        | Effect::WakeAt(_) => None,
    }
}

fn is_patch(request: &KubeRequest) -> bool {
    matches!(request.method, Method::MergePatch | Method::JsonPatch | Method::StrategicPatch)
}

/// The name under which a request is counted.
fn metric(effect: &Effect) -> &'static str {
    match effect {
        Effect::Slurm { request, .. } => match request {
            SlurmRequest::Submit(_) => "bridge.slurm.submit",
            SlurmRequest::JobStates => "bridge.slurm.states",
            SlurmRequest::Job(_) => "bridge.slurm.job",
            SlurmRequest::Jobs => "bridge.slurm.jobs",
            SlurmRequest::Cancel { signal: None, .. } => "bridge.slurm.cancel",
            SlurmRequest::Cancel { signal: Some(_), .. } => "bridge.slurm.signal",
            SlurmRequest::Nodes => "bridge.slurm.nodes",
            SlurmRequest::UpdateNode { .. } => "bridge.slurm.updateNode",
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
        Effect::WakeAt(_) => "bridge.wake",
    }
}
