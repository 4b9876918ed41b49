//! Runs: neighbours in slurm.conf's order, of one weight, all on offer.
//!
//! Runs are taken by weight, then the tightest that suffices, else the biggest. Where one node is
//! enough the tightest node is taken; otherwise nodes follow in order.

use super::Eval;
use crate::Mutant;

/// Neighbours of one weight.
#[derive(Clone, Debug)]
struct Run {
    /// Unset until it has a node that isn't required.
    weight: Option<u64>,
    /// The first required node in it.
    required: Option<usize>,
    /// Its offers, from and to.
    first: usize,
    last: usize,
    cpus: u64,
    nodes: i64,
    devices: Vec<u64>,
}

impl Run {
    fn new(weight: Option<u64>, n_needs: usize) -> Self {
        let devices = vec![0; n_needs];
        Self { weight, required: None, first: 0, last: 0, cpus: 0, nodes: 0, devices }
    }

    /// Ends here. One of required nodes only is no run, and what follows begins anew.
    fn end(&mut self, weight: Option<u64>, runs: &mut Vec<Self>) {
        if self.nodes == 0 {
            self.required = None;
            self.weight = if weight.is_some() { self.weight } else { None };
        } else {
            let next = Self::new(weight, self.devices.len());
            runs.push(std::mem::replace(self, next));
        }
    }
}

