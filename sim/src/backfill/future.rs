//! What will be free when: running jobs give back what they hold at their limits.
//!
//! ```text
//!   ends, ascending:  ├──30 s──┤ try  ├────60 s────┤ try  ├────────120 s────────┤ try …
//! ```
//!
//! Jobs that end close together are looked at as one; how close grows with each try. Times are
//! seconds since 1970.

use std::sync::Arc;

use crate::{
    Allocation, IndexSet, Job, Slurmctld, Time,
    select::{self, Ask, Policy, Share, View},
};

/// How long a job without a limit is taken to run.
pub(super) const YEAR: u64 = 365 * 24 * 60 * 60;

/// Who gives back what, and what is left with the first few of them gone.
pub(super) struct Future<'a> {
    ctld: &'a Slurmctld,
    now: u64,
    ends: Vec<Ending>,
    view: View<'a>,
    /// How many of `ends` are gone in `view`.
    gone: usize,
    /// CPUs that nobody holds on each node, with nobody gone.
    idle_cpus: Vec<u32>,
}

/// A running job's end.
struct Ending {
    at: u64,
    /// When it really ends, should `at` be over.
    overdue: u64,
    held: Arc<Allocation>,
}

/// What a job looks for.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) ask: &'a Ask,
    pub(super) policy: Policy,
    pub(super) nodes: &'a IndexSet,
    /// Not before.
    pub(super) from: u64,
    /// Later than this is for another try.
    pub(super) until: Option<u64>,
    /// Right now or not at all.
    pub(super) now_only: bool,
}

impl Wish<'_> {
    /// CPUs without which no node needs to be looked at.
    fn least_cpus(&self) -> u64 {
        let ask = self.ask;
        match self.policy.share {
            Share::Yes(_) | Share::Force(_) => 0,
            Share::Exclusive | Share::No if ask.overcommit => ask.min_nodes.into(),
            Share::Exclusive | Share::No => ask.min_cpus().into(),
        }
    }
}

impl<'a> Future<'a> {
    pub(super) fn new(ctld: &'a Slurmctld, now: Time) -> Self {
        let unix = ctld.epoch.unix(now);
        let mut view = View::later(&ctld.nodes);
        let mut idle_cpus: Vec<u32> = ctld.nodes.iter().map(idle_cpus).collect();
        // Whoever is completing has given back everything already; only its nodes are barred.
        let ending = ctld.completing.iter().flat_map(|place| &ctld.nodes[place].jobs);
        for id in ending.collect::<std::collections::BTreeSet<_>>() {
            let done = ctld.job(*id).filter(|job| job.completing);
            if let Some(held) = done.and_then(Job::held) {
                view.give_back(&held);
                count(&mut idle_cpus, &held, true);
            }
        }
        let running = ctld.running.iter().filter_map(|id| ctld.job(*id));
        let mut ends: Vec<_> = running.filter_map(|job| ending_of(ctld, job, unix)).collect();
        ends.sort_by_key(|ending| ending.at);
        Self { ctld, now: unix, ends, view, gone: 0, idle_cpus }
    }

    /// A job has started: it is one of those who run.
    pub(super) fn add(&mut self, end: u64, held: &Arc<Allocation>) {
        self.move_to(0);
        self.view.take(held);
        count(&mut self.idle_cpus, held, false);
        let at = self.ends.partition_point(|ending| ending.at <= end);
        self.ends.insert(at, Ending { at: end, overdue: end, held: held.clone() });
    }

    /// When and where the job could start.
    pub(super) fn will_run(&mut self, wish: Wish<'_>) -> Option<(u64, IndexSet)> {
        let mut free = self.free_cpus(wish.nodes);
        let need = wish.least_cpus();
        if wish.from <= self.now
            && let Some(nodes) = self.test(need <= free, 0, wish)
        {
            return Some((self.now, nodes));
        }
        if wish.now_only {
            return None;
        }
        let past = self.ends.partition_point(|ending| ending.at < wish.from);
        free += self.given_back(0..past, wish.nodes);
        if (0 < past || self.now < wish.from)
            && let Some(nodes) = self.test(need <= free, past, wish)
        {
            return Some((self.now, nodes));
        }
        self.after_others(wish, past, free)
    }

