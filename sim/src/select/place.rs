//! Which cores, memory and devices of each chosen node a job gets.

use std::collections::BTreeMap;

use crate::{
    Allocation, CoreOrder, IndexSet, Mutant, NodeShare,
    conf::{NodeSpec, ResourceUnit},
};

use super::{
    MemoryNeed,
    cores::Cores,
    gres::{self, Chosen},
    offer::{self, Offer},
    tasks::Part,
    trial::Trial,
};

impl Trial<'_> {
    /// Whether [`Self::place`] can't fail on so many nodes of single threads, with so many CPUs:
    /// single CPUs of which there are enough, and nothing else.
    pub(super) fn is_sure_to_fit(&self, n_nodes: usize, cpus: u64) -> bool {
        let ask = self.ask;
        let plain = ask.cpus_per_task == 1
            && ask.ntasks_per_node == 0
            && ask.plane.is_none()
            && ask.gres.is_empty()
            && !ask.overcommit
            && !self.whole
            && !self.policy.memory
            && !self.shares()
            && self.counts_suffice();
        plain && u64::from(self.tasks_to_deal(n_nodes, cpus)) <= cpus
    }

    /// The same of these.
    pub(super) fn are_sure_to_fit(&self, offers: &[Offer]) -> bool {
        let threads = |offer: &Offer| self.view.spec(offer.index).threads_per_core;
        let cpus: u64 = offers.iter().map(|offer| u64::from(offer.cpus)).sum();
        offers.iter().all(|offer| threads(offer) == 1) && self.is_sure_to_fit(offers.len(), cpus)
    }

    /// The nodes, and nothing about them.
    pub(super) fn outline(&self, offers: &[Offer]) -> Allocation {
        let share = |offer: &Offer| NodeShare {
            node: self.view.spec(offer.index).name.clone(),
            index: offer.index,
            tasks: 0,
            cpus: 0,
            counted_cpus: 0,
            cores: IndexSet::new(),
            cpu_ids: IndexSet::new(),
            memory_mib: 0,
            gres: BTreeMap::new(),
            shared: false,
            sharing: false,
        };
        Allocation::new(offers.iter().map(share).collect())
    }

    /// The job's allocation on the nodes that were taken; `None` if it doesn't work out.
    pub(super) fn place(&self, offers: &[Offer]) -> Option<Allocation> {
        let (parts, cores) =
            if self.whole { self.whole_nodes(offers)? } else { self.dealt(offers)? };
        // A node that is there for its devices alone is of no use.
        let by_job = self.ask.gres.iter().any(|need| need.per_job != 0);
        if by_job && cores.iter().any(IndexSet::is_empty) {
            return None;
        }
        let devices = self.devices(offers, &parts, &cores)?;
        let shares = offers.iter().zip(parts).zip(cores).zip(devices);
        let nodes: Option<Vec<NodeShare>> = shares
            .map(|(((offer, part), cores), devices)| self.share(offer, part, cores, devices))
            .collect();
        Some(Allocation::new(nodes?))
    }

    fn dealt(&self, offers: &[Offer]) -> Option<(Vec<Part>, Vec<IndexSet>)> {
        let mut parts = self.deal(offers)?;
        let mut all = vec![];
        for (offer, part) in offers.iter().zip(&mut parts) {
            let spec = self.view.spec(offer.index);
            let free = self.usable_cores(offer)?;
            let Cores { cores, cpus } = if self.takes_blocks() {
                self.block(spec, &free, part.cpus)?
            } else {
                self.cyclic(spec, &free, part.cpus)?
            };
            part.cpus = cpus;
            all.push(cores);
        }
        Some((parts, all))
    }

    fn takes_blocks(&self) -> bool {
        let order = self.ask.core_order.or(self.policy.block_cores.then_some(CoreOrder::Block));
        self.policy.unit == ResourceUnit::Cpu
            || self.ask.plane.is_some()
            || order == Some(CoreOrder::Block)
            || self.policy.has(Mutant::NeverCyclic)
    }

    /// The cores that could be used on a node.
    fn usable_cores(&self, offer: &Offer) -> Option<IndexSet> {
        if let Some(near) = &offer.near {
            return Some(near.cores.clone());
        }
        let spec = self.view.spec(offer.index);
        let mut cores = offer::free_cores(spec, &self.taken_on(offer.index));
        self.room(offer.index, &mut cores, &[])?;
        Some(cores)
    }

    fn whole_nodes(&self, offers: &[Offer]) -> Option<(Vec<Part>, Vec<IndexSet>)> {
        let specs = || offers.iter().map(|offer| self.view.spec(offer.index));
        let usable = |spec: &NodeSpec| {
            let threads = self.ask.shape.threads_per_core.unwrap_or(u32::MAX);
            spec.n_usable_cores() * spec.threads_per_core.min(threads)
        };
        let cpus: Vec<u32> = specs().map(usable).collect();
        let tasks = self.deal_whole(offers, &cpus)?;
        let parts =
            specs().zip(tasks).map(|(spec, tasks)| Part { cpus: spec.effective_cpus(), tasks });
        let cores = specs().map(|spec| offer::free_cores(spec, &IndexSet::new())).collect();
        Some((parts.collect(), cores))
    }

    fn devices(
        &self,
        offers: &[Offer],
        parts: &[Part],
        cores: &[IndexSet],
    ) -> Option<Vec<BTreeMap<String, IndexSet>>> {
        if self.whole {
            let all = |offer: &Offer| all_devices(self.view.spec(offer.index));
            return Some(offers.iter().map(all).collect());
        }
        if self.ask.gres.is_empty() {
            return Some(vec![BTreeMap::new(); offers.len()]);
        }
        let chosen: Vec<Chosen<'_>> = offers
            .iter()
            .zip(parts)
            .zip(cores)
            .map(|((offer, part), cores)| Chosen {
                spec: self.view.spec(offer.index),
                usage: self.view.usage(offer.index),
                supplies: offer.near.as_ref().map_or(&[][..], |near| &near.supplies),
                cores,
                tasks: part.tasks,
                cpus: part.cpus,
            })
            .collect();
        gres::pick(self, &chosen)
    }

    fn share(
        &self,
        offer: &Offer,
        part: Part,
        cores: IndexSet,
        devices: BTreeMap<String, IndexSet>,
    ) -> Option<NodeShare> {
        let spec = self.view.spec(offer.index);
        let memory_mib = self.memory(offer, part, &devices);
        if self.policy.memory
            && offer::free_memory(spec, self.view.held_memory(offer.index)) < memory_mib
        {
            return None;
        }
        Some(NodeShare {
            node: spec.name.clone(),
            index: offer.index,
            tasks: part.tasks,
            cpus: part.cpus,
            counted_cpus: self.counted_cpus(spec, part, &cores),
            cpu_ids: threads(&cores, spec.threads_per_core as usize),
            cores,
            memory_mib,
            gres: devices,
            shared: self.shares(),
            sharing: self.would_share(),
        })
    }

    fn counted_cpus(&self, spec: &NodeSpec, part: Part, cores: &IndexSet) -> u32 {
        if self.policy.unit != ResourceUnit::Socket || self.whole {
            return part.cpus;
        }
        let size = spec.cores_per_socket as usize;
        let sockets: IndexSet = cores.iter().map(|core| core / size.max(1)).collect();
        let sockets = u32::try_from(sockets.len()).unwrap_or(u32::MAX);
        sockets.saturating_mul(spec.cores_per_socket * spec.threads_per_core)
    }

    fn memory(&self, offer: &Offer, part: Part, devices: &BTreeMap<String, IndexSet>) -> u64 {
        if !self.policy.memory {
            return 0;
        }
        let spec = self.view.spec(offer.index);
        if offer::memory_by_device(self) {
            let needs = self.ask.gres.iter().filter(|need| need.memory_per != 0);
            let mut names: Vec<_> = needs.map(|need| (&need.name, need.memory_per)).collect();
            names.dedup();
            let count = |name: &String| devices.get(name).map_or(0, |set| set.len() as u64);
            return names.into_iter().map(|(name, per)| per * count(name)).sum();
        }
        match self.ask.memory {
            MemoryNeed::WholeNode => offer::free_memory(spec, 0),
            MemoryNeed::PerNode(mib) => mib,
            MemoryNeed::PerCpu(mib) => {
                let threads = self.ask.shape.threads_per_core.unwrap_or(u32::MAX);
                let mut cpus = part.cpus;
                if self.policy.unit != ResourceUnit::Cpu && threads < spec.threads_per_core {
                    cpus = cpus / spec.threads_per_core * threads;
                }
                mib.saturating_mul(cpus.into())
            }
        }
    }
}

fn threads(cores: &IndexSet, per_core: usize) -> IndexSet {
    if per_core == 1 {
        return cores.clone();
    }
    cores.iter().flat_map(|core| core * per_core..(core + 1) * per_core).collect()
}

fn all_devices(spec: &NodeSpec) -> BTreeMap<String, IndexSet> {
    let mut all: BTreeMap<String, IndexSet> = BTreeMap::new();
    for group in spec.devices.iter().filter(|group| 0 < group.count) {
        all.entry(group.name.clone())
            .or_default()
            .insert_range(group.first, group.first + group.count);
    }
    all
}
