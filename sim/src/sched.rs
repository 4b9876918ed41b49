//! The main scheduler: when it runs, and what it decides.
//!
//! ```text
//!   submit, end, node change ──asks──▶ next whole second, batch_sched_delay after the last cycle
//!   every sched_interval: the whole queue        otherwise: default_queue_depth jobs
//! ```
//!
//! In a cycle the first job of a partition that finds no room blocks it: later jobs there wait for
//! `Priority`, and its nodes are withdrawn from everybody else who comes later.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use crate::{
    Allocation, IndexSet, Job, JobId, Reason, Slurmctld, Span, Time,
    conf::PartitionState,
    select::{self, View},
};

/// A job's place in the queue of one of its partitions: the least is looked at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueKey {
    tier: Reverse<u32>,
    priority: Reverse<u32>,
    pub(crate) job: JobId,
    order: usize,
    pub(crate) partition: usize,
}

/// What decides when the schedulers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Since when somebody asks for a main cycle.
    pub(crate) asked: Option<Time>,
    /// When the last main cycle was.
    last: Time,
    /// The last cycle did not look at the whole queue.
    more: bool,
    /// When the last backfill cycle was.
    pub(crate) backfilled: Time,
    /// Since when backfill has something new to look at.
    pub(crate) changed: Option<Time>,
}

/// What the scheduler wants done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// Run now.
    Start { job: JobId, partition: usize, allocation: Arc<Allocation> },
    /// Stay in the queue, and say why.
    Wait { job: JobId, reason: Reason },
}

const SECOND: Span = Span::secs(1);

impl Slurmctld {
    /// Asks for a main cycle, and tells backfill that something changed.
    pub(crate) fn ask_for_cycle(&mut self, now: Time) {
        // Requests while nobody waited were served by cycles that had nothing to do.
        if let Some(served) = self.clock.asked.map(|asked| self.after_delay(asked))
            && served < now
        {
            self.clock.last = self.clock.last.max(served);
            self.clock.asked = None;
        }
        self.clock.asked.get_or_insert(now);
        self.tell_backfill(now);
    }

    /// When the next main cycle that could matter is.
    pub(crate) fn main_due(&self) -> Option<Time> {
        let waiting = !self.queue.is_empty();
        let asked = self.clock.asked.filter(|_| waiting || !self.begins.is_empty());
        let by_request = asked.map(|asked| self.after_delay(asked));
        let whole = self.clock.more.then_some(self.clock.last);
        let begin = self.begins.first().map(|(begin, _)| *begin);
        // A job whose time has come is found by the next full cycle, not by a cycle of its own.
        let by_interval =
            whole.into_iter().chain(begin).filter_map(|from| self.next_full(from)).min();
        by_request.into_iter().chain(by_interval).min()
    }

    /// The tick at which a request of `asked` is served.
    fn after_delay(&self, asked: Time) -> Time {
        let params = self.params();
        let delay = params.batch_sched_delay.max(params.sched_min_interval);
        // Full cycles happen whether or not anybody waits, and the delay counts from them too.
        let last_full = params.sched_interval.map_or(Time::ZERO, |step| round_down(asked, step));
        let earliest = self.clock.last.max(last_full) + delay;
        let tick = next_tick(asked).max(earliest.round_up(SECOND));
        self.next_full(asked).map_or(tick, |full| full.min(tick))
    }

    /// The first full cycle at `from` or later, after the last cycle.
    fn next_full(&self, from: Time) -> Option<Time> {
        let step = self.params().sched_interval?;
        let from = from.max(self.clock.last + Span::ms(1));
        Some(from.round_up(step).max(Time::ZERO + step))
    }

    pub(crate) fn run_main_cycle(&mut self, now: Time) {
        self.admit_begun(now);
        let step = self.params().sched_interval;
        let full = step.is_some_and(|step| now == round_down(now, step));
        let depth = if full { usize::MAX } else { self.params().default_queue_depth };
        let (decisions, more) = self.decide_main(depth);
        self.clock.asked = None;
        self.clock.last = now;
        self.clock.more = more;
        self.stats.main_cycles += 1;
        for decision in decisions {
            self.apply(now, decision, false);
        }
    }

    pub(crate) fn apply(&mut self, now: Time, decision: Decision, backfilled: bool) {
        match decision {
            Decision::Start { job, partition, allocation } => {
                self.start_job(now, job, partition, &allocation, backfilled);
            }
            Decision::Wait { job, reason } => self.set_reason(job, reason),
        }
    }

    /// Moves jobs whose begin time has come into the queue.
    pub(crate) fn admit_begun(&mut self, now: Time) {
        while let Some((begin, job)) = self.begins.first().copied() {
            if now < begin {
                return;
            }
            self.begins.pop_first();
            self.enqueue(now, job);
        }
    }

