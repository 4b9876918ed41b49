//! How many CPUs each node could give a plain ask: by its kind and by what is free there.

use crate::{IndexSet, conf::NodeSpec};

use super::{Run, Trial};
use crate::select::offer;

/// What a node could give; nothing where `cpus` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// CPUs that the job could use there.
    pub(super) cpus: u32,
    /// CPUs of free cores.
    pub(super) max_cpus: u32,
    /// CPUs on offer, also where no task would fit.
    offered: u32,
}

/// Sizes that were worked out once are kept.
pub(super) struct Sizes<'a> {
    trial: &'a Trial<'a>,
    /// By kind and free cores, where that is all there is to it.
    known: Vec<Vec<Option<Size>>>,
    /// Every node that is open is of this size.
    pub(super) only: Option<Size>,
    /// Nodes on offer.
    pub(super) n_offers: usize,
    /// Their CPUs.
    pub(super) all_cpus: u64,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(trial: &'a Trial<'a>) -> Self {
        let only = only_size(trial);
        let n_kinds = if only.is_some() { 0 } else { trial.view.kinds().len() };
        Self { trial, known: vec![vec![]; n_kinds], only, n_offers: 0, all_cpus: 0 }
    }

    pub(super) fn spec(&self, index: usize) -> &'a NodeSpec {
        let view = self.trial.view;
        &view.kinds()[view.kind_of(index)].spec
    }

    pub(super) fn weight(&self, index: usize) -> u32 {
        self.trial.view.weight(index)
    }

    /// What a node could give.
    pub(super) fn of(&mut self, index: usize) -> Size {
        if let Some(size) = self.only {
            return size;
        }
        let (trial, view) = (self.trial, self.trial.view);
        let at = view.kind_of(index);
        let kind = &view.kinds()[at];
        let free = match trial.whole {
            true if view.is_idle(index) => kind.cores,
            true => 0,
            false => view.free_cores(index),
        };
        if trial.policy.memory {
            return size(trial, &kind.spec, free, view.held_memory(index));
        }
        let known = &mut self.known[at];
        if known.is_empty() {
            known.resize(kind.cores as usize + 1, None);
        }
        *known[free as usize].get_or_insert_with(|| size(trial, &kind.spec, free, 0))
    }

    /// The runs of nodes on offer, in order. Counts the offers.
    pub(super) fn runs(&mut self, open: &IndexSet) -> Vec<Run> {
        let mut runs = Vec::with_capacity(8);
        for (first, last) in open.stretches() {
            match self.only {
                Some(size) => self.even_run(first, last, size, &mut runs),
                None => self.runs_in(first, last, &mut runs),
            }
        }
        runs
    }

    fn even_run(&mut self, first: usize, last: usize, size: Size, runs: &mut Vec<Run>) {
        let nodes = last - first + 1;
        self.n_offers += if size.offered == 0 { 0 } else { nodes };
        self.all_cpus += nodes as u64 * u64::from(size.offered);
        if size.cpus != 0 {
            let cpus = nodes as u64 * u64::from(size.cpus);
            runs.push(Run { weight: self.weight(first), first, last, cpus });
        }
    }

    fn runs_in(&mut self, first: usize, last: usize, runs: &mut Vec<Run>) {
        let mut run: Option<Run> = None;
        for index in first..=last {
            let size = self.of(index);
            self.n_offers += usize::from(size.offered != 0);
            self.all_cpus += u64::from(size.offered);
            if size.cpus == 0 {
                runs.extend(run.take());
                continue;
            }
            let (weight, cpus) = (self.weight(index), u64::from(size.cpus));
            match &mut run {
                Some(run) if run.weight == weight => {
                    (run.last, run.cpus) = (index, run.cpus + cpus);
                }
                _ => runs.extend(run.replace(Run { weight, first: index, last: index, cpus })),
            }
        }
        runs.extend(run);
    }

    /// Where one node is enough: the one with the fewest CPUs that suffice, the first on ties.
    pub(super) fn best_fit(&mut self, run: &Run, cpus: i64) -> Option<usize> {
        if let Some(size) = self.only {
            return (cpus <= i64::from(size.cpus)).then_some(run.first);
        }
        let mut best: Option<(usize, u32)> = None;
        for index in run.first..=run.last {
            let has = self.of(index).cpus;
            if cpus <= i64::from(has) && best.is_none_or(|(_, least)| has < least) {
                best = Some((index, has));
            }
        }
        best.map(|(index, _)| index)
    }
}

/// Where all nodes are of one kind, with a single core: each is free or not open.
fn only_size(trial: &Trial<'_>) -> Option<Size> {
    let [kind] = trial.view.kinds() else { return None };
    let spec = &kind.spec;
    let idle_is_open = !trial.whole || spec.gres.is_empty();
    let alike = kind.is_single() && !trial.policy.memory && idle_is_open;
    alike.then(|| size(trial, spec, 1, 0))
}

/// What a node of this make could give with so many free cores.
fn size(trial: &Trial<'_>, spec: &NodeSpec, free: u32, held_memory: u64) -> Size {
    offered(trial, spec, free, held_memory).unwrap_or_default()
}

fn offered(trial: &Trial<'_>, spec: &NodeSpec, free: u32, held_memory: u64) -> Option<Size> {
    let suits =
        offer::is_big_enough(trial.ask, spec) && offer::memory_fits(trial, spec, held_memory);
    let room = trial.room_by_count(spec, if suits { free } else { 0 })?;
    let offered = offer::cpus(trial, spec, held_memory, room)?;
    let (_, max_tasks) = trial.task_range(spec, offered);
    let cpus = if max_tasks == 0 { 0 } else { offered };
    Some(Size { cpus, max_cpus: room.max_cpus, offered })
}
