//! Nodes one by one, weight after weight: as many as possible, or the least loaded first.

use super::Eval;
use crate::IndexSet;

impl Eval<'_> {
    /// `--spread-job`: nodes in order.
    pub(super) fn spread(&mut self) -> bool {
        if let Some(found) = self.sweep_required() {
            return found;
        }
        for weight in self.weights() {
            for at in 0..self.offers.len() {
                if !self.eligible(at, weight) {
                    continue;
                }
                let cpus = self.narrow(at);
                let cpus = self.use_cpus(at, cpus, true).unwrap_or(0);
                if cpus == 0 {
                    continue;
                }
                self.take(at, cpus);
                if self.met() || self.need.most == 0 {
                    return self.swept();
                }
            }
        }
        self.swept()
    }

    /// `bf_busy_nodes`: nodes with jobs, then others. One of the others is taken even if enough of
    /// the same weight were found before them.
    pub(super) fn busy_first(&mut self, busy: &IndexSet) -> bool {
        if let Some(found) = self.sweep_required() {
            return found;
        }
        for weight in self.weights() {
            let mut done = false;
            for idle in [false, true] {
                for at in 0..self.offers.len() {
                    if !self.eligible(at, weight) || busy.contains(self.offers[at].index) == idle {
                        continue;
                    }
                    let cpus = self.narrow(at);
                    let cpus = self.use_cpus(at, cpus, true).unwrap_or(0);
                    if cpus == 0 {
                        continue;
                    }
                    self.take(at, cpus);
                    if self.met() || self.need.most == 0 {
                        done = true;
                        break;
                    }
                }
            }
            if done {
                break;
            }
        }
        self.swept()
    }

    /// `CR_LLN`: the node with the greatest part of its CPUs free, each time.
    pub(super) fn least_loaded(&mut self) -> bool {
        if let Some(found) = self.sweep_required() {
            return found;
        }
        for weight in self.weights() {
            let mut last_max = None;
            while let Some((at, cpus)) = self.least_loaded_node(weight, last_max) {
                let mut cpus = cpus;
                if !self.trial.ask.gres.is_empty() {
                    match self.use_devices(at, cpus) {
                        Some(left) => cpus = left,
                        None => continue,
                    }
                }
                last_max = Some(self.offers[at].max_cpus);
                self.take(at, cpus);
                if self.met() || self.need.most == 0 {
                    return self.swept();
                }
            }
        }
        self.swept()
    }

    fn least_loaded_node(&mut self, weight: u64, last_max: Option<u32>) -> Option<(usize, u32)> {
        let mut best: Option<(usize, u32)> = None;
        for at in 0..self.offers.len() {
            if !self.eligible(at, weight) {
                continue;
            }
            let cpus = self.narrow(at);
            let cpus = self.use_cpus(at, cpus, false).unwrap_or(0);
            if cpus == 0 {
                continue;
            }
            let load = |at: usize| {
                let offer = &self.offers[at];
                (u64::from(offer.max_cpus), u64::from(self.trial.view.spec(offer.index).cpus))
            };
            let better = best.is_none_or(|(best, _)| {
                let ((best_free, best_all), (free, all)) = (load(best), load(at));
                best_free * all < free * best_all
            });
            if better {
                best = Some((at, cpus));
                if Some(self.offers[at].max_cpus) == last_max {
                    break;
                }
            }
        }
        best
    }

    /// Required nodes come first; the answer, if they settle it.
    fn sweep_required(&mut self) -> Option<bool> {
        let tasks = self.trial.quest.tasks;
        let most = if tasks == 0 { self.most } else { self.most.min(tasks.into()) };
        self.begin(most);
        for at in 0..self.offers.len() {
            if !self.open[at] || !self.trial.quest.required.contains(self.offers[at].index) {
                continue;
            }
            if self.offers[at].cpus == 0 || self.need.most <= 0 {
                return Some(false);
            }
            let cpus = self.narrow(at);
            match self.use_cpus(at, cpus, true) {
                Some(cpus) if cpus != 0 => self.take(at, cpus),
                _ => return Some(false),
            }
        }
        if !self.trial.quest.required.is_empty() && (self.met() || self.need.most <= 0) {
            return Some(self.met());
        }
        (self.need.most == 0).then(|| self.swept())
    }

    fn swept(&self) -> bool {
        self.met() || self.met_at_least(self.need.min_nodes <= 0)
    }

    fn eligible(&self, at: usize, weight: u64) -> bool {
        let offer = &self.offers[at];
        self.open[at] && !self.taken[at] && offer.cpus != 0 && offer.weight == weight
    }

    fn weights(&self) -> Vec<u64> {
        let mut weights: Vec<u64> = self.offers.iter().map(|offer| offer.weight).collect();
        weights.sort_unstable();
        weights.dedup();
        weights
    }
}
