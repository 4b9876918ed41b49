//! Signals from outside: `scancel`, with and without `--signal`.

use crate::{
    ArrayTasks, ExitCode, Fact, Job, JobId, JobState, JobTarget, Signal, SlurmError, Slurmctld,
    Time, Trap, UserName, lifecycle::STOP, slurmctld::Event,
};

impl Slurmctld {
    /// Cancels a job, an array or tasks of one, as `scancel` does.
    pub fn cancel(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        self.signal(now, target, Signal::Kill, by)
    }

    /// Sends a signal to a job's script, as `scancel --signal` does. KILL cancels it.
    pub fn signal(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        signal: Signal,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let target = target.into();
        let known = self.records_of(&target).into_iter().find_map(Result::ok);
        self.may(known.unwrap_or_else(|| target.job()), by)?;
        match &target {
            JobTarget::Job(_) => self.signal_all(now, &target, signal),
            JobTarget::Tasks(array, tasks) => {
                let mut left = tasks.clone();
                let mut answer = Ok(());
                let place = self.job(*array).and_then(|job| job.array.clone());
                if let Some(ArrayTasks::Several(waiting)) = place.map(|place| place.tasks)
                    && waiting.overlaps(tasks)
                {
                    left.subtract(&waiting);
                    answer = self.signal_waiting(now, *array, tasks, signal);
                }
                if left.is_empty() {
                    return answer;
                }
                let rest = JobTarget::Tasks(*array, left);
                answer.and(self.each_record(&rest, |it, job| it.signal_one(now, job, signal)))
            }
        }
    }

    /// A job, or every record of an array: all of them done is the only "already done".
    fn signal_all(
        &mut self,
        now: Time,
        target: &JobTarget,
        signal: Signal,
    ) -> Result<(), SlurmError> {
        let records = self.records_of(target);
        let (mut done, mut answer) = (0, Ok(()));
        for record in &records {
            match record.and_then(|job| self.signal_one(now, job, signal)) {
                Err(SlurmError::AlreadyDone) => done += 1,
                other => answer = answer.and(other),
            }
        }
        if answer.is_ok() && done == records.len() {
            return Err(SlurmError::AlreadyDone);
        }
        answer
    }

    /// Tasks that wait together are cancelled without ever having had a record.
    fn signal_waiting(
        &mut self,
        now: Time,
        array: JobId,
        tasks: &crate::IndexSet,
        signal: Signal,
    ) -> Result<(), SlurmError> {
        if signal != Signal::Kill {
            return Err(SlurmError::TransitionStateNoUpdate);
        }
        let place = self.job(array).and_then(|job| job.array.clone());
        let Some(ArrayTasks::Several(waiting)) = place.map(|place| place.tasks) else {
            return Ok(());
        };
        let mut rest = (*waiting).clone();
        rest.subtract(tasks);
        if rest.is_empty() {
            self.end_pending(now, array, JobState::Cancelled);
        } else {
            if let Some(array) = self.arrays.get_mut(&array) {
                array.failed = true;
            }
            self.keep_tasks(array, rest);
            self.ask_for_cycle(now);
        }
        Ok(())
    }

    fn signal_one(&mut self, now: Time, job: JobId, signal: Signal) -> Result<(), SlurmError> {
        let record = self.job(job).ok_or(SlurmError::InvalidJobId)?;
        match (record.state, signal) {
            (JobState::Pending, Signal::Kill) if record.completing => {
                // It was to run again; now it isn't.
                if let Some(record) = self.job_mut(job) {
                    let (state, exit) = (JobState::Cancelled, record.exit);
                    (record.state, record.end_time) = (state, Some(now));
                    self.facts.push(Fact::JobEnded { job, state, exit, completing: true });
                }
            }
            (JobState::Pending, Signal::Kill) => self.end_pending(now, job, JobState::Cancelled),
            (JobState::Running | JobState::Suspended, Signal::Kill) => {
                let reason = record.reason.clone();
                self.stop(now, job, JobState::Cancelled, reason);
            }
            (JobState::Running, _) => {
                self.message(now, job);
                self.deliver(now, job, signal);
            }
            (JobState::Pending | JobState::Suspended, _) => {
                return Err(SlurmError::TransitionStateNoUpdate);
            }
            _ => return Err(SlurmError::AlreadyDone),
        }
        Ok(())
    }

    pub(crate) fn permitted(&self, job: JobId, by: &UserName) -> Result<&Job, SlurmError> {
        let known = self.job(job).or_else(|| self.some_task(job));
        let job = known.ok_or(SlurmError::InvalidJobId)?;
        let may = job.submission.user == *by || Self::is_operator(by);
        may.then_some(job).ok_or(SlurmError::AccessDenied)
    }

    pub(crate) fn deliver(&mut self, now: Time, job: JobId, signal: Signal) {
        let Some(record) = self.job(job).filter(|job| job.script_lives) else { return };
        if record.batch_host().is_some_and(|place| self.nodes[place].silent) {
            return;
        }
        let exit = match record.behaviour.traps.get(&signal) {
            Some(Trap::Ignore) => return,
            Some(Trap::Exit(code)) => ExitCode::code(*code),
            None if matches!(signal, Signal::Cont | Signal::Stop) => return,
            None => ExitCode::signal(signal.number()),
        };
        let run = record.run;
        self.events.push(now + STOP, Event::ScriptEnds { job, run, exit });
    }
}
