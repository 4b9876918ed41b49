//! How tasks are dealt to the chosen nodes, and how many CPUs each node gives for them.

use super::{offer::Offer, trial::Trial};

/// CPUs and tasks of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) cpus: u32,
    pub(super) tasks: u32,
}

impl Trial<'_> {
    /// Each node's part; `None` if the tasks don't fit.
    pub(super) fn deal(&self, offers: &[Offer]) -> Option<Vec<Part>> {
        let limits = self.task_limits(offers);
        let by_task = self.ask.gres.iter().any(|need| need.per_task != 0);
        let one_each = self.ask.overcommit && !by_task && !self.ask.cpus_given;
        let tasks = self.tasks_to_deal(offers.len(), all_cpus(offers));
        let mut deal =
            Deal { trial: self, offers, limits, parts: vec![Part::default(); offers.len()] };
        let all = match self.ask.plane.filter(|_| !one_each) {
            Some(plane) => deal.planes(tasks, plane.max(1), by_task),
            None => {
                let begun = deal.one_each(tasks);
                deal.fill_cores(tasks, begun, if one_each { 0 } else { tasks }, by_task)
            }
        };
        all.then_some(())?;
        if offers.iter().any(|offer| offer.gres_min_cpus != 0) {
            deal.raise_to_devices();
        }
        Some(deal.parts)
    }

    /// CPUs that the job comes to at least on these nodes.
    fn least_cpus(&self, nodes: u32, all: u64) -> u32 {
        let ask = self.ask;
        let mut cpus = nodes;
        if ask.ntasks_per_node != 0 {
            cpus = cpus.saturating_mul(ask.ntasks_per_node);
        }
        cpus = cpus
            .max(self.quest.min_cpus)
            .max(nodes.saturating_mul(ask.min_cpus_per_node))
            .max(self.gres_cpus_job);
        if ask.overcommit && self.quest.tasks != 0 {
            cpus = u32::try_from(all).unwrap_or(u32::MAX).min(self.quest.tasks);
        }
        cpus
    }

    /// Tasks on so many nodes with so many CPUs in all.
    pub(super) fn tasks_to_deal(&self, n_nodes: usize, cpus: u64) -> u32 {
        let nodes = u32::try_from(n_nodes).unwrap_or(u32::MAX);
        let tasks = if self.quest.tasks != 0 && self.ask.tasks_given {
            self.quest.tasks
        } else if self.ask.ntasks_per_node != 0 {
            self.ask.ntasks_per_node.saturating_mul(nodes)
        } else {
            self.least_cpus(nodes, cpus) / self.ask.cpus_per_task
        };
        tasks.max(1)
    }

    /// Tasks that each node's devices allow.
    fn task_limits(&self, offers: &[Offer]) -> Option<Vec<u32>> {
        if self.ask.gres.is_empty() {
            return None;
        }
        let by_task = self.ask.gres.iter().any(|need| need.per_task != 0);
        if !by_task {
            let any = offers.iter().any(|offer| offer.max_tasks != 0);
            return any.then(|| offers.iter().map(|offer| offer.max_tasks).collect());
        }
        let limit = |offer: &Offer| {
            let supplies = offer.near.iter().flat_map(|near| &near.supplies);
            let tasks = supplies
                .filter_map(|supply| supply.total.checked_div(self.ask.gres[supply.need].per_task));
            tasks.min().map_or(u32::MAX, |tasks| u32::try_from(tasks).unwrap_or(u32::MAX))
        };
        Some(offers.iter().map(limit).collect())
    }

    /// A job with whole nodes: one task to each, then round and round while CPUs last.
    pub(super) fn deal_whole(&self, offers: &[Offer], cpus: &[u32]) -> Option<Vec<u32>> {
        let per_task = self.ask.cpus_per_task;
        let wanted = self.tasks_to_deal(offers.len(), all_cpus(offers));
        let mut tasks = vec![1_u32; cpus.len()];
        let mut left: Vec<u32> = cpus.iter().map(|cpus| cpus.saturating_sub(per_task)).collect();
        let mut dealt = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        while dealt < wanted {
            let before = dealt;
            for (tasks, left) in tasks.iter_mut().zip(&mut left) {
                if per_task <= *left && dealt < wanted {
                    *tasks += 1;
                    *left -= per_task;
                    dealt += 1;
                }
            }
            if before == dealt {
                return None;
            }
        }
        Some(tasks)
    }
}

