//! Backfill: later jobs may start where they delay no earlier one.
//!
//! ```text
//!   queue in order ──▶ earliest start among the nodes that nobody earlier has reserved
//!                        │ now            ──▶ start it
//!                        └ later, in bf_window ──▶ reserve its nodes from then until its limit
//! ```
//!
//! Reservations are of whole nodes and rounded outwards to `bf_resolution`; what running jobs
//! hold is given back in parts, at their limits.

mod future;
mod plan;
mod quota;
mod search;

use std::{collections::BTreeMap, mem};

use crate::{
    Fact, IndexSet, JobId, JobState, Slurmctld, Span, Time,
    conf::SchedulerType,
    sched::{Decision, next_tick},
};
use search::Cycle;

impl Slurmctld {
    /// Something changed that could let a job start or move a plan.
    pub(crate) fn tell_backfill(&mut self, now: Time) {
        // What changed while nobody waited was looked at by a cycle that had nothing to do.
        if let Some(done) = self.clock.changed.map(|changed| self.backfill_tick(changed))
            && done < now
        {
            self.clock.backfilled = self.clock.backfilled.max(done);
            self.clock.changed = None;
        }
        self.clock.changed.get_or_insert(now);
    }

    /// When the next backfill cycle that could matter is.
    pub(crate) fn backfill_due(&self) -> Option<Time> {
        let params = self.params();
        let on = params.scheduler == SchedulerType::Backfill && params.backfill.interval.is_some();
        let changed = self.clock.changed.filter(|_| on && !self.queue.is_empty())?;
        Some(self.backfill_tick(changed))
    }

    fn backfill_tick(&self, changed: Time) -> Time {
        let interval = self.params().backfill.interval.unwrap_or(Span::MAX);
        next_tick(changed).max(self.clock.backfilled + interval)
    }

    pub(crate) fn run_backfill_cycle(&mut self, now: Time) {
        self.admit_begun(now);
        self.check_limits();
        let outcome = self.decide_backfill(now);
        self.clock.backfilled = now;
        self.clock.changed = None;
        self.stats.backfill_cycles += 1;
        for decision in outcome.starts {
            self.apply(now, decision, true);
        }
        for (job, limit) in outcome.limits {
            self.shorten(now, job, limit);
        }
        self.expect_starts(outcome.expected);
        self.planned = outcome.planned;
    }

    fn decide_backfill(&self, now: Time) -> Outcome {
        let mut cycle = Cycle::new(self, now);
        for key in &self.queue {
            if cycle.is_full() {
                break;
            }
            cycle.look_at(*key);
        }
        cycle.into_outcome()
    }

    /// Every plan of the last cycle is forgotten; these are the new ones.
    fn expect_starts(&mut self, expected: BTreeMap<JobId, Time>) {
        let before = mem::replace(&mut self.expected, expected.keys().copied().collect());
        for job in before.into_iter().filter(|job| !expected.contains_key(job)) {
            self.expect_start(job, None);
        }
        for (job, start) in expected {
            self.expect_start(job, Some(start));
        }
    }

    fn expect_start(&mut self, job: JobId, start: Option<Time>) {
        let waits = |job: &&mut crate::Job| job.state == JobState::Pending;
        let Some(record) = self.job_mut(job).filter(waits) else {
            return;
        };
        if record.expected_start != start {
            record.expected_start = start;
            self.facts.extend(start.map(|start| Fact::JobPlanned { job, start }));
        }
    }

    fn shorten(&mut self, now: Time, job: JobId, limit: Span) {
        if let Some(record) = self.job_mut(job) {
            record.time_limit = Some(limit);
            self.schedule_end(now, job);
        }
    }
}

/// What a backfill cycle wants done.
#[derive(Default)]
struct Outcome {
    starts: Vec<Decision>,
    /// Limits of jobs that start with less than they asked for.
    limits: Vec<(JobId, Span)>,
    expected: BTreeMap<JobId, Time>,
    /// Nodes that somebody is planned to start on.
    planned: IndexSet,
}
