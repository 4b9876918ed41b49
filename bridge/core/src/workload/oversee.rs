//! While there is a job: what it means for the pods, and what the pods mean for it.

use drawbridge_sim::{JobId, SlurmNode, Span, Time};

use super::{FINALIZER_BOUND, Seat, Seats, Stage, Workload};
use crate::{
    annotations::Distribution,
    context::Context,
    ending::Farewell,
    explain,
    jobs::{OurJob, Standing},
    names::ObjectKey,
    outbox::Alarm,
    plants::{self, Plant},
    ranks,
    slurm::ObservedState,
    view::PodView,
};

/// How long some pods of a gang may be bound while others aren't.
const BINDING_BOUND: Span = Span::mins(1);

/// How many of the pods are what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Crowd {
    /// Bound and not over.
    bound: usize,
    /// Want a place.
    waiting: usize,
}

/// Something is wrong with a job that pods rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    /// It ended without us, in this state.
    Ended(ObservedState),
    /// Slurm doesn't know it.
    Gone,
    /// It waits again although pods are bound.
    Requeued,
    /// A pod is bound to a node that isn't the job's.
    Elsewhere,
}

impl Workload {
    /// Remembers how pods ended: they may be gone before the job is told.
    pub(super) fn note_outcomes(&mut self, context: &Context<'_>) {
        let failed = |pod: &PodView| pod.is_terminal() && !pod.succeeded();
        let any_failed = self.views(context).any(failed);
        let any_bound = self.views(context).any(PodView::is_bound);
        self.failed |= any_failed;
        self.was_bound |= any_bound;
    }

    /// What has to happen whatever else we are about.
    pub(super) fn oversee(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        self.end_surplus(context, job);
        let crowd = self.crowd(context);
        if crowd == Crowd::default() {
            let why = if self.was_bound { "its pods are over" } else { "its pods were deleted" };
            return Some(self.end(context, job, why));
        }
        let Some(trouble) = self.trouble(context, job, crowd) else {
            self.suspicion = None;
            return self.shrunk(context, job, crowd).or_else(|| self.runs_out(context, job));
        };
        self.is_confirmed(context, job).then(|| self.react(context, job, &trouble, crowd))
    }

    /// A job that ended while no bridge ran means what it would have meant before our eyes.
    pub(super) fn catch_up(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        let crowd = self.crowd(context);
        let trouble = self.trouble(context, job, crowd)?;
        self.is_confirmed(context, job).then(|| self.react(context, job, &trouble, crowd))
    }

    /// Whether a bridge before us may have cancelled the job itself, to submit another: its gang
    /// had lost a pod, or its nodes were of no use. Slurm doesn't say who cancelled a job, and to
    /// try again does less harm than to remove pods that nobody meant.
    pub(super) fn was_given_back(&self, context: &Context<'_>, job: JobId) -> bool {
        if self.views(context).any(explain::is_disrupted) {
            return false;
        }
        let useless = matches!(self.seats(context, job), Some(Err(_)));
        useless || context.job(&self.id, job).is_some_and(|ours| !self.is_complete(context, ours.pods()))
    }

    /// Whether all these pods are here and want a place.
    fn is_complete(&self, context: &Context<'_>, pods: &[ObjectKey]) -> bool {
        pods.iter()
            .all(|key| self.views(context).any(|pod| pod.key() == *key && pod.wants_a_place()))
    }

    fn crowd(&self, context: &Context<'_>) -> Crowd {
        let mut crowd = Crowd::default();
        for pod in self.views(context) {
            let is_over = pod.is_terminal()
                || (pod.is_leaving() && context.config.has(Plant::EndsEarly));
            crowd.bound += usize::from(pod.is_bound() && !is_over);
            crowd.waiting += usize::from(pod.wants_a_place());
        }
        crowd
    }

    fn trouble(&self, context: &Context<'_>, job: JobId, crowd: Crowd) -> Option<Trouble> {
        match context.standing(&self.id, job) {
            Standing::Ended(state) => Some(Trouble::Ended(state)),
            Standing::Gone => Some(Trouble::Gone),
            Standing::Queued if crowd.bound > 0 => Some(Trouble::Requeued),
            Standing::Running if self.anyone_elsewhere(context, job) => Some(Trouble::Elsewhere),
            Standing::Unclear | Standing::Queued | Standing::Running | Standing::Suspended => None,
        }
    }

    fn anyone_elsewhere(&self, context: &Context<'_>, job: JobId) -> bool {
        let Some(seen) = context.job(&self.id, job).and_then(OurJob::seen) else {
            return false;
        };
        let ours = |name: &SlurmNode| seen.allocation.iter().any(|node| node.node == *name);
        self.views(context)
            .filter(|pod| !pod.is_terminal())
            .filter_map(|pod| context.mapping.slurm(&pod.node()?))
            .any(|name| !ours(name))
    }

