//! One workload and its Slurm job: a pod by itself, or a gang.
//!
//! ```text
//!                  accepted            all labelled          RUNNING           all annotated
//!  Gathering ─▶ Submitting ─▶ Marking ─────────▶ Waiting ─────────▶ Placing ─────────▶ Binding
//!   ▲  ▲  ▲        │   │                                                                 │
//!   │  │  │ found  │   │ no answer                                                all bound
//!   │  │  └────── Doubtful         Waiting ⇄ Revising: its pods or their wishes changed   ▼
//!   │  └── BackingOff, Refused, Blocked ◀── Slurm, or we, said no                     Running
//!   │                                                                                    │
//!   │   pods left that still want a place         job over, or queued again              │
//!   └───────────────── Ending ◀───────────────────────── Evicting ◀──────────────────────┤
//!                        │  ▲                     all pods over, or deleted              │
//!                     Closed└────────────────────────────────────────────────────────────┘
//! ```
//!
//! Nothing here is an event handler. [`Workload::drive`] looks at what Kubernetes and Slurm say now
//! and takes the arrows that are open, so it makes no difference whether this process brought the
//! workload so far or one that crashed.

mod devices;
mod errands;
mod fit;
mod gather;
mod oversee;
mod revise;
mod volumes;

pub(crate) use devices::Claimed;

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::{JobId, Span, Time};

use crate::{
    backoff::Backoff,
    config::Gres,
    context::Context,
    explain,
    facts::FactSubject,
    gang::{Gang, Roster},
    input::{CallId, SlurmFault, SlurmReply},
    jobs::{Jobs, OurJob},
    mark::Mark,
    names::Uid,
    outbox::Alarm,
    placement::Placement,
    poller::{LATE, Need},
    slurm::Submission,
    store::Store,
    view::PodView,
};
pub(crate) use fit::Trials;

/// How long a finalizer may wait for Slurm.
const FINALIZER_BOUND: Span = Span::secs(30);
/// How long to rest while Slurm can't be asked at all: as soon as it can, everybody is woken.
const CUT_OFF: Span = Span::mins(10);
/// How long after a submit in doubt Slurm is asked a second time.
const SECOND_LOOK: Span = Span::secs(5);

/// The seats of a workload's pods.
pub(crate) type Seats = BTreeMap<Uid, Placement>;

/// Where a workload stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stage {
    /// Its pods, their owners or its group aren't all there yet.
    Gathering,
    /// The job is on its way to Slurm.
    Submitting { mark: Box<Mark>, job: Box<Submission>, left_out: Option<String> },
    /// It may have arrived: all jobs are read, twice.
    Doubtful { since: CallId, second: bool },
    /// Slurm could not take it; it is tried again.
    BackingOff { until: Time, words: Option<String> },
    /// It can't run as it is; tried again when it changes, or after a long pause.
    Refused { until: Time, words: String, job: Option<Box<Submission>> },
    /// What it depends on has no job yet; looked at again and again.
    Blocked { until: Time, words: String, reason: &'static str },
    /// Its pods get the job's label and our finalizer.
    Marking { job: JobId },
    /// The job waits in Slurm's queue.
    Waiting { job: JobId },
    /// The job, or what is written on it, is changed in Slurm.
    Revising { job: JobId, mark: Box<Mark> },
    /// Its pods get their node's name.
    Placing { job: JobId, seats: Seats },
    /// Its pods are bound.
    Binding { job: JobId, seats: Seats, since: Time },
    /// All are bound.
    Running { job: JobId },
    /// Slurm took the nodes back: the pods have to leave.
    Evicting { job: Option<JobId>, why: String },
    /// The job is told to end.
    Ending { job: JobId, since: Time },
    /// Nothing is left to do.
    Closed,
}

