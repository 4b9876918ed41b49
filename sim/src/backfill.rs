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

mod plan;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    Allocation, Fact, IndexSet, Job, JobId, JobState, Reason, Slurmctld, Span, Time,
    conf::SchedulerType,
    sched::{Decision, QueueKey, next_tick},
    select::{self, Ask, View},
};
use plan::Plan;

/// How long a job without a limit is taken to run.
const YEAR: Span = Span::hours(365 * 24);
/// How close together running jobs must end to be looked at as one, at first.
const WINDOW: Span = Span::secs(30);
/// How often a job is tried at a later time before it is left for the next cycle.
const TRIES: usize = 32;

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
        let outcome = self.decide_backfill(now);
        self.clock.backfilled = now;
        self.clock.changed = None;
        self.stats.backfill_cycles += 1;
        for decision in outcome.starts {
            self.apply(now, decision, true);
        }
        for (job, start) in outcome.planned {
            self.expect_start(job, start);
        }
    }

    fn expect_start(&mut self, job: JobId, start: Option<Time>) {
        let Some(record) = self.job_mut(job).filter(|job| job.state == JobState::Pending) else {
            return;
        };
        if record.expected_start != start {
            record.expected_start = start;
            self.facts.extend(start.map(|start| Fact::JobPlanned { job, start }));
        }
        let planned = start.is_some();
        if planned && self.job(job).is_some_and(|job| job.reason == Reason::NodesUnavailable) {
            self.set_reason(job, Reason::Priority);
        }
    }

    fn decide_backfill(&self, now: Time) -> Outcome {
        let limits = self.params().backfill;
        let mut cycle = Cycle::new(self, now);
        let mut looked_at = BTreeSet::new();
        for key in &self.queue {
            let full =
                limits.max_job_start != 0 && limits.max_job_start <= cycle.outcome.starts.len();
            if full || (limits.max_job_test <= looked_at.len() && !looked_at.contains(&key.job)) {
                break;
            }
            looked_at.insert(key.job);
            cycle.look_at(*key);
        }
        cycle.outcome
    }
}

/// What a backfill cycle wants done.
#[derive(Default)]
struct Outcome {
    starts: Vec<Decision>,
    planned: Vec<(JobId, Option<Time>)>,
}

/// One pass over the queue.
struct Cycle<'a> {
    ctld: &'a Slurmctld,
    now: Time,
    view: View<'a>,
    /// How many of `ending` are given back, and what is held then.
    later: (usize, View<'a>),
    plan: Plan,
    /// What is held, by when it is given back.
    ending: Vec<(Time, Arc<Allocation>)>,
    started: BTreeSet<JobId>,
    /// The earliest place of the last job that asked the same. Room only shrinks in a cycle, so
    /// nobody who asks the same finds an earlier one; `None` found none at all.
    earliest: BTreeMap<(usize, Span, Arc<Ask>), Option<Time>>,
    outcome: Outcome,
}

/// Where and when a job would run.
struct Place {
    start: Time,
    allocation: Arc<Allocation>,
}

impl<'a> Cycle<'a> {
    fn new(ctld: &'a Slurmctld, now: Time) -> Self {
        let mut ending: Vec<_> = ctld
            .nodes
            .iter()
            .flat_map(|node| &node.jobs)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter_map(|id| ctld.job(*id))
            .filter_map(|job| Some((expected_end(job, now), job.allocation.clone()?)))
            .collect();
        ending.sort_by_key(|(end, _)| *end);
        Self {
            ctld,
            now,
            view: View::later(&ctld.nodes),
            later: (0, View::later(&ctld.nodes)),
            plan: Plan::new(now, ctld.up.clone(), ctld.epoch, ctld.params().backfill.resolution),
            ending,
            started: BTreeSet::new(),
            earliest: BTreeMap::new(),
            outcome: Outcome::default(),
        }
    }

