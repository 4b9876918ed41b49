//! Which of the nodes on offer are taken, and how many CPUs of each.
//!
//! Several ways lead through the offers: runs of neighbours, the least loaded first, or as many
//! nodes as possible. Where one fails, the smallest offers are left out bit by bit: too many small
//! nodes may stand in the way of few big ones.

mod consec;
mod sweep;

use super::{
    gres::{self, Filtered, Tally},
    offer::Offer,
    trial::Trial,
};
use crate::conf::ResourceUnit;

/// Takes nodes. Leaves in `offers` those that are taken, with the CPUs to use on each.
pub(super) fn eval(trial: &Trial<'_>, offers: &mut Vec<Offer>) -> Option<()> {
    if !could_suffice(trial, offers) {
        return None;
    }
    let mut eval = Eval::new(trial, offers);
    eval.first_pass = true;
    if trial.quest.tasks != 0
        && trial.ask.ntasks_per_node == 0
        && i64::from(trial.quest.tasks) < eval.most
    {
        eval.most = i64::from(trial.quest.tasks.max(eval.min_nodes));
    }
    if !eval.attempt() {
        eval.first_pass = false;
        eval.reset();
        let found = if eval.n_open() <= eval.min_nodes as usize {
            eval.attempt()
        } else {
            eval.without_small_ones()
        };
        found.then_some(())?;
    }
    eval.settle()
}

/// A bound that saves the search: without devices, CPUs can only come from the biggest offers.
fn could_suffice(trial: &Trial<'_>, offers: &[Offer]) -> bool {
    if !trial.ask.gres.is_empty() {
        return true;
    }
    let all: u64 = offers.iter().map(|offer| u64::from(offer.cpus)).sum();
    u64::from(trial.quest.min_cpus) <= all
}

struct Eval<'a> {
    trial: &'a Trial<'a>,
    offers: &'a mut Vec<Offer>,
    /// On offer in this attempt.
    open: Vec<bool>,
    /// On offer in any attempt.
    usable: Vec<bool>,
    taken: Vec<bool>,
    /// CPUs of each offer, as narrowed down to what the job can use.
    cpus: Vec<u32>,
    min_nodes: u32,
    most: i64,
    need: Need,
    tally: Tally,
    first_pass: bool,
}

/// What is still missing.
#[derive(Clone, Copy, Debug, Default)]
struct Need {
    cpus: i64,
    max_cpus: i64,
    nodes: i64,
    min_nodes: i64,
    tasks: u64,
    /// Nodes that may still be taken.
    most: i64,
}

impl<'a> Eval<'a> {
    fn new(trial: &'a Trial<'a>, offers: &'a mut Vec<Offer>) -> Self {
        let n = offers.len();
        Self {
            trial,
            offers,
            open: vec![true; n],
            usable: vec![true; n],
            taken: vec![false; n],
            cpus: vec![0; n],
            min_nodes: trial.quest.min_nodes.max(trial.nodes_by_tasks()),
            most: trial.quest.max_nodes.into(),
            need: Need::default(),
            tally: Tally::new(&trial.ask.gres),
            first_pass: true,
        }
    }

    fn n_open(&self) -> usize {
        self.open.iter().filter(|open| **open).count()
    }

    /// Everything that is usable is on offer again.
    fn reset(&mut self) {
        self.most = self.trial.quest.max_nodes.into();
        self.open.clone_from(&self.usable);
        for offer in self.offers.iter_mut() {
            if let Some(near) = &mut offer.near {
                near.cores.clone_from(&near.all_cores);
            }
        }
    }

    /// One way through the offers. Whether it found enough.
    fn attempt(&mut self) -> bool {
        self.taken.fill(false);
        let required_open = self.trial.quest.required.iter().all(|index| {
            let at = self.offers.binary_search_by_key(&index, |offer| offer.index);
            at.is_ok_and(|at| self.open[at])
        });
        if self.n_open() < self.min_nodes as usize || !required_open {
            return false;
        }
        let found = if self.trial.ask.spread {
            self.spread()
        } else if let Some(busy) = self.trial.view.busy().filter(|_| !self.trial.ask.contiguous) {
            self.busy_first(busy)
        } else if self.trial.policy.lln {
            self.least_loaded()
        } else {
            self.runs()
        };
        if found && !self.trial.ask.gres.is_empty() {
            self.clip_cores();
        }
        found
    }