/// One workload.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) id: Uid,
    /// What binds its pods together, if it is a gang.
    pub(crate) gang: Option<Gang>,
    /// Its pods wait for their gang's group, or for an earlier generation to end.
    pub(crate) is_parked: bool,
    /// The pod came too late for its gang.
    pub(crate) stands_alone: bool,
    /// The pod's owners make it part of this gang.
    pub(crate) leaves_for: Option<Roster>,
    pub(crate) members: BTreeSet<Uid>,
    pub(crate) stage: Stage,
    /// When a pod last joined.
    joined_at: Time,
    /// How many pods a gang needs; kept, because the group may go before its pods do.
    minimum: usize,
    /// Submits in a row that came to nothing.
    failures: u32,
    /// The last reason against a job that was told.
    told: Option<String>,
    /// Some pod failed, or went without saying how it ended.
    failed: bool,
    /// Some pod was bound.
    was_bound: bool,
    /// Something looks wrong with the job; it is believed when a reply to a later request agrees.
    suspicion: Option<CallId>,
    /// Why pods of a job that runs don't get their devices.
    pub(crate) snag: Option<String>,
    /// How many devices of each kind a task of the job has.
    per_task: BTreeMap<Gres, u32>,
    /// Why the last job was given back, until one runs.
    setback: Option<String>,
    /// All of its pods were bound once.
    was_whole: bool,
    /// Its group says already that its pods have been placed.
    announced: bool,
    /// Its pods say already what isn't as their users may expect.
    warned: bool,
    /// What became of changes to its job.
    revisions: revise::Revisions,
    /// Allocations that came to nothing, until one doesn't.
    pub(crate) trials: Trials,
    /// Pods that don't belong to the job that was found: each is a workload of its own.
    pub(crate) strangers: BTreeSet<Uid>,
}

impl Workload {
    pub(crate) fn new(id: Uid, gang: Option<Gang>) -> Self {
        Self {
            id,
            gang,
            is_parked: false,
            stands_alone: false,
            leaves_for: None,
            members: BTreeSet::new(),
            stage: Stage::Gathering,
            joined_at: Time::ZERO,
            minimum: 1,
            failures: 0,
            told: None,
            failed: false,
            was_bound: false,
            suspicion: None,
            snag: None,
            per_task: BTreeMap::new(),
            setback: None,
            was_whole: false,
            announced: false,
            warned: false,
            revisions: revise::Revisions::default(),
            trials: Trials::default(),
            strangers: BTreeSet::new(),
        }
    }

    pub(crate) fn join(&mut self, now: Time, pod: Uid) {
        self.joined_at = now;
        self.members.insert(pod);
    }

    /// A pod is gone; this was its last state.
    pub(crate) fn lose(&mut self, pod: &PodView) {
        self.members.remove(pod.uid());
        self.was_bound |= pod.is_bound();
        self.failed |= !pod.succeeded();
    }

    /// Whether a pod that comes now still belongs to it.
    pub(crate) fn takes(&self, store: &Store, jobs: &Jobs, pod: &PodView) -> Taking {
        match &self.stage {
            Stage::Gathering
            | Stage::BackingOff { .. }
            | Stage::Refused { .. }
            | Stage::Blocked { .. }
            | Stage::Submitting { .. }
            | Stage::Doubtful { .. } => Taking::Yes,
            Stage::Evicting { .. } | Stage::Ending { .. } | Stage::Closed => Taking::Later,
            Stage::Marking { job }
            | Stage::Waiting { job }
            | Stage::Revising { job, .. }
            | Stage::Placing { job, .. }
            | Stage::Binding { job, .. }
            | Stage::Running { job } => {
                let has_room =
                    |job| OurJob::may_change(job) || job.lists(pod) || self.has_room(store, job);
                if jobs.get(*job).is_none_or(has_room) { Taking::Yes } else { Taking::No }
            }
        }
    }

    /// The job that stands for it.
    pub(crate) fn job(&self) -> Option<JobId> {
        self.stage.job()
    }

    /// How urgently it needs to know how its job is.
    pub(crate) fn need(&self) -> Need {
        match &self.stage {
            Stage::Running { .. } => Need::Running,
            Stage::Gathering
            | Stage::BackingOff { .. }
            | Stage::Refused { .. }
            | Stage::Blocked { .. }
            | Stage::Closed => Need::Idle,
            Stage::Submitting { .. }
            | Stage::Doubtful { .. }
            | Stage::Marking { .. }
            | Stage::Waiting { .. }
            | Stage::Revising { .. }
            | Stage::Placing { .. }
            | Stage::Binding { .. }
            | Stage::Evicting { .. }
            | Stage::Ending { .. } => Need::Waiting,
        }
    }

    /// What facts about it are about.
    pub(crate) fn subject(&self, context: &Context<'_>) -> FactSubject {
        match (&self.gang, self.views(context).next()) {
            (Some(gang), _) => FactSubject::Gang(gang.key.clone()),
            (None, Some(pod)) => FactSubject::Pod(pod.key()),
            (None, None) => FactSubject::Bridge,
        }
    }

    /// Takes every arrow that is open, then gives each pod its errand.
    pub(crate) fn drive(&mut self, context: &mut Context<'_>) {
        context.out.cancel_alarm(&Alarm::Workload(self.id.clone()));
        // Each arrow leads nearer to an end; the bound only guards against a mistake of ours.
        for _ in 0..16 {
            let Some(next) = self.arrow(context) else {
                break;
            };
            self.enter(context, next);
        }
        self.run_errands(context);
    }

