//! What a job's place in the queue is worth.
//!
//! ```text
//!   priority/basic        one less than the job before, less its nice
//!   priority/multifactor  age + job size + partition + TRES, each by its weight, less its nice
//! ```

mod factors;
mod sprio;

pub use factors::PriorityFactors;
pub use sprio::SprioRow;

use crate::{
    Job, JobId, JobState, Slurmctld, Span, Time,
    conf::{PriorityParams, PriorityType, TresWeights},
};

/// Where `priority/basic` starts counting down.
pub(crate) const BASIC_FIRST: u32 = 4_294_901_759;

/// A weighted priority, and when its age was looked at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weighed {
    at: Time,
    /// For each of the job's partitions.
    by_partition: Vec<u32>,
}

impl Slurmctld {
    /// The priority of a job that is submitted or released now. Never 0: that means held.
    pub(crate) fn fresh_priority(&mut self, now: Time, job: &Job) -> u32 {
        match self.params().priority.kind {
            PriorityType::Basic => {
                let base = self.next_basic_priority;
                self.next_basic_priority = base.saturating_sub(1).max(1);
                let nudged = i64::from(base) - i64::from(job.nice());
                u32::try_from(nudged.max(1)).unwrap_or(u32::MAX)
            }
            PriorityType::Multifactor => self.weigh(now, job),
        }
    }

    /// The priority of a new job: given by an operator, or computed.
    pub(crate) fn first_priority(&mut self, now: Time, job: &Job) -> u32 {
        let given = job.submission.priority.filter(|_| job.priority_given);
        match given {
            _ if job.submission.hold => 0,
            Some(priority) => priority,
            None => self.fresh_priority(now, job),
        }
    }

    /// Computes and remembers what the job is worth in each of its partitions. The one that is
    /// looked at last is the job's own.
    fn weigh(&mut self, now: Time, job: &Job) -> u32 {
        if !self.params().priority.weighs() {
            let nudged = (-i64::from(job.nice())).max(1);
            return u32::try_from(nudged).unwrap_or(u32::MAX);
        }
        let worth = |place: &usize| self.factors(now, job, *place).priority();
        let by_partition: Vec<u32> = job.partitions.iter().map(worth).collect();
        let tier = |place: &usize| self.partition_spec(*place).priority_tier;
        let ranked = by_partition.iter().zip(&job.partitions);
        let last = ranked.map(|(worth, place)| (tier(place), *worth)).min();
        let priority = last.map_or(1, |(_, worth)| worth);
        self.weighed.insert(job.id, Weighed { at: now, by_partition });
        priority
    }

    /// What a job is worth in the partition that is so many-th of its own.
    pub(crate) fn priority_in(&self, job: &Job, order: usize) -> u32 {
        let weighed = self.weighed.get(&job.id).filter(|_| job.priority != 0);
        let weighed = weighed.filter(|_| !job.priority_given && 1 < job.partitions.len());
        weighed.and_then(|all| all.by_partition.get(order).copied()).unwrap_or(job.priority)
    }

    /// When ages are looked at next, if anybody's could count.
    pub(crate) fn weighing_due(&self) -> Option<Time> {
        let params = &self.params().priority;
        let ages = params.kind == PriorityType::Multifactor && params.age_weight() != 0;
        let next = (self.clock.weighed + Span::ms(1)).round_up(params.calc_period);
        (ages && !self.queue.is_empty()).then_some(next)
    }

    /// Every `PriorityCalcPeriod`: everybody who waits has grown older.
    pub(crate) fn weigh_all(&mut self, now: Time) {
        self.clock.weighed = now;
        let waiting = self.weighed.keys().copied().collect::<Vec<_>>();
        for id in waiting {
            match self.job(id).map(|job| (job.state, job.priority, job.priority_given)) {
                Some((JobState::Pending, priority, false)) if priority != 0 => {
                    self.weigh_again(now, id);
                }
                Some((JobState::Pending, ..)) => {}
                _ => drop(self.weighed.remove(&id)),
            }
        }
        self.note_unseen(now);
        self.tell_backfill(now);
    }

    fn weigh_again(&mut self, now: Time, id: JobId) {
        let Some(job) = self.jobs.get(&id).cloned() else { return };
        let queued = self.queue_keys(&job);
        let (before, worth) = (self.weighed.get(&id).cloned(), self.weigh(now, &job));
        let keep = self.params().priority.flags.incr_only && worth <= job.priority;
        if keep {
            self.weighed.extend(before.map(|before| (id, before)));
            return;
        }
        if let Some(job) = self.job_mut(id) {
            job.priority = worth;
        }
        for key in queued {
            if self.queue.remove(&key)
                && let Some(job) = self.job(id)
            {
                let again = self.queue_keys(job);
                self.queue.extend(again.into_iter().filter(|new| new.partition == key.partition));
            }
        }
    }
}

impl Job {
    /// What is taken off its priority. Only operators may add to it.
    fn nice(&self) -> i32 {
        let nice = self.submission.nice;
        if Slurmctld::is_operator(self.submission.submitter()) { nice } else { nice.max(0) }
    }
}

impl PriorityParams {
    /// Without a slurmdbd, slurmctld sets it to 0.
    pub(crate) const fn age_weight(&self) -> u32 {
        if self.slurmdbd { self.weight_age } else { 0 }
    }

    /// Whether any weight is set.
    fn weighs(&self) -> bool {
        self.age_weight() != 0
            || self.weight_job_size != 0
            || self.weight_partition != 0
            || self.weight_tres != TresWeights::default()
    }
}
