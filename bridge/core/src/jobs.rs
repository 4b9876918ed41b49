//! Our jobs in Slurm, as last observed, by number and by workload.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use drawbridge_sim::JobId;

use crate::{
    gang::Gang,
    input::CallId,
    mark::Mark,
    names::{ObjectKey, Uid},
    slurm::{ObservedJob, ObservedState},
    states::{self, Row, Standing},
    view::PodView,
};

/// What is known about one of our jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Slurm gave us the number; we haven't seen more yet.
    Unseen,
    /// As Slurm described it.
    Seen(Box<ObservedJob>),
    /// Slurm doesn't know it, or knows another job by its number.
    Gone,
}

/// One of our jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OurJob {
    pub(crate) workload: Uid,
    /// Its pods in rank order, and CPUs per task; unknown until the job has been read.
    pub(crate) mark: Option<Mark>,
    pub(crate) sight: Sight,
    /// Replies to requests up to this one may not know the job.
    pub(crate) since: CallId,
    /// The request whose reply we last believed. Replies to earlier ones are old news.
    pub(crate) asked: CallId,
}

/// All of our jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    by_id: BTreeMap<JobId, OurJob>,
    by_workload: BTreeMap<Uid, BTreeSet<JobId>>,
    /// Jobs that are settled, each with the last request that may still speak of it as alive.
    settled: BTreeMap<JobId, CallId>,
}

impl OurJob {
    /// What its state means.
    pub(crate) fn row(&self) -> &'static Row {
        match &self.sight {
            Sight::Unseen => &states::UNSEEN,
            Sight::Gone => &states::GONE,
            Sight::Seen(job) => states::row(&job.state),
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        self.row().standing
    }

    /// Not over, as far as we know.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.standing(), Standing::Ended | Standing::Gone)
    }

    pub(crate) fn seen(&self) -> Option<&ObservedJob> {
        match &self.sight {
            Sight::Seen(job) => Some(job),
            Sight::Unseen | Sight::Gone => None,
        }
    }

    /// Whether it has no nodes yet, as far as we know, so that Slurm lets it be changed.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self.standing(), Standing::Queued | Standing::Unclear)
    }

    /// Whether it has no script.
    pub(crate) fn is_external(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.external)
    }

    /// What binds its pods together, if they are a gang.
    pub(crate) fn gang(&self) -> Option<&Gang> {
        self.mark.as_ref()?.gang.as_ref()
    }

    /// Whether it has a place for the pod.
    pub(crate) fn lists(&self, pod: &PodView) -> bool {
        self.pods().contains(&pod.key())
    }

    /// Its pods, in rank order.
    pub(crate) fn pods(&self) -> &[ObjectKey] {
        self.mark.as_ref().map_or(&[], |mark| &mark.pods)
    }
}

impl Jobs {
    pub(crate) fn get(&self, id: JobId) -> Option<&OurJob> {
        self.by_id.get(&id)
    }

    /// The workload's job of this number. Numbers are given out again after Slurm lost its state, so
    /// another workload may have it by now.
    pub(crate) fn of(&self, workload: &Uid, id: JobId) -> Option<&OurJob> {
        self.get(id).filter(|job| job.workload == *workload)
    }

