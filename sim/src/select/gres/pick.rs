//! Which devices a job gets on the nodes that were chosen for it.
//!
//! Devices near the job's cores come first, in proportion to the cores of each socket; then those
//! that are near every socket; then the rest.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    IndexSet,
    conf::NodeSpec,
    node::Usage,
    select::{ask::GresNeed, trial::Trial},
};

use super::Supply;

/// A node that was chosen, and what the job has there.
pub(in crate::select) struct Chosen<'a> {
    pub(in crate::select) spec: &'a NodeSpec,
    pub(in crate::select) usage: Cow<'a, Usage>,
    pub(in crate::select) supplies: &'a [Supply],
    pub(in crate::select) cores: &'a IndexSet,
    pub(in crate::select) tasks: u32,
    pub(in crate::select) cpus: u32,
}

type Devices = BTreeMap<String, IndexSet>;

/// The devices for each node; `None` if they don't come to what is needed.
pub(in crate::select) fn pick(trial: &Trial<'_>, nodes: &[Chosen<'_>]) -> Option<Vec<Devices>> {
    let needs = &trial.ask.gres;
    let mut found = vec![0_u64; needs.len()];
    let mut all: Vec<Vec<IndexSet>> = vec![vec![IndexSet::new(); needs.len()]; nodes.len()];
    let mut done: Option<bool> = None;
    for (at, node) in nodes.iter().enumerate() {
        let to_come = (nodes.len() - at) as u64;
        for supply in node.supplies {
            let need = &needs[supply.need];
            let mut picking = Picking::new(node, supply, need, &mut all[at][supply.need]);
            if !supply.told_apart {
                let count = picking.count(trial, found[supply.need], to_come)?;
                found[supply.need] += picking.lowest(count);
            } else if need.counts_per_job_only() {
                let fini = picking.for_job(trial, &mut found[supply.need], to_come);
                done = if done == Some(false) { done } else { Some(fini) };
            } else {
                picking.told(trial)?;
                found[supply.need] += all[at][supply.need].len() as u64;
            }
        }
    }
    if done == Some(false) && !anywhere(trial, nodes, &mut all, &mut found) {
        return None;
    }
    Some(all.into_iter().map(|bits| by_name(needs, bits)).collect())
}

fn by_name(needs: &[GresNeed], bits: Vec<IndexSet>) -> Devices {
    let mut devices = Devices::new();
    for (need, bits) in needs.iter().zip(bits).filter(|(_, bits)| !bits.is_empty()) {
        devices.entry(need.name.clone()).or_default().add(&bits);
    }
    devices
}

/// The job's count isn't reached near its cores: any device will do.
fn anywhere(
    trial: &Trial<'_>,
    nodes: &[Chosen<'_>],
    all: &mut [Vec<IndexSet>],
    found: &mut [u64],
) -> bool {
    for (node, bits) in nodes.iter().zip(all) {
        let mut fini = true;
        for supply in node.supplies {
            let need = &trial.ask.gres[supply.need];
            let found = &mut found[supply.need];
            let mut picking = Picking::new(node, supply, need, &mut bits[supply.need]);
            picking.sort_by_links(true);
            for socket in (0..supply.by_socket.len()).map(Some).chain([None]) {
                let missing = need.per_job.saturating_sub(*found);
                *found += picking.near(missing, socket);
            }
            fini &= need.per_job <= *found;
        }
        if fini {
            return true;
        }
    }
    false
}

impl GresNeed {
    const fn counts_per_job_only(&self) -> bool {
        self.per_node == 0 && self.per_socket == 0 && self.per_task == 0
    }
}

/// Devices of one need on one node, being picked.
struct Picking<'a> {
    node: &'a Chosen<'a>,
    supply: &'a Supply,
    need: &'a GresNeed,
    picked: &'a mut IndexSet,
    /// Cores of the job on each socket.
    used: Vec<u32>,
    n_devices: usize,
    /// Devices in the order of their links to those picked, where links are known.
    linked: Option<(Vec<usize>, Vec<i64>)>,
}

impl<'a> Picking<'a> {
    fn new(
        node: &'a Chosen<'a>,
        supply: &'a Supply,
        need: &'a GresNeed,
        picked: &'a mut IndexSet,
    ) -> Self {
        let size = node.spec.cores_per_socket as usize;
        let used = (0..node.spec.sockets as usize)
            .map(|socket| node.cores.count_in(socket * size, (socket + 1) * size) as u32)
            .collect();
        let groups = node.spec.devices.iter().filter(|group| group.name == need.name);
        let n_devices = groups.map(|group| group.first + group.count).max().unwrap_or(0);
        Self { node, supply, need, picked, used, n_devices, linked: None }
    }

