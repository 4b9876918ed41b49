//! *EASY*: ideal backfill on a pool of processors, decided at every arrival and every end.
//!
//! ```text
//!   head of the queue doesn't fit ──▶ its shadow: when limits free enough, and what is left then
//!   later jobs start now if they end before the shadow, or fit into what is left
//! ```
//!
//! No cycles, no nodes, no partitions: the yardstick that other simulators use.

use std::collections::{BTreeSet, VecDeque};

use drawbridge_sim::{EventQueue, SlurmConfig, Span, Time};

use crate::{
    options::{Mode, OverLimit},
    outcome::{End, JobOutcome, Outcome},
    trace::{Notes, Trace, TraceJob},
    workload::{Arrival, Workload},
};

/// How long a job without a limit is taken to run.
const YEAR: Span = Span::hours(365 * 24);

/// The machine as one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// CPUs in all.
    pub cpus: u64,
    /// CPUs of each node.
    pub cpus_per_node: u32,
    /// Nodes.
    pub nodes: u32,
    /// Jobs take whole nodes.
    pub whole_nodes: bool,
}

impl Pool {
    /// The machine that a slurm.conf describes.
    pub fn of(config: &SlurmConfig) -> Self {
        let nodes = config.nodes();
        Self {
            cpus: nodes.iter().map(|node| u64::from(node.cpus)).sum(),
            cpus_per_node: nodes.iter().map(|node| node.cpus).max().unwrap_or(1),
            nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
            whole_nodes: config.partitions().iter().all(|partition| partition.exclusive),
        }
    }

    fn size(&self, job: &TraceJob) -> u64 {
        let nodes = job.nodes.unwrap_or(1).max(1);
        if self.whole_nodes {
            let nodes = nodes.max(job.cpus.div_ceil(self.cpus_per_node.max(1)));
            u64::from(nodes) * u64::from(self.cpus_per_node)
        } else {
            job.cpus.max(nodes).into()
        }
    }
}

/// Replays the workload; `progress` is told how many jobs are over.
pub fn replay(
    trace: &Trace,
    workload: &Workload,
    pool: Pool,
    over_limit: OverLimit,
    progress: &mut dyn FnMut(u64),
) -> Outcome {
    let mut run = Run::new(trace, workload, pool, over_limit);
    let mut arrivals = workload.arrivals.iter().enumerate().peekable();
    loop {
        let next = [run.ends.next_at(), arrivals.peek().map(|(_, arrival)| arrival.at)];
        let Some(now) = next.into_iter().flatten().min() else {
            break;
        };
        let freed = run.end_due(now);
        let before = run.queue.len();
        while let Some((place, arrival)) = arrivals.next_if(|(_, arrival)| arrival.at <= now) {
            run.arrive(place, arrival);
        }
        run.decide(now, freed, before);
        progress(run.n_ended);
    }
    run.finish()
}

/// A job in the queue.
#[derive(Clone, Copy)]
struct Waiting {
    place: usize,
    size: u64,
    limit: Span,
}

/// When the head starts at the latest, and what it leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shadow {
    at: Time,
    left: u64,
}

struct Run<'a> {
    trace: &'a Trace,
    workload: &'a Workload,
    pool: Pool,
    over_limit: OverLimit,
    free: u64,
    queue: VecDeque<Waiting>,
    /// Running jobs by when their limit passes.
    running: BTreeSet<(Time, usize, u64)>,
    ends: EventQueue<(usize, u64, Time)>,
    shadow: Option<Shadow>,
    outcomes: Vec<Option<JobOutcome>>,
    n_ended: u64,
    n_decisions: u64,
    backfilled: u64,
    notes: Notes,
}

