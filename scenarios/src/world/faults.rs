//! Which requests go wrong: from a list, or drawn from a seed.
//!
//! ```text
//!   ask(now, "kube.bind") ──▶ listed? ──▶ else drawn, while the window is open ──▶ verdict
//!                                  └──────────────┴──▶ fired: written down, told to the laws
//! ```
//!
//! What fired can be listed: the same world with that list ends alike. A world without faults asks
//! as well, and nothing comes of it.

use std::collections::BTreeMap;

use drawbridge_core::{Effect, Method, SlurmRequest};
use drawbridge_sim::{Time, fnv1a};

use super::process::metric;
use crate::{
    fault::{ANY, Fault, Fired, REQUESTS, Verdict},
    swarm::Swarm,
};

/// All faults of a world.
#[derive(Clone, Default)]
pub(super) struct Faults {
    listed: BTreeMap<(&'static str, u64), Verdict>,
    has_stale: bool,
    drawn: Option<Box<Swarm>>,
    /// How many requests of each name there have been.
    counts: BTreeMap<&'static str, u64>,
    fired: Vec<Fired>,
    /// How many of them were told.
    told: usize,
}

impl Faults {
    /// Adds one that strikes if its request comes.
    pub(super) fn list(&mut self, fault: Fault) {
        self.has_stale |= fault.verdict == Verdict::Stale;
        self.listed.insert((fault.request, fault.nth), fault.verdict);
    }

    /// Draws others while its window is open.
    pub(super) fn draw(&mut self, swarm: Swarm) {
        self.drawn = Some(Box::new(swarm));
    }

    /// What becomes of the next request of this name.
    pub(super) fn ask(&mut self, now: Time, request: &'static str) -> Option<Verdict> {
        self.ask_about(now, request, 0)
    }

    fn ask_about(&mut self, now: Time, request: &'static str, about: u64) -> Option<Verdict> {
        let nth = self.count(request);
        let listed = self.listed.remove(&(request, nth));
        let verdict = listed.or_else(|| self.drawn.as_mut()?.draw(now, request, about));
        self.fire(now, request, nth, verdict)
    }

    /// What becomes of the next request of the bridge.
    pub(super) fn ask_effect(&mut self, now: Time, effect: &Effect) -> Option<Verdict> {
        let nth = self.count(ANY);
        match self.listed.remove(&(ANY, nth)) {
            Some(verdict) => {
                self.count(name_of(effect));
                self.fire(now, ANY, nth, Some(verdict))
            }
            None => {
                let about = if self.drawn.is_some() { object_of(effect) } else { 0 };
                self.ask_about(now, name_of(effect), about)
            }
        }
    }

    /// Whether a question may be answered with what it was answered with before.
    pub(super) fn may_be_stale(&self) -> bool {
        self.has_stale || self.drawn.as_ref().is_some_and(|swarm| swarm.may_be_stale())
    }

    /// How many requests the bridge has sent.
    pub(super) fn effects(&self) -> u64 {
        self.counts.get(ANY).copied().unwrap_or_default()
    }

    /// Those that struck, in order.
    pub(super) fn fired(&self) -> &[Fired] {
        &self.fired
    }

    /// Those that struck since the last call.
    pub(super) fn take_new(&mut self) -> Vec<Fired> {
        let new = self.fired[self.told..].to_vec();
        self.told = self.fired.len();
        new
    }

    fn count(&mut self, request: &'static str) -> u64 {
        let count = self.counts.entry(request).or_default();
        *count += 1;
        *count
    }

    fn fire(
        &mut self,
        at: Time,
        request: &'static str,
        nth: u64,
        verdict: Option<Verdict>,
    ) -> Option<Verdict> {
        let verdict = verdict?;
        self.fired.push(Fired { at, fault: Fault { request, nth, verdict } });
        Some(verdict)
    }
}

/// Stands for what a request is about, where that is one object.
fn object_of(effect: &Effect) -> u64 {
    match effect {
        Effect::Kube { request, .. } => {
            let path = request.path.split('/').take(8).collect::<Vec<_>>().join("/");
            fnv1a(path.as_bytes())
        }
        Effect::Slurm { request, .. } => match request {
            SlurmRequest::Submit(job) => fnv1a(job.name.as_bytes()),
            SlurmRequest::Job(job)
            | SlurmRequest::Cancel { job, .. }
            | SlurmRequest::Remark { job, .. }
            | SlurmRequest::Revise { job, .. } => fnv1a(&job.0.to_le_bytes()),
            SlurmRequest::UpdateNode { node, .. }
            | SlurmRequest::CreateNode { node, .. }
            | SlurmRequest::DescribeNode { node, .. }
            | SlurmRequest::DeleteNode(node) => fnv1a(node.as_str().as_bytes()),
            SlurmRequest::Ping
            | SlurmRequest::TestToken
            | SlurmRequest::JobStates
            | SlurmRequest::Jobs
            | SlurmRequest::Nodes
            | SlurmRequest::Reservations => 0,
        },
        Effect::KubeWatch { .. }
        | Effect::Unwatch { .. }
        | Effect::WakeAt(_)
        | Effect::StepDown
        | Effect::Exit => 0,
    }
}

/// The name under which faults know a request; one of [`REQUESTS`].
pub(super) fn name_of(effect: &Effect) -> &'static str {
    if let Effect::Kube { request, .. } = effect {
        let is_lease = request.path.contains("/leases");
        match request.method {
            _ if is_lease => return "kube.lease",
            // A list has no name behind its resource.
            Method::Get
                if request.path.ends_with("s") && request.path.matches('/').count() <= 4 =>
            {
                return "kube.list";
            }
            Method::Get
            | Method::Post
            | Method::Put
            | Method::MergePatch
            | Method::JsonPatch
            | Method::StrategicPatch
            | Method::Delete => {}
        }
    }
    let name = metric(effect);
    let short = name.strip_prefix("bridge.").unwrap_or(name);
    REQUESTS.iter().find(|it| **it == short).copied().unwrap_or(ANY)
}