    /// What to do with the first `depth` of the queue, and whether there was more.
    fn decide_main(&self, depth: usize) -> (Vec<Decision>, bool) {
        let mut cycle = Cycle::new(self);
        for (looked_at, key) in self.queue.iter().enumerate() {
            let limit = self.params().sched_max_job_start;
            if depth <= looked_at || (limit != 0 && limit <= cycle.started.len()) {
                return (cycle.decisions, true);
            }
            cycle.look_at(*key);
        }
        (cycle.decisions, false)
    }

    /// Why a job can't run in a partition at all, as things stand.
    pub(crate) fn partition_refusal(&self, job: &Job, partition: usize) -> Option<Reason> {
        let spec = self.partition_spec(partition);
        match spec.state {
            PartitionState::Up | PartitionState::Drain => {}
            PartitionState::Down => return Some(Reason::PartitionDown),
            PartitionState::Inactive => return Some(Reason::PartitionInactive),
        }
        let most = job.ask.max_nodes.unwrap_or(u32::MAX);
        if spec.max_nodes.is_some_and(|max| max < job.ask.min_nodes) || most < spec.min_nodes {
            return Some(Reason::PartitionNodeLimit);
        }
        let too_long =
            spec.max_time.is_some_and(|max| job.time_limit.is_none_or(|limit| max < limit));
        too_long.then_some(Reason::PartitionTimeLimit)
    }

    /// The queue places of a job.
    pub(crate) fn queue_keys(&self, job: &Job) -> Vec<QueueKey> {
        let place = |(order, partition): (usize, &usize)| QueueKey {
            tier: Reverse(self.partition_spec(*partition).priority_tier),
            priority: Reverse(job.priority),
            job: job.id,
            order,
            partition: *partition,
        };
        job.partitions.iter().enumerate().map(place).collect()
    }
}

/// One pass over the queue. Looks at the controller and changes nothing in it.
struct Cycle<'a> {
    ctld: &'a Slurmctld,
    view: View<'a>,
    /// Nodes that are left for whoever comes next.
    available: IndexSet,
    blocked: BTreeSet<usize>,
    started: BTreeSet<JobId>,
    decisions: Vec<Decision>,
}

impl<'a> Cycle<'a> {
    fn new(ctld: &'a Slurmctld) -> Self {
        Self {
            ctld,
            view: View::of(&ctld.nodes),
            available: ctld.up.clone(),
            blocked: BTreeSet::new(),
            started: BTreeSet::new(),
            decisions: vec![],
        }
    }

    fn look_at(&mut self, key: QueueKey) {
        let Some(job) = self.ctld.job(key.job).filter(|_| !self.started.contains(&key.job)) else {
            return;
        };
        if let Some(reason) = self.ctld.partition_refusal(job, key.partition) {
            self.wait(job, reason);
        } else if self.blocked.contains(&key.partition) {
            // Only who had no reason of their own now waits for others.
            if matches!(job.reason, Reason::None | Reason::Resources) {
                self.wait(job, Reason::Priority);
            }
        } else {
            self.test(job, key.partition);
        }
    }

    fn test(&mut self, job: &Job, partition: usize) {
        let members = &self.ctld.partition_nodes[partition];
        let mut candidates = self.available.clone();
        candidates.keep(members);
        if candidates.is_empty() {
            return self.wait(job, Reason::NodesUnavailable);
        }
        let policy = self.ctld.policy(partition);
        if let Some(allocation) = select::select(&self.view, &candidates, &job.ask, policy) {
            self.view.take(&allocation);
            self.started.insert(job.id);
            self.decisions.push(Decision::Start { job: job.id, partition, allocation });
            return;
        }
        self.refuse(job, partition, &candidates);
    }

    /// It finds no room: who is to wait because of it?
    fn refuse(&mut self, job: &Job, partition: usize, candidates: &IndexSet) {
        if !candidates.holds(&job.ask.required) {
            return self.wait(job, Reason::ReqNodeNotAvail);
        }
        let empty = View::empty(&self.ctld.nodes);
        if select::select(&empty, candidates, &job.ask, self.ctld.policy(partition)).is_none() {
            // Even idle, the nodes that are up wouldn't do. That blocks nobody.
            return self.wait(job, Reason::NodesUnavailable);
        }
        self.wait(job, Reason::Resources);
        if job.ask.required.is_empty() {
            self.blocked.insert(partition);
            self.available.subtract(&self.ctld.partition_nodes[partition]);
        } else {
            self.available.subtract(&job.ask.required);
        }
    }

    fn wait(&mut self, job: &Job, reason: Reason) {
        if job.reason != reason {
            let job = job.id;
            self.decisions.push(Decision::Wait { job, reason });
        }
    }
}

/// The first whole second after `at`: the loop that looks for work ticks once a second.
pub(crate) fn next_tick(at: Time) -> Time {
    (at + Span::ms(1)).round_up(SECOND)
}

fn round_down(at: Time, step: Span) -> Time {
    Time::from_ms(at.as_ms() - at.as_ms() % step.as_ms().max(1))
}
