//! A job's life after it got its nodes: script end, signals, limit, lost node; then forgetting it.

use std::sync::Arc;

use crate::{
    Allocation, ExitCode, Fact, Job, JobId, JobState, Reason, Signal, SlurmError, Slurmctld, Span,
    Time, Trap, UserName, slurmctld::Event,
};

/// From the allocation until the script runs.
const LAUNCH: Span = Span::ms(50);
/// From a signal until its process is gone, as slurmctld sees it.
const STOP: Span = Span::ms(100);
/// Limits are checked so often.
const LIMIT_CHECK: Span = Span::secs(30);
/// Old jobs are forgotten so often.
const PURGE_CHECK: Span = Span::secs(60);

impl Slurmctld {
    /// Cancels a job, as `scancel` does.
    pub fn cancel(&mut self, now: Time, job: JobId, by: &UserName) -> Result<(), SlurmError> {
        let record = self.permitted(job, by)?;
        match record.state {
            JobState::Pending => self.end_pending(now, job, JobState::Cancelled),
            JobState::Running => self.stop(now, job, JobState::Cancelled, Reason::None),
            JobState::Completed
            | JobState::Cancelled
            | JobState::Failed
            | JobState::Timeout
            | JobState::NodeFail => return Err(SlurmError::AlreadyDone),
        }
        Ok(())
    }

    /// Sends a signal to a job's script, as `scancel --signal` does.
    pub fn signal(
        &mut self,
        now: Time,
        job: JobId,
        signal: Signal,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let record = self.permitted(job, by)?;
        match (record.state, signal) {
            (JobState::Running | JobState::Pending, Signal::Kill) => self.cancel(now, job, by),
            (JobState::Pending, _) => Err(SlurmError::TransitionStateNoUpdate),
            (JobState::Running, _) => {
                self.deliver(now, job, signal);
                Ok(())
            }
            _ => Err(SlurmError::AlreadyDone),
        }
    }

    pub(crate) fn permitted(&self, job: JobId, by: &UserName) -> Result<&Job, SlurmError> {
        let job = self.job(job).ok_or(SlurmError::InvalidJobId)?;
        let may = job.submission.user == *by || Self::is_operator(by);
        may.then_some(job).ok_or(SlurmError::AccessDenied)
    }

    fn deliver(&mut self, now: Time, job: JobId, signal: Signal) {
        let Some(record) = self.job(job) else { return };
        let exit = match record.behaviour.traps.get(&signal) {
            Some(Trap::Ignore) => return,
            Some(Trap::Exit(code)) => ExitCode::code(*code),
            None if matches!(signal, Signal::Cont | Signal::Stop) => return,
            None => ExitCode::signal(signal.number()),
        };
        let run = record.run;
        self.events.push(now + STOP, Event::ScriptEnds { job, run, exit });
    }

    pub(crate) fn happen(&mut self, now: Time, event: Event) {
        match event {
            Event::ScriptEnds { job, run, exit } if self.runs(job, run) => {
                self.script_ended(now, job, exit);
            }
            Event::LimitPasses { job, run } if self.runs(job, run) => self.check_limit(now, job),
            Event::NodesFree { job, run }
                if self.job(job).is_some_and(|j| j.completing && j.run == run) =>
            {
                self.release_nodes(now, job);
            }
            Event::Purge { job, ended }
                if self.job(job).is_some_and(|j| j.end_time == Some(ended)) =>
            {
                self.purge(job);
            }
            Event::NodeRegisters { node } => self.node_registers(now, node),
            Event::ScriptEnds { .. }
            | Event::LimitPasses { .. }
            | Event::NodesFree { .. }
            | Event::Purge { .. } => {}
        }
    }

    fn runs(&self, job: JobId, run: u32) -> bool {
        self.job(job).is_some_and(|job| job.state == JobState::Running && job.run == run)
    }