    /// The newest of them that isn't over.
    pub(crate) fn newest(&self) -> Option<JobId> {
        let mut live = self.by_id.iter().rev().filter(|(_, job)| job.is_live());
        live.next().map(|(id, _)| *id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (JobId, &OurJob)> {
        self.by_id.iter().map(|(id, job)| (*id, job))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// All of them once, those after this number first.
    pub(crate) fn round_from(&self, id: JobId) -> impl Iterator<Item = (JobId, &OurJob)> {
        let after = self.by_id.range((Bound::Excluded(id), Bound::Unbounded));
        after.chain(self.by_id.range(..=id)).map(|(id, job)| (*id, job))
    }

    /// The workload's jobs that aren't over, by number.
    pub(crate) fn live_of(&self, workload: &Uid) -> impl Iterator<Item = (JobId, &OurJob)> {
        let ids = self.by_workload.get(workload).into_iter().flatten();
        ids.filter_map(|id| Some((*id, self.by_id.get(id)?))).filter(|(_, job)| job.is_live())
    }

    /// A job whose number we have and nothing else: just submitted, or named by a pod's label.
    pub(crate) fn expect(&mut self, id: JobId, workload: Uid, mark: Option<Mark>, since: CallId) {
        self.settled.remove(&id);
        self.insert(id, OurJob { workload, mark, sight: Sight::Unseen, since, asked: since });
    }

    /// Takes a description of a job that carries our mark, unless a later one is known.
    pub(crate) fn observe(&mut self, mark: Mark, observed: ObservedJob, asked: CallId) {
        let id = observed.id;
        let known = self.by_id.get(&id);
        let settled = self.settled.get(&id);
        if known.is_some_and(|known| asked < known.asked) || settled.is_some_and(|at| asked <= *at)
        {
            return;
        }
        let since = known.map_or(asked, |known| known.since);
        let workload = mark.workload.clone();
        let sight = Sight::Seen(Box::new(observed));
        self.insert(id, OurJob { workload, mark: Some(mark), sight, since, asked });
    }

    /// Another mark was written on the job.
    pub(crate) fn remark(&mut self, id: JobId, mark: Mark, asked: CallId) {
        if let Some(job) = self.by_id.get_mut(&id) {
            job.mark = Some(mark);
            job.asked = job.asked.max(asked);
        }
    }

    /// The job is over in this state, as the states of all jobs say.
    pub(crate) fn set_state(&mut self, id: JobId, state: ObservedState) {
        if let Some(OurJob { sight: Sight::Seen(job), .. }) = self.by_id.get_mut(&id) {
            job.state = state;
        }
    }

    /// Slurm doesn't know the job, or the number is somebody else's now.
    pub(crate) fn lose(&mut self, id: JobId, asked: CallId) {
        if let Some(job) = self.by_id.get_mut(&id)
            && job.asked <= asked
        {
            job.sight = Sight::Gone;
            job.asked = asked;
        }
    }

    /// The job is settled: nobody asks about it any more, and no earlier request revives it.
    pub(crate) fn forget(&mut self, id: JobId, last_call: CallId) {
        let settled = self.settled.entry(id).or_insert(last_call);
        *settled = last_call.max(*settled);
        self.remove(id);
    }

    /// The same for a workload's job, unless its number is another's by now.
    pub(crate) fn forget_of(&mut self, workload: &Uid, id: JobId, last_call: CallId) {
        if self.get(id).is_none_or(|job| job.workload == *workload) {
            self.forget(id, last_call);
        }
    }

    /// The workload is no more; its jobs that are over aren't of interest.
    pub(crate) fn forget_ended_of(&mut self, workload: &Uid) {
        let ids: Vec<_> = self.by_workload.get(workload).into_iter().flatten().copied().collect();
        for id in ids {
            if self.by_id.get(&id).is_some_and(|job| !job.is_live()) {
                self.remove(id);
            }
        }
    }

    /// All jobs were read by this request: what was settled before it can't come back.
    pub(crate) fn tidy(&mut self, asked: CallId) {
        self.settled.retain(|_, last_call| asked <= *last_call);
    }

    fn remove(&mut self, id: JobId) {
        if let Some(job) = self.by_id.remove(&id)
            && let Some(ids) = self.by_workload.get_mut(&job.workload)
        {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_workload.remove(&job.workload);
            }
        }
    }

    fn insert(&mut self, id: JobId, job: OurJob) {
        self.remove(id);
        self.by_workload.entry(job.workload.clone()).or_default().insert(id);
        self.by_id.insert(id, job);
    }
}
