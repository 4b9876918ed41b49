//! How many CPUs, and which cores, a node has for a job, sockets and threads considered.

use crate::{
    IndexSet,
    conf::{NodeSpec, ResourceUnit as Unit},
};

use super::trial::Trial;

/// What a node has for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// CPUs that the job could use.
    pub(super) cpus: u32,
    /// CPUs of the free cores.
    pub(super) max_cpus: u32,
}

impl Trial<'_> {
    /// Whether only the number of free cores matters, not which they are.
    pub(super) fn counts_suffice(&self) -> bool {
        let shape = &self.ask.shape;
        self.policy.unit != Unit::Socket
            && self.ask.gres.is_empty()
            && shape.sockets_per_node.is_none()
            && shape.cores_per_socket.is_none()
            && shape.ntasks_per_socket.is_none()
            && (shape.ntasks_per_core != Some(1) || self.ask.cpus_per_task == 1)
            && self.policy.max_cpus_per_node.is_none()
            && self.policy.max_cpus_per_socket.is_none()
    }

    /// The CPUs that `free` cores make, where their number is all that matters.
    pub(super) fn room_by_count(&self, spec: &NodeSpec, free: u32) -> Option<Room> {
        let max_cpus = free * spec.threads_per_core;
        if free == 0 || self.too_many_threads(spec) {
            return None;
        }
        let (cpus, _) = self.usable(spec, free, free * self.cpus_per_core(spec))?;
        Some(Room { cpus: cpus.min(free * self.cpus_per_core(spec)), max_cpus })
    }

    /// The CPUs that the job could use on these cores. Takes cores out that it could not.
    pub(super) fn room(
        &self,
        index: usize,
        cores: &mut IndexSet,
        wanted: &[usize],
    ) -> Option<Room> {
        let spec = self.view.spec(index);
        let mut sockets = Sockets::new(spec, cores);
        if let Some(mut own) = self.own_cores(index) {
            // Limits count the partition's own jobs.
            own.subtract(cores);
            sockets.count_used(spec, &own);
        }
        self.limit_sockets(spec, &mut sockets);
        let max_cpus = sockets.free_cores() * spec.threads_per_core;
        let limit = self.partition_limit(spec, &sockets)?;
        if !self.drop_small_sockets(&mut sockets) || self.too_many_threads(spec) {
            return None;
        }
        let per_core = self.cpus_per_core(spec);
        let tasks = self.tasks_on(&sockets, per_core, wanted)?;
        let (usable, _) = self.usable(spec, sockets.free_cores(), tasks)?;
        let cpus = self.take_cores(spec, cores, &mut sockets, wanted, usable);
        Some(Room { cpus: cpus.min(limit), max_cpus })
    }

    fn too_many_threads(&self, spec: &NodeSpec) -> bool {
        let usable = self.usable_per_core(spec.threads_per_core);
        let per_socket = spec.threads_per_core * spec.cores_per_socket;
        (usable != u32::MAX && spec.threads_per_core < usable)
            || self.ask.shape.ntasks_per_socket.is_some_and(|tasks| per_socket < tasks)
    }

    /// Tasks by sockets; `None` if a wanted socket has nothing.
    fn tasks_on(&self, sockets: &Sockets, per_core: u32, wanted: &[usize]) -> Option<u32> {
        if wanted.iter().any(|socket| sockets.free[*socket] == 0) {
            return None;
        }
        let most = self.ask.shape.ntasks_per_socket.unwrap_or(u32::MAX);
        Some(sockets.free.iter().map(|free| (free * per_core).min(most)).sum())
    }

    /// CPUs that tasks could use, and how many tasks; `None` if too few for any.
    fn usable(&self, spec: &NodeSpec, free: u32, tasks: u32) -> Option<(u32, u32)> {
        let (ask, per_core) = (self.ask, self.cpus_per_core(spec));
        let all = free * per_core;
        let mut tasks = tasks;
        if free == 0 || all < ask.min_cpus_per_node {
            return None;
        }
        let by_device = ask.gres.iter().any(|need| need.told_cpus_per() != 0);
        if 0 < ask.ntasks_per_node && !self.whole && !by_device {
            tasks = tasks.min(ask.ntasks_per_node);
        }
        let mut cpus = all;
        if ask.gres.is_empty() {
            if ask.cpus_per_task < 2 {
                cpus = tasks;
            } else if self.task_fills_cores(per_core) {
                let task_cpus = ask.cpus_per_task.div_ceil(per_core) * per_core;
                cpus = all / task_cpus * ask.cpus_per_task;
            } else {
                tasks = tasks.min(all / ask.cpus_per_task);
                cpus = tasks * ask.cpus_per_task;
            }
        }
        let few = 0 < ask.ntasks_per_node && tasks < ask.ntasks_per_node && !ask.overcommit;
        (!few && ask.min_cpus_per_node <= cpus && tasks != 0).then_some((cpus, tasks))
    }

    /// Sockets that aren't wholly free, or have given all that the partition lets them give.
    fn limit_sockets(&self, spec: &NodeSpec, sockets: &mut Sockets) {
        for (free, used) in sockets.free.iter_mut().zip(&mut sockets.used) {
            let used_cpus = *used * spec.threads_per_core;
            if self.policy.unit == Unit::Socket && used_cpus != 0 {
                *used += *free;
                *free = 0;
            } else if let Some(most) = self.policy.max_cpus_per_socket {
                let left = if most <= used_cpus { 0 } else { most / spec.threads_per_core };
                *free = (*free).min(left);
            }
        }
    }

    /// What `MaxCPUsPerNode` leaves; `None` if that is nothing.
    fn partition_limit(&self, spec: &NodeSpec, sockets: &Sockets) -> Option<u32> {
        let Some(most) = self.policy.max_cpus_per_node else {
            return Some(u32::MAX);
        };
        let used = sockets.used.iter().sum::<u32>() * spec.threads_per_core;
        let free = sockets.free_cores() * spec.threads_per_core;
        if free + used <= most {
            return Some(u32::MAX);
        }
        (!self.whole && used < most).then(|| most - used)
    }

    /// Sockets with fewer free cores than it wants are no use. Whether enough remain.
    fn drop_small_sockets(&self, sockets: &mut Sockets) -> bool {
        let least = self.ask.shape.cores_per_socket.unwrap_or(1);
        let mut usable = 0;
        for free in &mut sockets.free {
            if *free < least {
                *free = 0;
            } else {
                usable += 1;
            }
        }
        self.ask.shape.sockets_per_node.unwrap_or(1) <= usable && 0 < sockets.free_cores()
    }

    /// Keeps the cores that make up `usable` CPUs, those of wanted sockets first.
    fn take_cores(
        &self,
        spec: &NodeSpec,
        cores: &mut IndexSet,
        sockets: &mut Sockets,
        wanted: &[usize],
        usable: u32,
    ) -> u32 {
        let per_core = self.cpus_per_core(spec);
        let mut taking = Taking::new(self, spec, per_core, usable);
        let on_wanted: u32 = wanted.iter().map(|socket| sockets.free[*socket] * per_core).sum();
        let most = if usable < on_wanted { usable / wanted.len() as u32 } else { u32::MAX };
        let mut kept = IndexSet::new();
        for socket in wanted.iter().copied() {
            if taking.left == 0 {
                break;
            }
            for core in spec_cores(spec, socket) {
                if sockets.free[socket] == 0 {
                    break;
                }
                if cores.contains(core) && taking.take(self, sockets, socket, core, cores) {
                    kept.insert(core);
                    if most < sockets.cpus[socket] {
                        break;
                    }
                }
            }
        }
        for core in 0..spec.cores() as usize {
            if cores.contains(core) && !kept.contains(core) {
                let socket = core / spec.cores_per_socket as usize;
                if sockets.free[socket] == 0 || taking.left == 0 {
                    cores.remove(core);
                } else {
                    taking.take(self, sockets, socket, core, cores);
                }
            }
        }
        taking.taken
    }
}

