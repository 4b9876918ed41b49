//! Taking a job in: is it understood, may the user ask for it, could it ever run?
//!
//! ```text
//!   understood? ──▶ gets a number ──▶ dependency sound? ──▶ could it ever run? ──▶ waits
//!        │no                                │no                    │no
//!     refused                     refused, number gone      refused, and FAILED stays to be seen
//! ```

use std::sync::Arc;

use crate::{
    ArrayPlace, ArrayTasks, Begin, ExitCode, Fact, IndexSet, Job, JobId, JobState, LicenseAsk,
    PartitionName, Reason, Release, SlurmError, Slurmctld, Span, Submission, Suspended, Time,
    TimeLimit, array::Array, dependency::Dependency, script, select::Ask,
};

/// A submission that was understood.
struct Understood {
    /// The highest tier first.
    partitions: Vec<usize>,
    /// The one that was named first: it gives what the job doesn't say.
    primary: usize,
    listed: Arc<[PartitionName]>,
    ask: Ask,
    array: Option<(IndexSet, u32)>,
    licenses: LicenseAsk,
    times: Times,
}

/// When it may begin and must end.
struct Times {
    begin: Option<Time>,
    deadline: Option<Time>,
    limit: Option<TimeLimit>,
    min: Option<Span>,
}

impl Slurmctld {
    /// Queues a job. It never starts here: the next cycle looks at it.
    pub fn submit(&mut self, now: Time, submission: Submission) -> Result<JobId, SlurmError> {
        let understood = self.understand(now, &submission)?;
        let id = self.next_id()?;
        if submission.reservation.as_deref().is_some_and(|name| !name.is_empty()) {
            return Err(SlurmError::ReservationInvalid);
        }
        let dependency =
            self.read_dependency(id, submission.dependency.as_deref().unwrap_or(""))?;
        let held = submission.hold;
        let mut job = self.record(now, id, submission, understood, dependency);
        job.priority = self.first_priority(now, &job);
        let verdict = self.verdict(&job);
        let tried = if verdict.fits { job.partitions[0] } else { verdict.partition };
        job.partition = self.partition_spec(tried).name.clone();
        if verdict.fits {
            job.listed = self.names_of(&job.partitions);
        }
        let is_array = job.array.is_some();
        self.stats.submitted += job.array.as_ref().map_or(1, |place| place.n_tasks() as u64);
        self.remember(job);
        self.facts.push(Fact::JobSubmitted { job: id });
        if let Err(error) = verdict.answer {
            self.fail_submitted(now, id);
            return Err(error);
        }
        if is_array && !held {
            // The next cycle is the first that asks an array.
            self.recheck.insert(id);
        } else {
            self.requeue_eligible(now, id);
            self.compare_with_queue(now, id);
        }
        // Whoever waits for something else says so when it is looked at next.
        let over = self.job(id).is_some_and(|job| job.state.is_end());
        let shows = !held && (is_array || over || self.is_queued(id));
        if let Some(reason) = verdict.reason.filter(|_| shows) {
            self.set_reason(id, reason);
        }
        self.schedule_deadline(now, id);
        self.ask_for_cycle(now);
        Ok(id)
    }

    fn understand(&self, now: Time, submission: &Submission) -> Result<Understood, SlurmError> {
        refuse_what_only_operators_may(submission)?;
        self.refuse_odd_externals(submission)?;
        let params = self.params();
        let array = match &submission.array {
            Some(spec) => {
                let read = spec.read(params.max_array_size);
                Some(read.ok_or(SlurmError::InvalidArray)?)
            }
            None => None,
        };
        let n_tasks = array.as_ref().map_or(1, |(tasks, _)| tasks.len());
        if params.max_job_count <= self.jobs.len() + self.n_unsplit + n_tasks {
            return Err(SlurmError::TooManyJobs);
        }
        let named = self.find_partitions(submission)?;
        let partitions = self.open_partitions(&named)?;
        let (primary, listed) = if partitions == named && !submission.partitions.is_empty() {
            let first = self.partition_places(&submission.partitions[..1])?;
            (first[0], submission.partitions.as_slice().into())
        } else {
            (partitions[0], self.names_of(&partitions))
        };
        self.find_qos(submission)?;
        let times = self.find_times(now, submission, primary, &partitions)?;
        let licenses = self.find_licenses(submission.licenses.as_deref())?;
        let mut ask = self.ask(submission, primary)?;
        self.check_partitions(submission, &mut ask, primary, &partitions)?;
        Ok(Understood { partitions, primary, listed, ask, array, licenses, times })
    }

