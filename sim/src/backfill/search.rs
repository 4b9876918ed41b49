//! One pass over the queue: where and when each job would start.

mod arrays;
mod hope;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use crate::{
    Allocation, IndexSet, Job, JobId, LicenseAsk, Reason, Slurmctld, Span, Time, UserName,
    conf::BackfillParams,
    rows::Holder,
    sched::{Decision, NodesNow, QueueKey, Seeker},
    select::{self, Ask, Policy, Quest, Share},
    tally::Tally,
};

use super::{
    Outcome, by_feature,
    future::{Future, Wish, YEAR},
    owners::Owners,
    plan::Plan,
    quota::Quota,
    rooms::{Room, Rooms},
};
use arrays::Arrays;
pub(super) use hope::Hope;

/// How often a job is tried at a later time before it is left for the next cycle. Slurm tries until
/// `bf_max_time` is over.
const TRIES: usize = 1_000;

/// What is known of everybody who asks for the same, by partition, limit, request, licences, and user
/// where that matters.
type Earliest<'a> = BTreeMap<(usize, u64, &'a Ask, &'a LicenseAsk, Option<&'a UserName>), Known>;

#[derive(Clone, Copy)]
struct Known {
    /// No try before then finds a place, because room only shrinks in a cycle; `None` found none at
    /// all.
    from: Option<u64>,
    /// Whether that counts as a try.
    counted: bool,
}

/// One pass over the queue. Looks at the controller and changes nothing in it.
pub(super) struct Cycle<'a> {
    ctld: &'a Slurmctld,
    /// Seconds since 1970.
    now: u64,
    limits: &'a BackfillParams,
    nodes: NodesNow<'a>,
    future: Future<'a>,
    owners: Owners<'a>,
    plan: Plan,
    rooms: Rooms,
    window_end: u64,
    quota: Quota<'a>,
    array: Arrays,
    earliest: Earliest<'a>,
    /// Jobs that were tried in some partition.
    tested: usize,
    stopped: bool,
    tally: Tally,
    /// Expected starts, by job.
    starts: BTreeMap<JobId, u64>,
    /// Nodes of those who start.
    taken: IndexSet,
    outcome: Outcome,
}

/// A job in one of its partitions.
struct Candidate<'a> {
    job: &'a Job,
    /// What it asks for in this partition.
    ask: Cow<'a, Arc<Ask>>,
    partition: usize,
    policy: Policy,
    quest: Quest,
    /// Seconds that it may run, as far as the plan goes.
    limit: u64,
    /// That is the least it asks for, and what it gets if it starts here.
    shortened: bool,
    /// The expected start in a partition that was looked at before.
    before: Option<u64>,
    /// Only whether it can start now is of interest.
    now_only: bool,
    counted: bool,
    /// A plan was made for it.
    planned: bool,
}

/// Where and when a job would run.
struct Place {
    start: u64,
    /// The nodes that it would get.
    nodes: IndexSet,
    /// The room that it may choose from.
    room: usize,
    /// From when to when they are free.
    free: (u64, u64),
    /// When to look again.
    later: Option<u64>,
}

impl<'a> Cycle<'a> {
    pub(super) fn new(ctld: &'a Slurmctld, now: Time) -> Self {
        let limits = &ctld.params().backfill;
        let unix = ctld.epoch.unix(now);
        let (window, resolution) = (limits.window.as_secs(), limits.resolution.as_secs());
        let licenses = limits.licenses.then(|| ctld.licenses.unused());
        let plan = Plan::new(unix, window, resolution, ctld.up.clone(), licenses);
        let mut cycle = Self {
            ctld,
            now: unix,
            limits,
            nodes: NodesNow::new(ctld),
            future: Future::new(ctld, now),
            owners: Owners::new(ctld),
            window_end: plan.window_end(),
            plan,
            rooms: Rooms::new(),
            quota: Quota::default(),
            array: Arrays::default(),
            earliest: BTreeMap::new(),
            tested: 0,
            stopped: false,
            tally: Tally::new(ctld),
            starts: BTreeMap::new(),
            taken: IndexSet::new(),
            outcome: Outcome::default(),
        };
        cycle.reserve_running();
        cycle
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let (ctld, epoch) = (self.ctld, self.ctld.epoch);
        if ctld.plans_hidden {
            return self.outcome;
        }
        let waits = |id: &JobId| ctld.job(*id).is_some_and(|job| !self.tally.is_spent(job));
        let starts = self.starts.into_iter().filter(|(job, _)| waits(job));
        let expected = starts.map(|(job, start)| (job, epoch.time_of_unix(start))).collect();
        Outcome { expected, ..self.outcome }
    }

