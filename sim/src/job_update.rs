//! What users and operators change: jobs that wait or run.
//!
//! Changes are made in slurmctld's own order, and one that is refused ends it: what came before it
//! has happened.

mod priority;
mod shape;

use std::{cmp::Reverse, sync::Arc};

use crate::{
    Begin, Fact, Job, JobId, JobState, JobTarget, MemoryAsk, PartitionName, Reason, SlurmError,
    SlurmNode, Slurmctld, Span, Time, TimeLimit, UserName, conf::PartitionState,
};

/// A change to a job, as `scontrol update job` makes it. What is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobUpdate {
    /// Another wall-clock limit; only operators may raise a running job's.
    pub time_limit: Option<TimeLimit>,
    /// Another shortest limit.
    pub time_min: Option<Span>,
    /// Another priority; only operators may give one.
    pub priority: Option<u32>,
    /// Hold (`true`) or release (`false`) it.
    pub hold: Option<bool>,
    /// With `hold`: as its user would, so that they may release it.
    pub as_user: bool,
    /// Another comment.
    pub comment: Option<String>,
    /// Another comment of the operators'; only they may give one.
    pub admin_comment: Option<String>,
    /// Another name.
    pub name: Option<String>,
    /// Other partitions.
    pub partitions: Option<Vec<PartitionName>>,
    /// Other fewest and most nodes.
    pub nodes: Option<(u32, Option<u32>)>,
    /// Another number of tasks.
    pub tasks: Option<u32>,
    /// Another number of CPUs at least; without it, as many as there are tasks where those change.
    pub cpus: Option<u32>,
    /// Other CPUs for each task.
    pub cpus_per_task: Option<u32>,
    /// Other memory.
    pub memory: Option<MemoryAsk>,
    /// Other features; empty is none.
    pub constraints: Option<String>,
    /// Other nodes that must be part of it; of a running job those that it keeps.
    pub required_nodes: Option<Vec<SlurmNode>>,
    /// Other nodes that must not.
    pub excluded_nodes: Option<Vec<SlurmNode>>,
    /// Another dependency; empty is none.
    pub dependency: Option<String>,
    /// Another begin time.
    pub begin: Option<Begin>,
    /// Another deadline; only operators may give one.
    pub deadline: Option<Begin>,
    /// Another nice; only operators may give a negative one.
    pub nice: Option<i32>,
    /// Other licences; empty is none.
    pub licenses: Option<String>,
    /// `ArrayTaskThrottle`: how many tasks of the array may run at once.
    pub throttle: Option<u32>,
    /// Whether it is queued again when a node fails.
    pub requeue: Option<bool>,
}

impl Slurmctld {
    /// Holds a job, as `scontrol hold` does: an operator's hold only an operator ends.
    pub fn hold(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let update = JobUpdate { hold: Some(true), ..JobUpdate::default() };
        self.update_job(now, target, &update, by)
    }

    /// Lets a held job go.
    pub fn release(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let update = JobUpdate { hold: Some(false), ..JobUpdate::default() };
        self.update_job(now, target, &update, by)
    }

    /// Changes a job, an array, or tasks of one.
    pub fn update_job(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        update: &JobUpdate,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let target = target.into();
        let whole = matches!(target, JobTarget::Job(job) if self.is_array(job));
        if update.throttle.is_some() && !whole {
            self.each_record(&target, |it, job| it.may_update(job, by))?;
            return Err(SlurmError::NotSupported);
        }
        self.split_targets(&target);
        let done = self.each_record(&target, |it, job| it.update_one(now, job, update, by));
        self.ask_for_cycle(now);
        done
    }

    fn may_update(&self, job: JobId, by: &UserName) -> Result<(), SlurmError> {
        match self.may(job, by) {
            Err(SlurmError::AccessDenied) => Err(SlurmError::UserIdMissing),
            other => other,
        }
    }

    fn update_one(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        self.may_update(job, by)?;
        let head = self.job(job).and_then(|job| job.array.as_ref()).map(|place| place.job);
        let over = self.job(job).is_none_or(|job| job.state.is_end());
        if let (Some(throttle), true) = (update.throttle, head == Some(job)) {
            self.set_throttle(now, job, throttle);
            if over {
                return Ok(());
            }
        }
        if over {
            return Err(SlurmError::JobFinished);
        }
        self.dequeue(job);
        let done = self.change(now, job, update, by);
        if self.job(job).is_some_and(|job| job.state == JobState::Pending) {
            self.schedule_deadline(now, job);
            self.recheck.insert(job);
        }
        done
    }

    fn change(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let operator = Self::is_operator(by);
        if update.admin_comment.is_some() && !operator {
            return Err(SlurmError::AccessDenied);
        }
        self.change_partition(job, update)?;
        let licenses = match &update.licenses {
            Some(text) => Some(self.find_licenses(Some(text))?),
            None => None,
        };
        self.change_texts(job, update);
        self.change_shape(job, update)?;
        self.change_limits(now, job, update, operator)?;
        if let (Some(requeue), Some(record)) = (update.requeue, self.job_mut(job)) {
            record.requeue = requeue;
        }
        self.change_priority(now, job, update, by)?;
        self.change_nice(now, job, update, operator)?;
        self.change_request(job, update)?;
        self.change_name(job, update);
        self.change_dependency(now, job, update)?;
        self.change_begin(now, job, update)?;
        if let Some(licenses) = licenses {
            self.change_licenses(job, licenses, operator)?;
        }
        self.count_cpus_again(job);
        self.settle(job, update)
    }