    /// Tries again and again with more of the running jobs gone.
    fn after_others(
        &mut self,
        wish: Wish<'_>,
        past: usize,
        mut free: u64,
    ) -> Option<(u64, IndexSet)> {
        let need = wish.least_cpus();
        let mut windows = Windows::new(self.ctld);
        let mut next = past;
        loop {
            let mut last = None;
            while let Some(ending) = self.ends.get(next) {
                if wish.until.is_some_and(|until| until < ending.at) {
                    break;
                }
                next += 1;
                let given = self.given_back(next - 1..next, wish.nodes);
                if given == 0 && !overlaps(&ending.held, wish.nodes) {
                    continue;
                }
                free += given;
                last = Some(next - 1);
                windows.align(ending.at);
                if self.ends.get(next).is_some_and(|after| windows.end() < after.at) {
                    break;
                }
            }
            let last = last?;
            if let Some(nodes) = self.test(need <= free, next, wish) {
                let ending = &self.ends[last];
                let start = if ending.at <= self.now { ending.overdue } else { ending.at };
                return Some((start, nodes));
            }
            windows.grow(self.ends.get(next).map(|after| after.at));
        }
    }

    /// Whether the nodes suffice with the first `gone` jobs gone. `could` rules out what can't be.
    fn test(&mut self, could: bool, gone: usize, wish: Wish<'_>) -> Option<IndexSet> {
        if !could {
            return None;
        }
        self.move_to(gone);
        select::nodes(&self.view, wish.nodes, wish.ask, wish.policy)
    }

    /// Giving back and taking again undo each other, so one view serves every moment.
    fn move_to(&mut self, gone: usize) {
        while self.gone < gone {
            self.view.give_back(&self.ends[self.gone].held);
            self.gone += 1;
        }
        while gone < self.gone {
            self.gone -= 1;
            self.view.take(&self.ends[self.gone].held);
        }
    }

    fn free_cpus(&self, nodes: &IndexSet) -> u64 {
        nodes.iter().map(|place| u64::from(self.idle_cpus[place])).sum()
    }

    fn given_back(&self, gone: std::ops::Range<usize>, nodes: &IndexSet) -> u64 {
        let shares = self.ends[gone].iter().flat_map(|ending| &ending.held.nodes);
        shares
            .filter(|share| nodes.contains(share.index))
            .map(|share| u64::from(held_cpus(self.ctld, share.index, share.cores.len())))
            .sum()
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

fn ending_of(ctld: &Slurmctld, job: &Job, now: u64) -> Option<Ending> {
    let held = job.held()?;
    let start = job.start_time.map_or(now, |start| ctld.epoch.unix(start));
    let limit = job.time_limit.map(|limit| limit.as_secs());
    let at = start + limit.unwrap_or(YEAR);
    let params = ctld.params();
    let overdue = match params.over_time_limit {
        Some(over) => at + params.kill_wait.as_secs() + over.as_secs(),
        None => now + limit.unwrap_or(YEAR),
    };
    Some(Ending { at, overdue: overdue.max(now + 1), held })
}

fn idle_cpus(node: &crate::Node) -> u32 {
    let cores = node.spec.cores().saturating_sub(len(&node.usage.cores));
    cores * node.spec.threads_per_core
}

fn count(idle_cpus: &mut [u32], held: &Allocation, free: bool) {
    for share in &held.nodes {
        // A rough count is enough: it only rules out what can't be.
        let idle = &mut idle_cpus[share.index];
        let cpus = share.cpus.max(len(&share.cpu_ids));
        *idle = if free { idle.saturating_add(cpus) } else { idle.saturating_sub(share.cpus) };
    }
}

fn held_cpus(ctld: &Slurmctld, place: usize, cores: usize) -> u32 {
    u32::try_from(cores).unwrap_or(u32::MAX).saturating_mul(ctld.nodes[place].spec.threads_per_core)
}

fn len(set: &IndexSet) -> u32 {
    u32::try_from(set.len()).unwrap_or(u32::MAX)
}

fn overlaps(held: &Allocation, nodes: &IndexSet) -> bool {
    held.nodes.iter().any(|share| nodes.contains(share.index))
}