    /// Whether no further job is looked at.
    pub(super) const fn is_full(&self) -> bool {
        self.stopped || self.limits.max_job_test <= self.tested
    }

    pub(super) fn look_at(&mut self, key: QueueKey) {
        let ctld = self.ctld;
        let Some(job) = ctld.job(key.job).filter(|job| !self.tally.is_spent(job)) else {
            return;
        };
        if ctld.backfill_refuses(job, key.partition) {
            return;
        }
        let Some(ask) = ctld.ask_in(job, key.partition) else { return };
        let policy = ctld.policy(key.partition);
        let Ok(quest) = Quest::new(&ask, &policy) else { return };
        let (limit, shortened) = self.limit_of(job, key.partition);
        let before = self.starts.get(&job.id).copied();
        let mut candidate = Candidate {
            job,
            ask,
            partition: key.partition,
            policy,
            quest,
            limit,
            shortened,
            before,
            now_only: !self.may_reserve(job, key.partition, before.is_some()),
            counted: false,
            planned: false,
        };
        self.array.earliest = None;
        while self.place_task(&mut candidate) {}
        if let Some(start) = self.array.earliest {
            self.starts.insert(job.id, start);
        }
    }

    /// Seconds that a job may run there, as far as the plan goes; whether that is the least it asks for.
    fn limit_of(&self, job: &Job, partition: usize) -> (u64, bool) {
        let longest = self.ctld.partition_spec(partition).max_time.map(Span::as_secs);
        let own = job.time_limit.map(Span::as_secs);
        let limit = own.into_iter().chain(longest).min().unwrap_or(YEAR);
        // Who has a deadline gets as much time as there is until then.
        let least = job.time_min.filter(|_| job.deadline.is_none()).map(Span::as_secs);
        let least = least.filter(|least| *least < limit);
        (least.unwrap_or(limit), least.is_some())
    }

    /// Starts or plans a job, or a task of an array; whether there is another task to look at.
    fn place_task(&mut self, candidate: &mut Candidate<'a>) -> bool {
        let Candidate { job, partition, .. } = *candidate;
        if self.waits_for_array(job, partition)
            || !self.quota.admits(self.limits, &job.submission.user, partition)
            || (!self.limits.licenses && !self.tally.has_licenses(job))
        {
            return false;
        }
        let started = self.tally.n_started();
        (candidate.counted, candidate.planned) = (false, false);
        self.find(candidate);
        let Some(place) = &job.array else { return false };
        let started = started < self.tally.n_started();
        if started || candidate.planned {
            self.array.rejected = None;
        }
        if self.stopped || (started && self.is_full()) {
            return false;
        }
        match started {
            true => !self.tally.is_spent(job),
            false => candidate.planned && self.plans_another(job, place),
        }
    }

    /// `bf_min_prio_reserve`, `bf_min_age_reserve`, `bf_one_resv_per_job` and
    /// `bf_job_part_count_reserve`: whether a plan is made for it.
    fn may_reserve(&self, job: &Job, partition: usize, planned: bool) -> bool {
        let limits = self.limits;
        let since = job.eligible_time.map(|since| self.ctld.epoch.unix(since));
        let age = since.map_or(u64::MAX, |since| self.now.saturating_sub(since));
        limits.min_prio_reserve <= job.priority
            && limits.min_age_reserve.as_secs() <= age
            && !(limits.one_resv_per_job && planned)
            && self.quota.may_plan(limits, partition)
    }

    /// Tries at ever later times.
    fn find(&mut self, candidate: &mut Candidate<'a>) {
        let Candidate { job, partition, limit, .. } = *candidate;
        let user = self.owners.matters_to(job, partition);
        let same = (partition, limit, job.ask.as_ref(), &job.licenses, user);
        let mut from = self.now;
        if let Some(known) = self.earliest.get(&same).copied() {
            let Some(earliest) = known.from else {
                self.tested += usize::from(known.counted);
                return;
            };
            from = earliest;
        }
        let known = self.find_from(candidate, from);
        self.earliest.insert(same, Known { from: known, counted: candidate.counted });
    }

    /// The same, not before `from`; what is then known.
    fn find_from(&mut self, candidate: &mut Candidate<'a>, mut from: u64) -> Option<u64> {
        for _ in 0..TRIES {
            if self.window_end < from {
                self.starts.remove(&candidate.job.id);
                return None;
            }
            match self.try_from(candidate, from) {
                Next::Later(later) => from = later,
                Next::Done(_) if candidate.now_only => return Some(self.now),
                Next::Done(found) => return found.then_some(from),
            }
        }
        None
    }

