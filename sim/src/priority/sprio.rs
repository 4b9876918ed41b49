//! `sprio -l`: one row for each job that waits, in each of its partitions.

use std::fmt;

use crate::{Job, JobId, JobState, PartitionName, Slurmctld, Time, UserName, conf::PriorityType};

use super::PriorityFactors;

/// A row of `sprio -l`.
#[derive(Clone, Debug, PartialEq)]
pub struct SprioRow {
    /// The job.
    pub job: JobId,
    /// One of its partitions.
    pub partition: PartitionName,
    /// Whose it is.
    pub user: UserName,
    /// Its account, where slurmdbd keeps them.
    pub account: Option<String>,
    /// Its QOS, likewise.
    pub qos: Option<String>,
    /// Its parts; `None` where an operator gave the priority.
    pub factors: Option<PriorityFactors>,
    /// Its priority there.
    pub priority: u32,
}

impl Slurmctld {
    /// The rows of `sprio -l`, by job.
    pub fn sprio(&self, now: Time) -> Vec<SprioRow> {
        let params = &self.params().priority;
        if params.kind == PriorityType::Basic {
            return vec![];
        }
        let shown = |job: &&Job| {
            let since =
                if params.flags.accrue_always { Some(job.submit_time) } else { job.eligible_time };
            let counts = job.state == JobState::Pending || params.flags.calculate_running;
            counts && job.priority != 0 && since.is_some_and(|since| since <= now)
        };
        self.jobs().filter(shown).flat_map(|job| self.sprio_of(now, job)).collect()
    }

    /// The parts of one job's priority in its first partition; `None` where nobody weighs them.
    pub fn priority_factors(&self, now: Time, job: &Job) -> Option<PriorityFactors> {
        let weighs = self.params().priority.kind == PriorityType::Multifactor;
        let rows = weighs.then(|| self.sprio_of(now, job)).into_iter().flatten();
        rows.filter_map(|row| row.factors).next()
    }

    fn sprio_of(&self, now: Time, job: &Job) -> Vec<SprioRow> {
        let at = self.weighed.get(&job.id).map_or(now, |weighed| weighed.at);
        let kept = self.params().priority.slurmdbd;
        let submission = &job.submission;
        let qos = || submission.qos.clone().unwrap_or_else(|| "normal".into());
        let row = |place: &usize| {
            let factors = (!job.priority_given).then(|| self.factors(at, job, *place));
            SprioRow {
                job: job.id,
                partition: self.partition_spec(*place).name.clone(),
                user: submission.user.clone(),
                account: submission.account.as_ref().filter(|_| kept).map(ToString::to_string),
                qos: kept.then(qos),
                priority: factors.map_or(job.priority, |factors| factors.sprio_priority()),
                factors,
            }
        };
        job.partitions.iter().map(row).collect()
    }
}

/// The line as `sprio -l` prints it; fair share and association are worth nothing here.
impl fmt::Display for SprioRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factors = self.factors.unwrap_or_default();
        let tres = factors.tres;
        let named = [("cpu", tres.cpu), ("mem", tres.mem), ("node", tres.node)];
        let named = named.iter().filter(|(_, worth)| *worth != 0.0);
        let tres: Vec<_> = named.map(|(name, worth)| format!("{name}={worth:.0}")).collect();
        let (user, partition) = (self.user.as_str(), self.partition.as_str());
        let PriorityFactors { age, job_size, partition: worth, nice, .. } = factors;
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "(null)".into());
        let (account, qos) = (word(&self.account), word(&self.qos));
        write!(f, "{:>15} {partition:<9.9} {user:>8.8} {account:>8.8} ", self.job)?;
        write!(f, "{:>10} {:>10} {age:>10.0} {:>10} {:>10} ", self.priority, 0, 0, 0)?;
        write!(f, "{job_size:>10.0} {worth:>10.0} {qos:>10.10} {:>10} ", 0)?;
        write!(f, "{nice:>11} {:>20.20}", tres.join(","))
    }
}
