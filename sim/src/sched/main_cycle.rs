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
    nodes_now::{NodesNow, Refusal, Seeker},
};

impl Slurmctld {
    pub(crate) fn run_main_cycle(&mut self, now: Time) {
        self.admit_begun(now);
        self.check_limits();
        self.rows.pack();
        let full = self.begin_cycle(now);
        let depth = if full { usize::MAX } else { self.params().default_queue_depth };
        let cycle = self.decide_main(now, depth);
        let Cycle { decisions, looked, more, again, told, .. } = cycle;
        self.clock.unseen = (more || again).then_some(now);
        self.stats.main_cycles += 1;
        self.note_looked(looked);
        for decision in decisions {
            self.apply(now, decision, false);
        }
        if told {
            self.tell_backfill(now);
        }
    }

    /// A job that waits in several partitions is in the one that was looked at last, with the
    /// priority that it has there.
    fn note_looked(&mut self, looked: BTreeMap<JobId, QueueKey>) {
        for (id, key) in looked {
            let name = self.partition_spec(key.partition).name.clone();
            if let Some(job) = self.job_mut(id).filter(|job| job.priority != 0) {
                (job.priority, job.partition) = (key.priority(), name);
            }
            self.show_limit(id);
        }
    }

    /// Tells jobs that are new in the queue what their partitions think of them.
    pub(crate) fn check_limits(&mut self) {
        for id in mem::take(&mut self.unchecked) {
            let waits = self.job(id).filter(|_| self.is_queued(id));
            let Some(reason) = waits.map(|job| self.reason_by_limits(job)) else { continue };
            self.set_reason(id, reason);
        }
    }

    /// What a waiting job shows in turn with its reason, where that is something else: both
    /// schedulers first ask its partitions for their limits, and only the main one tries it then;
    /// backfill tries to start whom the main one tells that others come first.
    pub fn passing_reason(&self, job: &Job) -> Option<Reason> {
        if !self.is_queued(job.id) {
            return None;
        }
        if job.reason == Reason::Priority && self.outranked.contains(&job.id) {
            return Some(Reason::Resources);
        }
        let reason = self.reason_by_limits(job);
        (reason != job.reason).then_some(reason)
    }

    /// What a job waits for once each of its partitions has been asked for its limits.
    fn reason_by_limits(&self, job: &Job) -> Reason {
        let mut reason = job.reason.clone();
        for place in &job.partitions {
            match self.partition_refusal(job, *place) {
                // The same, and more is said of it.
                Some(Reason::PartitionConfig) if matches!(reason, Reason::NotInGroup(_)) => {}
                Some(refusal) => reason = refusal,
                None if reason.is_of_partition() => reason = Reason::None,
                None => {}
            }
        }
        reason
    }

    /// What to do with the first `depth` of the queue.
    fn decide_main(&self, now: Time, depth: usize) -> Cycle<'_> {
        let mut cycle = Cycle::new(self, now);
        let mut tested = 0;
        for key in &self.queue {
            let found = cycle.candidate(*key);
            cycle.note(*key, found.is_some());
            let Some(job) = found else { continue };
            // Of an array, as many tasks as find room.
            loop {
                let most_starts = self.params().sched_max_job_start;
                if most_starts != 0 && most_starts <= cycle.tally.n_started() {
                    cycle.more = true;
                    return cycle;
                }
                if cycle.waits_for_array(job, key.partition)
                    || cycle.is_beyond_depth(job, key.partition)
                {
                    break;
                }
                // Slurm compares before it counts, so one more than the depth is tested.
                if depth < tested {
                    cycle.more = true;
                    return cycle;
                }
                tested += 1;
                if !cycle.look_at(job, key.partition) {
                    break;
                }
            }
            // The plan says who is to have licences.
            if cycle.unlicensed && self.params().backfill.licenses {
                break;
            }
        }
        cycle
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
    /// The last place in which each job of several partitions came up.
    looked: BTreeMap<JobId, QueueKey>,
    /// There was more than the cycle looked at.
    more: bool,
    /// Somebody's nodes weren't in service.
    unavailable: bool,
    /// Somebody found no licences.
    unlicensed: bool,
    /// Those would now be told something else: others are busy since.
    again: bool,
    /// Something was written down that makes backfill look again.
    told: bool,
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
            looked: BTreeMap::new(),
            more: false,
            unavailable: false,
            unlicensed: false,
            again: false,
            told: false,
            decisions: vec![],
        }
    }

    /// The job, unless it has started meanwhile or this partition doesn't take it.
    fn candidate(&self, key: QueueKey) -> Option<&'a Job> {
        let job = self.ctld.job(key.job).filter(|job| !self.tally.is_spent(job))?;
        self.ctld.partition_refusal(job, key.partition).is_none().then_some(job)
    }

    /// Of several partitions the last one counts that lets the job in; if none does, the last.
    fn note(&mut self, key: QueueKey, open: bool) {
        let Some(job) = self.ctld.job(key.job).filter(|job| 1 < job.partitions.len()) else {
            return;
        };
        if open {
            self.looked.insert(job.id, key);
        } else if job.partitions.last() == Some(&key.partition) {
            self.looked.entry(job.id).or_insert(key);
        }
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
        // Once those have left who start now, it comes up.
        self.again |= beyond && self.tally.n_started() != 0;
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
            self.told = true;
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
            self.told = true;
            self.wait(job, Reason::NodesUnavailable);
            self.block(partition);
            return false;
        }
        let Some(ask) = self.ctld.ask_in(job, partition) else { return false };
        let seeker = Seeker {
            job,
            ask: &ask,
            partition,
            available: &self.available,
            within: None,
            licensed: self.tally.has_licenses(job),
        };
        match self.nodes.start(seeker) {
            Ok(allocation) => {
                self.decisions.push(Decision::Start { job: job.id, partition, allocation });
                // Whom it held back in another partition it holds back no more.
                let held_back = 1 < job.partitions.len() && !self.blocked.is_empty();
                self.again |= self.unavailable || held_back;
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
        self.told |= !matches!(refusal, Refusal::Busy | Refusal::Licenses);
        self.unlicensed |= refusal == Refusal::Licenses;
        self.unavailable |= matches!(refusal, Refusal::NotAvail(_));
        match refusal {
            Refusal::Busy => {
                blocks = true;
                self.wait(job, Reason::Resources);
            }
            Refusal::Licenses => self.wait(job, Reason::Licenses),
            Refusal::NotAvail(reason) | Refusal::Partition(reason) => self.wait(job, reason),
            Refusal::Never(reason) if 1 < job.partitions.len() => {
                reason.into_iter().for_each(|reason| self.wait(job, reason));
            }
            Refusal::Never(_) => self.decisions.push(Decision::GiveUp { job: job.id }),
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
