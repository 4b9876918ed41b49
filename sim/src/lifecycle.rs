//! A job's life after it got its nodes: script end, limit, warning; then forgetting it.
//!
//! ```text
//!   start ──configuring──▶ prolog ──▶ script runs ──▶ ends ──completing──▶ nodes free ──▶ forgotten
//!                                        ▲                                     │
//!                                        └────────────── requeued ◀────────────┘
//! ```

use std::sync::Arc;

use crate::{
    Allocation, ExitCode, Fact, IndexSet, Job, JobId, JobState, OverTime, PartitionName, Reason,
    Signal, Slurmctld, Span, Time, Trap, slurmctld::Event,
};

/// From the allocation until the script runs.
const LAUNCH: Span = Span::ms(50);
/// From a signal until its process is gone, as slurmctld sees it.
pub(crate) const STOP: Span = Span::ms(100);
/// Limits are checked so often.
const LIMIT_CHECK: Span = Span::secs(30);
/// Old jobs are forgotten so often.
pub(crate) const PURGE_CHECK: Span = Span::secs(60);

impl Slurmctld {
    pub(crate) fn happen(&mut self, now: Time, event: Event) {
        match event {
            Event::ScriptEnds { job, run, exit }
                if self.runs(job, run) && self.job(job).is_some_and(|job| job.script_lives) =>
            {
                self.script_ended(now, job, exit);
            }
            Event::LimitPasses { job, run } if self.runs(job, run) => self.check_limit(now, job),
            Event::Warned { job, run } if self.runs(job, run) => self.warn(now, job),
            Event::Configured { job, run } if self.runs(job, run) => self.configured(job),
            Event::PrologEnds { job, run } if self.runs(job, run) => {
                self.set_reason(job, Reason::None);
            }
            Event::NodesFree { job, run }
                if self.job(job).is_some_and(|j| j.completing && j.run == run) =>
            {
                self.release_nodes(now, job);
            }
            Event::DependencyChecked { job } => self.check_held(now, job),
            Event::DeadlinePasses { job } => self.check_deadline(now, job),
            Event::Purge { job, ended }
                if self.job(job).is_some_and(|j| j.end_time == Some(ended)) =>
            {
                self.purge(now, job);
            }
            Event::NodeRegisters { node } => self.node_registers(now, node),
            Event::NodeSilent { node, sent } => self.node_silent(node, sent),
            Event::PingRound => self.ping_round(now),
            Event::SlurmdReturns { node } => self.slurmd_returned(now, node),
            Event::LaunchFails { job, run } if self.runs(job, run) => self.launch_failed(now, job),
            Event::ScriptEnds { .. }
            | Event::LimitPasses { .. }
            | Event::Warned { .. }
            | Event::Configured { .. }
            | Event::PrologEnds { .. }
            | Event::LaunchFails { .. }
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
        let Some(job) = self.first_task(job) else { return };
        self.dequeue(job);
        self.mark_started(now, job, partition, allocation);
        let policy = self.policy(partition);
        let whole = self.job(job).is_some_and(|job| policy.keeps_nodes(&job.ask));
        self.facts.push(Fact::JobStarted { job, allocation: allocation.clone(), backfilled });
        for share in &allocation.nodes {
            self.with_node(share.index, |node| {
                node.usage.take(share);
                node.jobs.insert(job);
                node.reason = None;
            });
            self.unshared.set(share.index, whole);
            self.note_owner(job, share.index);
        }
        self.running.insert(job);
        self.add_to_rows(job);
        self.stats.started += 1;
        self.stats.backfilled += u64::from(backfilled);
        self.task_started(job);
        self.launch(now, job);
        self.schedule_launch(now, job);
        self.schedule_end(now, job);
        self.tell_dependents(now, job);
        self.tell_backfill(now);
        // Whoever came before it may now wait for something else.
        if backfilled || self.job(job).is_some_and(|job| !job.licenses.is_empty()) {
            self.note_unseen(now);
        }
    }

    /// The partition that it starts in comes first, should it be queued again.
    fn listed_at_start(&self, job: JobId, partition: usize) -> Arc<[PartitionName]> {
        let all = self.job(job).map_or(&[][..], |job| &job.partitions);
        let others = all.iter().copied().filter(|place| *place != partition);
        let places: Vec<usize> = std::iter::once(partition).chain(others).collect();
        self.names_of(&places)
    }

    fn priority_at_start(&self, job: JobId, partition: usize) -> u32 {
        let Some(job) = self.job(job) else { return 0 };
        let order = job.partitions.iter().position(|place| *place == partition);
        self.priority_in(job, order.unwrap_or(0))
    }

    fn mark_started(
        &mut self,
        now: Time,
        job: JobId,
        partition: usize,
        allocation: &Arc<Allocation>,
    ) {
        let spec = self.partition_spec(partition).clone();
        let listed = self.listed_at_start(job, partition);
        let priority = self.priority_at_start(job, partition);
        let Some(record) = self.job_mut(job) else { return };
        record.listed = listed;
        record.priority = priority;
        record.state = JobState::Running;
        record.reason = Reason::None;
        record.special_exit = false;
        record.exit = ExitCode::default();
        record.partition = spec.name.clone();
        record.start_time = Some(now);
        record.expected_start = None;
        record.begin_time = None;
        record.allocation = Some(allocation.clone());
        if !record.limit_given {
            record.time_limit = spec.default_time.or(spec.max_time);
        }
        if let Some(left) = record.deadline.map(|deadline| whole_minutes(now, deadline)) {
            let shorter = record.time_limit.is_none_or(|limit| left < limit);
            record.time_limit = if shorter { Some(left) } else { record.time_limit };
        }
        let licenses = record.licenses.clone();
        self.licenses.take(&licenses);
    }

    /// What keeps the script waiting: PrologSlurmctld, then Prolog.
    fn schedule_launch(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let (run, behaviour) = (record.run, record.behaviour.clone());
        if behaviour.configuring != Span::ZERO {
            self.events.push(now + behaviour.configuring, Event::Configured { job, run });
            if let Some(record) = self.job_mut(job) {
                record.configuring = true;
            }
        } else {
            self.configured(job);
        }
        if behaviour.prolog != Span::ZERO && self.params().prolog_at_allocation {
            let ends = now + behaviour.configuring + behaviour.prolog;
            self.events.push(ends, Event::PrologEnds { job, run });
        }
    }

    fn configured(&mut self, job: JobId) {
        let at_allocation = self.params().prolog_at_allocation;
        let Some(record) = self.job_mut(job) else { return };
        record.configuring = false;
        if at_allocation && record.behaviour.prolog != Span::ZERO {
            self.set_reason(job, Reason::Prolog);
        }
    }

    /// Whichever comes first: the script's end or its limit.
    pub(crate) fn schedule_end(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let (run, behaviour) = (record.run, record.behaviour.clone());
        let before = behaviour.configuring + behaviour.prolog + LAUNCH + record.suspended.total;
        let runs = behaviour.run_time.filter(|_| record.script_lives);
        let script = runs.map(|span| record.start_time.unwrap_or(now) + before + span);
        let over = self.over_time_limit(record);
        let end = record.limit_end();
        let limit = end.zip(over).map(|(end, over)| (end + over).round_up(LIMIT_CHECK));
        if let Some((end, warning)) = end.zip(record.submission.warning) {
            let from = earlier(end, warning.before + LIMIT_CHECK);
            let at = from.max(now).round_up(LIMIT_CHECK);
            self.events.push(at, Event::Warned { job, run });
        }
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

    /// Somebody who watched the real controller knows better when a job started. Its nodes and what
    /// else it has stay as they are.
    pub fn correct_start(&mut self, now: Time, job: JobId, start: Time) {
        if let Some(record) = self.job_mut(job).filter(|record| record.start_time != Some(start)) {
            record.start_time = Some(start);
            self.schedule_end(now, job);
        }
    }

    /// How long a job may run beyond its limit: as its partition says, or else the cluster; `None` is
    /// without end.
    pub(crate) fn over_time_limit(&self, job: &Job) -> Option<Span> {
        let spec = self.config.partition(&job.partition);
        match spec.and_then(|spec| spec.over_time_limit) {
            Some(OverTime::Of(span)) => Some(span),
            Some(OverTime::Unlimited) => None,
            None => self.params().over_time_limit,
        }
    }

    /// When a running job is stopped at the latest.
    fn latest_end(&self, job: JobId) -> Option<Time> {
        let job = self.job(job)?;
        Some(job.limit_end()? + self.over_time_limit(job)?)
    }

    fn script_ended(&mut self, now: Time, job: JobId, exit: ExitCode) {
        self.job_mut(job).into_iter().for_each(|job| job.script_lives = false);
        let end = self.latest_end(job);
        let (state, reason) = match exit {
            // It got away with it only because nobody has looked yet.
            ExitCode { code: 0, signal: 0 }
                if end.is_some_and(|end| end + Span::secs(1) <= now) =>
            {
                (JobState::Timeout, Reason::TimeLimit)
            }
            ExitCode { code: 0, signal: 0 } => (JobState::Completed, Reason::None),
            ExitCode { signal: 0, .. } => (JobState::Failed, Reason::NonZeroExitCode),
            ExitCode { signal, .. } => (JobState::Failed, Reason::RaisedSignal(signal)),
        };
        self.end_running(now, job, state, reason, exit, Span::ZERO);
    }

    fn check_limit(&mut self, now: Time, job: JobId) {
        match self.latest_end(job) {
            Some(end) if end <= now => self.stop(now, job, JobState::Timeout, Reason::TimeLimit),
            // The limit was raised meanwhile.
            Some(_) => self.schedule_end(now, job),
            None => {}
        }
    }

    /// The signal that the job asked for as a warning; steps aside, only a script has it.
    fn warn(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let Some((end, warning)) = record.limit_end().zip(record.submission.warning) else {
            return;
        };
        if end <= now + warning.before + LIMIT_CHECK {
            self.message(now, job);
            if warning.to_script {
                self.deliver(now, job, warning.signal);
            }
        }
    }

    /// TERM, then after `KillWait` KILL.
    pub(crate) fn stop(&mut self, now: Time, job: JobId, state: JobState, reason: Reason) {
        let (exit, after) = self.when_stopped(job);
        self.end_running(now, job, state, reason, exit, after);
    }

    /// How a script ends when it is told to, and how long that takes.
    pub(crate) fn when_stopped(&self, job: JobId) -> (ExitCode, Span) {
        let Some(job) = self.job(job).filter(|job| !job.is_external()) else {
            return (ExitCode::default(), Span::ZERO);
        };
        match job.behaviour.traps.get(&Signal::Term) {
            None => (ExitCode::signal(Signal::Term.number()), STOP),
            Some(Trap::Exit(code)) => (ExitCode::code(*code), STOP),
            Some(Trap::Ignore) => {
                let killed = ExitCode::signal(Signal::Kill.number());
                (killed, self.params().kill_wait.max(STOP))
            }
        }
    }

    /// Ends a running job; its nodes are free after `completing` and the epilog.
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
        let ended = record.suspended.since.unwrap_or(now);
        record.state = state;
        // Whoever ends well keeps what it was told before.
        if state != JobState::Completed {
            record.reason = reason;
        }
        record.exit = exit;
        record.end_time = Some(ended);
        record.configuring = false;
        let completing = completing + record.behaviour.epilog;
        let slow = completing != Span::ZERO;
        self.facts.push(Fact::JobEnded { job, state, exit, completing: slow });
        self.stats.ended += 1;
        self.task_stopped(job, true, false);
        self.free_after(now, job, completing);
    }

    /// A run is over: its nodes are free after `completing`.
    pub(crate) fn free_after(&mut self, now: Time, job: JobId, completing: Span) {
        let completing = self.tell_nodes(now, job, completing);
        self.leave_rows(job);
        self.running.remove(&job);
        let Some(record) = self.job_mut(job) else { return };
        let was_completing = std::mem::replace(&mut record.completing, completing != Span::ZERO);
        let (run, allocation) = (record.run, record.held());
        if completing == Span::ZERO {
            return self.release_nodes(now, job);
        }
        for share in allocation.iter().flat_map(|allocation| &allocation.nodes) {
            if !was_completing {
                self.with_node(share.index, |node| node.begin_completing(share));
            }
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
        let exit = record.exit;
        self.stats.ended += 1;
        self.facts.push(Fact::JobEnded { job, state, exit, completing: false });
        self.task_stopped(job, false, false);
        self.forget_later(now, job);
        self.tell_dependents(now, job);
        self.ask_for_cycle(now);
    }

    pub(crate) fn release_nodes(&mut self, now: Time, job: JobId) {
        if self.waits_for_silent(job) {
            return self.leave_live_nodes(now, job);
        }
        let killed = self.job(job).is_some_and(|job| job.completing);
        self.give_back(now, job);
        if self.is_to_run_again(job) {
            return self.requeued(now, job);
        }
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
    fn give_back(&mut self, now: Time, job: JobId) {
        self.leave_rows(job);
        let Some(record) = self.job_mut(job) else {
            return;
        };
        let was_completing = std::mem::take(&mut record.completing);
        let (allocation, licenses) = (record.held(), record.licenses.clone());
        (record.coreless, record.left) = (false, IndexSet::new());
        self.licenses.give_back(&licenses);
        self.facts.push(Fact::JobReleased { job });
        for share in allocation.iter().flat_map(|allocation| &allocation.nodes) {
            self.with_node(share.index, |node| {
                node.usage.give_back(share);
                node.jobs.remove(&job);
                if was_completing {
                    node.end_completing(share);
                }
                if !node.silent {
                    node.heard = now;
                }
            });
            self.unshared.remove(share.index);
            self.forget_owner(share.index);
        }
        self.running.remove(&job);
    }

    fn forget_later(&mut self, now: Time, job: JobId) {
        let Some(ended) = self.job(job).and_then(|job| job.end_time) else {
            return;
        };
        self.leave_namesakes(job);
        if let Some(age) = self.params().min_job_age {
            let at = (ended + age).max(now).round_up(PURGE_CHECK);
            self.events.push(at, Event::Purge { job, ended });
        }
    }

    fn leave_namesakes(&mut self, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let name = (record.submission.user.clone(), record.submission.name.clone());
        let Some(left) = self.namesakes.get_mut(&name) else {
            return;
        };
        left.remove(&job);
        if left.is_empty() {
            self.namesakes.remove(&name);
        }
    }

    /// Forgets a job. The record with an array's number stays until the others are forgotten.
    pub(crate) fn purge(&mut self, now: Time, job: JobId) {
        let place = self.job(job).and_then(|job| job.array.clone());
        if let Some(place) = &place {
            let others = self.array_records(place.job).filter(|id| *id != place.job).count();
            if place.job == job && 0 < others {
                let ended = self.job(job).and_then(|job| job.end_time).unwrap_or(now);
                return self.events.push(now + PURGE_CHECK, Event::Purge { job, ended });
            }
            self.n_unsplit -= place.n_tasks().saturating_sub(1).min(self.n_unsplit);
            if let Some(array) = self.arrays.get_mut(&place.job) {
                array.split.retain(|_, id| *id != job);
            }
            if place.job == job {
                self.arrays.remove(&job);
            }
        }
        self.tell_dependents(now, job);
        self.jobs.remove(&job);
        self.dependents.remove(&job);
        self.facts.push(Fact::JobPurged { job });
    }

    /// Removes a waiting job that could not end in time any more.
    pub(crate) fn check_deadline(&mut self, now: Time, job: JobId) {
        let late = self.job(job).is_some_and(|job| {
            let least = job.time_min.or(job.time_limit);
            let late = job.deadline.zip(least).is_some_and(|(end, least)| end < now + least);
            job.state == JobState::Pending && late
        });
        if late {
            if let Some(record) = self.job_mut(job) {
                (record.reason, record.exit) = (Reason::DeadLine, ExitCode::signal(1));
            }
            self.end_pending(now, job, JobState::Deadline);
        }
    }

    /// When the check that forgets old jobs first finds that a waiting job comes too late.
    pub(crate) fn schedule_deadline(&mut self, now: Time, job: JobId) {
        let Some(record) = self.job(job) else { return };
        let least = record.time_min.or(record.time_limit).unwrap_or(Span::ZERO);
        if let Some(deadline) = record.deadline {
            let last = earlier(deadline, least);
            let at = (last + Span::ms(1)).max(now).round_up(PURGE_CHECK);
            self.events.push(at, Event::DeadlinePasses { job });
        }
    }
}

fn whole_minutes(from: Time, to: Time) -> Span {
    Span::mins(to.as_ms().saturating_sub(from.as_ms()) / 60_000)
}

fn earlier(time: Time, span: Span) -> Time {
    Time::from_ms(time.as_ms().saturating_sub(span.as_ms()))
}
