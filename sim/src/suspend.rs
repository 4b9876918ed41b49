//! `scontrol suspend` and `resume`: a job stops, and its cores are others' until it goes on.
//!
//! Memory and devices stay its own. If somebody has its cores when it resumes, it runs all the
//! same, and slurmctld counts them for the other one only.

use std::sync::Arc;

use crate::{
    Allocation, Fact, IndexSet, Job, JobId, JobState, JobTarget, NodeShare, SlurmError, Slurmctld,
    Time, UserName,
};

impl Slurmctld {
    /// Suspends a running job. Only operators may.
    pub fn suspend_job(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let target = target.into();
        self.operators_only(&target, by)?;
        let done = self.each_record(&target, |it, job| it.suspend_one(now, job));
        self.ask_for_cycle(now);
        done
    }

    /// Lets a suspended job go on. Only operators may.
    pub fn resume_job(
        &mut self,
        now: Time,
        target: impl Into<JobTarget>,
        by: &UserName,
    ) -> Result<(), SlurmError> {
        let target = target.into();
        self.operators_only(&target, by)?;
        let done = self.each_record(&target, |it, job| it.resume_one(now, job));
        self.tell_backfill(now);
        done
    }

    fn operators_only(&self, target: &JobTarget, by: &UserName) -> Result<(), SlurmError> {
        self.job(target.job()).ok_or(SlurmError::InvalidJobId)?;
        Self::is_operator(by).then_some(()).ok_or(SlurmError::AccessDenied)
    }

    /// The state of a job that has started and not ended.
    fn in_life(&self, job: JobId) -> Result<JobState, SlurmError> {
        let state = self.job(job).ok_or(SlurmError::InvalidJobId)?.state;
        if state == JobState::Pending {
            return Err(SlurmError::JobPending);
        }
        (!state.is_end()).then_some(state).ok_or(SlurmError::AlreadyDone)
    }

    fn suspend_one(&mut self, now: Time, job: JobId) -> Result<(), SlurmError> {
        if self.in_life(job)? == JobState::Suspended {
            return Ok(());
        }
        let run = self.next_run();
        let had = self.job(job).and_then(Job::held);
        if let Some(record) = self.job_mut(job) {
            record.state = JobState::Suspended;
            record.priority = 0;
            record.suspended.since = Some(now);
            record.coreless = true;
            // What this run would have done waits with it.
            record.run = run;
        }
        self.message(now, job);
        self.leave_rows(job);
        self.running.remove(&job);
        self.exchange(job, had.as_deref());
        self.facts.push(Fact::JobChanged { job, change: "suspended".into() });
        Ok(())
    }

    fn resume_one(&mut self, now: Time, job: JobId) -> Result<(), SlurmError> {
        if self.in_life(job)? != JobState::Suspended {
            return Err(SlurmError::JobNotSuspended);
        }
        let had = self.job(job).and_then(Job::held);
        let room = self.has_cores_free(job);
        if let Some(record) = self.job_mut(job) {
            record.state = JobState::Running;
            let since = record.suspended.since.take().unwrap_or(now);
            record.suspended.total = record.suspended.total + now.since(since);
            record.coreless = !room;
        }
        self.message(now, job);
        self.running.insert(job);
        self.add_to_rows(job);
        self.exchange(job, had.as_deref());
        self.prioritise(now, job);
        self.schedule_end(now, job);
        self.facts.push(Fact::JobChanged { job, change: "resumed".into() });
        Ok(())
    }

    fn has_cores_free(&self, job: JobId) -> bool {
        let allocation = self.job(job).and_then(|job| job.allocation.clone());
        let nodes = allocation.iter().flat_map(|allocation| &allocation.nodes);
        nodes.clone().all(|share| {
            share.shared || !self.nodes[share.index].usage.cores.overlaps(&share.cores)
        })
    }

    /// The nodes count what the job holds now instead of what it `had`.
    fn exchange(&mut self, job: JobId, had: Option<&Allocation>) {
        let has = self.job(job).and_then(Job::held);
        let whole = self.job(job).is_some_and(|job| job.ask.exclusive && !job.coreless);
        for (before, after) in
            had.iter().flat_map(|had| &had.nodes).zip(has.iter().flat_map(|has| &has.nodes))
        {
            self.with_node(before.index, |node| {
                node.usage.give_back(before);
                node.usage.take(after);
            });
            self.unshared.set(before.index, whole);
        }
    }
}

impl Job {
    /// What nodes count against it: a suspended job's cores are free.
    pub(crate) fn held(&self) -> Option<Arc<Allocation>> {
        let allocation = self.still_held(self.allocation.clone()?);
        if !self.coreless {
            return Some(allocation);
        }
        let bare = |share: &NodeShare| NodeShare {
            cpus: 0,
            cores: IndexSet::new(),
            cpu_ids: IndexSet::new(),
            ..share.clone()
        };
        Some(Arc::new(Allocation::new(allocation.nodes.iter().map(bare).collect())))
    }
}
