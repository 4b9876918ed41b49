//! Taking a job in: is it understood, may the user ask for it, could it ever run?

use std::sync::Arc;

use crate::{
    Begin, ExitCode, Fact, Job, JobBehaviour, JobId, JobState, Reason, SlurmError, Slurmctld,
    Submission, Time, TimeLimit,
    conf::PartitionState,
    dependency::{Dependency, Met},
    script,
    select::Ask,
};

impl Slurmctld {
    /// Queues a job. It never starts here: the next cycle looks at it.
    pub fn submit(&mut self, now: Time, submission: Submission) -> Result<JobId, SlurmError> {
        let params = self.params();
        if params.max_job_count <= self.jobs.len() {
            return Err(SlurmError::TooManyJobs);
        }
        refuse_unmodelled(&submission)?;
        let partitions = self.find_partitions(&submission)?;
        self.refuse_closed(&partitions)?;
        let ask = self.ask(&submission, partitions[0])?;
        let dependency = self.find_dependency(&submission)?;
        if !partitions.iter().any(|partition| self.could_ever_run(&ask, *partition)) {
            return Err(SlurmError::RequestedNodeConfigUnavailable);
        }
        let id = self.next_id()?;
        let mut job = self.record(now, id, submission, partitions, ask, dependency);
        job.priority = self.first_priority(now, &job);
        self.remember(job);
        self.stats.submitted += 1;
        self.facts.push(Fact::JobSubmitted { job: id });
        self.requeue_eligible(now, id);
        self.compare_with_queue(now, id);
        self.ask_for_cycle(now);
        Ok(id)
    }

    fn find_partitions(&self, submission: &Submission) -> Result<Vec<usize>, SlurmError> {
        let all = self.config.partitions();
        if submission.partitions.is_empty() {
            let default = all.iter().position(|partition| partition.default);
            return default.map(|at| vec![at]).ok_or(SlurmError::DefaultPartitionNotSet);
        }
        self.partition_places(&submission.partitions)
    }

    fn refuse_closed(&self, partitions: &[usize]) -> Result<(), SlurmError> {
        let open = partitions.iter().any(|place| match self.partition_spec(*place).state {
            PartitionState::Up | PartitionState::Down => true,
            PartitionState::Drain | PartitionState::Inactive => false,
        });
        open.then_some(()).ok_or(SlurmError::PartitionNotAvail)
    }

