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

mod by_feature;
mod future;
mod horizon;
mod owners;
mod plan;
mod quota;
mod rooms;
mod search;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use crate::{
    Fact, IndexSet, JobId, JobState, NodeBase, NodeFlags, Slurmctld, Span, Time,
    conf::SchedulerType,
    sched::{Decision, next_tick},
};
use search::{Cycle, Hope};

impl Slurmctld {
    /// From now on nobody looks at plans: expected starts and nodes that are shown as planned. A
    /// backfill cycle then makes only those that who starts depends on; who starts stays the same.
    pub const fn hide_plans(&mut self) {
        self.plans_hidden = true;
    }

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
        let tick = self.backfill_tick(self.clock.changed.filter(|_| on)?);
        let begins = || self.begins.first().is_some_and(|(begin, _)| *begin <= tick);
        let something = !self.queue.is_empty() || !self.planned.is_empty() || begins();
        something.then_some(tick)
    }

    fn backfill_tick(&self, changed: Time) -> Time {
        let interval = self.params().backfill.interval.unwrap_or(Span::MAX);
        next_tick(changed).max(self.clock.backfilled + interval)
    }

    pub(crate) fn run_backfill_cycle(&mut self, now: Time) {
        self.admit_begun(now);
        self.check_limits();
        self.rows.pack();
        let outcome = self.decide_backfill(now);
        self.clock.backfilled = now;
        self.clock.changed = None;
        self.stats.backfill_cycles += 1;
        for decision in outcome.starts {
            // Whom it told something else the main scheduler tells what it thinks of them.
            if let Decision::Wait { job, reason } = &decision
                && self.job(*job).is_some_and(|job| job.reason != *reason)
            {
                self.note_unseen(now);
            }
            self.apply(now, decision, true);
        }
        for (job, limit) in outcome.limits {
            self.shorten(now, job, limit);
        }
        self.outranked = outcome.outranked;
        self.expect_starts(outcome.expected);
        self.show_planned(outcome.planned);
    }

    /// `PLANNED` is shown of nodes that aren't given out to the last CPU, until the next cycle.
    fn show_planned(&mut self, mut planned: IndexSet) {
        if self.plans_hidden {
            // Whether there are any is all that the next cycle depends on.
            let shown = planned.iter().find(|place| !self.seems_full(*place));
            self.planned = shown.into_iter().collect();
            return;
        }
        for place in mem::take(&mut self.planned).iter() {
            self.nodes[place].flags = self.nodes[place].flags.without(NodeFlags::PLANNED);
        }
        let full: IndexSet = planned.iter().filter(|place| self.seems_full(*place)).collect();
        planned.subtract(&full);
        let nodes = &mut self.nodes;
        for place in planned.iter() {
            nodes[place].flags = nodes[place].flags.with(NodeFlags::PLANNED);
        }
        self.planned = planned;
    }

    /// Whether a node is given out to the last CPU, or a job runs there though no CPU counts as given
    /// out: so it is after a job on it was suspended and resumed.
    fn seems_full(&self, place: usize) -> bool {
        let node = &self.nodes[place];
        let runs = |id: &JobId| self.job(*id).is_some_and(|job| job.state == JobState::Running);
        let base = node.state().base;
        let seems_idle = base == NodeBase::Mixed && node.usage.cpus == 0;
        base == NodeBase::Allocated || (seems_idle && node.jobs.iter().any(runs))
    }

    fn decide_backfill(&self, now: Time) -> Outcome {
        let mut cycle = Cycle::new(self, now);
        let mut hope = Hope::of(self);
        for key in &self.queue {
            let over = hope.as_mut().is_some_and(|hope| hope.is_over(&mut cycle, *key));
            if over || cycle.is_full() {
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
    /// Jobs behind others that it tried to start.
    outranked: BTreeSet<JobId>,
    /// Nodes that somebody is planned to start on.
    planned: IndexSet,
}
