//! The main scheduler: one pass over the queue.
//!
//! The first job of a partition that finds no room blocks it: later jobs there wait for
//! `Priority`, and its nodes are withdrawn from everybody else who comes later. A job that insists
//! on nodes withdraws only these.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use crate::{IndexSet, Job, JobId, Mutant, Reason, Slurmctld, Span, Time, tally::Tally};

use super::{
    Decision, QueueKey,
    nodes_now::{NodesNow, Refusal},
};

impl Slurmctld {
    pub(crate) fn run_main_cycle(&mut self, now: Time) {
        self.admit_begun(now);
        self.check_limits();
        let full = self.begin_cycle(now);
        let depth = if full { usize::MAX } else { self.params().default_queue_depth };
        let (decisions, more) = self.decide_main(now, depth);
        self.clock.unseen = more.then_some(now);
        self.stats.main_cycles += 1;
        for decision in decisions {
            self.apply(now, decision, false);
        }
    }

    /// Tells jobs that are new in the queue what their partitions think of them.
    pub(crate) fn check_limits(&mut self) {
        for id in mem::take(&mut self.unchecked) {
            let Some(job) = self.job(id) else { continue };
            let mut reason = job.reason.clone();
            let mut keys = self.queue_keys(job);
            keys.sort();
            for key in keys {
                match self.partition_refusal(job, key.partition) {
                    Some(refusal) => reason = refusal,
                    None if reason.is_of_partition() => reason = Reason::None,
                    None => {}
                }
            }
            self.set_reason(id, reason);
        }
    }

    /// What to do with the first `depth` of the queue, and whether there was more.
    fn decide_main(&self, now: Time, depth: usize) -> (Vec<Decision>, bool) {
        let mut cycle = Cycle::new(self, now);
        let mut tested = 0;
        for key in &self.queue {
            let Some(job) = cycle.candidate(*key) else { continue };
            // Of an array, as many tasks as find room.
            loop {
                let most_starts = self.params().sched_max_job_start;
                if most_starts != 0 && most_starts <= cycle.tally.n_started() {
                    return (cycle.decisions, true);
                }
                if cycle.waits_for_array(job, key.partition)
                    || cycle.is_beyond_depth(job, key.partition)
                {
                    break;
                }
                // Slurm compares before it counts, so one more than the depth is tested.
                if depth < tested {
                    return (cycle.decisions, true);
                }
                tested += 1;
                if !cycle.look_at(job, key.partition) {
                    break;
                }
            }
        }
        (cycle.decisions, false)
    }
}

/// One pass over the queue. Looks at the controller and changes nothing in it.
struct Cycle<'a> {
    ctld: &'a Slurmctld,
    now: Time,
    nodes: NodesNow<'a>,
    /// Nodes that are left for whoever comes next.
    available: IndexSet,
    blocked: BTreeSet<usize>,
    tally: Tally,
    /// The array, partition and record of the last task that found no room: others of it are
    /// not tried.
    rejected: Option<(JobId, usize, JobId)>,
    /// How many jobs of each partition came up, where that is limited.
    depths: BTreeMap<usize, usize>,
    /// Reasons given in this cycle.
    reasons: BTreeMap<JobId, Reason>,
    decisions: Vec<Decision>,
}

impl<'a> Cycle<'a> {
    fn new(ctld: &'a Slurmctld, now: Time) -> Self {
        Self {
            ctld,
            now,
            nodes: NodesNow::new(ctld),
            available: ctld.up.clone(),
            blocked: BTreeSet::new(),
            tally: Tally::new(ctld),
            rejected: None,
            depths: BTreeMap::new(),
            reasons: BTreeMap::new(),
            decisions: vec![],
        }
    }

