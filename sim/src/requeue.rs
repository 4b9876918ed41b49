//! Back to the queue: by request, by exit code, or because a node failed.
//!
//! ```text
//!   running ──▶ PENDING+COMPLETING ──nodes free──▶ PENDING, BeginTime: now + cred_expire + 1
//!   ended   ──────────────────────────────────────▶ PENDING, BeginTime
//! ```

use std::sync::Arc;

use crate::{
    Allocation, ExitCode, Fact, JobId, JobState, JobTarget, Reason, SlurmError, Slurmctld, Span,
    Suspended, Time, UserName, lifecycle::STOP, submit::whole_second,
};

/// How a job goes back to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// `scontrol requeue`.
    Plain,
    /// `scontrol requeuehold`.
    Hold,
    /// `scontrol requeuehold State=SpecialExit`.
    SpecialExit,
}

impl Slurmctld {
    /// Queues a job again, whether it runs or has ended.
    pub fn requeue(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        how: Requeue,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let target = target.into();
        self.each_record(&target, |it, job| it.requeue_one(now, job, how, by))
    }

    fn requeue_one(
        &mut self,
        now: Time,
        job: JobId,
        how: Requeue,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let record = self.permitted(job, by)?;
        let (state, completing) = (record.state, record.completing);
        if !record.requeue {
            return Err(SlurmError::Disabled);
        }
        if record.is_external() {
            return Err(SlurmError::BatchOnly);
        }
        if state == JobState::Pending {
            return Err(SlurmError::JobPending);
        }
        if let Some(record) = self.job_mut(job) {
            record.restarts += 1;
            record.state = JobState::Pending;
            record.reason = Reason::None;
            record.end_time = Some(now);
            record.configuring = false;
        }
        self.hold_requeued(job, how);
        if matches!(state, JobState::Running | JobState::Suspended) {
            let (_, after) = self.when_stopped(job);
            let epilog = self.job(job).map_or(Span::ZERO, |job| job.behaviour.epilog);
            self.task_stopped(job, true, true);
            self.free_after(now, job, after + epilog);
        } else if !completing {
            self.requeued(now, job);
        }
        Ok(())
    }

    fn hold_requeued(&mut self, job: JobId, how: Requeue) {
        let Some(record) = self.job_mut(job) else { return };
        record.special_exit = how == Requeue::SpecialExit;
        record.reason = match how {
            Requeue::Plain => return,
            Requeue::Hold | Requeue::SpecialExit => Reason::RequeuedHeld,
        };
        record.priority = 0;
    }

    /// Whether a job whose nodes have just become free goes back to the queue: it was sent there,
    /// or its exit code says so.
    pub(crate) fn is_to_run_again(&mut self, job: JobId) -> bool {
        let Some(record) = self.job(job) else { return false };
        if record.state == JobState::Pending {
            return true;
        }
        if !record.requeue || record.state == JobState::Cancelled {
            return false;
        }
        let (params, code) = (self.params(), usize::from(record.exit.code));
        let (again, held) =
            (params.requeue_exit.contains(code), params.requeue_exit_hold.contains(code));
        if !again && !held {
            return false;
        }
        if let Some(record) = self.job_mut(job) {
            record.state = JobState::Pending;
            record.restarts += 1;
            if !again {
                (record.special_exit, record.priority) = (true, 0);
                record.reason = Reason::JobHeldUser;
            }
        }
        true
    }

    /// The last run is tidied up: as if just submitted, but not before its credential expired.
    pub(crate) fn requeued(&mut self, now: Time, job: JobId) {
        let (expiry, run) = (self.params().cred_expire, self.next_run());
        let earliest = whole_second(now) + expiry + Span::secs(1);
        let Some(record) = self.job_mut(job) else {
            return;
        };
        let begin = record.begin_time.filter(|begin| now < *begin).unwrap_or(earliest);
        record.begin_time = Some(begin);
        record.allocation = None;
        record.start_time = None;
        record.end_time = None;
        record.suspended = Suspended::default();
        record.submit_time = now;
        record.eligible_time = None;
        record.run = run;
        if !record.limit_given {
            // It may run in another partition next time.
            record.expected_start = None;
        }
        let (submission, held) = (record.submission.clone(), record.priority == 0);
        let keep = held || record.priority_given;
        let name = (submission.user.clone(), submission.name.clone());
        self.namesakes.entry(name).or_default().insert(job);
        if !keep {
            self.prioritise(now, job);
        }
        self.facts.push(Fact::JobRequeued { job, begin });
        self.requeue_eligible(now, job);
        self.ask_for_cycle(now);
    }

    /// A node under the job is gone: it goes on without it, back to the queue, or to its end.
    pub(crate) fn lose_node(&mut self, now: Time, job: JobId, place: usize) {
        let Some(record) = self.job(job) else { return };
        let held = record.held();
        let nodes = held.iter().flat_map(|held| &held.nodes);
        let others =
            nodes.filter(|share| share.index != place && !self.nodes[share.index].is_down());
        let others = others.count();
        if record.completing {
            if others == 0 {
                self.release_nodes(now, job);
            }
            return;
        }
        if record.submission.no_kill && others != 0 && !record.configuring {
            return self.leave_node(job, place);
        }
        let at_once = others == 0 || record.is_external();
        let completing = if at_once { Span::ZERO } else { STOP };
        let requeue = record.requeue && !record.is_external();
        if !requeue {
            let exit = ExitCode::signal(1);
            let (state, reason) = (JobState::NodeFail, Reason::NodeDown);
            return self.end_running(now, job, state, reason, exit, completing);
        }
        self.send_back(now, job, completing);
    }

    /// A running job goes back to the queue; its nodes are free after `completing`.
    pub(crate) fn send_back(&mut self, now: Time, job: JobId, completing: Span) {
        if let Some(record) = self.job_mut(job) {
            record.state = JobState::Pending;
            record.restarts += 1;
            record.exit = ExitCode::default();
            record.configuring = false;
        }
        self.task_stopped(job, true, true);
        self.free_after(now, job, completing);
    }

    /// `--no-kill`: the job stays on its other nodes.
    pub(crate) fn leave_node(&mut self, job: JobId, place: usize) {
        let Some(record) = self.job_mut(job) else { return };
        let (Some(allocation), Some(held)) = (record.allocation.clone(), record.held()) else {
            return;
        };
        let kept = allocation.nodes.iter().filter(|share| share.index != place);
        let kept = Allocation::new(kept.cloned().collect());
        record.allocation = Some(Arc::new(kept));
        let gone: Vec<_> =
            held.nodes.iter().filter(|share| share.index == place).cloned().collect();
        for share in gone {
            self.with_node(share.index, |node| {
                node.usage.give_back(&share);
                node.jobs.remove(&job);
            });
        }
        self.facts.push(Fact::JobChanged { job, change: "taken off a failed node".into() });
    }
}