    /// What an external job can't be.
    fn refuse_odd_externals(&self, submission: &Submission) -> Result<(), SlurmError> {
        match submission {
            Submission { external: false, .. } => Ok(()),
            _ if self.config.release() < Release::V26_05 => {
                Err(SlurmError::ExternalJobsNotSupported)
            }
            Submission { script, .. } if !script.is_empty() => Err(SlurmError::InvalidExternalJob),
            Submission { array: Some(_), .. } => Err(SlurmError::InvalidArray),
            Submission { .. } => Ok(()),
        }
    }

    /// The partitions' names.
    pub(crate) fn names_of(&self, places: &[usize]) -> Arc<[PartitionName]> {
        places.iter().map(|place| self.partition_spec(*place).name.clone()).collect()
    }

    fn find_partitions(&self, submission: &Submission) -> Result<Vec<usize>, SlurmError> {
        let all = self.config.partitions();
        if submission.partitions.is_empty() {
            let default = all.iter().position(|partition| partition.default);
            return default.map(|at| vec![at]).ok_or(SlurmError::DefaultPartitionNotSet);
        }
        self.partition_places(&submission.partitions)
    }

    /// There is `normal`, or what the accounting has.
    fn find_qos(&self, submission: &Submission) -> Result<(), SlurmError> {
        let qos = submission.qos.as_deref().unwrap_or_default();
        let known = qos.is_empty() || self.qos.as_ref().is_none_or(|names| names.contains(qos));
        known.then_some(()).ok_or(SlurmError::InvalidQos)
    }

    fn find_times(
        &self,
        now: Time,
        submission: &Submission,
        primary: usize,
        partitions: &[usize],
    ) -> Result<Times, SlurmError> {
        let at = |begin| self.moment(now, begin);
        let begin = submission.begin.map(at).filter(|begin| now < *begin);
        let deadline = submission.deadline.map(at);
        let spec = self.partition_spec(primary);
        let limit = submission.time_limit.or(spec.default_time.map(TimeLimit::Of));
        let mut min = submission.time_min;
        if let (Some(min), Some(TimeLimit::Of(limit))) = (min, limit)
            && limit < min
        {
            return Err(SlurmError::InvalidTimeMinLimit);
        }
        let longest = partitions.iter().map(|place| self.partition_spec(*place).max_time);
        let all_shorter = |min: Span| longest.clone().all(|max| max.is_some_and(|max| max < min));
        if min.is_some_and(all_shorter) {
            return Err(SlurmError::InvalidTimeMinLimit);
        }
        if let Some(deadline) = deadline {
            let earliest = begin.unwrap_or(now);
            let too_late = |span: Span| deadline < earliest + span;
            match (min, limit) {
                _ if deadline < earliest => return Err(SlurmError::InvalidTimeLimit),
                (Some(min), _) if too_late(min) => return Err(SlurmError::InvalidTimeMinLimit),
                (None, Some(TimeLimit::Of(limit))) if too_late(limit) => {
                    return Err(SlurmError::InvalidTimeLimit);
                }
                (None, None) => min = Some(Span::mins(1)),
                _ => {}
            }
        }
        Ok(Times { begin, deadline, limit, min })
    }

    /// The point in time that somebody means who says so now.
    pub(crate) fn moment(&self, now: Time, begin: Begin) -> Time {
        const DAY: u64 = 86_400;
        match begin {
            Begin::At(time) => time,
            // The clock that counts shows whole seconds.
            Begin::After(span) => whole_second(now) + span,
            Begin::Unix(seconds) => self.epoch.time_of_unix(seconds),
            Begin::TimeOfDay(clock) => {
                let today = self.epoch.unix(now) / DAY * DAY;
                let at = today + clock.as_secs();
                let passed = at <= self.epoch.unix(now);
                self.epoch.time_of_unix(if passed { at + DAY } else { at })
            }
        }
    }