    /// Whatever it waited for before, it is asked anew; but a partition may not want it any more.
    fn settle(&mut self, job: JobId, update: &JobUpdate) -> Result<(), SlurmError> {
        let change = match update.hold {
            Some(true) => "held",
            Some(false) => "released",
            None if update.time_limit.is_some() => "given another time limit",
            None => "changed",
        };
        let only_words = update.comment.is_some() || update.admin_comment.is_some();
        let words = JobUpdate {
            comment: update.comment.clone(),
            admin_comment: update.admin_comment.clone(),
            ..JobUpdate::default()
        };
        if !only_words || *update != words {
            self.facts.push(Fact::JobChanged { job, change: change.into() });
        }
        let Some(record) = self.jobs.get(&job).cloned() else { return Ok(()) };
        let held = matches!(record.reason, Reason::JobHeldAdmin) || record.reason.is_user_hold();
        let keeps = held || record.reason == Reason::Prolog;
        match self.partition_refusal(&record, self.looked_at(&record)) {
            None if keeps => {}
            None => self.set_reason(job, Reason::None),
            Some(
                Reason::PartitionTimeLimit | Reason::PartitionNodeLimit | Reason::PartitionDown,
            ) => {}
            Some(reason) => {
                if !held {
                    self.set_reason(job, reason);
                }
                return Err(SlurmError::RequestedPartConfigUnavailable);
            }
        }
        Ok(())
    }

    /// The partition in which schedulers looked at a job last, or where it runs.
    fn looked_at(&self, job: &Job) -> usize {
        let mut all = self.config.partitions().iter();
        all.position(|spec| spec.name == job.partition).unwrap_or(0)
    }

    pub(crate) fn pending(&self, job: JobId) -> Result<&Job, SlurmError> {
        let job = self.job(job).ok_or(SlurmError::InvalidJobId)?;
        (job.state == JobState::Pending).then_some(job).ok_or(SlurmError::JobNotPending)
    }

    fn change_partition(&mut self, job: JobId, update: &JobUpdate) -> Result<(), SlurmError> {
        let Some(names) = &update.partitions else { return Ok(()) };
        let current = self.job(job).map(|job| job.partitions.clone()).unwrap_or_default();
        let same = current.len() == names.len()
            && current.iter().zip(names).all(|(at, name)| self.partition_spec(*at).name == *name);
        if same {
            return Ok(());
        }
        self.pending(job)?;
        let places = self.partition_places(names)?;
        // The one that was named first counts, whatever its tier.
        let first = self.partition_places(&names[..1])?[0];
        match self.partition_spec(first).state {
            PartitionState::Up | PartitionState::Down => {}
            PartitionState::Drain | PartitionState::Inactive => {
                return Err(SlurmError::PartitionNotAvail);
            }
        }
        let spec = self.partition_spec(first).clone();
        let listed = self.names_of(&places);
        if let Some(record) = self.job_mut(job) {
            // Each has been asked in turn, so the last one is what the job is in.
            record.partition = listed.last().unwrap_or(&spec.name).clone();
            record.partitions = places;
            if !record.limit_given {
                record.time_limit = spec.default_time.or(spec.max_time);
            }
            record.listed = listed.clone();
            Arc::make_mut(&mut record.submission).partitions = listed.to_vec();
        }
        let min_cpus = self.pending(job)?.ask.min_cpus;
        self.ask_again(job)?;
        if let Some(record) = self.job_mut(job) {
            // As the last change of its tasks left it.
            Arc::make_mut(&mut record.ask).min_cpus = min_cpus;
        }
        Ok(())
    }