    pub(crate) fn start_job(
        &mut self,
        now: Time,
        job: JobId,
        partition: usize,
        allocation: &Arc<Allocation>,
        backfilled: bool,
    ) {
        self.dequeue(job);
        let spec = self.partition_spec(partition);
        let (name, exclusive) = (spec.name.clone(), spec.exclusive);
        let Some(record) = self.job_mut(job) else {
            return;
        };
        record.state = JobState::Running;
        record.reason = Reason::None;
        record.partition = name;
        record.start_time = Some(now);
        record.expected_start = None;
        record.begin_time = None;
        record.allocation = Some(allocation.clone());
        let whole = exclusive || record.ask.exclusive;
        self.facts.push(Fact::JobStarted { job, allocation: allocation.clone(), backfilled });
        for share in &allocation.nodes {
            self.with_node(share.index, |node| {
                node.usage.take(share);
                node.jobs.insert(job);
            });
            self.unshared.set(share.index, whole);
        }
        self.running.insert(job);
        self.stats.started += 1;
        self.stats.backfilled += u64::from(backfilled);
        self.schedule_end(now, job);
        self.tell_dependents(now, job);
        self.tell_backfill(now);
    }

    /// Whichever comes first: the script's end or its limit.
    pub(crate) fn schedule_end(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let (run, behaviour) = (record.run, record.behaviour.clone());
        let script =
            behaviour.run_time.map(|span| record.start_time.unwrap_or(now) + LAUNCH + span);
        let over = self.params().over_time_limit;
        let limit =
            record.limit_end().zip(over).map(|(end, over)| (end + over).round_up(LIMIT_CHECK));
        if let Some(at) = limit.filter(|limit| script.is_none_or(|script| *limit < script)) {
            self.events.push(at.max(now), Event::LimitPasses { job, run });
        } else if let Some(at) = script {
            let exit = match behaviour.exit_code {
                code @ 129..=159 => ExitCode::signal(code - 128),
                code => ExitCode::code(code),
            };
            self.events.push(at.max(now), Event::ScriptEnds { job, run, exit });
        }
    }

    fn script_ended(&mut self, now: Time, job: JobId, exit: ExitCode) {
        let (state, reason) = match exit {
            ExitCode { code: 0, signal: 0 } => (JobState::Completed, Reason::None),
            ExitCode { signal: 0, .. } => (JobState::Failed, Reason::NonZeroExitCode),
            ExitCode { signal, .. } => (JobState::Failed, Reason::RaisedSignal(signal)),
        };
        self.end_running(now, job, state, reason, exit, Span::ZERO);
    }

    fn check_limit(&mut self, now: Time, job: JobId) {
        let over = self.params().over_time_limit;
        let end = self.job(job).and_then(Job::limit_end).zip(over).map(|(end, over)| end + over);
        match end {
            Some(end) if end <= now => self.stop(now, job, JobState::Timeout, Reason::TimeLimit),
            // The limit was raised meanwhile.
            Some(_) => self.schedule_end(now, job),
            None => {}
        }
    }

    /// TERM, then after `KillWait` KILL.
    fn stop(&mut self, now: Time, job: JobId, state: JobState, reason: Reason) {
        let Some(record) = self.job(job) else { return };
        let (exit, after) = match record.behaviour.traps.get(&Signal::Term) {
            None => (ExitCode::signal(Signal::Term.number()), STOP),
            Some(Trap::Exit(code)) => (ExitCode::code(*code), STOP),
            Some(Trap::Ignore) => {
                let killed = ExitCode::signal(Signal::Kill.number());
                (killed, self.params().kill_wait.max(STOP))
            }
        };
        self.end_running(now, job, state, reason, exit, after);
    }

    /// Ends a running job; its nodes are free after `completing`.
    pub(crate) fn end_running(
        &mut self,
        now: Time,
        job: JobId,
        state: JobState,
        reason: Reason,
        exit: ExitCode,
        completing: Span,
    ) {
        let Some(record) = self.job_mut(job) else {
            return;
        };
        record.state = state;
        record.reason = reason;
        record.exit = exit;
        record.end_time = Some(now);
        record.completing = completing != Span::ZERO;
        let (run, slow, allocation) = (record.run, record.completing, record.allocation.clone());
        self.running.remove(&job);
        self.facts.push(Fact::JobEnded { job, state, exit, completing: slow });
        self.stats.ended += 1;
        if !slow {
            return self.release_nodes(now, job);
        }
        for share in allocation.iter().flat_map(|allocation| &allocation.nodes) {
            self.with_node(share.index, |node| node.completing += 1);
        }
        self.events.push(now + completing, Event::NodesFree { job, run });
    }

