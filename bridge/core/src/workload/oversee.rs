//! While there is a job: what it means for the pods, and what the pods mean for it.

use drawbridge_sim::{JobId, SlurmNode, Span, Time};

use super::{FINALIZER_BOUND, Seats, Stage, Workload, devices::Hindrance, fit::Objection};
use crate::{
    annotations::Distribution,
    candidates::Obstacle,
    config::SuspendedJobs,
    context::Context,
    ending::Farewell,
    explain,
    jobs::OurJob,
    mark::{Mark, Outcome},
    outbox::Alarm,
    placement::{self, Placement, Whole},
    plants::{self, Plant},
    ranks,
    states::{Reaction, Standing},
    view::{PodGroupView, PodView},
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
struct Trouble {
    /// The pods leave; otherwise they wait for another job.
    leave: bool,
    why: String,
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
        self.is_confirmed(context, job).then(|| self.react(context, job, trouble))
    }

    /// A job that ended while no bridge ran means what it would have meant before our eyes.
    pub(super) fn catch_up(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        let crowd = self.crowd(context);
        let trouble = self.trouble(context, job, crowd)?;
        self.is_confirmed(context, job).then(|| self.react(context, job, trouble))
    }

    /// Whether a bridge before us may have cancelled the job itself, to submit another: its gang
    /// had lost a pod, or its nodes were of no use. Slurm doesn't say who cancelled a job, and to
    /// try again does less harm than to remove pods that nobody meant.
    pub(super) fn was_given_back(&self, context: &Context<'_>, job: JobId) -> bool {
        if self.views(context).any(explain::is_disrupted) {
            return false;
        }
        let useless = matches!(self.seats(context, job), Some(Err(_)));
        let mark = context.job(&self.id, job).and_then(|ours| ours.mark.as_ref());
        let noted = mark.is_some_and(|mark| mark.outcome == Some(Outcome::GivenBack));
        useless || noted || mark.is_some_and(|mark| self.here(context, mark) < mark.minimum())
    }

    /// How many of the job's pods are here and want a place.
    fn here(&self, context: &Context<'_>, mark: &Mark) -> usize {
        let is_here = |pod: &&PodView| pod.wants_a_place() && mark.pods.contains(&pod.key());
        self.views(context).filter(is_here).count()
    }

    fn crowd(&self, context: &Context<'_>) -> Crowd {
        let mut crowd = Crowd::default();
        for pod in self.views(context) {
            let is_over =
                pod.is_terminal() || (pod.is_leaving() && context.config.has(Plant::EndsEarly));
            crowd.bound += usize::from(pod.is_bound() && !is_over);
            crowd.waiting += usize::from(pod.wants_a_place());
        }
        crowd
    }

    /// What the table of states says, if it isn't that all is well.
    fn trouble(&self, context: &Context<'_>, job: JobId, crowd: Crowd) -> Option<Trouble> {
        let row = context.row(&self.id, job);
        let pauses = context.config.suspended_jobs == SuspendedJobs::Keep;
        let leave = match row.reaction(crowd.bound > 0) {
            Reaction::Leave => true,
            Reaction::Again => false,
            Reaction::Pause if !pauses => true,
            Reaction::Keep | Reaction::Place
                if row.standing == Standing::Running && self.anyone_elsewhere(context, job) =>
            {
                return Some(Trouble { leave: true, why: explain::elsewhere(job) });
            }
            Reaction::Wait | Reaction::Place | Reaction::Keep | Reaction::Pause => return None,
        };
        let state = context.job(&self.id, job).and_then(OurJob::seen).map(|seen| &seen.state);
        let why = match (row.standing, state) {
            (Standing::Ended, Some(state)) => explain::ended(job, state),
            (Standing::Queued, _) => explain::requeued(job),
            (Standing::Suspended, _) => explain::suspended(job),
            (Standing::Revoked, _) => explain::revoked(job),
            (Standing::Gone | Standing::Ended | Standing::Unclear | Standing::Running, _) => {
                explain::gone(job)
            }
        };
        Some(Trouble { leave, why })
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

    fn react(&mut self, context: &mut Context<'_>, job: JobId, trouble: Trouble) -> Stage {
        let Trouble { leave, why } = trouble;
        if leave {
            return Stage::Evicting { job: Some(job), why };
        }
        if context.job(&self.id, job).is_some_and(OurJob::is_live) {
            let stage = self.end(context, job, &why);
            self.setback = Some(why);
            return stage;
        }
        context.jobs.forget_of(&self.id, job, context.out.last_call());
        self.back_off(context, Some(why))
    }

    /// A gang that lost too many pods before all were bound doesn't start: its job is given back.
    fn shrunk(&mut self, context: &mut Context<'_>, job: JobId, crowd: Crowd) -> Option<Stage> {
        let group = self.gang.as_ref().and_then(|gang| gang.group(context.store));
        self.minimum = group.map_or(self.minimum, PodGroupView::minimum);
        if !self.was_bound {
            let mark = context.job(&self.id, job)?.mark.as_ref()?;
            let newcomers = crowd.waiting - self.here(context, mark);
            let may_join = if context.job(&self.id, job)?.may_change() { newcomers } else { 0 };
            let enough = self.minimum <= self.here(context, mark) + may_join;
            return (!enough).then(|| self.end(context, job, "too few pods of the gang are left"));
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
        let listed = |pod: &&PodView| {
            pod.wants_a_place() && context.job(&self.id, job).is_none_or(|job| job.lists(pod))
        };
        let mut waiting = self.views(context).filter(listed);
        if self.was_bound && waiting.next().is_none() {
            return Some(Stage::Running { job });
        }
        let all = self.views(context).filter(listed).all(marked);
        all.then_some(Stage::Waiting { job })
    }

    /// Does the job run?
    pub(super) fn allocated(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        if context.standing(&self.id, job) != Standing::Running {
            return None;
        }
        if let Some(stage) = self.succeed(context, job) {
            return Some(stage);
        }
        self.part_from_strangers(context, job);
        match self.seats(context, job)? {
            Ok(seats) => match self.hindered(context, job, &seats) {
                None => self.take_up(context, job, seats),
                Some(Hindrance::Wait) => None,
                Some(Hindrance::GiveBack(why)) => {
                    Some(self.give_back(context, job, Objection { node: None, why }))
                }
            },
            Err(objection) => Some(self.give_back(context, job, objection)),
        }
    }

    /// Whether the job's nodes aren't what they were. Nothing while they aren't known.
    fn is_unseated(&self, context: &Context<'_>, job: JobId, seats: &Seats) -> Option<bool> {
        if context.standing(&self.id, job) != Standing::Running {
            return Some(true);
        }
        Some(match self.seats(context, job)? {
            Err(_) => true,
            Ok(now) => now != *seats || !self.still_fits(context, job, seats),
        })
    }

    /// All told where they go?
    pub(super) fn placed(
        &mut self,
        context: &mut Context<'_>,
        job: JobId,
        seats: &Seats,
    ) -> Option<Stage> {
        if !context.config.has(Plant::BindsLate) && self.is_unseated(context, job, seats)? {
            return Some(Stage::Waiting { job });
        }
        match self.hindered(context, job, seats) {
            None => {}
            Some(Hindrance::Wait) => return None,
            Some(Hindrance::GiveBack(why)) => {
                return Some(self.give_back(context, job, Objection { node: None, why }));
            }
        }
        match self.has_volumes(context, job, seats) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(objection) => return Some(self.give_back(context, job, objection)),
        }
        let ready = |pod: &PodView| {
            let seat = seats.get(pod.uid());
            let seated = |seat: &Placement| {
                seat.is_written(pod) && self.has_devices(context, job, pod, seat)
            };
            seat.is_some_and(seated) && context.desks.is_free(pod.uid())
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
        if crowd.bound == 0 || self.was_whole {
            // Nobody is torn from the others: each binding is tried until it succeeds. An alarm for a
            // deadline that is over would ring at once, again and again.
            return None;
        }
        let why = "the gang could not be bound whole".into();
        Some(Stage::Evicting { job: Some(job), why })
    }

    /// A seat for every pod of the job, or why there is none. Nothing while the job isn't known.
    fn seats(&self, context: &Context<'_>, job: JobId) -> Option<Result<Seats, Objection>> {
        let ours = context.job(&self.id, job)?;
        let (mark, seen) = (ours.mark.as_ref()?, ours.seen()?);
        if seen.allocation.is_empty() {
            return None;
        }
        let distribution = if mark.cyclic { Distribution::Cyclic } else { Distribution::Block };
        let (ranks, most) = (mark.pods.len(), mark.per_node);
        let places = ranks::seats(ranks, &seen.allocation, mark.cpus, most, distribution);
        let Some(places) = places else {
            return Some(Err(Objection { node: None, why: explain::too_small(job) }));
        };
        let local_ids = placement::local_ids(&places);
        let nodes = seen.allocation.iter().map(|it| (&it.node, context.mapping.kube(&it.node)));
        let whole = Whole::new(job, &mark.pods, nodes);
        let mut seats = Seats::new();
        for pod in self.views(context) {
            let key = pod.key();
            let Some(rank) = mark.pods.iter().position(|other| *other == key) else {
                continue;
            };
            let slurm = &seen.allocation[places[rank]].node;
            let Some(node) = plants::mapped(context.config, context.mapping, slurm) else {
                let fault = Obstacle::Unmapped.to_string();
                return Some(Err(Objection::to(job, slurm.clone(), fault)));
            };
            let seat = Placement {
                slurm: slurm.clone(),
                node: node.clone(),
                rank,
                node_id: places[rank],
                local_id: local_ids[rank],
                whole: whole.clone(),
            };
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
        self.was_whole = false;
        self.failed = false;
        if !self.views(context).any(PodView::wants_a_place) {
            return Some(Stage::Gathering);
        }
        Some(match self.setback.clone() {
            Some(words) => self.rest_after_setback(context, words),
            None if self.failures > 0 => self.back_off(context, None),
            None => Stage::Gathering,
        })
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
