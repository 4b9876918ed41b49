//! What is to be done to each pod, given where its workload stands.

use drawbridge_sim::JobId;

use super::{FINALIZER_BOUND, Stage, Workload, oversee};
use crate::{
    context::Context, desk::Errand, dra, explain, gang::Bond, jobs::OurJob, outbox::Purpose,
    plants, ranks::rank, slurm::Flag, states::Standing, view::PodView,
};

impl Workload {
    /// Gives each pod its errand, where nothing else is out about it.
    pub(super) fn run_errands(&mut self, context: &mut Context<'_>) {
        self.announce(context);
        let explanation = explain::waiting(self, context);
        let mut pods: Vec<&PodView> = self.views(context).collect();
        pods.sort_by_cached_key(|pod| rank(pod));
        for pod in pods {
            if context.desks.must_read(pod.uid()) {
                context.desks.send(context.out, context.author, pod, Errand::Read);
            } else if context.desks.is_free(pod.uid())
                && let Some(errand) = self.errand(context, pod, explanation.as_ref())
            {
                self.note(context, pod, &errand, explanation.as_ref());
                context.desks.send(context.out, context.author, pod, errand);
            }
        }
    }

    /// Says once on a group of `scheduling.k8s.io` that its pods have been placed.
    fn announce(&mut self, context: &mut Context<'_>) {
        let is_placed = matches!(self.stage, Stage::Running { .. });
        let Some(gang) = self.gang.as_ref().filter(|_| is_placed && !self.announced) else {
            return;
        };
        let group = gang.group(context.store).filter(|_| gang.bond == Bond::SchedulingGroup);
        let group = group.filter(|group| !group.says_scheduled());
        let request = group.and_then(|it| context.author.group_scheduled(context.out.now(), it));
        if let Some(request) = request {
            context.out.kube(Purpose::Note, request);
        }
        self.announced = true;
    }

    fn errand(
        &self,
        context: &Context<'_>,
        pod: &PodView,
        explanation: Option<&explain::Explanation>,
    ) -> Option<Errand> {
        if oversee::is_held(pod) && self.may_release(context, pod) {
            return Some(self.release(context, pod));
        }
        let stale = || self.stale_devices(context, pod).map(Errand::devices);
        self.stage_errand(context, pod).or_else(stale).or_else(|| {
            let message = &explanation?.message;
            (pod.wants_a_place() && !explain::is_written(pod, message))
                .then(|| Errand::Explain(message.clone()))
        })
    }

    /// Lets a pod go, after the claim that was made for it: another pod may be given its devices.
    /// Should that fail again and again, the claim goes with the pod.
    fn release(&self, context: &Context<'_>, pod: &PodView) -> Errand {
        let claim = dra::release(context.shelf, pod);
        let claim = claim.filter(|_| !context.desks.is_unlucky(pod.uid()));
        claim.map_or(Errand::Release, Errand::devices)
    }

    fn stage_errand(&self, context: &Context<'_>, pod: &PodView) -> Option<Errand> {
        match &self.stage {
            Stage::Marking { job } | Stage::Waiting { job } => {
                let marked = pod.job_label() == Some(&job.to_string()) && pod.has_finalizer();
                // Whom the job doesn't list yet it must not be told to hold.
                let listed = context.job(&self.id, *job).is_none_or(|job| job.lists(pod));
                (pod.wants_a_place() && listed && !marked).then_some(Errand::Mark(*job))
            }
            Stage::Placing { job, seats } => {
                let seat = seats.get(pod.uid()).filter(|_| pod.wants_a_place())?;
                if seat.is_written(pod) {
                    return self.device_step(context, *job, pod, seat).map(Errand::devices);
                }
                Some(Errand::Place(Box::new(seat.clone())))
            }
            Stage::Binding { job, seats, .. } => {
                let seat = seats.get(pod.uid()).filter(|_| pod.wants_a_place())?;
                let (slurm, node) = (seat.slurm.clone(), seat.node.clone());
                Some(Errand::Bind { job: *job, slurm, node })
            }
            Stage::Evicting { job, why }
                if oversee::is_doomed(pod, *job)
                    && !pod.is_leaving()
                    && !plants::is_spared(context.config, pod) =>
            {
                Some(self.remove(context, pod, *job, why))
            }
            Stage::Evicting { .. }
            | Stage::Gathering
            | Stage::Submitting { .. }
            | Stage::Doubtful { .. }
            | Stage::BackingOff { .. }
            | Stage::Refused { .. }
            | Stage::Blocked { .. }
            | Stage::Revising { .. }
            | Stage::Ending { .. }
            | Stage::Closed => None,
            Stage::Running { job } => self.pause(context, pod, *job),
        }
    }