fn spec_cores(spec: &NodeSpec, socket: usize) -> std::ops::Range<usize> {
    let per_socket = spec.cores_per_socket as usize;
    socket * per_socket..(socket + 1) * per_socket
}

/// Free and used cores of each socket, and the CPUs that are being taken there.
struct Sockets {
    free: Vec<u32>,
    used: Vec<u32>,
    cpus: Vec<u32>,
}

impl Sockets {
    fn new(spec: &NodeSpec, cores: &IndexSet) -> Self {
        let free: Vec<u32> = (0..spec.sockets as usize)
            .map(|socket| {
                let range = spec_cores(spec, socket);
                u32::try_from(cores.count_in(range.start, range.end)).unwrap_or(u32::MAX)
            })
            .collect();
        let used = free.iter().map(|free| spec.cores_per_socket - free).collect();
        Self { cpus: vec![0; free.len()], free, used }
    }

    /// Only these are used.
    fn count_used(&mut self, spec: &NodeSpec, cores: &IndexSet) {
        for (socket, used) in self.used.iter_mut().enumerate() {
            let range = spec_cores(spec, socket);
            *used = u32::try_from(cores.count_in(range.start, range.end)).unwrap_or(u32::MAX);
        }
    }

    fn free_cores(&self) -> u32 {
        self.free.iter().sum()
    }
}

/// CPUs being counted, core by core.
struct Taking {
    left: u32,
    taken: u32,
    per_core: u32,
    /// CPUs of a socket, where tasks are counted by it.
    per_socket: u32,
    /// What the current task still lacks, where a task fills cores.
    of_task: u32,
    fills: bool,
}

impl Taking {
    fn new(trial: &Trial<'_>, spec: &NodeSpec, per_core: u32, usable: u32) -> Self {
        let by_tasks = trial.ask.shape.ntasks_per_socket.map(|n| n * trial.ask.cpus_per_task);
        let by_gres = trial.policy.one_task_per_core && 0 < trial.gres_cpus_node;
        Self {
            left: usable,
            taken: 0,
            per_core,
            per_socket: by_tasks.unwrap_or(spec.cores_per_socket * per_core),
            of_task: trial.ask.cpus_per_task,
            fills: !by_gres && trial.task_fills_cores(per_core),
        }
    }

    /// Whether the core was taken; one that its socket has no more use for goes.
    fn take(
        &mut self,
        trial: &Trial<'_>,
        sockets: &mut Sockets,
        socket: usize,
        core: usize,
        cores: &mut IndexSet,
    ) -> bool {
        if sockets.cpus[socket] != 0 && self.per_socket <= sockets.cpus[socket] {
            cores.remove(core);
            return false;
        }
        sockets.cpus[socket] += self.per_core;
        sockets.free[socket] -= 1;
        if self.left < self.per_core {
            self.taken += self.left;
            self.left = 0;
            return true;
        }
        let used = if self.fills { self.of_task.min(self.per_core) } else { self.per_core };
        self.left -= used;
        self.taken += used;
        self.of_task =
            if self.of_task <= used { trial.ask.cpus_per_task } else { self.of_task - used };
        true
    }
}
