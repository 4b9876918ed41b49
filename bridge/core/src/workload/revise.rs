//! A job that is no longer as it should be: pods came or went, their wishes changed, other nodes are out
//! of the question, or another pod takes the place of one that is lost.
//!
//! ```text
//!  Waiting ── drafted anew, it differs ──▶ Revising ── done, refused, lost ──▶ Marking ─▶ Waiting
//!  Running ── a pod waits, a place is free ─▶ Revising (the mark alone)
//!          └─ a pod waits, its place is kept ─▶ Marking
//! ```
//!
//! What a job should be is drafted from the pods, as at the beginning; its mark says in short what it is. So it
//! makes no difference who submitted it. A job that has its nodes can't be changed any more, but what is
//! written on it can.

use drawbridge_sim::{JobId, Span, Time};

use super::{Stage, Workload};
use crate::{
    context::Context,
    effect::SlurmRequest,
    explain,
    input::{SlurmFault, SlurmReply},
    jobs::OurJob,
    mark::Mark,
    names::ObjectKey,
    outbox::{Alarm, Purpose},
    ranks,
    slurm::Submission,
    states::Standing,
    store::Store,
    view::PodView,
    workload::gather::Drafted,
};

/// A waiting job is changed no more often than this.
const PAUSE: Span = Span::secs(10);

/// What became of changes to a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Revisions {
    /// Not before this.
    not_before: Time,
    /// The request that Slurm refused to make of it.
    refused: Option<String>,
    /// What this process last asked for, with its short form.
    asked: Option<(String, Box<Submission>)>,
}

impl Revisions {
    /// Slurm took this.
    pub(super) fn begin(mark: &Mark, submission: Box<Submission>) -> Self {
        Self { asked: Some((mark.request.clone(), submission)), ..Self::default() }
    }
}

impl Workload {
    /// Changes a waiting job to what it should be.
    pub(super) fn revise(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        if context.standing(&self.id, job) != Standing::Queued || context.is_cut_off {
            return None;
        }
        let Drafted::Ready(draft) = self.draft(context) else {
            return None;
        };
        let (mark, submission) = (draft.mark, draft.job);
        let is = context.job(&self.id, job)?.mark.as_ref()?;
        let was = is.request.clone();
        let same = is.pods == mark.pods && was == mark.request;
        if same || self.revisions.refused.as_ref() == Some(&mark.request) {
            return None;
        }
        if context.now() < self.revisions.not_before {
            context.out.wake_at(self.revisions.not_before, Alarm::Workload(self.id.clone()));
            return None;
        }
        if !context.gate.enter(&self.id, false) {
            return None;
        }
        self.revisions.not_before = context.now() + PAUSE;
        explain::tell_revised(self, context, job, &submission);
        let from = self.revisions.asked.take().filter(|(request, _)| *request == was);
        let from = from.map(|(_, submission)| submission);
        self.revisions.asked = Some((mark.request.clone(), submission.clone()));
        let request = SlurmRequest::Revise { job, from, to: submission };
        context.out.slurm(Purpose::Revise(self.id.clone()), request);
        Some(Stage::Revising { job, mark })
    }

    /// Gives pods that came after others were lost their places.
    pub(super) fn refill(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        let waits = self.views(context).any(|pod| pod.wants_a_place() && !pod.is_gated());
        if !waits || context.standing(&self.id, job) != Standing::Running {
            return None;
        }
        if let Some(stage) = self.succeed(context, job) {
            return Some(stage);
        }
        self.part_from_strangers(context, job);
        let ours = context.job(&self.id, job)?;
        let placed = |pod: &PodView| pod.wants_a_place() && ours.lists(pod);
        self.views(context).any(placed).then_some(Stage::Marking { job })
    }