    /// The job, unless it has started meanwhile or this partition doesn't take it.
    fn candidate(&self, key: QueueKey) -> Option<&'a Job> {
        let job = self.ctld.job(key.job).filter(|job| !self.tally.is_spent(job))?;
        self.ctld.partition_refusal(job, key.partition).is_none().then_some(job)
    }

    /// `partition_job_depth`.
    fn is_beyond_depth(&mut self, job: &Job, partition: usize) -> bool {
        let most = self.ctld.params().partition_job_depth;
        if most == 0 {
            return false;
        }
        let depth = self.depths.entry(partition).or_default();
        *depth += 1;
        let beyond = most < *depth;
        if beyond && *self.reason_of(job) == Reason::None {
            self.wait(job, Reason::Priority);
        }
        beyond
    }

    fn reason_of<'b>(&'b self, job: &'b Job) -> &'b Reason {
        self.reasons.get(&job.id).unwrap_or(&job.reason)
    }

    /// Whether a task isn't tried: another one of its array wasn't given room, or as many run as
    /// may.
    fn waits_for_array(&mut self, job: &Job, partition: usize) -> bool {
        let Some(array) = job.array.as_ref().map(|place| place.job) else { return false };
        if let Some((other, place, record)) = self.rejected
            && (other, place) == (array, partition)
            && record != job.id
        {
            let reason = self.ctld.job(record).map(|job| self.reason_of(job).clone());
            if let Some(reason) = reason {
                self.wait(job, reason);
            }
            return true;
        }
        self.rejected = Some((array, partition, job.id));
        let full = self.tally.is_full(self.ctld, job);
        if full {
            self.wait(job, Reason::JobArrayTaskLimit);
        }
        full
    }

    /// Starts it if it finds room; whether there is another task of it to look at.
    fn look_at(&mut self, job: &Job, partition: usize) -> bool {
        if self.blocked.contains(&partition) {
            // Only who had no reason of their own now waits for others.
            if matches!(
                self.reason_of(job),
                Reason::None | Reason::Resources | Reason::NodesUnavailable
            ) {
                self.wait(job, Reason::Priority);
            }
            return false;
        }
        let required = &job.ask.required;
        if self.reason_of(job).is_not_avail() && !self.available.holds(required) {
            return false;
        }
        let mut left = self.available.clone();
        left.keep(&self.ctld.partition_nodes[partition]);
        if left.len() < job.ask.min_nodes as usize {
            self.wait(job, Reason::NodesUnavailable);
            self.block(partition);
            return false;
        }
        if !self.tally.has_licenses(job) {
            self.refuse(job, partition, Refusal::NotAvail(Reason::Licenses));
            return false;
        }
        match self.nodes.start(job, partition, &self.available) {
            Ok(allocation) => {
                self.decisions.push(Decision::Start { job: job.id, partition, allocation });
                self.rejected = None;
                self.tally.start(job)
            }
            Err(refusal) => {
                self.refuse(job, partition, refusal);
                false
            }
        }
    }

    /// It finds no room: who is to wait because of it?
    fn refuse(&mut self, job: &Job, partition: usize, refusal: Refusal) {
        let mut blocks = false;
        match refusal {
            Refusal::Busy => {
                blocks = true;
                self.wait(job, Reason::Resources);
            }
            Refusal::NotAvail(reason) => self.wait(job, reason),
            Refusal::Never if 1 < job.partitions.len() => self.wait(job, Reason::Resources),
            Refusal::Never => self.decisions.push(Decision::GiveUp { job: job.id }),
        }
        let required = &job.ask.required;
        if !required.is_empty() && job.ask.min_nodes as usize <= required.len() {
            self.available.subtract(required);
        } else if blocks && self.may_block(job) {
            self.block(partition);
        }
    }

    /// `bf_min_age_reserve` and `bf_min_prio_reserve`: who is young or of little worth holds back
    /// nobody.
    fn may_block(&self, job: &Job) -> bool {
        let limits = &self.ctld.params().backfill;
        let age = job.eligible_time.map_or(Span::ZERO, |since| self.now.since(since));
        limits.min_age_reserve <= age && limits.min_prio_reserve <= job.priority
    }

    fn block(&mut self, partition: usize) {
        if !self.ctld.has(Mutant::NobodyBlocked) {
            self.blocked.insert(partition);
        }
        if !self.ctld.has(Mutant::NothingWithdrawn) {
            self.available.subtract(&self.ctld.partition_nodes[partition]);
        }
    }

    fn wait(&mut self, job: &Job, reason: Reason) {
        if *self.reason_of(job) != reason {
            self.reasons.insert(job.id, reason.clone());
            self.decisions.push(Decision::Wait { job: job.id, reason });
        }
    }
}
