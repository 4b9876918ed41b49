//! What will be free when: running jobs give back what they hold at their limits.
//!
//! ```text
//!   ends, ascending:  ├──30 s──┤ try  ├────60 s────┤ try  ├────────120 s────────┤ try …
//! ```
//!
//! Jobs that end close together are looked at as one; how close grows with each try. Times are
//! seconds since 1970.

use crate::{
    IndexSet, Job, LicenseAsk, Licenses, Slurmctld, Time,
    census::Kind,
    rows::Holder,
    select::{self, Ask, Policy, Quest, Share, View},
};

use super::horizon::{Ending, Horizon};

/// How long a job without a limit is taken to run.
pub(super) const YEAR: u64 = 365 * 24 * 60 * 60;

/// Who gives back what, and when.
pub(super) struct Future<'a> {
    ctld: &'a Slurmctld,
    now: u64,
    horizon: Horizon<'a>,
    /// The most CPUs that a node has.
    largest: u64,
    /// `bf_busy_nodes`: nodes with jobs.
    busy: Option<IndexSet>,
    /// What is used of them, with nobody gone.
    licenses: Licenses,
}

/// What time it is that is looked at.
#[derive(Clone, Copy)]
enum When {
    /// Now, with everybody there.
    Now,
    /// When the job may start.
    Then,
    /// When others are gone.
    Later,
}

/// What a job looks for.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) ask: &'a Ask,
    pub(super) policy: &'a Policy,
    pub(super) quest: &'a Quest,
    pub(super) nodes: &'a IndexSet,
    pub(super) licenses: &'a LicenseAsk,
    /// Not before.
    pub(super) from: u64,
    /// Later than this is for another try.
    pub(super) until: Option<u64>,
    /// Right now or not at all.
    pub(super) now_only: bool,
}

impl Wish<'_> {
    /// CPUs without which nothing needs to be looked at.
    fn least_cpus(&self) -> u64 {
        least_cpus(self.ask, self.policy, self.quest)
    }
}

fn least_cpus(ask: &Ask, policy: &Policy, quest: &Quest) -> u64 {
    match policy.share {
        Share::Yes(_) | Share::Force(_) => 0,
        Share::Exclusive | Share::No if ask.overcommit => quest.min_nodes.into(),
        Share::Exclusive | Share::No => quest.min_cpus.into(),
    }
}

impl<'a> Future<'a> {
    pub(super) fn new(ctld: &'a Slurmctld, now: Time) -> Self {
        let unix = ctld.epoch.unix(now);
        let running = ctld.running.iter().filter_map(|id| ctld.job(*id));
        let mut ends = Vec::with_capacity(ctld.running.len());
        ends.extend(running.filter_map(|job| ending_of(ctld, job, unix)));
        ends.sort_by_key(|ending| ending.at);
        let cpus =
            |kind: &Kind| u64::from(kind.spec.cores()) * u64::from(kind.spec.threads_per_core);
        let largest = ctld.census.kinds().iter().map(cpus).max().unwrap_or(1).max(1);
        let busy = ctld.params().backfill.busy_nodes.then(|| ctld.busy.clone());
        let licenses = ctld.licenses.clone();
        Self { ctld, now: unix, horizon: Horizon::new(ctld, ends), largest, busy, licenses }
    }

    /// A job has started: it is one of those who run.
    pub(super) fn add(&mut self, end: u64, holder: &Holder, licenses: &'a LicenseAsk) {
        if let Some(busy) = &mut self.busy {
            busy.extend(holder.held.nodes.iter().map(|share| share.index));
        }
        self.licenses.take(licenses);
        self.horizon.add(end, holder, licenses);
    }

    /// When and where the job could start. `counts` is what is known of how many nodes are open.
    pub(super) fn will_run(
        &mut self,
        wish: Wish<'_>,
        counts: &mut Vec<usize>,
    ) -> Option<(u64, IndexSet)> {
        let ends = self.horizon.ends();
        let past = ends.partition_point(|ending| ending.at < wish.from);
        let over = match (wish.now_only, wish.until) {
            (true, _) => 0,
            (false, None) => ends.len(),
            (false, Some(until)) => ends.partition_point(|ending| ending.at <= until),
        };
        let least = usize::try_from(wish.least_cpus().div_ceil(self.largest)).ok()?;
        let enough = self.horizon.enough_from((wish.nodes, counts), least, past.max(over))?;
        if wish.from <= self.now
            && enough == 0
            && let Some(nodes) = self.test(0, wish, When::Now)
        {
            return Some((self.now, nodes));
        }
        if wish.now_only {
            return None;
        }
        let other = 0 < past || self.now < wish.from || self.horizon.has_rows();
        if other
            && enough <= past
            && let Some(nodes) = self.test(past, wish, When::Then)
        {
            return Some((self.now, nodes));
        }
        self.after_others(wish, past, over, enough)
    }

