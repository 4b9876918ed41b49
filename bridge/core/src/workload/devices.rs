//! The devices of a workload's pods, where Slurm chooses them: see [`dra`](crate::dra).

use std::collections::BTreeMap;

use drawbridge_sim::{JobId, Span};

use super::{Seats, Stage, Workload};
use crate::{
    config::Gres,
    context::Context,
    dra::{self, Demand, Lack, Snag, Step, Table, Tools},
    jobs::OurJob,
    names::Uid,
    outbox::Alarm,
    placement::Placement,
    states::Standing,
    translate::CPU_CLASS,
    view::PodView,
};

/// How long a job may run while its pods wait for their devices; then it is given back.
const PATIENCE_SECS: u64 = 60;
/// After so long it is looked whether a device has come free.
const LOOK_AGAIN: Span = Span::secs(2);

/// What the pods' claims ask for, by class.
pub(crate) type Claimed = BTreeMap<Uid, Vec<(String, u32)>>;

impl Workload {
    /// What the claims of these pods ask for. Pods that are yet to come ask for what the others do.
    pub(super) fn claimed(context: &Context<'_>, pods: &[&PodView]) -> Result<Claimed, Lack> {
        let here = pods.iter().filter(|pod| context.store.pod(pod.uid()).is_some());
        let mut claimed = dra::claimed(context.shelf, &here.copied().collect::<Vec<_>>())?;
        if let Some(like) = claimed.values().next().cloned() {
            for pod in pods.iter().filter(|pod| dra::needs_devices(pod)) {
                claimed.entry(pod.uid().clone()).or_insert_with(|| like.clone());
            }
        }
        Ok(claimed)
    }

    /// Whether every pod that waits can be given its devices. If not, the workload waits for a
    /// while, then gives the job back: the stage for that.
    pub(super) fn hindered(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        seats: &Seats,
    ) -> Option<Hindrance> {
        if !self.views(context).any(dra::needs_devices) {
            return None;
        }
        self.per_task = self.devices_per_task(context);
        let waiting = self.views(context).filter(|pod| pod.wants_a_place());
        let snags = waiting.filter_map(|pod| {
            let place = seats.get(pod.uid())?;
            self.assigned(context, job, pod, place).err()
        });
        let snag = snags.into_iter().next();
        self.snag = None;
        let (words, hopeless) = match snag? {
            Snag::Never(words) => (words, true),
            Snag::Wait(words) => (words, self.waited_long(context, job)),
        };
        if hopeless {
            return Some(Hindrance::GiveBack(words));
        }
        self.snag = Some(words);
        context.out.wake_in(LOOK_AGAIN, Alarm::Workload(self.id.clone()));
        Some(Hindrance::Wait)
    }

    fn waited_long(&self, context: &Context<'_>, job: JobId) -> bool {
        let started =
            context.job(&self.id, job).and_then(OurJob::seen).and_then(|seen| seen.start_time);
        let now = context.author.epoch.unix(context.now());
        started.is_some_and(|started| started + PATIENCE_SECS <= now)
    }

    /// How many devices of each kind a task has: as many as the pod that asks for most.
    fn devices_per_task(&self, context: &Context<'_>) -> BTreeMap<Gres, u32> {
        let mut most = BTreeMap::new();
        for pod in self.views(context) {
            let mut own: BTreeMap<Gres, u32> = BTreeMap::new();
            for Demand { class, count, .. } in dra::demands(context.shelf, pod).unwrap_or_default()
            {
                if class != CPU_CLASS
                    && let Some(known) = context.config.devices.class(&class)
                {
                    *own.entry(known.as_gres(&class)).or_default() += count;
                }
            }
            for (gres, count) in own {
                let so_far = most.entry(gres).or_default();
                *so_far = count.max(*so_far);
            }
        }
        most
    }

    fn assigned(
        &self,
        context: &Context<'_>,
        job: JobId,
        pod: &PodView,
        place: &Placement,
    ) -> Result<(Vec<Demand>, Vec<dra::Assigned>), Snag> {
        let demands = dra::demands(context.shelf, pod).map_err(|lack| match lack {
            Lack::NotYet(words) => Snag::Wait(words),
            Lack::Never(words) => Snag::Never(words),
        })?;
        if demands.is_empty() {
            return Ok((demands, Vec::new()));
        }
        let ours =
            context.job(&self.id, job).and_then(|ours| Some((ours.seen()?, ours.mark.as_ref()?)));
        let Some((seen, mark)) = ours else {
            return Err(Snag::Wait("waiting to hear what Slurm gave".into()));
        };
        let (config, shelf) = (context.config, context.shelf);
        let table = Table { config, shelf, job: seen, cpus: mark.cpus, per_task: &self.per_task };
        let assigned = dra::assign(table, pod, place, &demands)?;
        Ok((demands, assigned))
    }

    /// The next request about a pod's devices before it may be bound.
    pub(super) fn device_step(
        &self,
        context: &Context<'_>,
        job: JobId,
        pod: &PodView,
        place: &Placement,
    ) -> Option<Step> {
        if !dra::needs_devices(pod) {
            return None;
        }
        let (demands, assigned) = self.assigned(context, job, pod, place).ok()?;
        let now = context.author.epoch.rfc3339(context.now());
        let tools = Tools { shelf: context.shelf, now: &now };
        dra::next(tools, pod, place, &demands, &assigned)
    }

    /// Whether nothing is left to be done about a pod's devices.
    pub(super) fn has_devices(
        &self,
        context: &Context<'_>,
        job: JobId,
        pod: &PodView,
        place: &Placement,
    ) -> bool {
        !dra::needs_devices(pod)
            || (self.assigned(context, job, pod, place).is_ok()
                && self.device_step(context, job, pod, place).is_none())
    }

    /// Devices in the claims of a pod that has lost its place.
    pub(super) fn stale_devices(&self, context: &Context<'_>, pod: &PodView) -> Option<Step> {
        if !dra::needs_devices(pod) || !pod.wants_a_place() {
            return None;
        }
        let lost = match &self.stage {
            Stage::Placing { .. }
            | Stage::Binding { .. }
            | Stage::Running { .. }
            | Stage::Evicting { .. } => false,
            stage @ (Stage::Gathering
            | Stage::Submitting { .. }
            | Stage::Doubtful { .. }
            | Stage::BackingOff { .. }
            | Stage::Refused { .. }
            | Stage::Blocked { .. }
            | Stage::Marking { .. }
            | Stage::Waiting { .. }
            | Stage::Revising { .. }
            | Stage::Ending { .. }
            | Stage::Closed) => stage.job().is_none_or(|job| {
                // What isn't known yet may be as it was.
                !matches!(context.standing(&self.id, job), Standing::Running | Standing::Unclear)
            }),
        };
        let demands = dra::demands(context.shelf, pod).ok().filter(|_| lost)?;
        dra::free(context.shelf, pod, &demands)
    }
}

/// What stands between pods and their devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// It may pass.
    Wait,
    /// Only another allocation helps.
    GiveBack(String),
}
