//! A line of `squeue`: a job, in one of its partitions, with what is needed to show it.

use std::{collections::BTreeSet, rc::Rc};

use drawbridge_bridge::slurm::types::{Job, Number};
use drawbridge_sim::Release;

use crate::{amounts::Shorten, arrays, moments::Clock, states::job::JobState};

/// What all lines have in common.
#[derive(Debug)]
pub(crate) struct View {
    /// The time, and how it is printed.
    pub(crate) clock: Clock,
    /// Whose `squeue` it is.
    pub(crate) release: Release,
    /// Whether amounts get larger units.
    pub(crate) shorten: Shorten,
    /// Whether the names of files have their patterns filled in.
    pub(crate) expand_patterns: bool,
    /// `SLURM_BITSTR_LEN`: how much of a list of tasks is shown, 0 for all of it.
    pub(crate) task_bytes: Option<usize>,
}

/// A job to show.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) job: Job,
    pub(crate) state: JobState,
    /// The tasks that wait in this record.
    pub(crate) tasks: Option<BTreeSet<u32>>,
    /// The tier of its partition, where jobs are shown once per partition.
    pub(crate) tier: i64,
    pub(crate) view: Rc<View>,
}

impl Entry {
    pub(crate) fn new(job: Job, view: &Rc<View>) -> Self {
        let state = JobState::of(&job.job_state);
        let tasks = (!job.array_task_string.is_empty())
            .then(|| arrays::tasks(&job.array_task_string))
            .filter(|tasks| !tasks.is_empty());
        Self { job, state, tasks, tier: 0, view: Rc::clone(view) }
    }

    pub(crate) fn is(&self, state: JobState) -> bool {
        self.state.is(state)
    }

    /// A moment on the wire.
    pub(crate) fn at(number: Number) -> i64 {
        number.get().and_then(|number| i64::try_from(number).ok()).unwrap_or(0)
    }

    /// Which task of an array it is, if it is one alone.
    pub(crate) fn task(&self) -> Option<u64> {
        self.job.array_task_id.get()
    }

    /// Whether its record belongs to a heterogeneous job.
    pub(crate) fn het(&self) -> Option<u64> {
        self.job.het_job_id.get().filter(|id| *id != 0)
    }

    /// How long it has run, in seconds.
    pub(crate) fn time_used(&self) -> i64 {
        let start = Self::at(self.job.start_time);
        let before = Self::at(self.job.pre_sus_time);
        if start == 0 || self.is(JobState::PENDING) {
            return 0;
        }
        if self.is(JobState::SUSPENDED) {
            return before;
        }
        let end = Self::at(self.job.end_time);
        let end = if self.is(JobState::RUNNING) || end == 0 { self.view.clock.now } else { end };
        match Self::at(self.job.suspend_time) {
            0 => end - start,
            suspended => end - suspended + before,
        }
    }

    /// Seconds that it may still run; `None` if there is no limit.
    pub(crate) fn time_left(&self) -> Option<i64> {
        let limit = self.job.time_limit.get()?;
        Some(i64::try_from(limit).ok()?.saturating_mul(60) - self.time_used())
    }

    /// Why it waits, or ended as it did.
    pub(crate) fn reason(&self) -> &str {
        match self.job.state_description.as_str() {
            "" => &self.job.state_reason,
            description => description,
        }
    }
}