    /// Ends a job that never ran.
    pub(crate) fn end_pending(&mut self, now: Time, job: JobId, state: JobState) {
        self.dequeue(job);
        let Some(record) = self.job_mut(job) else {
            return;
        };
        record.state = state;
        record.end_time = Some(now);
        record.expected_start = None;
        self.stats.ended += 1;
        self.facts.push(Fact::JobEnded {
            job,
            state,
            exit: ExitCode::default(),
            completing: false,
        });
        self.forget_later(now, job);
        self.tell_dependents(now, job);
        self.ask_for_cycle(now);
    }

    fn release_nodes(&mut self, now: Time, job: JobId) {
        let killed = self.job(job).is_some_and(|job| job.completing);
        self.give_back(job);
        self.forget_later(now, job);
        self.tell_dependents(now, job);
        if killed {
            self.ask_at_once(now);
        } else {
            self.ask_for_cycle(now);
        }
    }

    /// The nodes are free; the job still says which they were. The only way out of an allocation,
    /// so whoever follows the facts sees every holder's end.
    fn give_back(&mut self, job: JobId) {
        let Some(record) = self.job_mut(job) else {
            return;
        };
        let was_completing = std::mem::take(&mut record.completing);
        let allocation = record.allocation.clone();
        self.facts.push(Fact::JobReleased { job });
        for share in allocation.iter().flat_map(|allocation| &allocation.nodes) {
            self.with_node(share.index, |node| {
                node.usage.give_back(share);
                node.jobs.remove(&job);
                node.completing -= usize::from(was_completing);
            });
            self.unshared.remove(share.index);
        }
        self.running.remove(&job);
    }

    fn forget_later(&mut self, now: Time, job: JobId) {
        let Some(ended) = self.job(job).and_then(|job| job.end_time) else {
            return;
        };
        self.leave_namesakes(now, job);
        if let Some(age) = self.params().min_job_age {
            let at = (ended + age).max(now).round_up(PURGE_CHECK);
            self.events.push(at, Event::Purge { job, ended });
        }
    }

    fn leave_namesakes(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let name = (record.submission.user.clone(), record.submission.name.clone());
        let Some(left) = self.namesakes.get_mut(&name) else {
            return;
        };
        left.remove(&job);
        let next = left.first().copied();
        if left.is_empty() {
            self.namesakes.remove(&name);
        }
        if let Some(next) =
            next.filter(|next| self.job(*next).is_some_and(|job| job.dependency.singleton))
        {
            self.requeue_eligible(now, next);
        }
    }

    fn purge(&mut self, job: JobId) {
        self.jobs.remove(&job);
        self.dependents.remove(&job);
        self.facts.push(Fact::JobPurged { job });
    }

    /// Lets those who wait for a job know what became of it.
    pub(crate) fn tell_dependents(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let (state, exit) = (record.state, record.exit);
        let waiting: Vec<_> = self.dependents.get(&job).into_iter().flatten().copied().collect();
        for other in waiting {
            if let Some(record) = self.job_mut(other) {
                record.dependency.observe(job, state, exit);
                self.requeue_eligible(now, other);
            }
        }
        if state.is_end() {
            self.dependents.remove(&job);
        }
    }

    /// A node under the job is gone: back to the queue, or the end.
    pub(crate) fn lose_node(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        if record.completing {
            return self.release_nodes(now, job);
        }
        if !record.requeue {
            let exit = ExitCode::signal(1);
            let (state, reason) = (JobState::NodeFail, Reason::NodeDown);
            return self.end_running(now, job, state, reason, exit, Span::ZERO);
        }
        self.give_back(job);
        let (begin, run) = (now + self.params().cred_expire + Span::secs(1), self.next_run());
        let Some(record) = self.job_mut(job) else {
            return;
        };
        record.state = JobState::Pending;
        record.allocation = None;
        record.start_time = None;
        record.submit_time = now;
        record.eligible_time = None;
        record.begin_time = Some(begin);
        record.restarts += 1;
        record.run = run;
        self.facts.push(Fact::JobRequeued { job, begin });
        self.requeue_eligible(now, job);
        self.ask_for_cycle(now);
    }
}