    /// The counts that an attempt starts from.
    fn begin(&mut self, most: i64) {
        let (trial, min_nodes) = (self.trial, self.min_nodes);
        self.tally = Tally::new(&trial.ask.gres);
        let nodes = if self.tally.counts {
            min_nodes.min(trial.quest.req_nodes)
        } else {
            min_nodes.max(trial.quest.req_nodes)
        };
        let by_node = i64::from(trial.gres_cpus_node) * i64::from(nodes);
        let max_cpus = i64::from(trial.quest.min_cpus).max(by_node).max(trial.gres_cpus_job.into());
        let tasks = match (trial.ask.overcommit, trial.ask.cpus_per_task, trial.ask.ntasks_per_node)
        {
            (false, 2.., 0) => max_cpus / i64::from(trial.ask.cpus_per_task),
            (false, 2.., per_node) => i64::from(per_node) * most.max(0),
            _ => max_cpus,
        };
        self.need = Need {
            cpus: trial.quest.min_cpus.into(),
            max_cpus,
            nodes: nodes.into(),
            min_nodes: min_nodes.into(),
            tasks: u64::try_from(tasks).unwrap_or(0),
            most,
        };
    }

    fn met(&self) -> bool {
        self.need.nodes <= 0 && self.need.cpus <= 0 && self.tally.met(&self.trial.ask.gres)
    }

    /// The least that may be called enough, when nothing more can be had.
    fn met_at_least(&self, nodes: bool) -> bool {
        self.need.cpus <= 0 && nodes && self.tally.met(&self.trial.ask.gres)
    }

    /// Narrows an offer down to the cores and CPUs that the job would use; its CPUs then.
    fn narrow(&mut self, at: usize) -> u32 {
        let trial = self.trial;
        let spec = trial.view.spec(self.offers[at].index);
        let nodes_to_come = u32::try_from(self.need.min_nodes.max(1)).unwrap_or(1);
        let offer = &mut self.offers[at];
        let (min_tasks, mut max_tasks) = trial.task_range(spec, offer.cpus);
        let mut cpus = offer.cpus;
        let mut min_cores = 0;
        if let Some(near) = &mut offer.near {
            let Filtered { cpus: near_cpus, max_tasks: most, min_cores: least, per_socket } =
                gres::filter(
                    trial,
                    spec,
                    &mut near.supplies,
                    &self.tally,
                    &mut near.cores,
                    cpus,
                    (min_tasks, max_tasks),
                    nodes_to_come,
                    self.first_pass,
                );
            (cpus, max_tasks, min_cores) = (near_cpus, most, least);
            if let Some(per_socket) = per_socket {
                near.per_socket = per_socket;
            }
        }
        offer.gres_min_cpus = trial.cpus_per_core(spec) * min_cores;
        offer.max_tasks = if offer.near.is_some() { max_tasks } else { 0 };
        if max_tasks == 0 { 0 } else { cpus }
    }

    /// How many of an offer's `cpus` to use, leaving some for nodes to come; `None` if its devices
    /// don't allow it.
    fn use_cpus(&mut self, at: usize, cpus: u32, devices: bool) -> Option<u32> {
        let trial = self.trial;
        let spec = trial.view.spec(self.offers[at].index);
        let mut cpus = cpus;
        if !trial.whole {
            let mut reserved =
                (self.need.min_nodes - 1).max(0) * i64::from(trial.cpus_per_core(spec));
            if trial.policy.unit == ResourceUnit::Socket {
                reserved *= i64::from(spec.cores_per_socket);
            }
            let most = self.need.max_cpus - reserved;
            let offer = &mut self.offers[at];
            if most < i64::from(cpus) {
                cpus = u32::try_from(most).unwrap_or(0).max(trial.ask.min_cpus_per_node);
                let least = if offer.gres_min_cpus != 0 {
                    offer.gres_min_cpus
                } else {
                    trial.gres_cpus_node
                };
                cpus = cpus.max(least);
                offer.cpus = cpus;
            }
            offer.size = u64::from(offer.cpus) + offer.gpus;
        }
        if devices && self.tally.counts && cpus != 0 {
            return self.use_devices(at, cpus);
        }
        Some(cpus)
    }

