//! Which cores of a node a job with devices may use: near the devices first, and no more than its
//! tasks need.
//!
//! Needs are looked at one by one, and each may take cores away from the next.

use crate::{
    IndexSet,
    conf::{NodeSpec, ResourceUnit},
    select::{ask::GresNeed, trial::Trial},
};

use super::{Supply, Tally};

const UNSET: u32 = u32::MAX;

/// What the cores near the devices come to.
#[derive(Clone, Debug)]
pub(in crate::select) struct Filtered {
    pub(in crate::select) cpus: u32,
    pub(in crate::select) max_tasks: u32,
    /// Cores that the devices need at least; 0 where they don't say.
    pub(in crate::select) min_cores: u32,
    /// Cores that may be used of each socket.
    pub(in crate::select) per_socket: Option<Vec<u32>>,
}

/// Takes cores away that are of no use with the devices.
#[expect(clippy::too_many_arguments, reason = "one node's part of one attempt, all of it")]
pub(in crate::select) fn filter(
    trial: &Trial<'_>,
    spec: &NodeSpec,
    supplies: &mut [Supply],
    tally: &Tally,
    cores: &mut IndexSet,
    cpus: u32,
    tasks: (u32, u32),
    nodes_to_come: u32,
    first_pass: bool,
) -> Filtered {
    let mut filter = Filter::new(trial, spec, cores, cpus, tasks, nodes_to_come, first_pass);
    if filter.max_tasks == 0 {
        return Filtered { cpus, max_tasks: 0, min_cores: 0, per_socket: None };
    }
    supplies.sort_by_key(|supply| {
        let need = &trial.ask.gres[supply.need];
        (!supply.told_apart, need.per_socket == 0)
    });
    for supply in supplies.iter_mut() {
        if first_pass && supply.unfiltered.is_none() {
            supply.unfiltered = Some(supply.total);
        } else if let Some(total) = supply.unfiltered {
            supply.total = total;
        }
        if !filter.look_at(supply, tally) {
            break;
        }
    }
    filter.finish()
}

struct Filter<'a> {
    trial: &'a Trial<'a>,
    spec: &'a NodeSpec,
    cores: &'a mut IndexSet,
    per_socket: Vec<u32>,
    wanted: Vec<bool>,
    all_cores: u32,
    cpus: u32,
    min_tasks: u32,
    max_tasks: u32,
    task_step: u32,
    min_cores: u32,
    per_core: u32,
    nodes_to_come: u32,
    first_pass: bool,
    cpus_told: bool,
}

/// One need while it is looked at.
struct Step<'a> {
    need: &'a GresNeed,
    most: u64,
    cpus_per: u32,
    count: u64,
    cores: u32,
    n_wanted: u32,
}

impl<'a> Filter<'a> {
    fn new(
        trial: &'a Trial<'a>,
        spec: &'a NodeSpec,
        cores: &'a mut IndexSet,
        cpus: u32,
        tasks: (u32, u32),
        nodes_to_come: u32,
        first_pass: bool,
    ) -> Self {
        let size = spec.cores_per_socket as usize;
        let per_socket: Vec<u32> = (0..spec.sockets as usize)
            .map(|socket| cores.count_in(socket * size, (socket + 1) * size) as u32)
            .collect();
        let threads = trial.ask.shape.threads_per_core.unwrap_or(u32::MAX);
        Self {
            trial,
            spec,
            cores,
            wanted: vec![false; per_socket.len()],
            all_cores: per_socket.iter().sum(),
            per_socket,
            cpus,
            min_tasks: tasks.0,
            max_tasks: tasks.1,
            task_step: tasks.0.max(1),
            min_cores: UNSET,
            per_core: spec.threads_per_core.min(threads),
            nodes_to_come: nodes_to_come.max(1),
            first_pass,
            cpus_told: false,
        }
    }

    fn near_only(&self) -> bool {
        self.trial.ask.enforce_binding || self.first_pass
    }