impl Eval<'_> {
    /// Takes runs until there is enough. Whether there is.
    pub(super) fn runs(&mut self) -> bool {
        self.begin(self.most);
        if !self.take_required() {
            return false;
        }
        if !self.trial.quest.required.is_empty() && (self.met() || self.need.most <= 0) {
            return self.met();
        }
        let mut runs = self.find_runs();
        while 0 < self.need.most {
            let Some(best) = self.best_run(&runs) else {
                break;
            };
            if self.trial.ask.contiguous && !self.sufficient(&runs[best]) {
                break;
            }
            let run = runs[best].clone();
            match run.required {
                Some(start) => self.take_around(&run, start),
                None => self.take_from(&run),
            }
            if self.met() {
                return true;
            }
            (runs[best].cpus, runs[best].nodes) = (0, 0);
        }
        self.met_at_least(self.enough_nodes(0))
    }

    fn take_required(&mut self) -> bool {
        for index in self.trial.quest.required.iter().collect::<Vec<_>>() {
            if self.need.most <= 0 {
                break;
            }
            let Ok(at) = self.offers.binary_search_by_key(&index, |offer| offer.index) else {
                return false;
            };
            let cpus = self.narrow(at);
            match self.use_cpus(at, cpus, true) {
                Some(cpus) if cpus != 0 => {
                    self.cpus[at] = cpus;
                    self.take(at, cpus);
                }
                _ => return false,
            }
        }
        true
    }

    fn find_runs(&mut self) -> Vec<Run> {
        let n_needs = if self.tally.counts { self.trial.ask.gres.len() } else { 0 };
        let mut runs: Vec<Run> = vec![];
        let mut run = Run::new(None, n_needs);
        let mut before = None;
        for at in 0..self.offers.len() {
            let index = self.offers[at].index;
            let required = self.trial.quest.required.contains(index);
            if self.open[at] && !required {
                self.cpus[at] = self.narrow(at);
                self.open[at] = self.cpus[at] != 0;
            }
            if !self.open[at] {
                continue;
            }
            let gap = before.is_some_and(|last: usize| last + 1 != index);
            if gap && !self.trial.policy.has(Mutant::RunsIgnored) {
                run.end(None, &mut runs);
            }
            before = Some(index);
            let weight = self.offers[at].weight;
            let other = run.weight.is_some_and(|known| known != weight);
            if other && !self.trial.ask.contiguous {
                run.end(Some(0), &mut runs);
            }
            if run.nodes == 0 {
                run.first = at;
            }
            run.last = at;
            if required {
                run.required.get_or_insert(at);
            } else {
                run.weight = Some(weight);
                run.cpus += u64::from(self.cpus[at]);
                run.nodes += 1;
                count_devices(&mut run, &self.offers[at]);
            }
        }
        run.end(None, &mut runs);
        runs
    }

    fn enough_nodes(&self, nodes: i64) -> bool {
        let spare = i64::from(self.trial.quest.req_nodes) - i64::from(self.min_nodes);
        self.need.nodes - spare.max(0) <= nodes
    }

    fn sufficient(&self, run: &Run) -> bool {
        let devices = |need: usize| run.devices.get(need).copied();
        let enough = i128::from(self.need.cpus) <= i128::from(run.cpus);
        enough
            && self.enough_nodes(run.nodes)
            && (!self.tally.counts || self.tally.met_with(&self.trial.ask.gres, devices))
    }

    fn best_run(&self, runs: &[Run]) -> Option<usize> {
        let contiguous = self.trial.ask.contiguous;
        let bound = contiguous && !self.trial.quest.required.is_empty();
        let mut best: Option<(usize, bool)> = None;
        for (at, run) in runs.iter().enumerate() {
            if run.nodes == 0 || (bound && run.required.is_none()) {
                continue;
            }
            let sufficient = self.sufficient(run);
            let better = best.is_none_or(|(best, best_sufficient)| {
                let other = &runs[best];
                let tighter = if sufficient {
                    !best_sufficient || run.cpus < other.cpus
                } else {
                    other.cpus < run.cpus
                };
                (other.required.is_none() && run.required.is_some())
                    || (run.weight < other.weight) != self.trial.policy.has(Mutant::HeavyFirst)
                    || (run.weight == other.weight && tighter)
                    || (contiguous && sufficient && !best_sufficient)
            });
            if better {
                best = Some((at, sufficient));
            }
            if bound && runs[at + 1..].iter().any(|run| run.required.is_some()) {
                // All required nodes must lie in one run.
                return None;
            }
        }
        best.map(|(at, _)| at)
    }

    /// Upward from the first required node, then downward.
    fn take_around(&mut self, run: &Run, start: usize) {
        for at in (start..=run.last).chain((run.first..start).rev()) {
            if self.need.most == 0 || self.met() {
                return;
            }
            if !self.open[at] || self.taken[at] || self.cpus[at] == 0 {
                continue;
            }
            if let Some(cpus) = self.use_cpus(at, self.cpus[at], true) {
                self.take(at, cpus);
            }
        }
    }

    fn take_from(&mut self, run: &Run) {
        if self.need.nodes <= 1
            && let Some(single) = self.best_fit(run)
        {
            for at in (run.first..=run.last).filter(|at| *at != single) {
                self.cpus[at] = 0;
            }
        }
        for at in run.first..=run.last {
            if self.need.most == 0 || self.met() {
                return;
            }
            if !self.open[at] || self.taken[at] || self.cpus[at] == 0 {
                continue;
            }
            if self.need.most == 1 && i64::from(self.cpus[at]) < self.need.cpus {
                continue;
            }
            if let Some(cpus) = self.use_cpus(at, self.cpus[at], true) {
                self.take(at, cpus);
            }
        }
    }

    /// Where one node is enough: the one with the fewest CPUs that suffice, the first on ties.
    fn best_fit(&self, run: &Run) -> Option<usize> {
        let off = i64::from(self.trial.policy.has(Mutant::BestFitOffByOne));
        let enough = |at: &usize| {
            let near = self.offers[*at].near.as_ref();
            let devices = |need: usize| {
                let supplies = &near?.supplies;
                supplies.iter().find(|supply| supply.need == need).map(|supply| supply.total)
            };
            self.open[*at]
                && !self.taken[*at]
                && self.need.cpus + off <= i64::from(self.cpus[*at])
                && (!self.tally.counts || self.tally.met_with(&self.trial.ask.gres, devices))
        };
        let mut fitting = (run.first..=run.last).filter(enough);
        if self.trial.policy.has(Mutant::FirstFits) {
            return fitting.next();
        }
        fitting.min_by_key(|at| self.cpus[*at])
    }
}

fn count_devices(run: &mut Run, offer: &super::Offer) {
    let supplies = offer.near.iter().flat_map(|near| &near.supplies);
    for supply in supplies {
        if let Some(count) = run.devices.get_mut(supply.need) {
            *count += supply.total;
        }
    }
}
