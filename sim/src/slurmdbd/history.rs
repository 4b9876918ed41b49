//! Every job that there ever was, a record for each of its runs.

use std::{collections::BTreeMap, sync::Arc};

use crate::{AccountName, Fact, Job, JobId, JobState, Slurmctld, Time, UserName};

use super::{Association, Slurmdbd};

/// A job, or one run of a job that was queued again.
#[derive(Clone, Debug)]
pub struct JobRecord {
    /// The job as it was last seen.
    pub job: Arc<Job>,
    /// Whether it was queued again after this.
    pub requeued: bool,
    /// When this run ended, if it was queued again.
    pub ended: Option<Time>,
    /// Whether backfill started it.
    pub backfilled: bool,
}

/// Records in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    records: Vec<JobRecord>,
    /// The last record of each job.
    last: BTreeMap<JobId, usize>,
}

impl Slurmdbd {
    /// Takes in what slurmctld did. To be called with what [`Slurmctld::take_facts`] gave, before the
    /// jobs in it are forgotten there.
    pub fn learn(&mut self, ctld: &Slurmctld, facts: &[Fact]) {
        for fact in facts {
            self.history.learn(ctld, fact);
        }
    }

    /// Every record, oldest first.
    pub fn jobs(&self) -> impl Iterator<Item = &JobRecord> {
        self.history.records.iter()
    }

    /// The records of a job, oldest first.
    pub fn job(&self, id: JobId) -> impl Iterator<Item = &JobRecord> {
        self.jobs().filter(move |record| record.job.id == id)
    }
}

impl History {
    fn learn(&mut self, ctld: &Slurmctld, fact: &Fact) {
        let job = match fact {
            Fact::JobSubmitted { job }
            | Fact::JobReasonChanged { job, .. }
            | Fact::JobPlanned { job, .. }
            | Fact::JobStarted { job, .. }
            | Fact::JobEnded { job, .. }
            | Fact::JobReleased { job }
            | Fact::JobSplit { job, .. }
            | Fact::JobRequeued { job, .. }
            | Fact::JobChanged { job, .. } => *job,
            Fact::JobPurged { .. } | Fact::NodeChanged { .. } => return,
        };
        let Some(now) = ctld.job_record(job) else {
            return;
        };
        if let (Fact::JobRequeued { .. }, Some(last)) = (fact, self.last.get(&job)) {
            let before = &mut self.records[*last];
            before.requeued = true;
            before.ended = now.end_time;
            self.last.remove(&job);
        }
        let place = *self.last.entry(job).or_insert_with(|| {
            self.records.push(JobRecord {
                job: now.clone(),
                requeued: false,
                ended: None,
                backfilled: false,
            });
            self.records.len() - 1
        });
        let record = &mut self.records[place];
        record.job = now.clone();
        if let Fact::JobStarted { backfilled, .. } = fact {
            record.backfilled = *backfilled;
        }
    }

    fn active(&self) -> impl Iterator<Item = &Job> {
        let last = self.last.values().map(|place| &*self.records[*place].job);
        last.filter(|job| {
            matches!(job.state, JobState::Pending | JobState::Running | JobState::Suspended)
        })
    }

    pub(super) fn uses_account(&self, account: &AccountName) -> bool {
        self.active().any(|job| job.submission.account.as_ref() == Some(account))
    }

    pub(super) fn uses_user(&self, user: &UserName) -> bool {
        self.active().any(|job| job.submission.user == *user)
    }

    pub(super) fn uses_qos(&self, qos: &str) -> bool {
        self.active().any(|job| job.submission.qos.as_deref() == Some(qos))
    }

    pub(super) fn uses_association(&self, association: &Association) -> bool {
        self.active().any(|job| {
            let submission = &job.submission;
            let user = association.user.as_ref();
            submission.account.as_ref() == Some(&association.account)
                && user.is_none_or(|user| *user == submission.user)
        })
    }
}