    fn try_from(&mut self, candidate: &mut Candidate<'a>, from: u64) -> Next {
        match self.place(candidate, from) {
            Ok(place) => self.settle(candidate, place),
            // Nothing found: perhaps when other nodes come free.
            Err(Some(later)) if !candidate.now_only => Next::Later(later),
            Err(_) => Next::Done(false),
        }
    }

    /// A place not before `from`, or when to look again.
    fn place(&mut self, candidate: &mut Candidate<'a>, from: u64) -> Result<Place, Option<u64>> {
        let ctld = self.ctld;
        let free = (from, from.max(self.now) + candidate.limit);
        let (room, later, others_go) = self.room(candidate, free)?;
        let (policy, quest) = (&candidate.policy, &candidate.quest);
        let ask: &Ask = &candidate.ask;
        let licenses = &candidate.job.licenses;
        if let Some(end) = self.plan.unlicensed(licenses, free.0, free.1) {
            let wait = Decision::Wait { job: candidate.job.id, reason: Reason::Licenses };
            self.outcome.starts.push(wait);
            return Err(Some(end));
        }
        if !self.rooms.get(room).nodes.holds(&ask.required) {
            return Err(later);
        }
        let room = self.rooms.narrow(room, ctld, |spec| {
            select::fits_size(ask, spec) && ask.features.matched_by(&spec.active_features)
        });
        let later = later.or(others_go);
        let Room { nodes, counts, .. } = self.rooms.get(room);
        if !nodes.shares_at_least(nodes, quest.min_nodes as usize) {
            return Err(later);
        }
        self.tested += usize::from(!std::mem::replace(&mut candidate.counted, true));
        let wish = Wish {
            ask,
            policy,
            quest,
            nodes,
            licenses,
            from,
            until: later,
            now_only: candidate.now_only,
        };
        let found = by_feature::will_run(&mut self.future, &ctld.census, wish, counts);
        let (start, nodes) = found.ok_or(later)?;
        Ok(Place { start: start.max(from), nodes, room, free, later })
    }

    /// The room for it: its place, when other nodes come free, and when others leave theirs.
    fn room(
        &mut self,
        candidate: &Candidate<'a>,
        free: (u64, u64),
    ) -> Result<(usize, Option<u64>, Option<u64>), Option<u64>> {
        let (job, partition) = (candidate.job, candidate.partition);
        let whose = self.owners.look(job, partition, &candidate.quest, free.0);
        let excluded = &candidate.ask.excluded;
        if whose.is_open() && excluded.is_empty() {
            let (room, later) = self.rooms.find(self.ctld, &self.plan, partition, free);
            return Ok((room, later, None));
        }
        let mut nodes = self.ctld.partition_nodes[partition].clone();
        nodes.keep(&self.ctld.up);
        nodes.subtract(excluded);
        let others_go = whose.keep(&mut nodes)?;
        let (room, later) = self.rooms.find_among(nodes, &self.plan, free);
        Ok((room, later, others_go))
    }

    /// It could start there and then: does it, or is that planned?
    fn settle(&mut self, candidate: &mut Candidate<'a>, mut place: Place) -> Next {
        let nodes = std::mem::take(&mut place.nodes);
        let licenses = &candidate.job.licenses;
        let mut stretch = self.plan.stretch(place.start, candidate.limit);
        let overlap_tested = self.now < place.start;
        if overlap_tested && self.plan.is_taken_beyond((&nodes, licenses), place.free, stretch) {
            return Next::Later(place.start);
        }
        if place.start <= self.now && nodes.overlaps(&self.ctld.completing) {
            // Whoever is completing there must be gone first.
            (place.start, place.later) = (self.now + 1, None);
        }
        if place.start <= self.now {
            if self.start(candidate, place.room) {
                return Next::Done(true);
            }
            place.later = None;
        }
        if self.now < place.start && candidate.now_only {
            self.expect(candidate, place.start);
            return Next::Done(true);
        }
        if let Some(later) = place.later.filter(|later| *later < place.start) {
            return Next::Later(later);
        }
        if !overlap_tested {
            stretch = self.plan.stretch(place.start, candidate.limit);
        }
        if self.now + self.limits.window.as_secs() < place.start {
            // Too far away to plan for.
            self.expect(candidate, place.start);
            return Next::Done(true);
        }
        if !overlap_tested && self.plan.is_taken_beyond((&nodes, licenses), place.free, stretch) {
            return Next::Later(place.start);
        }
        self.reserve(candidate, place.start, &nodes, stretch);
        Next::Done(true)
    }

