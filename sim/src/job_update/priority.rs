//! Held, released, more or less urgent.

use std::sync::Arc;

use crate::{
    ExitCode, JobId, JobUpdate, Reason, SlurmError, Slurmctld, Time, UserName, conf::PriorityType,
};

impl Slurmctld {
    pub(super) fn change_priority(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let operator = Self::is_operator(by);
        let record = self.job(job).ok_or(SlurmError::InvalidJobId)?;
        let (current, reason) = (record.priority, record.reason.clone());
        match (update.hold, update.priority) {
            (Some(true), _) | (None, Some(0)) => {
                let held = if !operator || update.as_user {
                    Reason::JobHeldUser
                } else {
                    Reason::JobHeldAdmin
                };
                if current != 0 || operator {
                    self.set_held(now, job, held);
                }
                Ok(())
            }
            (Some(false), _) if current == 0 => {
                if !operator && !reason.is_user_hold() {
                    return Err(SlurmError::AccessDenied);
                }
                self.set_released(now, job);
                Ok(())
            }
            // An operator's second release forgets nice and priority.
            (Some(false), _) if operator => {
                self.forget_nice(job);
                self.set_released(now, job);
                Ok(())
            }
            (None, Some(wanted)) if current == wanted => Ok(()),
            (None, Some(_)) if current == 0 => Err(SlurmError::JobHeld),
            (None, Some(wanted)) if operator || wanted < current => {
                self.forget_nice(job);
                if let Some(record) = self.job_mut(job) {
                    (record.priority, record.priority_given) = (wanted, operator);
                }
                operator.then_some(()).ok_or(SlurmError::PrioResetFail)
            }
            (None, Some(_)) => Err(SlurmError::AccessDenied),
            (None, None) if reason == Reason::BadConstraints => {
                self.set_released(now, job);
                Ok(())
            }
            (Some(false), _) | (None, None) => Ok(()),
        }
    }

    fn forget_nice(&mut self, job: JobId) {
        if let Some(record) = self.job_mut(job) {
            Arc::make_mut(&mut record.submission).nice = 0;
        }
    }

    fn set_held(&mut self, now: Time, job: JobId, reason: Reason) {
        if let Some(record) = self.job_mut(job) {
            (record.priority, record.expected_start) = (0, None);
            record.priority_given = true;
            record.eligible_time = None;
            record.begin_time = record.begin_time.filter(|begin| now < *begin);
        }
        self.set_reason(job, reason);
    }

    fn set_released(&mut self, now: Time, job: JobId) {
        self.prioritise(now, job);
        if let Some(record) = self.job_mut(job) {
            record.priority_given = false;
            Arc::make_mut(&mut record.submission).priority = None;
            record.special_exit = false;
            record.exit = ExitCode::default();
            record.eligible_time = None;
            record.begin_time = record.begin_time.filter(|begin| now < *begin);
        }
        self.set_reason(job, Reason::None);
    }

    pub(super) fn change_nice(
        &mut self,
        now: Time,
        job: JobId,
        update: &JobUpdate,
        operator: bool,
    ) -> Result<(), SlurmError> {
        let Some(nice) = update.nice else { return Ok(()) };
        let record = self.job(job).ok_or(SlurmError::InvalidJobId)?;
        let before = record.submission.nice;
        if before == nice || (record.priority_given && record.priority != 0) {
            return Ok(());
        }
        if !operator && nice < 0 {
            return Err(SlurmError::AccessDenied);
        }
        self.renice(now, job, nice);
        Ok(())
    }

    /// `priority/basic` moves a job by the difference; multifactor counts anew.
    fn renice(&mut self, now: Time, job: JobId, nice: i32) {
        let basic = self.params().priority.kind == PriorityType::Basic;
        let Some(record) = self.job_mut(job) else { return };
        let before = i64::from(record.submission.nice);
        Arc::make_mut(&mut record.submission).nice = nice;
        if basic {
            let moved = i64::from(record.priority) + before - i64::from(nice);
            record.priority = u32::try_from(moved.max(2)).unwrap_or(u32::MAX);
        } else if record.priority != 0 {
            self.prioritise(now, job);
        }
    }

    /// Counts anew what the job is worth.
    pub(crate) fn prioritise(&mut self, now: Time, job: JobId) {
        let Some(record) = self.jobs.get(&job).cloned() else { return };
        let priority = self.fresh_priority(now, &record);
        if let Some(record) = self.job_mut(job) {
            record.priority = priority;
        }
    }
}
