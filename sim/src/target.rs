//! Whom a command is about: `12`, `12_3`, `12_[1-3,7]`.

use crate::{ArrayTasks, IndexSet, Job, JobId, SlurmError, Slurmctld, UserName, array::read_tasks};

/// A job, a whole array, or some of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobTarget {
    /// A job; the number of an array is all of it.
    Job(JobId),
    /// Tasks of an array.
    Tasks(JobId, IndexSet),
}

impl From<JobId> for JobTarget {
    fn from(job: JobId) -> Self {
        Self::Job(job)
    }
}

impl JobTarget {
    /// Reads `12`, `12_*`, `12_3`, `12_[1-3,7]`.
    pub fn parse(text: &str) -> Option<Self> {
        let (job, tasks) = match text.split_once('_') {
            Some((job, tasks)) => (job, Some(tasks).filter(|tasks| *tasks != "*")),
            None => (text, None),
        };
        let job = JobId(job.parse().ok().filter(|number| *number != 0)?);
        match tasks {
            Some(tasks) => read_tasks(tasks, u32::MAX / 2).map(|tasks| Self::Tasks(job, tasks)),
            None => Some(Self::Job(job)),
        }
    }

    /// The job or the array.
    pub const fn job(&self) -> JobId {
        match self {
            Self::Job(job) | Self::Tasks(job, _) => *job,
        }
    }
}

impl Slurmctld {
    /// The jobs that a target is.
    pub fn jobs_of(&self, target: &JobTarget) -> impl Iterator<Item = &Job> {
        let records = self.records_of(target).into_iter();
        records.filter_map(|record| self.job(record.ok()?))
    }

    /// The records that a target is: of an array first the one with the tasks that wait.
    pub(crate) fn records_of(&self, target: &JobTarget) -> Vec<Result<JobId, SlurmError>> {
        match target {
            JobTarget::Job(job) if self.is_array(*job) => {
                self.array_records(*job).map(Ok).collect()
            }
            JobTarget::Job(job) => {
                vec![self.job(*job).map(|job| job.id).ok_or(SlurmError::InvalidJobId)]
            }
            JobTarget::Tasks(array, tasks) => tasks
                .iter()
                .map(|task| {
                    let task = u32::try_from(task).ok();
                    let record = task.and_then(|task| self.task_record(*array, task));
                    record.ok_or(SlurmError::InvalidJobId)
                })
                .collect(),
        }
    }

    /// Does something to every record of a target. The first refusal is the answer, unless
    /// others went through where it is enough that one does.
    pub(crate) fn each_record(
        &mut self,
        target: &JobTarget,
        mut act: impl FnMut(&mut Self, JobId) -> Result<(), SlurmError>,
    ) -> Result<(), SlurmError> {
        let mut answer = Ok(());
        for record in self.records_of(target) {
            let done = record.and_then(|job| act(self, job));
            answer = answer.and(done);
        }
        answer
    }

    /// Gives every task that waits together with others a record of its own, unless all of them
    /// are meant.
    pub(crate) fn split_targets(&mut self, target: &JobTarget) {
        let JobTarget::Tasks(array, wanted) = target else { return };
        let place = self.job(*array).and_then(|job| job.array.as_ref());
        let Some(ArrayTasks::Several(waiting)) = place.map(|place| &place.tasks) else { return };
        let waiting = waiting.clone();
        if wanted.holds(&waiting) {
            return;
        }
        for task in waiting.iter().filter(|task| wanted.contains(*task)) {
            if let Ok(task) = u32::try_from(task) {
                let split = self.split_task(*array, task);
                self.recheck.extend(split);
            }
        }
    }

    /// Whether a user may act on a job: their own, or any as an operator.
    pub(crate) fn may(&self, job: JobId, by: &UserName) -> Result<(), SlurmError> {
        self.permitted(job, by).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_scontrol_writes_them() {
        let tasks = |list: &[usize]| JobTarget::Tasks(JobId(12), list.iter().copied().collect());
        #[rustfmt::skip]
        let rows = [
            ("12",         Some(JobTarget::Job(JobId(12)))),
            ("12_*",       Some(JobTarget::Job(JobId(12)))),
            ("12_3",       Some(tasks(&[3]))),
            ("12_[1-2,7]", Some(tasks(&[1, 2, 7]))),
            ("0",          None),
            ("12_",        None),
            ("twelve",     None),
        ];
        for (text, target) in rows {
            assert_eq!(JobTarget::parse(text), target, "{text}");
        }
    }
}
