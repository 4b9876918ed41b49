//! Which of a node's cores a job gets for its CPUs: dealt round the sockets, or from as few
//! sockets as possible.

use crate::{
    IndexSet,
    conf::{NodeSpec, ResourceUnit},
};

use super::{boards, trial::Trial};

/// The cores that a job gets on a node, and the CPUs that they count for.
pub(super) struct Cores {
    pub(super) cores: IndexSet,
    pub(super) cpus: u32,
}

impl Trial<'_> {
    /// `cpus` CPUs of the cores `free`; `None` if they aren't enough.
    pub(super) fn cyclic(&self, spec: &NodeSpec, free: &IndexSet, cpus: u32) -> Option<Cores> {
        let mut deal = Cyclic::new(spec, free, self.cpus_per_core(spec));
        let mut left = cpus;
        if let Some(tasks) = self.ask.shape.ntasks_per_socket {
            deal.avoid_sockets(cpus, tasks.saturating_mul(self.ask.cpus_per_task));
        } else if 1 < self.ask.cpus_per_task {
            left = self.pack_tasks(&mut deal, cpus);
        }
        while 0 < left {
            let before = left;
            for socket in 0..deal.at.len() {
                if 0 < left && !deal.avoided[socket] && deal.take_next(socket) {
                    left = left.saturating_sub(deal.per_core);
                }
            }
            if before == left {
                if self.ask.overcommit {
                    break;
                }
                return None;
            }
        }
        Some(deal.finish(self.policy.unit, cpus))
    }

    /// All CPUs of a task on one socket, as far as they fit.
    fn pack_tasks(&self, deal: &mut Cyclic<'_>, cpus: u32) -> u32 {
        let (per_task, per_core) = (self.ask.cpus_per_task, deal.per_core);
        let fills = self.task_fills_cores(per_core);
        let (mut left, mut of_task) = (cpus, per_task);
        for socket in 0..deal.at.len() {
            let mut here = deal.free_on(socket) * per_core;
            here -= here % per_task;
            while 0 < here && 0 < left && deal.take_next(socket) {
                let used = if fills { of_task.min(per_core) } else { per_core };
                if fills {
                    of_task = if of_task <= used { per_task } else { of_task - used };
                }
                here = if here < per_core { 0 } else { here - used };
                left = if left < per_core { 0 } else { left - used };
            }
        }
        left
    }

    /// The same from as few sockets as possible, the tightest that suffices first.
    pub(super) fn block(&self, spec: &NodeSpec, free: &IndexSet, cpus: u32) -> Option<Cores> {
        let per_core = self.cpus_per_core(spec);
        let mut block = Cyclic::new(spec, free, per_core);
        let fills = self.task_fills_cores(per_core);
        let per_task = self.ask.cpus_per_task;
        let wanted = if fills {
            cpus / per_task * per_task.div_ceil(per_core)
        } else {
            cpus.div_ceil(per_core)
        };
        let (mut left, mut of_task) = (cpus, per_task);
        let counts: Vec<u32> = (0..block.at.len()).map(|socket| block.free_on(socket)).collect();
        let sockets = boards::best_sockets(&counts, spec.boards as usize, wanted);
        while 0 < left {
            let socket = block.best_socket(&sockets, wanted)?;
            while 0 < left && block.take_next(socket) {
                let used = if fills { of_task.min(per_core) } else { per_core };
                if fills && per_core <= left {
                    of_task = if of_task <= used { per_task } else { of_task - used };
                }
                left = if left < per_core { 0 } else { left - used };
            }
        }
        Some(block.finish(self.policy.unit, cpus))
    }
}

/// Cores being taken socket by socket, each from its lowest.
struct Cyclic<'a> {
    spec: &'a NodeSpec,
    free: &'a IndexSet,
    per_core: u32,
    /// The next core of each socket.
    at: Vec<usize>,
    avoided: Vec<bool>,
    taken: IndexSet,
}

impl<'a> Cyclic<'a> {
    fn new(spec: &'a NodeSpec, free: &'a IndexSet, per_core: u32) -> Self {
        let size = spec.cores_per_socket as usize;
        let at: Vec<usize> = (0..spec.sockets as usize).map(|socket| socket * size).collect();
        Self { spec, free, per_core, avoided: vec![false; at.len()], at, taken: IndexSet::new() }
    }

    fn end(&self, socket: usize) -> usize {
        (socket + 1) * self.spec.cores_per_socket as usize
    }

    fn free_on(&self, socket: usize) -> u32 {
        let count = self.free.count_in(self.at[socket], self.end(socket));
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Takes the socket's next free core, if there is one.
    fn take_next(&mut self, socket: usize) -> bool {
        while self.at[socket] < self.end(socket) {
            let core = self.at[socket];
            self.at[socket] += 1;
            if self.free.contains(core) {
                self.taken.insert(core);
                return true;
            }
        }
        false
    }

    /// Where tasks are counted by socket: sockets that aren't needed stay out of it.
    fn avoid_sockets(&mut self, cpus: u32, per_socket: u32) {
        let mut counts: Vec<u32> =
            (0..self.at.len()).map(|socket| self.free_on(socket) * self.per_core).collect();
        let mut total: u32 = counts.iter().sum();
        for count in &mut counts {
            if cpus < total && per_socket < *count {
                total -= *count - per_socket;
                *count = per_socket;
            }
        }
        for (count, avoided) in counts.iter().zip(&mut self.avoided) {
            if cpus < total && *count <= per_socket && cpus <= total - count {
                *avoided = true;
                total -= count;
            }
        }
    }

    /// The tightest of these sockets that has so many cores, else the fullest.
    fn best_socket(&self, sockets: &[usize], wanted: u32) -> Option<usize> {
        let mut best: Option<(usize, u32, bool)> = None;
        for socket in sockets.iter().copied() {
            let has = self.free_on(socket);
            let enough = wanted <= has;
            let better = best.is_none_or(|(_, cores, sufficient)| {
                cores == 0
                    || (enough && !sufficient)
                    || (enough && has < cores)
                    || (!enough && cores < has)
            });
            if better {
                best = Some((socket, has, enough));
            }
        }
        best.filter(|(_, cores, _)| *cores != 0).map(|(socket, _, _)| socket)
    }

    fn finish(mut self, unit: ResourceUnit, cpus: u32) -> Cores {
        if unit == ResourceUnit::Socket {
            for socket in 0..self.at.len() {
                let first = self.end(socket) - self.spec.cores_per_socket as usize;
                if 0 < self.taken.count_in(first, self.end(socket)) {
                    self.taken.insert_range(self.at[socket], self.end(socket));
                }
            }
        }
        let cores = u32::try_from(self.taken.len()).unwrap_or(u32::MAX);
        let cpus = match unit {
            ResourceUnit::Cpu => cpus,
            ResourceUnit::Core | ResourceUnit::Socket => cores * self.spec.threads_per_core,
        };
        Cores { cores: self.taken, cpus }
    }
}