    /// Replies may overtake each other, and what follows can't be taken back: trouble is believed
    /// when the reply to a request made after it was noticed still shows it.
    fn is_confirmed(&mut self, context: &mut Context<'_>, job: JobId) -> bool {
        let asked = context.job(&self.id, job).map(|job| job.asked);
        match self.suspicion {
            Some(noticed) => asked.is_none_or(|asked| noticed < asked),
            None => {
                self.suspicion = Some(context.out.last_call());
                context.poller.want_job(job);
                false
            }
        }
    }

    fn react(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        trouble: &Trouble,
        crowd: Crowd,
    ) -> Stage {
        let why = match trouble {
            Trouble::Ended(state) => explain::ended(job, state),
            Trouble::Gone => explain::gone(job),
            Trouble::Requeued => explain::requeued(job),
            Trouble::Elsewhere => explain::elsewhere(job),
        };
        let meant =
            matches!(trouble, Trouble::Ended(ObservedState::Cancelled | ObservedState::Deadline));
        if crowd.bound > 0 || meant {
            return Stage::Evicting { job: Some(job), why };
        }
        context.jobs.forget_of(&self.id, job, context.out.last_call());
        self.back_off(context, Some(why))
    }

    /// A gang that lost a pod before all were bound doesn't start: its job is given back.
    fn shrunk(&mut self, context: &mut Context<'_>, job: JobId, crowd: Crowd) -> Option<Stage> {
        if !self.was_bound {
            let mark = context.job(&self.id, job)?.mark.as_ref()?;
            let complete = self.is_complete(context, &mark.pods);
            return (!complete).then(|| self.end(context, job, "a pod of the gang is gone"));
        }
        let binding = matches!(self.stage, Stage::Binding { .. });
        let too_few = crowd.bound + crowd.waiting < self.minimum;
        (binding && too_few).then(|| {
            let why = "too few pods of the gang are left".into();
            Stage::Evicting { job: Some(job), why }
        })
    }

    /// An external job frees its nodes the moment its limit comes: its pods must be gone by then.
    fn runs_out(&self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        if !matches!(self.stage, Stage::Running { .. }) {
            return None;
        }
        let ours = context.job(&self.id, job).filter(|ours| ours.is_external())?;
        let end = ours.seen()?.end_time?;
        let grace = self.views(context).map(PodView::grace_seconds).max().unwrap_or_default();
        let leave_at = context.author.epoch.time_of_unix(end.saturating_sub(grace));
        if context.now() < leave_at {
            context.out.wake_at(leave_at, Alarm::Workload(self.id.clone()));
            return None;
        }
        Some(Stage::Evicting { job: Some(job), why: explain::runs_out(job) })
    }

    /// All labelled and held?
    pub(super) fn marked(&self, context: &Context<'_>, job: JobId) -> Option<Stage> {
        let label = job.to_string();
        let marked = |pod: &PodView| pod.job_label() == Some(&label) && pod.has_finalizer();
        let mut waiting = self.views(context).filter(|pod| pod.wants_a_place());
        if self.was_bound && waiting.next().is_none() {
            return Some(Stage::Running { job });
        }
        let all = self.views(context).filter(|pod| pod.wants_a_place()).all(marked);
        all.then_some(Stage::Waiting { job })
    }

    /// Does the job run?
    pub(super) fn allocated(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        if context.standing(&self.id, job) != Standing::Running {
            return None;
        }
        match self.seats(context, job)? {
            Ok(seats) => Some(Stage::Placing { job, seats }),
            Err(why) => {
                let stage = self.end(context, job, &why);
                self.setback = Some(why);
                Some(stage)
            }
        }
    }

    /// Where to go back to, if the job's nodes aren't what they were. Nothing while they aren't known.
    fn unseated(&self, context: &Context<'_>, job: JobId, seats: &Seats) -> Option<Option<Stage>> {
        if context.standing(&self.id, job) != Standing::Running {
            return Some(Some(Stage::Waiting { job }));
        }
        Some(match self.seats(context, job)? {
            Err(_) => Some(Stage::Waiting { job }),
            Ok(now) if now != *seats => Some(Stage::Placing { job, seats: now }),
            Ok(_) => None,
        })
    }

    /// All told where they go?
    pub(super) fn placed(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        seats: &Seats,
    ) -> Option<Stage> {
        if !context.config.has(Plant::BindsLate)
            && let Some(back) = self.unseated(context, job, seats)?
        {
            return Some(back);
        }
        let ready = |pod: &PodView| {
            let seat = seats.get(pod.uid()).map(|seat| seat.node.as_str());
            seat.is_some() && pod.node_annotation() == seat && context.desks.is_free(pod.uid())
        };
        let all = self.views(context).filter(|pod| pod.wants_a_place()).all(ready);
        all.then(|| Stage::Binding { job, seats: seats.clone(), since: context.now() })
    }