    /// Writes on a running job who has taken the places of pods that are lost.
    pub(super) fn succeed(&mut self, context: &mut Context<'_>, job: JobId) -> Option<Stage> {
        let mark = context.job(&self.id, job)?.mark.clone()?;
        let mut newcomers: Vec<&PodView> = self.newcomers(context, &mark).collect();
        newcomers.sort_by_cached_key(|pod| ranks::rank(pod));
        let mut free = places(context.store, &mark, is_lost);
        let mut pods = mark.pods.clone();
        for pod in newcomers {
            let wanted = ranks::completion_index(pod).filter(|index| free.contains(index));
            let Some(place) = wanted.or(free.first().copied()) else {
                break;
            };
            free.retain(|other| *other != place);
            pods[place] = pod.key();
        }
        if pods == mark.pods {
            return None;
        }
        let mark = Box::new(mark.pods(pods));
        let request = SlurmRequest::Remark { job, admin_comment: mark.text() };
        context.out.slurm(Purpose::Revise(self.id.clone()), request);
        Some(Stage::Revising { job, mark })
    }

    /// Takes Slurm's answer to a change.
    pub(crate) fn revised(
        &mut self,
        context: &mut Context<'_>,
        outcome: Result<SlurmReply, SlurmFault>,
    ) {
        let Stage::Revising { job, mark } = self.stage.clone() else {
            return;
        };
        match outcome {
            Ok(_) => context.jobs.remark(job, *mark, context.out.last_call()),
            Err(SlurmFault::Refused { number, text }) => {
                self.revisions.refused = Some(mark.request.clone());
                explain::tell_revision_refused(self, context, job, &format!("{text} ({number})"));
            }
            // Whether it was done is seen when the job is read.
            Err(_) => {}
        }
        context.poller.want_job(job);
        self.enter(context, Stage::Marking { job });
    }

    /// Whether the job has a place for somebody whom it doesn't list.
    pub(super) fn has_room(&self, store: &Store, job: &OurJob) -> bool {
        let Some(mark) = &job.mark else {
            return true;
        };
        let members = self.members.iter().filter_map(|uid| store.pod(uid));
        let claimed = members.filter(|pod| pod.wants_a_place() && !job.lists(pod)).count();
        claimed < places(store, mark, |pod| is_lost(pod) || pod.is_leaving()).len()
    }

    /// Pods for which the job has no place, and won't have: each is a workload of its own.
    pub(super) fn part_from_strangers(&mut self, context: &Context<'_>, job: JobId) {
        let Some(mark) = context.job(&self.id, job).and_then(|job| job.mark.as_ref()) else {
            return;
        };
        if self.gang.is_none() {
            return;
        }
        let label = job.to_string();
        let mut strangers: Vec<&PodView> = self.newcomers(context, mark).collect();
        strangers.retain(|pod| pod.job_label() != Some(&label));
        strangers.sort_by_cached_key(|pod| ranks::rank(pod));
        let soon = places(context.store, mark, |pod| is_lost(pod) || pod.is_leaving()).len();
        let strangers: Vec<_> = strangers.iter().skip(soon).map(|pod| pod.uid().clone()).collect();
        for uid in strangers {
            self.members.remove(&uid);
            self.strangers.insert(uid);
        }
    }

    /// Pods that wait and that the job doesn't list.
    fn newcomers<'a>(
        &'a self,
        context: &Context<'a>,
        mark: &'a Mark,
    ) -> impl Iterator<Item = &'a PodView> {
        let is_new = |pod: &&PodView| pod.wants_a_place() && !mark.pods.contains(&pod.key());
        self.views(context).filter(is_new)
    }
}

/// The places, by rank, whose pods are gone or like this.
fn places(store: &Store, mark: &Mark, is_free: impl Fn(&PodView) -> bool) -> Vec<usize> {
    let is_free = |key: &ObjectKey| {
        let pod = store.uid_of(key).and_then(|uid| store.pod(uid));
        pod.is_none_or(|pod| is_free(pod))
    };
    let places = mark.pods.iter().enumerate();
    places.filter(|(_, key)| is_free(key)).map(|(place, _)| place).collect()
}

/// One that succeeded has done its part, and nobody comes in its place.
fn is_lost(pod: &PodView) -> bool {
    pod.is_terminal() && !pod.succeeded()
}