    /// Takes up to `wanted` devices that are near a socket, or near them all.
    fn near(&mut self, wanted: u64, socket: Option<usize>) -> u64 {
        let none = IndexSet::new();
        let near = match socket {
            Some(socket) => self.supply.bits_by_socket.get(socket).unwrap_or(&none),
            None => &self.supply.bits_anywhere,
        };
        let held = self.node.usage.gres.get(&self.need.name).unwrap_or(&none);
        let mut count = 0;
        let mut at = 0;
        while at < self.n_devices && count < wanted {
            let device = self.linked.as_ref().map_or(at, |(order, _)| order[at]);
            at += 1;
            if near.contains(device) && !held.contains(device) && self.picked.insert(device) {
                count += 1;
                if self.linked.is_some() {
                    self.link(device);
                    self.order_by_links();
                    at = 1;
                }
            }
        }
        count
    }

    /// The lowest free devices of the right type. Where there are too few, slurmctld notices when it
    /// is too late: the job starts without any.
    fn lowest(&mut self, wanted: u64) -> u64 {
        let none = IndexSet::new();
        let held = self.node.usage.gres.get(&self.need.name).unwrap_or(&none);
        let groups = self.node.spec.devices.iter().filter(|group| {
            let kind = self.need.kind.is_none() || group.kind == self.need.kind;
            group.name == self.need.name && kind
        });
        let devices = groups.flat_map(|group| group.first..group.first + group.count);
        let free = devices.filter(|device| !held.contains(*device));
        let taken: Vec<usize> = free.take(usize::try_from(wanted).unwrap_or(usize::MAX)).collect();
        if (taken.len() as u64) < wanted {
            return 0;
        }
        self.picked.extend(taken);
        wanted
    }

    /// How many, where only the number matters.
    fn count(&self, trial: &Trial<'_>, found: u64, to_come: u64) -> Option<u64> {
        let need = self.need;
        let sockets = self.used.iter().filter(|cores| **cores != 0).count() as u64;
        Some(if need.per_node != 0 {
            need.per_node
        } else if need.per_socket != 0 {
            need.per_socket * sockets
        } else if need.per_task != 0 {
            need.per_task * u64::from(self.tasks_by_socket(trial)?.iter().sum::<u32>())
        } else {
            let missing = need.per_job.saturating_sub(found + to_come - 1);
            self.supply.anywhere.min(missing)
        })
    }

    /// Devices counted by node, socket or task.
    fn told(&mut self, trial: &Trial<'_>) -> Option<()> {
        self.sort_by_links(false);
        if self.need.per_node != 0 {
            self.for_node(trial);
        } else if self.need.per_socket != 0 {
            self.for_sockets(trial);
        } else {
            let tasks = self.tasks_by_socket(trial)?;
            self.for_tasks(trial, &tasks);
        }
        Some(())
    }

    fn for_node(&mut self, trial: &Trial<'_>) {
        let mut missing = self.need.per_node;
        let each = share(missing, self.used.iter().sum());
        for socket in 0..self.used.len() {
            if self.used[socket] != 0 {
                let here = part(self.used[socket], each).min(missing);
                missing -= self.near(here, Some(socket));
            }
        }
        missing -= self.near(missing, None);
        missing -= self.on_sockets(missing, true);
        if !trial.ask.enforce_binding {
            self.on_sockets(missing, false);
        }
    }

    fn for_sockets(&mut self, trial: &Trial<'_>) {
        let n_used = self.used.iter().filter(|cores| **cores != 0).count() as u64;
        let mut missing = n_used * self.need.per_socket;
        for socket in 0..self.used.len() {
            if self.used[socket] != 0 {
                missing -= self.near(self.need.per_socket, Some(socket));
            }
        }
        missing -= self.near(missing, None);
        missing -= self.on_sockets(missing, true);
        if !trial.ask.enforce_binding {
            self.on_sockets(missing, false);
        }
    }

    fn for_tasks(&mut self, trial: &Trial<'_>, tasks: &[u32]) {
        let mut missing = u64::from(tasks.iter().sum::<u32>()) * self.need.per_task;
        for (socket, tasks) in tasks.iter().enumerate().filter(|(_, tasks)| **tasks != 0) {
            let here = missing.min(u64::from(*tasks) * self.need.per_task);
            missing -= self.near(here, Some(socket));
        }
        missing -= self.near(missing, None);
        if !trial.ask.enforce_binding {
            for socket in 0..tasks.len() {
                missing -= self.near(missing, Some(socket));
            }
        }
    }

    fn on_sockets(&mut self, wanted: u64, used: bool) -> u64 {
        let mut missing = wanted;
        for socket in 0..self.used.len() {
            if (self.used[socket] != 0) == used {
                missing -= self.near(missing, Some(socket));
            }
        }
        wanted - missing
    }