    /// Whether the next need is to be looked at too.
    fn look_at(&mut self, supply: &mut Supply, tally: &Tally) -> bool {
        let Some(mut step) = self.begin(supply, tally) else {
            self.max_tasks = 0;
            return false;
        };
        self.count_by_socket(&mut step, supply);
        self.bound(&mut step);
        if self.max_tasks == 0 {
            return false;
        }
        if self.near_only() && step.n_wanted as usize != self.per_socket.len() {
            self.drop_unwanted(&mut step);
        }
        if self.max_tasks == UNSET {
            if let Some(most) = self.cpus.checked_div(step.cpus_per) {
                supply.total = supply.total.min(most.into());
            }
            return true;
        }
        let Some(cores) = self.cores_needed(&mut step) else {
            self.max_tasks = 0;
            return false;
        };
        self.trim(&mut step, cores);
        self.settle(&step, supply, cores);
        true
    }

    /// What the need says before sockets are looked at; `None` if it can't be served here.
    fn begin(&mut self, supply: &Supply, tally: &Tally) -> Option<Step<'a>> {
        let ask = self.trial.ask;
        let need = &ask.gres[supply.need];
        let sockets = u64::from(ask.shape.sockets_per_node.unwrap_or(1).max(1));
        let most = self.most(need, supply, tally.found(supply.need), sockets);
        if most != 0 && (most < need.per_node || most < need.per_socket * sockets) {
            return None;
        }
        if need.per_node != 0 && need.per_task != 0 {
            let tasks = need.per_node / need.per_task;
            let fits = (u64::from(self.min_tasks)..=u64::from(self.max_tasks)).contains(&tasks);
            (tasks != 0 && fits).then_some(())?;
            if tasks < u64::from(self.max_tasks) {
                self.max_tasks = u32::try_from(most).unwrap_or(UNSET);
            }
        }
        let own = need.own_cpus_per(ask.cpus_per_task);
        let told = need.cpus_per != 0 || (own == 0 && need.default_cpus_per != 0);
        self.cpus_told |= told;
        let cpus_per = if own != 0 {
            own
        } else if told {
            need.default_cpus_per
        } else if self.first_pass {
            guess_cpus(self.trial.quest.tasks, need.per_job, ask.cpus_per_task)
        } else {
            0
        };
        Some(Step { need, most, cpus_per, count: supply.anywhere, cores: 0, n_wanted: 0 })
    }

    /// The most devices that are wanted here; 0 is without limit.
    fn most(&self, need: &GresNeed, supply: &Supply, found: u64, sockets: u64) -> u64 {
        let missing = if need.per_job == 0 {
            0
        } else if found < need.per_job {
            // At least one stays for each node to come.
            (need.per_job - found).saturating_sub(u64::from(self.nodes_to_come - 1))
        } else if need.per_node != 0 {
            need.per_node
        } else {
            (need.per_socket * sockets).max(need.per_task).max(1)
        };
        match supply.most {
            0 => 0,
            most if missing != 0 && missing < most => missing,
            most => most,
        }
    }

    fn count_by_socket(&mut self, step: &mut Step<'_>, supply: &mut Supply) {
        let tasks = self.min_tasks.max(1).saturating_mul(self.trial.ask.cpus_per_task);
        let least = tasks.div_ceil(self.per_core);
        let mut order: Vec<usize> = (0..self.per_socket.len()).collect();
        order.sort_by_key(|socket| std::cmp::Reverse(self.per_socket[*socket]));
        let mut enough = false;
        for socket in order {
            let mut here = supply.by_socket.get(socket).copied().unwrap_or(0);
            if self.near_only() && step.cpus_per != 0 {
                let cpus = self.per_socket[socket] * self.per_core;
                here = here.min(u64::from(cpus / step.cpus_per));
            }
            let all = supply.anywhere + here;
            if all < step.need.per_socket || all == 0 {
                self.close_socket(step, supply, socket, all, least);
            }
            step.cores += self.per_socket[socket];
            if self.near_only() && self.per_socket[socket] == 0 {
                continue;
            }
            step.count += here;
            if (!enough && here != 0) || supply.anywhere != 0 {
                self.wanted[socket] = true;
                step.n_wanted += 1;
            }
            enough |= (step.most != 0 && step.most <= step.count)
                || (step.need.per_node != 0 && step.need.per_node <= step.count);
        }
    }

    /// A socket without (enough) devices: its cores go, as long as enough remain.
    fn close_socket(
        &mut self,
        step: &Step<'_>,
        supply: &mut Supply,
        socket: usize,
        all: u64,
        least: u32,
    ) {
        let binding = self.trial.ask.enforce_binding;
        if (all < step.need.per_socket || binding) && !supply.by_socket.is_empty() {
            supply.total -= supply.by_socket[socket];
            supply.by_socket[socket] = 0;
        }
        if !self.first_pass || self.all_cores <= least {
            return;
        }
        for core in self.range(socket).rev() {
            if !self.cores.remove(core) {
                continue;
            }
            self.per_socket[socket] -= 1;
            self.all_cores -= 1;
            self.cpus = self.cpus.min(self.all_cores * self.per_core);
            if self.all_cores <= least || self.per_socket[socket] == 0 {
                return;
            }
        }
    }

    /// Bounds devices and tasks by each other.
    fn bound(&mut self, step: &mut Step<'_>) {
        let (need, cpus_per_task) = (step.need, self.trial.ask.cpus_per_task);
        if let Some(by_cpus) = self.cpus.checked_div(step.cpus_per) {
            let by_cpus = u64::from(by_cpus);
            step.most = if step.most == 0 { by_cpus } else { by_cpus.min(step.most) };
            step.count = step.count.min(step.most);
        }
        if step.most != 0 {
            step.count = step.count.min(step.most);
        }
        if need.per_node != 0 {
            step.count = step.count.min(need.per_node);
        }
        if step.count == 0 || step.count < need.per_node || step.count < need.per_task {
            self.max_tasks = 0;
        }
        if step.cpus_per != 0 && step.count != 0 {
            let cpus = u64::from(step.cpus_per) * step.count;
            let least = u64::from(self.min_tasks) * u64::from(cpus_per_task);
            if cpus < least || cpus < u64::from(self.trial.ask.min_cpus_per_node) {
                self.max_tasks = self.min_tasks;
            } else {
                self.limit_tasks(cpus / u64::from(cpus_per_task));
            }
        }
        if let Some(tasks) = step.count.checked_div(need.per_task) {
            self.limit_tasks(tasks);
            if need.per_node == 0 {
                step.count = step.count.min(u64::from(self.max_tasks) * need.per_task);
            }
        }
        if need.tasks_per != 0 {
            self.bound_by_tasks_per_device(step);
        }
        self.min_tasks = self.min_tasks / self.task_step * self.task_step;
        self.max_tasks = self.max_tasks / self.task_step * self.task_step;
    }

    fn bound_by_tasks_per_device(&mut self, step: &mut Step<'_>) {
        let per = u64::from(step.need.tasks_per);
        let mut tasks = step.count * per;
        while u64::from(self.max_tasks) < tasks {
            tasks -= per;
            if step.need.per_node == 0 {
                step.count -= 1;
            }
        }
        self.limit_tasks(tasks);
    }

    fn limit_tasks(&mut self, tasks: u64) {
        self.max_tasks = self.max_tasks.min(u32::try_from(tasks).unwrap_or(UNSET));
    }

    /// Cores of sockets that aren't wanted are no use where cores must be near devices.
    fn drop_unwanted(&mut self, step: &mut Step<'_>) {
        for socket in 0..self.per_socket.len() {
            if self.wanted[socket] {
                continue;
            }
            for core in self.range(socket) {
                if self.cores.remove(core) {
                    step.cores -= 1;
                    self.per_socket[socket] -= 1;
                    self.cpus = self.cpus.min(step.cores * self.per_core);
                }
            }
        }
    }

    /// Cores that the tasks and devices take; `None` if there aren't so many.
    fn cores_needed(&mut self, step: &mut Step<'_>) -> Option<u32> {
        let ask = self.trial.ask;
        let mut per_task = ask.cpus_per_task;
        if ask.shape.ntasks_per_core == Some(1) {
            per_task = per_task.next_multiple_of(self.per_core);
        }
        let cores_for = |tasks: u32| tasks.saturating_mul(per_task).div_ceil(self.per_core);
        let mut cores = cores_for(self.max_tasks);
        while self.min_tasks <= self.max_tasks && step.cores < cores && self.max_tasks != 0 {
            self.max_tasks -= 1;
            cores = cores_for(self.max_tasks);
            let need = step.need;
            if need.per_node == 0 && need.per_task != 0 {
                step.count = step.count.min(u64::from(self.max_tasks) * need.per_task);
            } else if need.per_node == 0 && need.tasks_per != 0 {
                step.count = step.count.min(u64::from(self.max_tasks / need.tasks_per));
            }
        }
        if step.cpus_per != 0 {
            let need = step.need;
            let devices = if need.per_node != 0 {
                need.per_node
            } else if need.per_socket != 0 {
                need.per_socket * u64::from(step.n_wanted)
            } else if need.per_task != 0 {
                need.per_task * u64::from(self.max_tasks)
            } else {
                step.count.max(1)
            };
            let cpus = devices * u64::from(step.cpus_per);
            self.limit_tasks(cpus);
            let by_devices = cpus.div_ceil(u64::from(self.per_core));
            cores = cores.max(u32::try_from(by_devices).unwrap_or(UNSET));
        }
        if ask.enforce_binding {
            cores = cores.max(step.n_wanted);
        }
        let fits = cores <= step.cores
            && (!ask.enforce_binding || cores.saturating_mul(self.per_core) <= self.cpus);
        fits.then_some(cores)
    }

    /// Leaves `cores` cores: sockets that aren't wanted give first, then the fullest each time.
    fn trim(&mut self, step: &mut Step<'_>, cores: u32) {
        if self.trial.policy.unit == ResourceUnit::Socket {
            return;
        }
        if !self.near_only() && step.n_wanted as usize != self.per_socket.len() {
            for socket in 0..self.per_socket.len() {
                if !self.wanted[socket] && cores < step.cores {
                    let less = (step.cores - cores).min(self.per_socket[socket]);
                    self.give_up(step, socket, less);
                }
            }
        }
        while step.n_wanted != 0 && cores < step.cores {
            let wanted = (0..self.per_socket.len()).filter(|socket| self.wanted[*socket]);
            let fullest = wanted.rev().max_by_key(|socket| self.per_socket[*socket]);
            match fullest.filter(|socket| self.per_socket[*socket] != 0) {
                Some(socket) => self.give_up(step, socket, 1),
                None => return,
            }
        }
    }

    fn give_up(&mut self, step: &mut Step<'_>, socket: usize, less: u32) {
        self.per_socket[socket] -= less;
        step.cores -= less;
        self.cpus = self.cpus.min(step.cores * self.per_core);
        if self.per_socket[socket] == 0 {
            let range = self.range(socket);
            self.cores.remove_range(range.start, range.end);
        }
    }

    fn settle(&mut self, step: &Step<'_>, supply: &mut Supply, cores: u32) {
        if let Some(most) = self.cpus.checked_div(step.cpus_per) {
            supply.total = supply.total.min(most.into());
            if supply.total < step.need.per_node || supply.total < step.need.per_task {
                self.max_tasks = 0;
            }
        }
        supply.total = supply.total.min(step.count);
        if self.trial.ask.enforce_binding || self.cpus_told {
            self.min_cores = self.min_cores.min(cores);
        }
    }

    fn finish(self) -> Filtered {
        let ask = self.trial.ask;
        let min_cores =
            if self.max_tasks == 0 || self.min_cores == UNSET { 0 } else { self.min_cores };
        let mut cpus = self.cpus;
        if !self.cpus_told && (1 < ask.cpus_per_task || !self.trial.policy.one_task_per_core) {
            let by_tasks = self.max_tasks.saturating_mul(ask.cpus_per_task);
            cpus = cpus.min(by_tasks.max(min_cores * self.per_core));
        }
        let per_socket = (self.max_tasks != 0).then_some(self.per_socket);
        Filtered { cpus, max_tasks: self.max_tasks, min_cores, per_socket }
    }

    fn range(&self, socket: usize) -> std::ops::Range<usize> {
        let size = self.spec.cores_per_socket as usize;
        socket * size..(socket + 1) * size
    }
}

/// CPUs for each device, where tasks and devices of the job divide evenly.
fn guess_cpus(tasks: u32, devices: u64, cpus_per_task: u32) -> u32 {
    let tasks = u64::from(tasks);
    if tasks == 0 || devices == 0 {
        return 0;
    }
    let cpus = if devices <= tasks && tasks.is_multiple_of(devices) {
        tasks / devices * u64::from(cpus_per_task)
    } else if devices.is_multiple_of(tasks) {
        let each = devices / tasks;
        if u64::from(cpus_per_task).is_multiple_of(each) {
            u64::from(cpus_per_task) / each
        } else {
            0
        }
    } else {
        0
    };
    u32::try_from(cpus).unwrap_or(0)
}