    fn find_dependency(&self, submission: &Submission) -> Result<Dependency, SlurmError> {
        let Some(text) = submission.dependency.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(Dependency::default());
        };
        let mut dependency = Dependency::parse(text).ok_or(SlurmError::Dependency)?;
        for id in dependency.jobs().collect::<Vec<_>>() {
            let job = self.job(id).ok_or(SlurmError::Dependency)?;
            dependency.observe(id, job.state, job.exit);
        }
        Ok(dependency)
    }

    /// The next number that no job has. Before `MaxJobId` they begin again at `FirstJobId`.
    fn next_id(&mut self) -> Result<JobId, SlurmError> {
        let (first, max) = (self.params().first_job_id, self.params().max_job_id);
        for _ in first..=max {
            let id = if self.next_job_id < max { self.next_job_id } else { first };
            self.next_job_id = id + 1;
            if !self.jobs.contains_key(&JobId(id)) {
                return Ok(JobId(id));
            }
        }
        Err(SlurmError::TooManyJobs)
    }

    /// Tells runs apart, also those of jobs that had the same number.
    pub(crate) fn next_run(&mut self) -> u32 {
        self.n_runs = self.n_runs.wrapping_add(1);
        self.n_runs
    }

    fn record(
        &mut self,
        now: Time,
        id: JobId,
        submission: Submission,
        partitions: Vec<usize>,
        ask: Ask,
        dependency: Dependency,
    ) -> Job {
        let run = self.next_run();
        let spec = self.partition_spec(partitions[0]);
        let begin_time = submission.begin.map(|begin| match begin {
            Begin::At(time) => time,
            Begin::After(span) => now + span,
        });
        Job {
            id,
            partition: spec.name.clone(),
            state: JobState::Pending,
            completing: false,
            reason: Reason::None,
            priority: 0,
            submit_time: now,
            eligible_time: None,
            begin_time: begin_time.filter(|begin| now < *begin),
            start_time: None,
            expected_start: None,
            end_time: None,
            time_limit: match submission.time_limit {
                Some(TimeLimit::Of(span)) => Some(span),
                Some(TimeLimit::Unlimited) => None,
                None => spec.default_time.or(spec.max_time),
            },
            allocation: None,
            exit: ExitCode::default(),
            restarts: 0,
            requeue: submission.requeue.unwrap_or(self.params().job_requeue),
            comment: submission.comment.clone(),
            behaviour: Arc::new(behaviour(&submission)),
            priority_given: submission.priority.is_some() && Self::is_operator(&submission.user),
            submission: Arc::new(submission),
            ask: Arc::new(ask),
            partitions,
            dependency,
            run,
        }
    }

    fn remember(&mut self, job: Job) {
        for other in job.dependency.jobs() {
            self.dependents.entry(other).or_default().insert(job.id);
        }
        let name = (job.submission.user.clone(), job.submission.name.clone());
        self.namesakes.entry(name).or_default().insert(job.id);
        self.jobs.insert(job.id, Arc::new(job));
    }

    /// Puts a waiting job where it belongs: held, dependent, waiting for its time, or in the queue.
    pub(crate) fn requeue_eligible(&mut self, now: Time, id: JobId) {
        self.dequeue(id);
        let Some(job) = self.job(id).filter(|job| job.state == JobState::Pending) else {
            return;
        };
        if job.priority == 0 {
            let told = matches!(job.reason, Reason::JobHeldUser | Reason::JobHeldAdmin);
            if !told {
                self.set_reason(id, Reason::JobHeldUser);
            }
            return;
        }
        match self.dependency_of(job) {
            Met::Yes => {}
            Met::NotYet => return self.set_reason(id, Reason::Dependency),
            Met::Never => return self.never(now, id),
        }
        match job.begin_time.filter(|begin| now < *begin) {
            Some(begin) => {
                self.begins.insert((begin, id));
                self.set_reason(id, Reason::BeginTime);
            }
            None => self.enqueue(now, id),
        }
    }

    /// Takes a job out of every place where it could wait.
    pub(crate) fn dequeue(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id).cloned() else {
            return;
        };
        for key in self.queue_keys(&job) {
            self.queue.remove(&key);
        }
        if let Some(begin) = job.begin_time {
            self.begins.remove(&(begin, id));
        }
    }

    pub(crate) fn enqueue(&mut self, now: Time, id: JobId) {
        let Some(job) = self.job_mut(id).filter(|job| job.state == JobState::Pending) else {
            return;
        };
        job.eligible_time.get_or_insert(now);
        let waited = matches!(
            job.reason,
            Reason::BeginTime | Reason::Dependency | Reason::JobHeldUser | Reason::JobHeldAdmin
        );
        if waited {
            self.set_reason(id, Reason::None);
        }
        let Some(job) = self.jobs.get(&id).cloned() else {
            return;
        };
        self.note_unseen(now);
        self.queue.extend(self.queue_keys(&job));
        self.unchecked.insert(id);
    }

    fn dependency_of(&self, job: &Job) -> Met {
        let alone = !job.dependency.singleton || {
            let name = (job.submission.user.clone(), job.submission.name.clone());
            let first = self.namesakes.get(&name).and_then(|ids| ids.first());
            first == Some(&job.id)
        };
        job.dependency.met().max(if alone { Met::Yes } else { Met::NotYet })
    }

    fn never(&mut self, now: Time, id: JobId) {
        self.set_reason(id, Reason::DependencyNeverSatisfied);
        let kill = self.params().kill_invalid_depend
            || self.job(id).is_some_and(|job| job.submission.kill_on_invalid_dep);
        if kill {
            self.end_pending(now, id, JobState::Cancelled);
        }
    }
}

/// What Slurm could give only with parts that aren't modelled: refused with Slurm's own words.
fn refuse_unmodelled(submission: &Submission) -> Result<(), SlurmError> {
    let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    if given(&submission.reservation) {
        return Err(SlurmError::ReservationInvalid);
    }
    if given(&submission.licenses) {
        return Err(SlurmError::InvalidLicenses);
    }
    let qos = submission.qos.as_deref().unwrap_or_default();
    if qos.is_empty() || qos == "normal" { Ok(()) } else { Err(SlurmError::InvalidQos) }
}

fn behaviour(submission: &Submission) -> JobBehaviour {
    match &submission.behaviour {
        Some(behaviour) => behaviour.clone(),
        None => script::read_script(&submission.script),
    }
}