    /// Devices counted for the job: this node's part of them. Whether the job has all it needs.
    fn for_job(&mut self, trial: &Trial<'_>, found: &mut u64, to_come: u64) -> bool {
        let need = self.need;
        let cores: u32 = self.used.iter().sum();
        let missing = need.per_job.saturating_sub(*found + to_come - 1);
        let mut most = missing.min(self.supply.total);
        let cpus_per = need.own_cpus_per(trial.ask.cpus_per_task);
        let threads = trial.ask.shape.threads_per_core.unwrap_or(u32::MAX);
        let per_core = self.node.spec.threads_per_core.min(threads);
        if let Some(by_cpus) = (cores * per_core).checked_div(cpus_per) {
            most = most.min(by_cpus.into());
        }
        let linked = 1 < most && self.has_links();
        let wanted = if linked { self.n_devices as u64 } else { most.max(1) };
        let each = share(if linked { 0xfffe } else { wanted }, cores);
        let mut count = 0;
        for socket in 0..self.used.len() {
            if self.used[socket] != 0 && count < wanted {
                let here = part(self.used[socket], each).min(wanted - count);
                count += self.near(here, Some(socket));
            }
        }
        count += self.near(wanted - count, None);
        count += self.on_sockets(wanted - count, true);
        if count == 0 && !trial.ask.enforce_binding {
            count += self.on_sockets(1, false);
        }
        if linked {
            count = self.keep_best_linked(most, count);
        }
        *found += count;
        need.per_job <= *found
    }

    /// Tasks on each socket of the node; `None` if the cores don't hold them.
    fn tasks_by_socket(&self, trial: &Trial<'_>) -> Option<Vec<u32>> {
        let (ask, node) = (trial.ask, self.node);
        let limit = if ask.ntasks_per_node != 0 { ask.ntasks_per_node } else { node.tasks };
        let cpus_per_task = (node.cpus / node.tasks.max(1)).max(1);
        let threads = ask.shape.threads_per_core.unwrap_or(u32::MAX);
        let per_core = node.spec.threads_per_core.min(threads);
        let (tasks_per_core, skip) = match ask.shape.ntasks_per_core {
            Some(tasks) => (tasks, 0),
            None if per_core < cpus_per_task => (1, cpus_per_task / per_core - 1),
            None => (per_core / cpus_per_task, 0),
        };
        let per_socket = ask.shape.ntasks_per_socket.unwrap_or(u32::MAX);
        let mut left = limit;
        let tasks: Vec<u32> = self
            .used
            .iter()
            .map(|cores| {
                let here = cores.div_ceil(skip + 1) * tasks_per_core;
                let here = here.min(per_socket).min(left);
                left -= here;
                here
            })
            .collect();
        (left == 0 || ask.overcommit || ask.ntasks_per_node != 0).then_some(tasks)
    }

    fn has_links(&self) -> bool {
        let links = self.node.spec.links.get(&self.need.name);
        links.is_some_and(|links| links.len() == self.n_devices)
    }

    /// Where links are known, devices are ordered by them.
    fn sort_by_links(&mut self, from_picked: bool) {
        if !self.has_links() {
            return;
        }
        self.linked = Some(((0..self.n_devices).collect(), vec![0; self.n_devices]));
        if from_picked {
            for device in self.picked.clone().iter() {
                self.link(device);
            }
            self.order_by_links();
        }
    }

    fn link(&mut self, device: usize) {
        let links = self.node.spec.links.get(&self.need.name);
        let held = self.node.usage.gres.get(&self.need.name);
        if let (Some((_, counts)), Some(links)) = (&mut self.linked, links) {
            for (other, count) in counts.iter_mut().enumerate() {
                if other != device && held.is_none_or(|held| !held.contains(other)) {
                    *count += links[device].get(other).copied().unwrap_or(0);
                }
            }
        }
    }

    fn order_by_links(&mut self) {
        if let Some((order, counts)) = &mut self.linked {
            order.sort_by_key(|device| counts[*device]);
        }
    }

    /// Of all devices that could be used, those best linked to the best linked pair.
    fn keep_best_linked(&mut self, most: u64, count: u64) -> u64 {
        let Some(links) = self.node.spec.links.get(&self.need.name) else {
            return count;
        };
        let link = |a: usize, b: usize| links[a].get(b).copied().unwrap_or(0);
        let picked: Vec<usize> = self.picked.iter().collect();
        let mut best: Option<(i64, usize)> = None;
        for (at, one) in picked.iter().enumerate() {
            for other in &picked[at + 1..] {
                let value = link(*one, *other);
                if best.is_none_or(|(count, _)| count < value) && -1 < value {
                    best = Some((value, *one));
                }
            }
        }
        let mut count = count;
        while let Some((_, best)) = best.filter(|_| most < count) {
            let others = self.picked.iter().filter(|device| *device != best);
            let Some(worst) = others.min_by_key(|device| link(best, *device)) else {
                return count;
            };
            self.picked.remove(worst);
            count -= 1;
        }
        count
    }
}

/// Devices for each core, as slurmctld reckons: in single precision.
fn share(devices: u64, cores: u32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "slurmctld's own precision decides")]
    let (devices, cores) = (devices as f32, cores as f32);
    devices / cores
}

/// A socket's part of the devices, rounded down.
fn part(cores: u32, each: f32) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "slurmctld's own precision decides, and nothing here is negative"
    )]
    let part = (cores as f32 * each) as u64;
    part
}
