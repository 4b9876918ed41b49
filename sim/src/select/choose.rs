//! Which of the nodes on offer are taken.
//!
//! Nodes form runs: neighbours in slurm.conf's order, of one weight, all on offer. Runs are taken
//! by weight, then the tightest that suffices, else the biggest. Where one node is enough the
//! tightest node is taken; otherwise nodes follow in order.

use super::{Ask, Policy, offer::Offer};

/// A node that is taken, and the CPUs to use on it at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) index: usize,
    pub(super) cpus: u32,
}

pub(super) fn choose(offers: &[Offer], ask: &Ask, policy: Policy) -> Option<Vec<Pick>> {
    let mut need = Need::new(ask);
    let required = offers.iter().filter(|offer| ask.required.contains(offer.index));
    if required.clone().count() < ask.required.len() {
        return None;
    }
    for offer in required {
        need.take(offer);
    }
    let rest: Vec<&Offer> =
        offers.iter().filter(|offer| !ask.required.contains(offer.index)).collect();
    if policy.lln {
        take_least_loaded(&mut need, rest);
    } else {
        take_runs(&mut need, runs(offers), &rest);
    }
    need.met().then_some(need.picks)
}

/// What is still missing.
struct Need<'a> {
    ask: &'a Ask,
    picks: Vec<Pick>,
    cpus: u32,
    per_job: Vec<u64>,
}

impl<'a> Need<'a> {
    fn new(ask: &'a Ask) -> Self {
        Self {
            ask,
            picks: vec![],
            cpus: ask.min_cpus(),
            per_job: ask.per_job().map(|gres| gres.count).collect(),
        }
    }

    fn taken(&self) -> u32 {
        u32::try_from(self.picks.len()).unwrap_or(u32::MAX)
    }

    /// Nodes still wanted, as many as the job would like.
    fn nodes(&self) -> u32 {
        self.ask.wanted_nodes().saturating_sub(self.taken())
    }

    fn amounts_met(&self) -> bool {
        self.cpus == 0 && self.per_job.iter().all(|count| *count == 0)
    }

    /// Nothing more is wanted, or nothing more is allowed.
    fn done(&self) -> bool {
        let full = self.ask.max_nodes.is_some_and(|max| max <= self.taken());
        full || (self.nodes() == 0 && self.amounts_met())
    }

    fn met(&self) -> bool {
        self.amounts_met() && self.ask.min_nodes <= self.taken()
    }

    fn take(&mut self, offer: &Offer) {
        let least = self.ask.min_cpus_per_node();
        let nodes_to_come = self.ask.min_nodes.saturating_sub(self.taken() + 1);
        let spare = self.cpus.saturating_sub(nodes_to_come.saturating_mul(least));
        let cpus = offer.cpus.min(spare.max(least));
        self.cpus = self.cpus.saturating_sub(cpus);
        for (missing, free) in self.per_job.iter_mut().zip(&offer.per_job) {
            *missing = missing.saturating_sub(*free);
        }
        self.picks.push(Pick { index: offer.index, cpus });
    }

    fn met_by(&self, cpus: u32, nodes: u32, devices: &[u64]) -> bool {
        let short = self.ask.wanted_nodes().saturating_sub(self.ask.min_nodes);
        self.cpus <= cpus
            && self.nodes().saturating_sub(short) <= nodes
            && self.per_job.iter().zip(devices).all(|(missing, free)| missing <= free)
    }
}

fn take_least_loaded(need: &mut Need<'_>, mut offers: Vec<&Offer>) {
    offers.sort_by_key(|offer| (offer.weight, u32::MAX - offer.idle, offer.index));
    for offer in offers {
        if need.done() {
            return;
        }
        need.take(offer);
    }
}

/// Neighbours of one weight.
struct Run {
    weight: u32,
    first: usize,
    last: usize,
}

fn runs(offers: &[Offer]) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![];
    for offer in offers {
        match runs.last_mut() {
            Some(run) if run.last + 1 == offer.index && run.weight == offer.weight => {
                run.last = offer.index;
            }
            _ => runs.push(Run { weight: offer.weight, first: offer.index, last: offer.index }),
        }
    }
    runs
}

fn take_runs(need: &mut Need<'_>, mut runs: Vec<Run>, offers: &[&Offer]) {
    while !need.done() {
        let Some(best) = best_run(need, &runs, offers) else {
            return;
        };
        let run = runs.remove(best);
        let members = members(&run, offers);
        let single = best_fit(need, members).filter(|_| !holds_required(need.ask, &run));
        match single {
            Some(single) => need.take(single),
            None => take_in_order(need, &run, members),
        }
    }
}

/// The offers that belong to a run: `offers` is sorted by index.
fn members<'a, 'b>(run: &Run, offers: &'b [&'a Offer]) -> &'b [&'a Offer] {
    let from = offers.partition_point(|offer| offer.index < run.first);
    let to = offers.partition_point(|offer| offer.index <= run.last);
    &offers[from..to]
}

fn best_run(need: &Need<'_>, runs: &[Run], offers: &[&Offer]) -> Option<usize> {
    // (holds no required node, weight, insufficient, size): the least is best, the first on ties.
    let rank = |run: &Run| {
        let members = members(run, offers);
        if members.is_empty() {
            return None;
        }
        let cpus: u32 = members.iter().map(|offer| offer.cpus).sum();
        let nodes = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let devices: Vec<u64> = (0..need.per_job.len())
            .map(|at| members.iter().map(|offer| offer.per_job[at]).sum())
            .collect();
        let sufficient = need.met_by(cpus, nodes, &devices);
        let size = if sufficient { cpus } else { u32::MAX - cpus };
        Some((!holds_required(need.ask, run), run.weight, !sufficient, size))
    };
    let ranked = runs.iter().enumerate().filter_map(|(at, run)| Some((rank(run)?, at)));
    ranked.min().map(|(_, at)| at)
}

fn holds_required(ask: &Ask, run: &Run) -> bool {
    0 < ask.required.count_in(run.first, run.last + 1)
}

/// Where one node is enough: the one with the fewest CPUs that suffice, the first on ties.
fn best_fit<'a>(need: &Need<'_>, members: &[&'a Offer]) -> Option<&'a Offer> {
    if 1 < need.nodes() {
        return None;
    }
    members
        .iter()
        .filter(|offer| need.met_by(offer.cpus, 1, &offer.per_job))
        .min_by_key(|offer| (offer.cpus, offer.index))
        .copied()
}

/// Ascending; in a run with required nodes upward from the first of them, then downward.
fn take_in_order(need: &mut Need<'_>, run: &Run, members: &[&Offer]) {
    let start = need.ask.required.iter().find(|index| (run.first..=run.last).contains(index));
    let split = start.map_or(0, |start| members.partition_point(|offer| offer.index < start));
    let (below, above) = members.split_at(split);
    for offer in above.iter().chain(below.iter().rev()) {
        if need.done() {
            return;
        }
        need.take(offer);
    }
}