    /// Licences that exist, and in that number.
    pub(crate) fn find_licenses(&self, text: Option<&str>) -> Result<LicenseAsk, SlurmError> {
        let ask = LicenseAsk::parse(text.unwrap_or(""));
        let ask = ask.filter(|ask| self.licenses.could_give(ask));
        ask.ok_or(SlurmError::InvalidLicenses)
    }

    /// The next number that no job has. Before `MaxJobId` they begin again at `FirstJobId`.
    pub(crate) fn next_id(&mut self) -> Result<JobId, SlurmError> {
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
        understood: Understood,
        dependency: Dependency,
    ) -> Job {
        let Understood { partitions, primary, listed, ask, array, licenses, times } = understood;
        let held = submission.hold;
        let run = self.next_run();
        let spec = self.partition_spec(primary);
        let place = |(tasks, throttle): (IndexSet, u32)| ArrayPlace {
            job: id,
            tasks: ArrayTasks::Several(tasks.into()),
            throttle,
        };
        Job {
            id,
            array: array.map(place),
            partition: spec.name.clone(),
            listed,
            state: JobState::Pending,
            completing: false,
            configuring: false,
            special_exit: false,
            reason: if held { Reason::JobHeldUser } else { Reason::None },
            priority: 0,
            submit_time: now,
            eligible_time: None,
            begin_time: times.begin,
            start_time: None,
            expected_start: None,
            end_time: None,
            time_limit: match times.limit {
                Some(TimeLimit::Of(span)) => Some(span),
                Some(TimeLimit::Unlimited) => None,
                None => spec.max_time,
            },
            time_min: times.min,
            deadline: times.deadline,
            suspended: Suspended::default(),
            licenses,
            allocation: None,
            exit: ExitCode::default(),
            restarts: 0,
            requeue: submission.requeue.unwrap_or(self.params().job_requeue),
            comment: submission.comment.clone(),
            behaviour: Arc::new(script::behaviour(&submission, self.default_run_time)),
            priority_given: submission.priority.is_some()
                && Self::is_operator(submission.submitter()),
            coreless: false,
            keeps_others_out: false,
            script_lives: false,
            left: crate::IndexSet::new(),
            limit_given: times.limit.is_some(),
            submission: Arc::new(submission),
            ask: Arc::new(ask),
            partitions,
            dependency,
            timer: None,
            run,
        }
    }

    /// Takes a record in, with all that leads to it.
    pub(crate) fn remember(&mut self, job: Job) {
        for other in job.dependency.jobs() {
            self.dependents.entry(other).or_default().insert(job.id);
        }
        self.any_singleton |= job.dependency.is_singleton();
        let name = (job.submission.user.clone(), job.submission.name.clone());
        self.namesakes.entry(name).or_default().insert(job.id);
        if let Some(place) = &job.array {
            let array = self.arrays.entry(place.job).or_default();
            match &place.tasks {
                ArrayTasks::One(task) => _ = array.split.insert(*task, job.id),
                ArrayTasks::Several(tasks) => {
                    *array = Array { throttle: place.throttle, ..Array::default() };
                    self.n_unsplit += tasks.len() - 1;
                }
            }
        }
        self.jobs.insert(job.id, Arc::new(job));
    }

    /// No set of nodes could ever hold it: slurmctld says so, and keeps what failed to be seen.
    fn fail_submitted(&mut self, now: Time, id: JobId) {
        if let Some(record) = self.job_mut(id) {
            record.reason = Reason::BadConstraints;
            record.exit = ExitCode::signal(1);
            record.eligible_time = Some(now);
        }
        self.end_pending(now, id, JobState::Failed);
    }
}

fn refuse_what_only_operators_may(submission: &Submission) -> Result<(), SlurmError> {
    if Slurmctld::is_operator(submission.submitter()) {
        return Ok(());
    }
    if submission.nice < 0 {
        return Err(SlurmError::InvalidNice);
    }
    if submission.admin_comment.is_empty() { Ok(()) } else { Err(SlurmError::AccessDenied) }
}

/// What `time()` says.
pub(crate) const fn whole_second(now: Time) -> Time {
    Time::from_ms(now.as_secs() * 1000)
}
