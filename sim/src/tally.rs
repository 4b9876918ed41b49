//! What a cycle has given out that isn't on nodes: licences, and the places of arrays' tasks.
//!
//! A cycle decides before anything happens, so it keeps count itself.

use std::collections::BTreeMap;

use crate::{ArrayTasks, Job, JobId, Licenses, Slurmctld};

/// The count of one cycle.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    licenses: Licenses,
    /// Starts by record: one of several tasks may start several times.
    started: BTreeMap<JobId, u32>,
    /// Starts by array.
    arrays: BTreeMap<JobId, u32>,
}

impl Tally {
    pub(crate) fn new(ctld: &Slurmctld) -> Self {
        let licenses = ctld.licenses.clone();
        Self { licenses, started: BTreeMap::new(), arrays: BTreeMap::new() }
    }

    /// Whether nothing of a record is left to start.
    pub(crate) fn is_spent(&self, job: &Job) -> bool {
        let started = self.started.get(&job.id).copied().unwrap_or(0);
        let tasks = job.array.as_ref().map_or(1, crate::ArrayPlace::n_tasks);
        tasks <= started as usize
    }

    /// Whether as many tasks of its array run as may.
    pub(crate) fn is_full(&self, ctld: &Slurmctld, job: &Job) -> bool {
        self.is_full_with(ctld, job, 0)
    }

    /// The same, were `more` of them to run.
    pub(crate) fn is_full_with(&self, ctld: &Slurmctld, job: &Job, more: usize) -> bool {
        let started = job.array.as_ref().and_then(|place| self.arrays.get(&place.job));
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        !ctld.startable(job, started.copied().unwrap_or(0).saturating_add(more))
    }

    /// Whether its licences are free.
    pub(crate) fn has_licenses(&self, job: &Job) -> bool {
        self.licenses.can_give(&job.licenses)
    }

    /// Counts a start; whether the record has another task to look at.
    pub(crate) fn start(&mut self, job: &Job) -> bool {
        self.licenses.take(&job.licenses);
        *self.started.entry(job.id).or_default() += 1;
        let Some(place) = &job.array else { return false };
        *self.arrays.entry(place.job).or_default() += 1;
        matches!(place.tasks, ArrayTasks::Several(_)) && !self.is_spent(job)
    }

    /// How many jobs were started.
    pub(crate) fn n_started(&self) -> usize {
        self.started.values().map(|n| *n as usize).sum()
    }
}
