//! Arrays in a cycle: which tasks are tried, and for how many of them plans are made.

use super::Cycle;
use crate::{ArrayPlace, Job, JobId, sched::Decision};

/// What a cycle remembers of arrays.
#[derive(Default)]
pub(super) struct Arrays {
    /// The record and partition of the last task for which nothing was found.
    pub(super) rejected: Option<(JobId, usize)>,
    /// The array that was planned last, and how many of its tasks were.
    job: Option<JobId>,
    plans: usize,
    /// The earliest start that was planned for a record's tasks.
    pub(super) earliest: Option<u64>,
}

impl Cycle<'_> {
    /// Whether a task isn't tried: another one of its array found nothing there, or as many run as may.
    pub(super) fn waits_for_array(&mut self, job: &Job, partition: usize) -> bool {
        let Some(array) = job.array.as_ref().map(|place| place.job) else { return false };
        if let Some((record, place)) = self.array.rejected
            && let Some(other) = self.ctld.job(record)
            && place == partition
            && other.array.as_ref().is_some_and(|other| other.job == array)
        {
            if other.reason != job.reason && record != job.id {
                let wait = Decision::Wait { job: job.id, reason: other.reason.clone() };
                self.outcome.starts.push(wait);
            }
            return true;
        }
        self.array.rejected = Some((job.id, partition));
        self.tally.is_full(self.ctld, job)
    }

    /// `bf_max_job_array_resv`: plans for so many tasks of an array.
    pub(super) fn plans_another(&mut self, job: &Job, place: &ArrayPlace) -> bool {
        let start = self.starts.get(&job.id).copied();
        let array = &mut self.array;
        if array.job == Some(place.job) {
            array.plans += 1;
            array.earliest = array.earliest.min(start);
        } else {
            (array.job, array.plans, array.earliest) = (Some(place.job), 1, start);
        }
        let plans = array.plans;
        plans < self.limits.max_job_array_resv
            && plans < place.n_tasks()
            && !self.tally.is_full_with(self.ctld, job, plans)
    }
}
