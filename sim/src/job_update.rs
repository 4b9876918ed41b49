//! What users and operators change: jobs that wait or run.

use crate::{
    Begin, Fact, JobId, JobState, PartitionName, Reason, SlurmError, Slurmctld, Time, TimeLimit,
    UserName,
};

/// A change to a job, as `scontrol update job` makes it. What is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobUpdate {
    /// Another wall-clock limit; only operators may raise it.
    pub time_limit: Option<TimeLimit>,
    /// Another priority; only operators may give one.
    pub priority: Option<u32>,
    /// Hold (`true`) or release (`false`) it.
    pub hold: Option<bool>,
    /// Another comment.
    pub comment: Option<String>,
    /// Other partitions.
    pub partitions: Option<Vec<PartitionName>>,
    /// Other fewest and most nodes.
    pub nodes: Option<(u32, Option<u32>)>,
    /// Another begin time.
    pub begin: Option<Begin>,
}

impl Slurmctld {
    /// Holds a waiting job.
    pub fn hold(&mut self, now: Time, job: JobId, by: &UserName) -> Result<(), SlurmError> {
        let record = self.permitted(job, by)?;
        if record.state != JobState::Pending {
            return Err(SlurmError::JobNotPending);
        }
        let own = record.submission.user == *by;
        self.dequeue(job);
        if let Some(record) = self.job_mut(job) {
            (record.priority, record.expected_start) = (0, None);
        }
        self.changed(job, "held");
        self.set_reason(job, if own { Reason::JobHeldUser } else { Reason::JobHeldAdmin });
        self.ask_for_cycle(now);
        Ok(())
    }

    /// Lets a held job go. What an operator holds only an operator releases.
    pub fn release(&mut self, now: Time, job: JobId, by: &UserName) -> Result<(), SlurmError> {
        let record = self.permitted(job, by)?;
        if record.state != JobState::Pending {
            return Err(SlurmError::JobNotPending);
        }
        if record.reason == Reason::JobHeldAdmin && !Self::is_operator(by) {
            return Err(SlurmError::AccessDenied);
        }
        if record.priority != 0 {
            return Ok(());
        }
        let copy = record.clone();
        let priority = self.fresh_priority(now, &copy);
        if let Some(record) = self.job_mut(job) {
            (record.priority, record.priority_given) = (priority, false);
        }
        self.changed(job, "released");
        self.set_reason(job, Reason::None);
        self.requeue_eligible(now, job);
        self.ask_for_cycle(now);
        Ok(())
    }

    /// Changes a job.
    pub fn update_job(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        if self.permitted(job, by)?.state.is_end() {
            return Err(SlurmError::AlreadyDone);
        }
        if let Some(hold) = update.hold {
            if hold {
                self.hold(now, job, by)?;
            } else {
                self.release(now, job, by)?;
            }
        }
        if let Some(limit) = update.time_limit {
            self.update_limit(now, job, limit, by)?;
        }
        if let Some(comment) = &update.comment
            && let Some(record) = self.job_mut(job)
        {
            record.comment.clone_from(comment);
        }
        self.update_pending(now, job, update, by)
    }

    fn update_pending(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let JobUpdate { priority, partitions, nodes, begin, .. } = update;
        if priority.is_none() && partitions.is_none() && nodes.is_none() && begin.is_none() {
            return Ok(());
        }
        if self.permitted(job, by)?.state != JobState::Pending {
            return Err(SlurmError::JobNotPending);
        }
        if priority.is_some() && !Self::is_operator(by) {
            return Err(SlurmError::AccessDenied);
        }
        let places = partitions.as_ref().map(|names| self.partition_places(names)).transpose()?;
        self.dequeue(job);
        let first = places.as_ref().and_then(|places| places.first().copied());
        let name = first.map(|place| self.partition_spec(place).name.clone());
        if let Some(record) = self.job_mut(job) {
            record.priority = priority.unwrap_or(record.priority);
            record.priority_given |= priority.is_some();
            record.partitions = places.unwrap_or_else(|| record.partitions.clone());
            record.partition = name.unwrap_or_else(|| record.partition.clone());
            if let Some((min, max)) = nodes {
                let mut ask = (*record.ask).clone();
                (ask.min_nodes, ask.max_nodes) = ((*min).max(1), *max);
                record.ask = ask.into();
            }
            if let Some(begin) = begin {
                record.begin_time = Some(match begin {
                    Begin::At(time) => *time,
                    Begin::After(span) => now + *span,
                });
            }
        }
        self.changed(job, "changed");
        self.requeue_eligible(now, job);
        self.ask_for_cycle(now);
        Ok(())
    }

    pub(crate) fn partition_places(
        &self,
        names: &[PartitionName],
    ) -> Result<Vec<usize>, SlurmError> {
        let all = self.config.partitions();
        let place = |name: &PartitionName| all.iter().position(|other| other.name == *name);
        let places: Option<Vec<_>> = names.iter().map(place).collect();
        let places = places.filter(|places| !places.is_empty());
        places.ok_or(SlurmError::InvalidPartitionName)
    }

    fn update_limit(
        &mut self,
        now: Time,
        job: JobId,
        limit: TimeLimit,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let limit = match limit {
            TimeLimit::Of(span) => Some(span),
            TimeLimit::Unlimited => None,
        };
        let before = self.permitted(job, by)?.time_limit;
        let raised = before.is_some_and(|before| limit.is_none_or(|limit| before < limit));
        if raised && !Self::is_operator(by) {
            return Err(SlurmError::AccessDenied);
        }
        if let Some(record) = self.job_mut(job) {
            record.time_limit = limit;
        }
        if self.running.contains(&job) {
            self.schedule_end(now, job);
        }
        self.changed(job, "given another time limit");
        self.ask_for_cycle(now);
        Ok(())
    }

    fn changed(&mut self, job: JobId, change: &str) {
        let change = change.into();
        self.facts.push(Fact::JobChanged { job, change });
    }
}
