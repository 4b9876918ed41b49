//! Plain asks, answered by counting: the same nodes as [`super::eval`] takes, without asking each.
//!
//! ```text
//!   open nodes   ■■■■··■■·■■■■■■··■      runs of neighbours of one weight
//!                4     2  6       1      CPUs of each, by the kind of its nodes and their free cores
//!   wanted: 5    ──▶ the tightest run that suffices: 6; where none does the biggest, and again
//! ```
//!
//! Plain is an ask for CPUs, and memory, of any nodes. Where it fails for another reason than too few
//! CPUs, [`super::eval`] has more to try, and is asked.

mod sizes;

use std::cmp::Reverse;

use crate::IndexSet;

use super::{
    Share,
    offer::Offer,
    trial::{Taken, Trial},
};
use sizes::Sizes;

/// What counting finds.
pub(super) enum Counted<T> {
    /// What to take.
    Taken(T),
    /// There are not enough.
    TooFew,
    /// Counting can't tell.
    Unsure,
}

/// Neighbours of one weight, all on offer.
#[derive(Clone, Copy, Debug)]
struct Run {
    weight: u32,
    first: usize,
    last: usize,
    cpus: u64,
}

impl Run {
    const fn nodes(&self) -> usize {
        self.last - self.first + 1
    }
}

/// Takes nodes of `open`.
pub(super) fn take(trial: &Trial<'_>, open: &IndexSet) -> Counted<Vec<Offer>> {
    match count(trial, open, true) {
        Counted::Taken(taking) => Counted::Taken(taking.into_offers()),
        Counted::TooFew => Counted::TooFew,
        Counted::Unsure => Counted::Unsure,
    }
}

/// The same where only the nodes are of interest.
pub(super) fn nodes(trial: &Trial<'_>, open: &IndexSet) -> Counted<IndexSet> {
    match count(trial, open, false) {
        Counted::Taken(taking) => match taking.is_sure_to_fit() {
            true => Counted::Taken(taking.nodes),
            false => Counted::Unsure,
        },
        Counted::TooFew => Counted::TooFew,
        Counted::Unsure => Counted::Unsure,
    }
}

fn count<'a>(trial: &'a Trial<'a>, open: &IndexSet, in_detail: bool) -> Counted<Taking<'a>> {
    if !trial.is_plain() {
        return Counted::Unsure;
    }
    if !open.shares_at_least(open, trial.quest.min_nodes as usize) {
        return Counted::TooFew;
    }
    let mut sizes = Sizes::new(trial);
    let runs = sizes.runs(open);
    let least = trial.quest.min_nodes.max(trial.nodes_by_tasks()) as usize;
    if sizes.n_offers < least || sizes.all_cpus < u64::from(trial.quest.min_cpus) {
        return Counted::TooFew;
    }
    let mut taking = Taking {
        trial,
        sizes,
        need: Need::new(trial),
        in_detail,
        taken: vec![],
        nodes: IndexSet::new(),
        cpus: 0,
    };
    if taking.take_runs(runs) { Counted::Taken(taking) } else { Counted::Unsure }
}

impl Trial<'_> {
    /// Whether nodes differ in nothing but their kind and how much of them is free.
    fn is_plain(&self) -> bool {
        self.taken == Taken::All
            && 0 < self.quest.min_nodes
            && self.counts_suffice()
            && self.quest.required.is_empty()
            && !self.ask.contiguous
            && !self.ask.spread
            && !self.policy.lln
            && self.policy.mutant.is_none()
            && self.policy.share == Share::No
            && self.view.rows().is_none()
            && !self.view.anybody_shares()
            && self.view.busy().is_none()
    }
}

/// What is still missing.
#[derive(Clone, Copy, Debug)]
struct Need {
    cpus: i64,
    nodes: i64,
    min_nodes: i64,
    /// Nodes that may still be taken.
    most: i64,
    /// Nodes that it would like, and could do without.
    spare: i64,
}