    /// Whether `nodes` have as many nodes and CPUs free as the job needs, now that those who are over
    /// their limits are taken to be gone. Without it [`Self::will_run`] finds no place now.
    pub(super) fn has_now(
        &mut self,
        nodes: &IndexSet,
        (ask, policy, quest): (&Ask, &Policy, &Quest),
    ) -> bool {
        let need = least_cpus(ask, policy, quest);
        let past = self.horizon.ends().partition_point(|ending| ending.at < self.now);
        let by_cpus = usize::try_from(need.div_ceil(self.largest)).unwrap_or(usize::MAX);
        let least = by_cpus.max(quest.min_nodes as usize);
        self.horizon.has_open(past, nodes, least)
            && (self.largest == 1 || {
                let open = self.horizon.open(past, nodes);
                self.horizon.at(past).has_cpus(&open, need)
            })
    }

    /// Tries again and again with more of the running jobs gone, those until `over`.
    fn after_others(
        &mut self,
        wish: Wish<'_>,
        past: usize,
        over: usize,
        enough: usize,
    ) -> Option<(u64, IndexSet)> {
        let mut windows = Windows::new(self.ctld);
        let mut next = past;
        loop {
            let last;
            (last, next) = self.window(wish, next, over, &mut windows)?;
            if enough <= next
                && let Some(nodes) = self.test(next, wish, When::Later)
            {
                let ending = &self.horizon.ends()[last];
                let start = if ending.at <= self.now { ending.overdue } else { ending.at };
                return Some((start, nodes));
            }
            windows.grow(self.horizon.ends().get(next).map(|after| after.at));
        }
    }

    /// The ends to look at as one: the last that matters to the job, and how many are over
    /// then. `None` if none matters.
    fn window(
        &self,
        wish: Wish<'_>,
        next: usize,
        over: usize,
        windows: &mut Windows,
    ) -> Option<(usize, usize)> {
        let ends = self.horizon.ends();
        let concerns = |end: &usize| {
            self.horizon.concerns(*end, wish.nodes)
                || (!wish.licenses.is_empty() && ends[*end].licenses.overlaps(wish.licenses))
        };
        let first = (next..over).find(concerns)?;
        windows.align(ends[first].at);
        // The first one beyond the window, or the next that matters, ends it.
        let beyond = ends.partition_point(|ending| ending.at <= windows.end()).max(first + 1);
        if over < beyond {
            let last = (first..over).rev().find(concerns)?;
            return Some((last, over));
        }
        let next = (beyond - 1..over).find(concerns).map(|last| last + 1);
        let last = (first..next.unwrap_or(beyond)).rev().find(concerns)?;
        Some((last, next.unwrap_or(over)))
    }

    /// Which nodes the job would get with the first `gone` jobs gone.
    fn test(&mut self, gone: usize, wish: Wish<'_>, when: When) -> Option<IndexSet> {
        if !self.licensed(gone, wish.licenses) {
            return None;
        }
        let need = wish.least_cpus();
        let shares = need == 0;
        let open = if shares { wish.nodes.clone() } else { self.horizon.open(gone, wish.nodes) };
        let n_nodes = usize::try_from(need.div_ceil(self.largest)).ok()?;
        let moment = self.horizon.at(gone);
        let enough = open.shares_at_least(&open, n_nodes)
            && (self.largest == 1 || moment.has_cpus(&open, need));
        if !enough {
            return None;
        }
        let view = match when {
            When::Now => View::later(self.ctld, &moment),
            When::Then => View::future(self.ctld, &moment, None),
            When::Later => View::future(self.ctld, &moment, self.busy.as_ref()),
        };
        select::nodes(&view, &open, wish.ask, wish.policy, wish.quest)
    }

    /// Whether the licences are free with the first `gone` jobs gone.
    fn licensed(&self, gone: usize, ask: &LicenseAsk) -> bool {
        if ask.is_empty() {
            return true;
        }
        let mut licenses = self.licenses.clone();
        let ends = &self.horizon.ends()[..gone];
        ends.iter().for_each(|ending| licenses.give_back(ending.licenses));
        licenses.can_give(ask)
    }
}

/// How far apart ends may lie and still be looked at together.
struct Windows {
    first: Option<u64>,
    width: u64,
    step: u64,
}

impl Windows {
    fn new(ctld: &Slurmctld) -> Self {
        let step = ctld.params().backfill.window_linear.as_secs();
        Self { first: None, width: 30, step }
    }

    /// All windows count from the first end, rounded up.
    fn align(&mut self, end: u64) {
        self.first.get_or_insert(end + (30 - end % 30));
    }

    fn end(&self) -> u64 {
        self.first.unwrap_or(0) + self.width
    }

    /// Wider, at least until the next end lies in it.
    fn grow(&mut self, next: Option<u64>) {
        loop {
            self.width = if self.step == 0 { self.width * 2 } else { self.width + self.step };
            if next.is_none_or(|next| next <= self.end()) {
                return;
            }
        }
    }
}

fn ending_of<'a>(ctld: &Slurmctld, job: &'a Job, now: u64) -> Option<Ending<'a>> {
    let start = job.counts_from().map_or(now, |start| ctld.epoch.unix(start));
    let limit = job.time_limit.map(|limit| limit.as_secs());
    let at = start + limit.unwrap_or(YEAR);
    let params = ctld.params();
    let overdue = match ctld.over_time_limit(job) {
        Some(over) => at + params.kill_wait.as_secs() + over.as_secs(),
        None => now + limit.unwrap_or(YEAR),
    };
    Ending::of(ctld, job, at, overdue.max(now + 1))
}