    /// Whether a pod that is done may go: at once if its job goes on or was told, and in any case
    /// after a while, so that no pod depends on Slurm being reachable.
    fn may_release(&self, context: &Context<'_>, pod: &PodView) -> bool {
        match &self.stage {
            Stage::Marking { .. }
            | Stage::Waiting { .. }
            | Stage::Revising { .. }
            | Stage::Placing { .. }
            | Stage::Binding { .. }
            | Stage::Running { .. }
            | Stage::Evicting { .. } => pod.is_leaving(),
            Stage::Ending { job, since } => {
                self.is_over(context, *job)
                    || context.endings.was_told(&self.id, *job)
                    || *since + FINALIZER_BOUND <= context.now()
            }
            Stage::Gathering
            | Stage::Submitting { .. }
            | Stage::Doubtful { .. }
            | Stage::BackingOff { .. }
            | Stage::Refused { .. }
            | Stage::Blocked { .. }
            | Stage::Closed => true,
        }
    }

    /// Says it in an event as well, and in the story.
    fn note(
        &self,
        context: &mut Context<'_>,
        pod: &PodView,
        errand: &Errand,
        explanation: Option<&explain::Explanation>,
    ) {
        let Some(note) = explain::note(errand, explanation) else {
            return;
        };
        let event = context.author.event(context.out.now(), pod, note);
        context.out.kube(Purpose::Note, event);
    }

    /// Says that the job is suspended, or that it no longer is.
    fn pause(&self, context: &Context<'_>, pod: &PodView, job: JobId) -> Option<Errand> {
        let is_paused = match context.standing(&self.id, job) {
            Standing::Suspended => true,
            Standing::Running => false,
            Standing::Unclear
            | Standing::Queued
            | Standing::Revoked
            | Standing::Ended
            | Standing::Gone => return None,
        };
        let speaks = pod.is_bound() && !pod.is_terminal() && !pod.is_leaving();
        let message = if is_paused { explain::suspended(job) } else { explain::resumed(job) };
        (speaks && is_paused != explain::is_paused(pod))
            .then_some(Errand::Pause { is_paused, message })
    }

    /// First say why, then make it leave.
    fn remove(
        &self,
        context: &Context<'_>,
        pod: &PodView,
        job: Option<JobId>,
        why: &str,
    ) -> Errand {
        if explain::is_disrupted(pod) {
            Errand::Remove { grace: self.grace(context, pod, job) }
        } else {
            Errand::Disrupt(why.into())
        }
    }

    /// The grace that is left while Slurm still holds the nodes; the pod's own otherwise.
    fn grace(&self, context: &Context<'_>, pod: &PodView, job: Option<JobId>) -> Option<u64> {
        let seen = context.job(&self.id, job?).and_then(OurJob::seen)?;
        let end = seen.end_time.filter(|_| seen.state.has(&Flag::Completing))?;
        let free_at = end + u64::from(context.config.kill_wait_seconds);
        let left = free_at.saturating_sub(context.author.epoch.unix(context.now()));
        Some(left.clamp(1, pod.grace_seconds().max(1)))
    }
}