    /// All bound?
    pub(super) fn bound(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        since: Time,
    ) -> Option<Stage> {
        let crowd = self.crowd(context);
        if crowd.waiting == 0 {
            return Some(Stage::Running { job });
        }
        if crowd.bound == 0 && context.standing(&self.id, job) == Standing::Queued {
            return Some(Stage::Waiting { job });
        }
        let deadline = since + BINDING_BOUND;
        if context.now() < deadline {
            context.out.wake_at(deadline, Alarm::Workload(self.id.clone()));
            return None;
        }
        if crowd.bound == 0 {
            // Nobody is torn from the others: each binding is tried until it succeeds. An alarm for a
            // deadline that is over would ring at once, again and again.
            return None;
        }
        let why = "the gang could not be bound whole".into();
        Some(Stage::Evicting { job: Some(job), why })
    }

    /// A seat for every pod of the job, or why there is none. Nothing while the job isn't known.
    fn seats(&self, context: &Context<'_>, job: JobId) -> Option<Result<Seats, String>> {
        let ours = context.job(&self.id, job)?;
        let (mark, seen) = (ours.mark.as_ref()?, ours.seen()?);
        if seen.allocation.is_empty() {
            return None;
        }
        let distribution = if mark.cyclic { Distribution::Cyclic } else { Distribution::Block };
        let Some(places) = ranks::seats(mark.pods.len(), &seen.allocation, mark.cpus, distribution)
        else {
            return Some(Err(explain::too_small(job)));
        };
        let mut seats = Seats::new();
        for pod in self.views(context) {
            let key = pod.key();
            let Some(rank) = mark.pods.iter().position(|other| *other == key) else {
                continue;
            };
            let slurm = &seen.allocation[places[rank]].node;
            let Some(node) = plants::mapped(context.config, context.mapping, slurm) else {
                return Some(Err(explain::unmapped(job, slurm)));
            };
            let seat = Seat { slurm: slurm.clone(), node };
            seats.insert(pod.uid().clone(), seat);
        }
        Some(Ok(seats))
    }

    /// Has everybody left who had to?
    pub(super) fn evicted(
        &mut self,
        context: &mut Context<'_>,
        job: Option<JobId>,
    ) -> Option<Stage> {
        if self.views(context).any(|pod| is_doomed(pod, job)) {
            return None;
        }
        let Some(job) = job else {
            return Some(Stage::Gathering);
        };
        Some(self.end(context, job, "its pods were removed"))
    }

    /// Tells the job to end, if it hasn't.
    fn end(&mut self, context: &mut Context<'_>, job: JobId, why: &str) -> Stage {
        if context.job(&self.id, job).is_some_and(OurJob::is_live) {
            let farewell = match (self.was_bound, self.failed) {
                (false, _) => Farewell::Cancel,
                (true, false) => Farewell::Succeeded,
                (true, true) => Farewell::Failed,
            };
            context.end_job(job, &self.id, farewell, why);
        }
        Stage::Ending { job, since: context.now() }
    }

    /// Whether the job is over for sure.
    pub(super) fn is_over(&self, context: &Context<'_>, job: JobId) -> bool {
        context.endings.is_over(&self.id, job)
            || !context.job(&self.id, job).is_some_and(OurJob::is_live)
    }

    /// Is the job over, and has everybody been let go?
    pub(super) fn ended(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        since: Time,
    ) -> Option<Stage> {
        let bound = since + FINALIZER_BOUND;
        if context.now() < bound {
            context.out.wake_at(bound, Alarm::Workload(self.id.clone()));
        }
        if !self.is_over(context, job) || self.views(context).any(is_held) {
            return None;
        }
        context.endings.forget(context.out, &self.id, job);
        context.jobs.forget_of(&self.id, job, context.out.last_call());
        self.was_bound = false;
        self.failed = false;
        let setback = self.setback.clone();
        let came_to_nothing = setback.is_some() || self.failures > 0;
        let again = came_to_nothing && self.views(context).any(PodView::wants_a_place);
        Some(if again { self.back_off(context, setback) } else { Stage::Gathering })
    }
}

/// Whether the pod is done and our finalizer alone keeps it.
pub(super) fn is_held(pod: &PodView) -> bool {
    pod.has_finalizer() && (pod.is_terminal() || (pod.is_leaving() && !pod.is_bound()))
}

/// Whether the pod has to leave with its job.
pub(super) fn is_doomed(pod: &PodView, job: Option<JobId>) -> bool {
    let labelled = job.is_some_and(|job| pod.job_label() == Some(&job.to_string()));
    !pod.is_terminal() && (pod.is_bound() || (labelled && !pod.is_leaving()))
}