impl Need {
    fn new(trial: &Trial<'_>) -> Self {
        let min_nodes = trial.quest.min_nodes.max(trial.nodes_by_tasks());
        let few_tasks = trial.quest.tasks != 0 && trial.ask.ntasks_per_node == 0;
        let most = match few_tasks && trial.quest.tasks < trial.quest.max_nodes {
            true => trial.quest.tasks.max(min_nodes),
            false => trial.quest.max_nodes,
        };
        let nodes = min_nodes.max(trial.quest.req_nodes);
        Self {
            cpus: trial.quest.min_cpus.into(),
            nodes: nodes.into(),
            min_nodes: min_nodes.into(),
            most: most.into(),
            spare: i64::from(trial.quest.req_nodes.saturating_sub(min_nodes)),
        }
    }

    /// So many nodes are taken, of each one CPU.
    const fn take(&mut self, nodes: i64) {
        self.cpus -= nodes;
        self.nodes -= nodes;
        self.min_nodes -= nodes;
        self.most -= nodes;
    }

    const fn is_met(&self) -> bool {
        self.nodes <= 0 && self.cpus <= 0
    }

    /// Whether a run has enough of everything.
    fn is_met_by(&self, run: &Run) -> bool {
        let nodes = i64::try_from(run.nodes()).unwrap_or(i64::MAX);
        i128::from(self.cpus) <= i128::from(run.cpus) && self.nodes - self.spare <= nodes
    }
}

struct Taking<'a> {
    trial: &'a Trial<'a>,
    sizes: Sizes<'a>,
    need: Need,
    /// Whether more than the nodes is of interest.
    in_detail: bool,
    taken: Vec<Took>,
    nodes: IndexSet,
    /// CPUs of all that is taken.
    cpus: u64,
}

/// A node that is taken, and the CPUs to use there.
#[derive(Clone, Copy)]
struct Took {
    index: usize,
    cpus: u32,
}