    /// Starts it, if the nodes really are free.
    fn start(&mut self, candidate: &Candidate<'a>, room: usize) -> bool {
        let (job, partition) = (candidate.job, candidate.partition);
        let seeker = Seeker {
            job,
            ask: &candidate.ask,
            partition,
            available: &self.ctld.up,
            within: Some(&self.rooms.get(room).nodes),
            licensed: self.tally.has_licenses(job),
        };
        let allocation = match self.nodes.start(seeker) {
            Ok(allocation) => allocation,
            Err(refusal) => {
                self.refused(job, refusal.reason());
                return false;
            }
        };
        let end = self.now + candidate.limit;
        let held = allocation.clone();
        self.future.add(end, &Holder { job: job.id, partition, held }, &job.licenses);
        self.owners.add(job, partition, &allocation, end);
        self.taken.extend(allocation.nodes.iter().map(|share| share.index));
        if candidate.shortened {
            self.outcome.limits.push((job.id, Span::secs(candidate.limit)));
        }
        self.tally.start(job);
        if self.limits.running_job_reserve {
            let whole = self.holds_whole_nodes(job, partition);
            self.reserve_until(job, whole.then_some(&allocation), end);
        }
        self.outcome.starts.push(Decision::Start { job: job.id, partition, allocation });
        let most = self.limits.max_job_start;
        self.stopped |= most != 0 && most <= self.tally.n_started();
        true
    }

    /// It couldn't be started after all. The main scheduler soon says again that others come first, or
    /// that there are no nodes: plans know nothing of external ones.
    fn refused(&mut self, job: &Job, reason: Option<Reason>) {
        match reason {
            Some(Reason::Resources) if job.reason == Reason::Priority => {
                self.outcome.outranked.insert(job.id);
            }
            Some(Reason::BadConstraints) | None => {}
            Some(reason) => self.outcome.starts.push(Decision::Wait { job: job.id, reason }),
        }
    }

    fn holds_whole_nodes(&self, job: &Job, partition: usize) -> bool {
        job.ask.exclusive || self.ctld.partition_spec(partition).exclusive
    }

    /// `bf_running_job_reserve`: running jobs that hold whole nodes are part of the plan.
    fn reserve_running(&mut self) {
        if !self.limits.running_job_reserve {
            return;
        }
        let ctld = self.ctld;
        for job in ctld.running.iter().filter_map(|id| ctld.job(*id)) {
            let whole = job.allocation.as_deref().filter(|held| {
                held.nodes.first().is_some_and(|share| ctld.unshared.contains(share.index))
            });
            let start = job.counts_from().map_or(self.now, |start| ctld.epoch.unix(start));
            let end = start + job.time_limit.map_or(YEAR, Span::as_secs);
            self.reserve_until(job, whole, end);
        }
    }

    /// The whole nodes and the licences of a running job.
    fn reserve_until(&mut self, job: &Job, held: Option<&Allocation>, end: u64) {
        let licensed = self.limits.licenses && !job.licenses.is_empty();
        if (held.is_some() || licensed) && self.plan.size() < self.limits.node_space_size {
            let shares = held.into_iter().flat_map(|held| &held.nodes);
            let nodes = shares.map(|share| share.index).collect();
            let (_, end) = self.plan.stretch(end, 0);
            self.plan.reserve(&nodes, &job.licenses, 0, end);
        }
    }

    fn reserve(
        &mut self,
        candidate: &mut Candidate<'a>,
        start: u64,
        nodes: &IndexSet,
        (from, to): (u64, u64),
    ) {
        let limits = self.limits;
        if limits.job_part_count_reserve != 0 {
            if !self.quota.may_plan(limits, candidate.partition) {
                return self.expect(candidate, start);
            }
            self.quota.count_plan(candidate.partition);
        }
        if candidate.before.is_none_or(|before| start < before) {
            self.outcome.planned.add(nodes);
        }
        self.expect(candidate, start);
        candidate.planned = true;
        if !limits.one_resv_per_job || candidate.before.is_none() {
            if limits.node_space_size <= self.plan.size() {
                self.stopped = true;
                return;
            }
            self.plan.reserve_free(nodes, &candidate.job.licenses, from, to);
        }
    }

    /// The earliest of its partitions counts.
    fn expect(&mut self, candidate: &Candidate<'a>, start: u64) {
        let start = candidate.before.map_or(start, |before| before.min(start));
        self.starts.insert(candidate.job.id, start);
    }
}

/// How a try went.
enum Next {
    /// Try again, not before then.
    Later(u64),
    /// That's it; whether a place was found.
    Done(bool),
}