    fn look_at(&mut self, key: QueueKey) {
        let ctld = self.ctld;
        let Some(job) = ctld.job(key.job).filter(|_| !self.started.contains(&key.job)) else {
            return;
        };
        if ctld.partition_refusal(job, key.partition).is_some() {
            return self.outcome.planned.push((job.id, None));
        }
        let spec = ctld.partition_spec(key.partition);
        let limit = job.time_limit.or(spec.max_time).unwrap_or(YEAR);
        let same = (key.partition, limit, job.ask.clone());
        let from = self.earliest.get(&same).copied().unwrap_or(Some(self.now));
        let place = from.and_then(|from| self.find(job, key.partition, limit, from));
        self.earliest.insert(same, place.as_ref().map(|place| place.start));
        let Some(place) = place else {
            return self.outcome.planned.push((job.id, None));
        };
        let window_end = self.now + ctld.params().backfill.window;
        let nodes: IndexSet = place.allocation.nodes.iter().map(|share| share.index).collect();
        if place.start <= self.now {
            self.start(job, key.partition, limit, &place.allocation);
            self.plan.reserve(&nodes, self.now, self.now + limit);
        } else {
            self.outcome.planned.push((job.id, Some(place.start)));
            if place.start <= window_end {
                self.plan.reserve(&nodes, place.start, place.start + limit);
            }
        }
    }

    fn start(&mut self, job: &Job, partition: usize, limit: Span, allocation: &Arc<Allocation>) {
        self.started.insert(job.id);
        self.view.take(allocation);
        let end = self.now + limit;
        let at = self.ending.partition_point(|(other, _)| *other <= end);
        self.ending.insert(at, (end, allocation.clone()));
        self.later = (0, self.view.clone());
        self.outcome.starts.push(Decision::Start {
            job: job.id,
            partition,
            allocation: allocation.clone(),
        });
    }

    /// The earliest place that disturbs no reservation.
    fn find(&mut self, job: &Job, partition: usize, limit: Span, from: Time) -> Option<Place> {
        let mut from = from;
        for _ in 0..TRIES {
            let mut nodes = self.plan.free_throughout(from, from + limit);
            nodes.keep(&self.ctld.partition_nodes[partition]);
            let later = self.plan.next_change(from);
            let found = self.will_run(job, partition, &nodes, from);
            match (found, later) {
                // More nodes may be free later, yet before that.
                (Some(place), Some(later)) if later < place.start => from = later,
                (Some(place), _) if self.plan.is_free(&place.allocation, place.start, limit) => {
                    return Some(place);
                }
                (_, Some(later)) => from = later,
                (_, None) => return None,
            }
        }
        None
    }

    /// When the running jobs' limits leave room among `nodes`, not before `from`.
    fn will_run(
        &mut self,
        job: &Job,
        partition: usize,
        nodes: &IndexSet,
        from: Time,
    ) -> Option<Place> {
        if nodes.len() < job.ask.min_nodes as usize || !nodes.holds(&job.ask.required) {
            return None;
        }
        let policy = self.ctld.policy(partition);
        let try_at = |view: &View<'_>, start: Time| {
            let allocation = select::select(view, nodes, &job.ask, policy)?;
            Some(Place { start, allocation })
        };
        let past = self.ending.partition_point(|(end, _)| *end <= from);
        self.give_back_until(past);
        if let Some(place) = try_at(&self.later.1, from) {
            return Some(place);
        }
        let rest = self.ending[past..].iter();
        let mut rest: Vec<_> = rest.filter(|(_, held)| overlaps(held, nodes)).collect();
        if rest.is_empty() {
            return None;
        }
        let mut view = self.later.1.clone();
        let mut window = WINDOW;
        while let Some((first, _)) = rest.first() {
            let together = rest.partition_point(|(end, _)| *end <= *first + window);
            let mut last = *first;
            for (end, held) in rest.drain(..together) {
                view.give_back(held);
                last = *end;
            }
            if let Some(place) = try_at(&view, last) {
                return Some(place);
            }
            window = window.times(2);
        }
        None
    }

    /// Makes `later` the view in which the first `past` of `ending` are given back. Most jobs look
    /// at the same few moments, in ascending order.
    fn give_back_until(&mut self, past: usize) {
        if past < self.later.0 {
            self.later = (0, self.view.clone());
        }
        for (_, held) in &self.ending[self.later.0..past] {
            self.later.1.give_back(held);
        }
        self.later.0 = past;
    }
}

fn overlaps(held: &Allocation, nodes: &IndexSet) -> bool {
    held.nodes.iter().any(|share| nodes.contains(share.index))
}

/// When a job gives its nodes back at the latest, as far as backfill knows.
fn expected_end(job: &Job, now: Time) -> Time {
    let end = if job.state == JobState::Running {
        job.start_time.unwrap_or(now) + job.time_limit.unwrap_or(YEAR)
    } else {
        now
    };
    end.max(now + Span::secs(1))
}