impl Taking<'_> {
    /// Takes runs, weight by weight, until there is enough. Whether there is.
    fn take_runs(&mut self, mut runs: Vec<Run>) -> bool {
        if !runs.is_sorted_by_key(|run| run.weight) {
            runs.sort_by_key(|run| run.weight);
        }
        let mut rest = runs.as_mut_slice();
        while let Some(first) = rest.first() {
            let weight = first.weight;
            let (group, others) =
                rest.split_at_mut(rest.partition_point(|run| run.weight == weight));
            self.take_group(group);
            if self.need.is_met() || self.need.most <= 0 {
                break;
            }
            rest = others;
        }
        self.need.is_met() || (self.need.cpus <= 0 && self.need.nodes <= self.need.spare)
    }

    fn take_group(&mut self, runs: &mut [Run]) {
        let per_node = |run: &Run| run.cpus / run.nodes() as u64;
        let even = runs
            .iter()
            .all(|run| run.cpus % run.nodes() as u64 == 0 && per_node(run) == per_node(&runs[0]));
        // More CPUs are then never fewer nodes, so the biggest run is the best in every respect.
        if even || self.need.nodes - self.need.spare <= 1 {
            self.take_biggest(runs);
        } else {
            self.take_in_turn(runs.to_vec());
        }
    }

    /// The tightest run that suffices, else the biggest, and again.
    fn take_biggest(&mut self, runs: &mut [Run]) {
        let sufficient = runs.iter().filter(|run| self.need.is_met_by(run));
        if let Some(run) = sufficient.min_by_key(|run| run.cpus).copied() {
            self.take_from(&run);
            if self.need.is_met() || runs.len() == 1 {
                return;
            }
            // Rare: it was enough, and wasn't.
            return self
                .take_in_turn(runs.iter().filter(|it| it.first != run.first).copied().collect());
        }
        runs.sort_unstable_by_key(|run| (run.cpus, Reverse(run.first)));
        let mut left = runs.len();
        while 0 < left && 0 < self.need.most && !self.need.is_met() {
            let tight = runs[..left].partition_point(|run| !self.need.is_met_by(run));
            if tight < left {
                let same = runs[..left].partition_point(|run| run.cpus <= runs[tight].cpus);
                runs[same - 1..left].rotate_left(1);
            }
            left -= 1;
            let run = runs[left];
            self.take_from(&run);
        }
    }

    /// The same where a run may have many CPUs and few nodes: each is compared with each.
    fn take_in_turn(&mut self, mut runs: Vec<Run>) {
        while 0 < self.need.most && !self.need.is_met() {
            let mut best: Option<(usize, bool)> = None;
            for (at, run) in runs.iter().enumerate() {
                let sufficient = self.need.is_met_by(run);
                let better = best.is_none_or(|(best, best_sufficient)| match sufficient {
                    true => !best_sufficient || run.cpus < runs[best].cpus,
                    false => runs[best].cpus < run.cpus,
                });
                if better {
                    best = Some((at, sufficient));
                }
            }
            let Some((best, _)) = best else { return };
            let run = runs.remove(best);
            self.take_from(&run);
        }
    }

    fn take_from(&mut self, run: &Run) {
        if self.need.nodes <= 1
            && let Some(single) = self.sizes.best_fit(run, self.need.cpus)
        {
            self.nodes.insert(single);
            return self.take(single);
        }
        if self.each_gives_one() {
            return self.take_ones(run);
        }
        let mut from = run.first;
        for index in run.first..=run.last {
            if self.need.most == 0 || self.need.is_met() {
                return self.nodes.insert_range(from, index);
            }
            let cpus = i64::from(self.sizes.of(index).cpus);
            if self.need.most != 1 || self.need.cpus <= cpus {
                self.take(index);
            } else {
                self.nodes.insert_range(from, index);
                from = index + 1;
            }
        }
        self.nodes.insert_range(from, run.last + 1);
    }

    /// Whether every node gives one CPU, which nobody has to leave for nodes to come, and nodes are as
    /// many as needed.
    fn each_gives_one(&self) -> bool {
        let single = self.sizes.only.is_some_and(|size| size.cpus == 1);
        let need = &self.need;
        single && need.min_nodes <= need.cpus && need.cpus.max(need.nodes) <= need.most
    }

    /// The same as taking one after the other.
    fn take_ones(&mut self, run: &Run) {
        let wanted = usize::try_from(self.need.cpus.max(self.need.nodes)).unwrap_or(0);
        let n = wanted.min(run.nodes());
        self.nodes.insert_range(run.first, run.first + n);
        if self.in_detail {
            self.taken.extend((run.first..run.first + n).map(|index| Took { index, cpus: 1 }));
        }
        self.cpus += n as u64;
        self.need.take(i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// Takes a node, leaving some CPUs for nodes to come.
    fn take(&mut self, index: usize) {
        let trial = self.trial;
        let mut cpus = self.sizes.of(index).cpus;
        if !trial.whole {
            let reserved = match self.need.min_nodes - 1 {
                ..=0 => 0,
                others => others * i64::from(trial.cpus_per_core(self.sizes.spec(index))),
            };
            let most = self.need.cpus - reserved;
            if most < i64::from(cpus) {
                cpus = u32::try_from(most).unwrap_or(0).max(trial.ask.min_cpus_per_node);
            }
        }
        if self.in_detail {
            self.taken.push(Took { index, cpus });
        }
        self.cpus += u64::from(cpus);
        self.need.cpus -= i64::from(cpus) - 1;
        self.need.take(1);
    }

    fn into_offers(mut self) -> Vec<Offer> {
        let mut taken = std::mem::take(&mut self.taken);
        taken.sort_unstable_by_key(|took| took.index);
        let sizes = &mut self.sizes;
        let offer = |Took { index, cpus }: Took| {
            Offer::plain(index, sizes.weight(index), cpus, sizes.of(index).max_cpus)
        };
        taken.into_iter().map(offer).collect()
    }

    fn is_sure_to_fit(&self) -> bool {
        let kinds = self.trial.view.kinds();
        kinds.iter().all(|kind| kind.spec.threads_per_core == 1)
            && self.trial.is_sure_to_fit(self.nodes.len(), self.cpus)
    }
}
