//! The schedulers' common ground: the order of the queue, and what a cycle wants done.
//!
//! ```text
//!   queue ──main cycle, backfill──▶ decisions ──apply──▶ starts, reasons
//! ```

mod clock;
mod held_now;
mod main_cycle;
mod nodes_now;
mod pick;

use std::{cmp::Reverse, sync::Arc};

use crate::{Allocation, ArrayTasks, Defer, Job, JobId, Mutant, Reason, Slurmctld, Span, Time};

pub(crate) use clock::{Clock, next_tick};
pub(crate) use nodes_now::{NodesNow, Refusal, Seeker};

/// A job's place in the queue of one of its partitions: the least is looked at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueKey {
    tier: Reverse<u32>,
    priority: Reverse<u32>,
    /// To the second.
    submitted: u64,
    /// Its array's number and its own in it, where it has one.
    number: (JobId, u32),
    pub(crate) job: JobId,
    order: usize,
    pub(crate) partition: usize,
}

/// What a scheduler wants done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// Run now.
    Start { job: JobId, partition: usize, allocation: Arc<Allocation> },
    /// Stay in the queue, and say why.
    Wait { job: JobId, reason: Reason },
    /// No node will ever do.
    GiveUp { job: JobId },
}

impl Slurmctld {
    pub(crate) fn apply(&mut self, now: Time, decision: Decision, backfilled: bool) {
        match decision {
            Decision::Start { job, partition, allocation } => {
                self.start_job(now, job, partition, &allocation, backfilled);
            }
            Decision::Wait { job, reason } => self.set_reason(job, reason),
            Decision::GiveUp { job } => {
                self.dequeue(job);
                if let Some(record) = self.job_mut(job) {
                    (record.priority, record.expected_start) = (0, None);
                }
                self.set_reason(job, Reason::BadConstraints);
            }
        }
    }

    /// Whether backfill leaves it out there: it goes by the least time that a job asks for.
    pub(crate) fn backfill_refuses(&self, job: &Job, partition: usize) -> bool {
        match self.partition_refusal(job, partition) {
            None => false,
            Some(Reason::PartitionTimeLimit) => {
                let spec = self.partition_spec(partition);
                let fits = spec.max_time.zip(job.time_min).is_some_and(|(max, least)| least <= max);
                !fits || !spec.state.starts_jobs()
            }
            Some(_) => true,
        }
    }

    /// The queue places of a job.
    pub(crate) fn queue_keys(&self, job: &Job) -> Vec<QueueKey> {
        let place = |(order, partition): (usize, &usize)| QueueKey {
            tier: Reverse(self.partition_spec(*partition).priority_tier),
            priority: Reverse(self.priority_in(job, order)),
            submitted: if self.has(Mutant::YoungestFirst) {
                u64::MAX - u64::from(job.id.0)
            } else {
                job.submit_time.as_secs()
            },
            number: number(job),
            job: job.id,
            order,
            partition: *partition,
        };
        job.partitions.iter().enumerate().map(place).collect()
    }

    /// A new job may wait for others that come first.
    pub(crate) fn compare_with_queue(&mut self, now: Time, id: JobId) {
        let Some(job) = self.job(id).filter(|job| job.reason == Reason::None && job.priority != 0)
        else {
            return;
        };
        if self.params().defer == Defer::No && self.is_outranked(now, job) {
            self.set_reason(id, Reason::Priority);
        }
    }

    fn is_outranked(&self, now: Time, job: &Job) -> bool {
        let Some(least) = self.queue_keys(job).into_iter().max() else {
            return false;
        };
        let min_age = self.params().backfill.min_age_reserve;
        let old_enough = |other: &Job| {
            min_age == Span::ZERO
                || other.eligible_time.is_some_and(|since| min_age <= now.since(since))
        };
        let shares_nodes = |other: &Job| {
            let all = || other.partitions.iter().map(|place| &self.partition_nodes[*place]);
            let own = job.partitions.iter().map(|place| &self.partition_nodes[*place]);
            own.clone().any(|nodes| all().any(|other| other.overlaps(nodes)))
        };
        self.queue
            .iter()
            .take_while(|key| (key.tier, key.priority) <= (least.tier, least.priority))
            .filter(|key| key.rank() < least.rank())
            .filter_map(|key| self.job(key.job))
            .filter(|other| other.id != job.id)
            .filter(|other| !other.reason.is_of_partition() && !other.reason.is_not_avail())
            .any(|other| old_enough(other) && shares_nodes(other))
    }
}

impl QueueKey {
    /// What the job is worth there.
    pub(crate) const fn priority(&self) -> u32 {
        self.priority.0
    }

    const fn rank(&self) -> (Reverse<u32>, Reverse<u32>, u64, JobId) {
        (self.tier, self.priority, self.submitted, self.job)
    }
}

/// Tasks come in order, and those that have no record of their own yet last.
fn number(job: &Job) -> (JobId, u32) {
    match job.array.as_ref().map(|place| (place.job, &place.tasks)) {
        Some((array, ArrayTasks::One(task))) => (array, *task),
        Some((array, ArrayTasks::Several(_))) => (array, u32::MAX),
        None => (job.id, u32::MAX),
    }
}