    fn enter(&mut self, context: &mut Context<'_>, next: Stage) {
        if self.job() != next.job() {
            self.snag = None;
            self.suspicion = None;
        }
        if matches!(next, Stage::Running { .. }) {
            self.failures = 0;
            self.setback = None;
            self.was_whole = true;
        }
        self.keep_seats(context, &next);
        explain::tell_entry(self, context, &next);
        if let Stage::Refused { words, .. } | Stage::Blocked { words, .. } = &next {
            self.told = Some(words.clone());
        } else if next != Stage::Gathering {
            self.told = None;
        }
        self.stage = next;
    }

    /// The next stage, if there is reason to move.
    fn arrow(&mut self, context: &mut Context<'_>) -> Option<Stage> {
        self.note_outcomes(context);
        match self.stage.clone() {
            Stage::Gathering => self.gather(context),
            Stage::Submitting { .. } | Stage::Revising { .. } | Stage::Closed => None,
            Stage::Doubtful { since, second } => self.look_for_job(context, since, second),
            Stage::BackingOff { until, .. } => self.rest_until(context, until),
            Stage::Refused { until, words, job } => {
                self.reconsider(context, until, &words, job.as_deref())
            }
            Stage::Blocked { until, words, .. } => self.reconsider(context, until, &words, None),
            Stage::Marking { job } => {
                self.oversee(context, job).or_else(|| self.marked(context, job))
            }
            Stage::Waiting { job } => self
                .oversee(context, job)
                .or_else(|| self.allocated(context, job))
                .or_else(|| self.revise(context, job)),
            Stage::Placing { job, seats } => {
                self.oversee(context, job).or_else(|| self.placed(context, job, &seats))
            }
            Stage::Binding { job, since, .. } => {
                self.oversee(context, job).or_else(|| self.bound(context, job, since))
            }
            Stage::Running { job } => {
                self.oversee(context, job).or_else(|| self.refill(context, job))
            }
            Stage::Evicting { job, .. } => self.evicted(context, job),
            Stage::Ending { job, since } => self.ended(context, job, since),
        }
    }

    /// Takes Slurm's answer to the submit.
    pub(crate) fn submitted(
        &mut self,
        context: &mut Context<'_>,
        outcome: Result<SlurmReply, SlurmFault>,
    ) {
        let Stage::Submitting { mark, job: submission, left_out } = self.stage.clone() else {
            return;
        };
        let next = match outcome {
            Ok(SlurmReply::Submitted { job }) => {
                let since = context.out.last_call();
                explain::tell_submitted(self, context, job, &submission, left_out.as_deref());
                self.revisions = revise::Revisions::begin(&mark, submission);
                context.jobs.expect(job, self.id.clone(), Some(*mark), since);
                Stage::Marking { job }
            }
            Err(SlurmFault::Refused { number, text }) => {
                self.refused(context, number, &text, submission, left_out.as_deref())
            }
            Err(
                fault @ (SlurmFault::Unauthorized { .. }
                | SlurmFault::NotServed { .. }
                | SlurmFault::Unreachable { .. }),
            ) => self.back_off(context, Some(explain::unreachable(&fault.to_string()))),
            Ok(_) | Err(SlurmFault::Unintelligible { .. } | SlurmFault::Lost { .. }) => {
                context.poller.want_all_jobs(context.now());
                Stage::Doubtful { since: context.out.last_call(), second: false }
            }
        };
        self.enter(context, next);
    }

    fn refused(
        &mut self,
        context: &mut Context<'_>,
        number: i64,
        text: &str,
        submission: Box<Submission>,
        left_out: Option<&str>,
    ) -> Stage {
        self.failures += 1;
        let now = context.now();
        // Below 2000 are troubles of communication: Slurm hasn't judged the job.
        if number < 2000 {
            let until = now + Backoff::REQUEST.after(self.failures);
            return Stage::BackingOff { until, words: Some(explain::unreachable(text)) };
        }
        // It may have been a node that is no more.
        context.poller.want_nodes(now);
        let until = now + Backoff::REFUSAL.after(self.failures);
        let words = explain::with_left_out(&explain::refused(number, text), left_out);
        Stage::Refused { until, words, job: Some(submission) }
    }