    pub(crate) fn partition_places(
        &self,
        names: &[PartitionName],
    ) -> Result<Vec<usize>, SlurmError> {
        let all = self.config.partitions();
        let place = |name: &PartitionName| all.iter().position(|other| other.name == *name);
        let named: Option<Vec<_>> = names.iter().map(place).collect();
        let mut places = vec![];
        for place in named.unwrap_or_default() {
            // Named twice is named once.
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places.sort_by_key(|place| Reverse(self.partition_spec(*place).priority_tier));
        (!places.is_empty()).then_some(places).ok_or(SlurmError::InvalidPartitionName)
    }

    fn change_texts(&mut self, job: JobId, update: &JobUpdate) {
        let Some(record) = self.job_mut(job) else { return };
        if let Some(comment) = &update.comment {
            record.comment.clone_from(comment);
        }
        if let Some(comment) = &update.admin_comment {
            Arc::make_mut(&mut record.submission).admin_comment.clone_from(comment);
        }
    }

    fn change_limits(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
        operator: bool,
    ) -> Result<(), SlurmError> {
        if let Some(limit) = update.time_limit {
            self.change_limit(now, job, limit, update.time_min, operator)?;
        }
        if let Some(least) = update.time_min
            && let Some(record) = self.job_mut(job).filter(|job| job.state == JobState::Pending)
        {
            if record.time_limit.is_some_and(|limit| limit < least) {
                return Err(SlurmError::InvalidTimeMinLimit);
            }
            record.time_min = Some(least);
        }
        let Some(deadline) = update.deadline else { return Ok(()) };
        let deadline = self.moment(now, deadline);
        let Some(record) = self.job_mut(job).filter(|job| job.state != JobState::Running) else {
            return Ok(());
        };
        if deadline < now {
            return Err(SlurmError::InvalidTimeValue);
        }
        if !operator {
            return Err(SlurmError::AccessDenied);
        }
        record.deadline = Some(deadline);
        Ok(())
    }

    fn change_limit(
        &mut self,
        now: Time,
        job: JobId,
        limit: TimeLimit,
        time_min: Option<Span>,
        operator: bool,
    ) -> Result<(), SlurmError> {
        let limit = match limit {
            TimeLimit::Of(span) => Some(span),
            TimeLimit::Unlimited => None,
        };
        let record = self.job(job).ok_or(SlurmError::InvalidJobId)?;
        if record.limit_given && record.time_limit == limit {
            return Ok(());
        }
        let longest = Span::MAX;
        let (before, after) = (record.time_limit.unwrap_or(longest), limit.unwrap_or(longest));
        let max = self.partition_spec(record.partitions[0]).max_time.unwrap_or(longest);
        let lower = after < before || !record.limit_given;
        let may = operator || lower || (record.state == JobState::Pending && after <= max);
        if !may {
            return Err(SlurmError::AccessDenied);
        }
        let least = time_min.or(record.time_min);
        if (operator || lower) && least.is_some_and(|least| after < least) {
            return Err(SlurmError::InvalidTimeMinLimit);
        }
        if let Some(record) = self.job_mut(job) {
            (record.time_limit, record.limit_given) = (limit, true);
        }
        if self.running.contains(&job) {
            self.schedule_end(now, job);
        }
        Ok(())
    }

    fn change_name(&mut self, job: JobId, update: &JobUpdate) {
        let Some(name) = &update.name else { return };
        let Some(record) = self.job_mut(job).filter(|job| job.submission.name != *name) else {
            return;
        };
        let old = (record.submission.user.clone(), record.submission.name.clone());
        Arc::make_mut(&mut record.submission).name.clone_from(name);
        let new = (old.0.clone(), name.clone());
        if let Some(left) = self.namesakes.get_mut(&old) {
            left.remove(&job);
        }
        let left = self.namesakes.get(&old).into_iter().flatten().copied().collect::<Vec<_>>();
        self.recheck.extend(left);
        self.namesakes.entry(new).or_default().insert(job);
    }

    fn change_dependency(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
    ) -> Result<(), SlurmError> {
        let Some(text) = &update.dependency else { return Ok(()) };
        self.pending(job)?;
        let dependency = self.read_dependency(job, text)?;
        for other in dependency.jobs() {
            self.dependents.entry(other).or_default().insert(job);
        }
        self.any_singleton |= dependency.is_singleton();
        if let Some(record) = self.job_mut(job) {
            record.dependency = dependency;
            Arc::make_mut(&mut record.submission).dependency = Some(text.clone());
            if record.reason == Reason::DependencyNeverSatisfied {
                record.reason = Reason::None;
            }
        }
        self.requeue_eligible(now, job);
        self.dequeue(job);
        Ok(())
    }

    fn change_begin(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
    ) -> Result<(), SlurmError> {
        let Some(begin) = update.begin else { return Ok(()) };
        self.pending(job)?;
        let begin = self.moment(now, begin).max(now);
        if let Some(record) = self.job_mut(job) {
            record.begin_time = Some(begin);
            record.eligible_time = None;
        }
        Ok(())
    }

    fn change_licenses(
        &mut self,
        job: JobId,
        licenses: crate::LicenseAsk,
        operator: bool,
    ) -> Result<(), SlurmError> {
        let record = self.job(job).ok_or(SlurmError::InvalidJobId)?;
        match record.state {
            JobState::Pending => {}
            JobState::Running if !operator && !licenses.is_empty() => {
                return Err(SlurmError::AccessDenied);
            }
            JobState::Running => {
                let before = record.licenses.clone();
                self.licenses.give_back(&before);
                self.licenses.take(&licenses);
            }
            JobState::Suspended
            | JobState::Completed
            | JobState::Cancelled
            | JobState::Failed
            | JobState::Timeout
            | JobState::NodeFail
            | JobState::Deadline
            | JobState::OutOfMemory
            | JobState::BootFail => return Err(SlurmError::JobNotPendingNorRunning),
        }
        if let Some(record) = self.job_mut(job) {
            record.licenses = licenses;
        }
        Ok(())
    }
}