    /// Counts an offer's devices in; its CPUs then, or `None` if they are too few.
    fn use_devices(&mut self, at: usize, cpus: u32) -> Option<u32> {
        let ask = self.trial.ask;
        let mut cpus = cpus;
        let mut saved = u64::try_from((self.need.min_nodes - 1).max(0)).unwrap_or(0);
        let mut tasks = self.need.tasks.saturating_sub(saved);
        if !ask.overcommit {
            let fit = u64::from(cpus / ask.cpus_per_task).min(tasks);
            saved += tasks - fit;
            tasks = fit;
        }
        tasks = tasks.max(1);
        let offer = &mut self.offers[at];
        if let Some(near) = &mut offer.near
            && tasks < u64::from(offer.max_tasks)
        {
            limit_by_tasks(ask, near, tasks);
            offer.max_tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        }
        let used = tasks.min(offer.max_tasks.into());
        let by_tasks = if ask.overcommit { 1 } else { u32::try_from(used).unwrap_or(u32::MAX) };
        let least = ask.cpus_per_task.saturating_mul(by_tasks).max(ask.min_cpus_per_node);
        let fits = used != 0 && least <= cpus;
        if fits && let Some(near) = &mut offer.near {
            self.tally.add(&ask.gres, &mut near.supplies, &mut cpus, least);
        }
        offer.cpus = if fits { cpus } else { 0 };
        self.need.tasks = tasks - if fits { used } else { 0 } + saved;
        fits.then_some(cpus)
    }

    /// Takes a node with so many CPUs.
    fn take(&mut self, at: usize, cpus: u32) {
        self.taken[at] = true;
        self.need.cpus -= i64::from(cpus);
        self.need.max_cpus -= i64::from(cpus);
        self.need.nodes -= 1;
        self.need.min_nodes -= 1;
        self.need.most -= 1;
    }

    /// Leaves the smallest offers out, one size after the other, until an attempt succeeds.
    fn without_small_ones(&mut self) -> bool {
        let biggest = self.offers.iter().map(|offer| offer.size).max().unwrap_or(0);
        let mut left = self.n_open();
        let mut size = 1;
        while size < biggest {
            let mut changed = false;
            self.reset();
            for at in 0..self.offers.len() {
                let small = self.usable[at] && (1..=size).contains(&self.offers[at].size);
                if !small || self.trial.quest.required.contains(self.offers[at].index) {
                    continue;
                }
                if !changed {
                    size -= 1;
                }
                changed = true;
                (self.open[at], self.usable[at]) = (false, false);
                left -= 1;
                if left <= self.min_nodes as usize {
                    break;
                }
            }
            if changed || size == 1 {
                if self.attempt() {
                    return true;
                }
                if left <= self.min_nodes as usize {
                    return false;
                }
            }
            size += 1;
        }
        false
    }

    /// No more cores than the devices let each socket give.
    fn clip_cores(&mut self) {
        for (offer, taken) in self.offers.iter_mut().zip(&self.taken) {
            let Some(near) = offer.near.as_mut().filter(|_| *taken) else {
                continue;
            };
            let size = self.trial.view.spec(offer.index).cores_per_socket as usize;
            for (socket, most) in near.per_socket.iter().enumerate() {
                let range = socket * size..(socket + 1) * size;
                let mut count = near.cores.count_in(range.start, range.end);
                for core in range.rev() {
                    if count <= *most as usize {
                        break;
                    }
                    count -= usize::from(near.cores.remove(core));
                }
            }
        }
    }

    /// Keeps what is taken, and counts CPUs again where cores went.
    fn settle(self) -> Option<()> {
        let mut taken = self.taken.iter();
        self.offers.retain(|_| taken.next() == Some(&true));
        for offer in self.offers.iter_mut() {
            if let Some(near) = &offer.near {
                let spec = self.trial.view.spec(offer.index);
                let cpus = u32::try_from(near.cores.len()).unwrap_or(u32::MAX);
                offer.cpus = offer.cpus.min(cpus.saturating_mul(spec.threads_per_core));
                (offer.cpus != 0).then_some(())?;
            }
        }
        Some(())
    }
}

/// No more devices than so many tasks take.
fn limit_by_tasks(ask: &super::Ask, near: &mut super::offer::Near, tasks: u64) {
    for supply in &mut near.supplies {
        let need = &ask.gres[supply.need];
        if need.per_node != 0 {
            continue;
        }
        if need.per_task != 0 {
            supply.total = supply.total.min(tasks * need.per_task);
        } else if need.tasks_per != 0 {
            supply.total = supply.total.min(tasks / u64::from(need.tasks_per));
        }
    }
}