    /// A job that arrived although its reply was lost is found among all jobs. If it isn't there
    /// after a second look it is taken for lost; should it come after all, it is surplus.
    fn look_for_job(
        &mut self,
        context: &mut Context<'_>,
        since: CallId,
        second: bool,
    ) -> Option<Stage> {
        if let Some(found) = self.adopt(context) {
            return Some(found);
        }
        if context.poller.last_full().is_none_or(|answered| answered <= since) {
            return None;
        }
        if second {
            context.poller.want_all_jobs(context.now() + LATE);
            return Some(self.back_off(context, None));
        }
        context.poller.want_all_jobs(context.now() + SECOND_LOOK);
        Some(Stage::Doubtful { since: context.out.last_call(), second: true })
    }

    fn back_off(&mut self, context: &Context<'_>, words: Option<String>) -> Stage {
        if context.is_cut_off {
            return Stage::BackingOff { until: context.now() + CUT_OFF, words };
        }
        self.failures += 1;
        Stage::BackingOff { until: context.now() + Backoff::REQUEST.after(self.failures), words }
    }

    fn rest_until(&mut self, context: &mut Context<'_>, until: Time) -> Option<Stage> {
        if until <= context.now() || !self.views(context).any(PodView::wants_a_place) {
            return Some(Stage::Gathering);
        }
        context.out.wake_at(until, Alarm::Workload(self.id.clone()));
        None
    }

    /// Whether its last allocation came to nothing.
    pub(crate) fn is_set_back(&self) -> bool {
        self.setback.is_some()
    }

    /// Whether it was just told that this is why it can't run.
    pub(crate) fn is_told(&self, words: &str) -> bool {
        self.told.as_deref() == Some(words)
    }

    /// How many pods must start together.
    pub(crate) fn needed(&self) -> usize {
        self.minimum
    }

    /// Whether nobody has joined for a while.
    pub(crate) fn is_quiet(&self, now: Time) -> bool {
        self.quiet_at() <= now
    }

    /// From when on nobody has joined for a while, if nobody does.
    fn quiet_at(&self) -> Time {
        self.joined_at + gather::QUIET
    }

    /// Its pods as Kubernetes last described them.
    pub(crate) fn views<'a>(
        &'a self,
        context: &Context<'a>,
    ) -> impl Iterator<Item = &'a PodView> + use<'a> {
        let store = context.store;
        self.members.iter().filter_map(move |uid| store.pod(uid).map(AsRef::as_ref))
    }
}

/// Whether a workload takes a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    Yes,
    /// It has its job already: the pod is a latecomer and gets one of its own.
    No,
    /// It is about to end; the pod belongs to its successor.
    Later,
}

/// The names of all stages.
pub const STAGES: [&str; 15] = [
    "gathering",
    "submitting",
    "doubtful",
    "backing off",
    "refused",
    "blocked",
    "marking",
    "waiting",
    "revising",
    "placing",
    "binding",
    "running",
    "evicting",
    "ending",
    "closed",
];

impl Stage {
    /// Its name; one of [`STAGES`].
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Gathering => "gathering",
            Self::Submitting { .. } => "submitting",
            Self::Doubtful { .. } => "doubtful",
            Self::BackingOff { .. } => "backing off",
            Self::Refused { .. } => "refused",
            Self::Blocked { .. } => "blocked",
            Self::Marking { .. } => "marking",
            Self::Waiting { .. } => "waiting",
            Self::Revising { .. } => "revising",
            Self::Placing { .. } => "placing",
            Self::Binding { .. } => "binding",
            Self::Running { .. } => "running",
            Self::Evicting { .. } => "evicting",
            Self::Ending { .. } => "ending",
            Self::Closed => "closed",
        }
    }

    /// Whether it has a job in Slurm, or one on its way there.
    pub(crate) fn is_submitted(&self) -> bool {
        matches!(self, Self::Submitting { .. } | Self::Doubtful { .. }) || self.job().is_some()
    }

    /// Whether its pods have no place yet.
    pub(crate) const fn is_before_running(&self) -> bool {
        !matches!(
            self,
            Self::Running { .. } | Self::Evicting { .. } | Self::Ending { .. } | Self::Closed
        )
    }

    fn job(&self) -> Option<JobId> {
        match self {
            Self::Marking { job }
            | Self::Waiting { job }
            | Self::Revising { job, .. }
            | Self::Placing { job, .. }
            | Self::Binding { job, .. }
            | Self::Running { job }
            | Self::Ending { job, .. } => Some(*job),
            Self::Evicting { job, .. } => *job,
            Self::Gathering
            | Self::Submitting { .. }
            | Self::Doubtful { .. }
            | Self::BackingOff { .. }
            | Self::Refused { .. }
            | Self::Blocked { .. }
            | Self::Closed => None,
        }
    }
}