impl<'a> Run<'a> {
    fn new(trace: &'a Trace, workload: &'a Workload, pool: Pool, over_limit: OverLimit) -> Self {
        Self {
            trace,
            workload,
            pool,
            over_limit,
            free: pool.cpus,
            queue: VecDeque::new(),
            running: BTreeSet::new(),
            ends: EventQueue::default(),
            shadow: None,
            outcomes: vec![None; workload.arrivals.len()],
            n_ended: 0,
            n_decisions: 0,
            backfilled: 0,
            notes: Notes::default(),
        }
    }

    fn end_due(&mut self, now: Time) -> bool {
        let before = self.n_ended;
        while let Some((_, (place, size, limit_end))) = self.ends.pop_due(now) {
            self.free += size;
            self.running.remove(&(limit_end, place, size));
            self.n_ended += 1;
        }
        before != self.n_ended
    }

    fn arrive(&mut self, place: usize, arrival: &Arrival) {
        let size = self.pool.size(&self.trace.jobs[arrival.job as usize]);
        if self.pool.cpus < size {
            return self.notes.count("left out: larger than the machine");
        }
        let limit = arrival.limit.unwrap_or(YEAR);
        self.queue.push_back(Waiting { place, size, limit });
    }

    /// Starts what may start. The first `before` of the queue waited already.
    fn decide(&mut self, now: Time, freed: bool, before: usize) {
        self.n_decisions += 1;
        let mut started = 0;
        while let Some(head) = self.queue.front().copied().filter(|head| head.size <= self.free) {
            self.queue.pop_front();
            self.start(now, head);
            started += 1;
        }
        let Some(head) = self.queue.front().copied() else {
            self.shadow = None;
            return;
        };
        let shadow = self.shadow_of(now, head);
        // With nothing freed and the same shadow, who couldn't start before can't now.
        let same = !freed && started == 0 && self.shadow == Some(shadow);
        self.backfill(now, if same { before.max(1) } else { 1 }, shadow);
    }

    fn shadow_of(&self, now: Time, head: Waiting) -> Shadow {
        let mut free = self.free;
        for (end, _, size) in &self.running {
            free += size;
            if head.size <= free {
                return Shadow { at: (*end).max(now), left: free - head.size };
            }
        }
        Shadow { at: Time::MAX, left: 0 }
    }

    fn backfill(&mut self, now: Time, from: usize, mut shadow: Shadow) {
        let mut kept = from;
        for at in from..self.queue.len() {
            let waiting = self.queue[at];
            let before_shadow = now + waiting.limit <= shadow.at;
            let fits = waiting.size <= self.free;
            if fits && (before_shadow || waiting.size <= shadow.left) {
                if !before_shadow {
                    shadow.left -= waiting.size;
                }
                self.start(now, waiting);
                self.backfilled += 1;
            } else {
                self.queue[kept] = waiting;
                kept += 1;
            }
        }
        self.queue.truncate(kept.max(1));
        self.shadow = Some(shadow);
    }

    fn start(&mut self, now: Time, waiting: Waiting) {
        let Waiting { place, size, limit } = waiting;
        let arrival = &self.workload.arrivals[place];
        let killed = self.over_limit == OverLimit::Kill && limit < arrival.run;
        let end = now + if killed { limit } else { arrival.run };
        self.free -= size;
        self.running.insert((now + limit, place, size));
        self.ends.push(end, (place, size, now + limit));
        self.outcomes[place] = Some(JobOutcome {
            job: arrival.job,
            submit: arrival.at,
            start: now,
            end,
            recorded: arrival.recorded,
            cpus: u32::try_from(size).unwrap_or(u32::MAX),
            ended: if killed { End::Timeout } else { End::Completed },
            nodes: Box::default(),
        });
    }

    fn finish(self) -> Outcome {
        let mut notes = self.notes;
        notes.extend(&self.workload.notes);
        Outcome {
            mode: Mode::Easy,
            cpus: self.pool.cpus,
            nodes: self.pool.nodes,
            jobs: self.outcomes.into_iter().flatten().collect(),
            notes,
            cycles: (self.n_decisions, 0),
            backfilled: self.backfilled,
        }
    }
}

#[cfg(test)]
mod tests;