fn all_cpus(offers: &[Offer]) -> u64 {
    offers.iter().map(|offer| u64::from(offer.cpus)).sum()
}

struct Deal<'a> {
    trial: &'a Trial<'a>,
    offers: &'a [Offer],
    limits: Option<Vec<u32>>,
    parts: Vec<Part>,
}

impl Deal<'_> {
    fn add(&mut self, at: usize) {
        let part = &mut self.parts[at];
        part.tasks += 1;
        part.cpus = (part.cpus + self.trial.ask.cpus_per_task).min(self.offers[at].cpus);
    }

    fn limit_allows(&self, at: usize) -> bool {
        self.limits.as_ref().is_none_or(|limits| self.parts[at].tasks < limits[at])
    }

    /// Whether one more task fits the node.
    fn fits(&self, at: usize) -> bool {
        let (part, per_node) = (self.parts[at], self.trial.ask.ntasks_per_node);
        self.trial.ask.cpus_per_task <= self.offers[at].cpus.saturating_sub(part.cpus)
            && self.limit_allows(at)
            && (per_node == 0 || part.tasks < per_node)
    }

    /// One task to each node, whatever its devices say; how many.
    fn one_each(&mut self, tasks: u32) -> u32 {
        let mut dealt = 0;
        for at in 0..self.parts.len() {
            if dealt < tasks && self.offers[at].cpus != 0 {
                self.add(at);
                dealt += 1;
            }
        }
        dealt
    }

    /// Fills begun cores first, then a core of each node in turn. Whether all tasks found a place.
    fn fill_cores(&mut self, tasks: u32, begun: u32, wanted: u32, by_task: bool) -> bool {
        let per_task = self.trial.ask.cpus_per_task;
        let threads: Vec<u32> = self
            .offers
            .iter()
            .map(|offer| self.trial.view.spec(offer.index).threads_per_core)
            .collect();
        let mut dealt = begun;
        for (at, threads) in threads.iter().enumerate() {
            let on_core = self.parts[at].cpus % threads / per_task;
            for _ in 0..on_core {
                if tasks <= dealt || !self.fits(at) {
                    break;
                }
                self.add(at);
                dealt += 1;
            }
        }
        while dealt < wanted {
            let mut more = false;
            for (at, threads) in threads.iter().enumerate() {
                for _ in 0..(threads / per_task).max(1) {
                    if wanted <= dealt || !self.fits(at) {
                        break;
                    }
                    self.add(at);
                    dealt += 1;
                    let left = self.offers[at].cpus - self.parts[at].cpus;
                    more |= per_task <= left;
                }
            }
            if !more && dealt < wanted && !self.lift_limits(by_task) {
                return false;
            }
        }
        true
    }

    /// Limits by devices that aren't counted by task are only a wish. Whether there were any.
    fn lift_limits(&mut self, by_task: bool) -> bool {
        !by_task && self.limits.take().is_some()
    }

    fn planes(&mut self, tasks: u32, plane: u32, by_task: bool) -> bool {
        let mut dealt = 0;
        while dealt < tasks {
            let mut more = false;
            for at in 0..self.parts.len() {
                for _ in 0..plane {
                    let room = self.parts[at].cpus < self.offers[at].cpus;
                    if dealt < tasks && room && self.limit_allows(at) {
                        self.add(at);
                        dealt += 1;
                    }
                }
                more |= self.parts[at].cpus < self.offers[at].cpus;
            }
            if !more && dealt < tasks && !self.lift_limits(by_task) {
                return false;
            }
        }
        true
    }

    /// The CPUs that go with devices, where tasks take fewer.
    fn raise_to_devices(&mut self) {
        for (part, offer) in self.parts.iter_mut().zip(self.offers) {
            part.cpus = part.cpus.max(offer.gres_min_cpus.min(offer.cpus));
        }
    }
}
