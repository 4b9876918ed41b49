//! One attempt to place a job: what it asks for, where, and the numbers that follow from both.

use crate::{
    IndexSet,
    conf::{NodeSpec, ResourceUnit as Unit},
};

use super::{Ask, Policy, Share, View, ask::GresNeed};

/// A job and the conditions under which it is tried.
pub(super) struct Trial<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) ask: &'a Ask,
    pub(super) policy: &'a Policy,
    /// Tasks, where they are counted; 0 otherwise.
    pub(super) tasks: u32,
    /// CPUs still to be found in all.
    pub(super) min_cpus: u32,
    pub(super) min_nodes: u32,
    pub(super) max_nodes: u32,
    /// As many nodes as it would like.
    pub(super) req_nodes: u32,
    pub(super) required: IndexSet,
    /// Whole nodes, because the job or its partition says so.
    pub(super) whole: bool,
    /// How many jobs may already be on the cores that are tried.
    pub(super) row: usize,
    /// Only which nodes it gets is of interest.
    pub(super) nodes_only: bool,
    /// CPUs that its devices need on a node, and in all.
    pub(super) gres_cpus_node: u32,
    pub(super) gres_cpus_job: u32,
    /// Sockets on which it could make do, where its devices must be near its cores.
    pub(super) sockets: Option<u32>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(view: &'a View<'a>, ask: &'a Ask, policy: &'a Policy) -> Self {
        let min_nodes = ask.min_nodes.max(policy.min_nodes);
        let most = ask.max_nodes.unwrap_or(u32::MAX).min(policy.max_nodes).min(500_000);
        let req_nodes =
            if ask.max_nodes.is_some() && !ask.use_min_nodes { most } else { min_nodes };
        let mut trial = Self {
            view,
            ask,
            policy,
            tasks: ask.tasks,
            min_cpus: ask.min_cpus,
            min_nodes,
            max_nodes: most,
            req_nodes,
            required: ask.required.clone(),
            whole: ask.exclusive || policy.exclusive(),
            row: 0,
            nodes_only: false,
            gres_cpus_node: 0,
            gres_cpus_job: 0,
            sockets: None,
        };
        if !ask.gres.is_empty() {
            trial.count_gres_cpus();
        }
        trial
    }

    /// Whether it shares its cores with other jobs.
    pub(super) const fn shares(&self) -> bool {
        match self.policy.share {
            Share::Exclusive | Share::No => false,
            Share::Yes(jobs) => 1 < jobs && self.ask.oversubscribe,
            Share::Force(_) => true,
        }
    }

    /// How many jobs a core may have.
    pub(super) fn rows(&self) -> usize {
        match self.policy.share {
            Share::Yes(jobs) | Share::Force(jobs) if self.shares() => jobs.max(1) as usize,
            Share::Exclusive | Share::No | Share::Yes(_) | Share::Force(_) => 1,
        }
    }

    /// The CPUs that the job would use of each core.
    pub(super) fn cpus_per_core(&self, spec: &NodeSpec) -> u32 {
        let threads = spec.threads_per_core;
        if self.policy.one_task_per_core && 0 < self.gres_cpus_node {
            return threads;
        }
        threads.min(self.usable_per_core(threads))
    }

    /// What tasks and threads for each core leave of its threads; without limit if nothing is said.
    pub(super) fn usable_per_core(&self, threads: u32) -> u32 {
        let shape = &self.ask.shape;
        let by_tasks = shape
            .ntasks_per_core
            .map_or(u32::MAX, |n| threads.min(n.saturating_mul(self.ask.cpus_per_task)));
        by_tasks.min(shape.threads_per_core.unwrap_or(u32::MAX))
    }

    /// One task to a core, though a task needs several.
    pub(super) fn task_fills_cores(&self, per_core: u32) -> bool {
        self.ask.shape.ntasks_per_core == Some(1) && per_core < self.ask.cpus_per_task
    }

    /// CPUs that must be on a node for it to be of any use.
    pub(super) fn least_on_a_node(&self) -> u32 {
        let ask = self.ask;
        let tasks = if 0 < ask.ntasks_per_node {
            ask.ntasks_per_node
        } else if !ask.overcommit && ask.max_nodes == Some(1) && self.tasks != 0 {
            self.tasks
        } else {
            1
        };
        tasks.saturating_mul(ask.cpus_per_task)
    }

    /// The smallest number of CPUs that a node gives at once.
    pub(super) fn unit_size(&self, spec: &NodeSpec) -> u32 {
        let size = match self.policy.unit {
            Unit::Socket => spec.cores_per_socket * spec.threads_per_core,
            Unit::Core => spec.threads_per_core,
            Unit::Cpu => 1,
        };
        size.min(self.usable_per_core(spec.threads_per_core))
    }

    /// Devices that have their CPUs told: on a node, and in the whole job.
    fn count_gres_cpus(&mut self) {
        let ask = self.ask;
        let sockets = u64::from(ask.shape.sockets_per_node.unwrap_or(1));
        let per_node = u64::from(ask.ntasks_per_node);
        let nodes = u64::from(ask.min_nodes);
        let (mut node, mut job) = (0_u64, 0_u64);
        let mut names: Vec<&str> = ask.gres.iter().map(|need| need.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let same = || ask.gres.iter().filter(|need| need.name == name);
            let cpus = same().map(|need| u64::from(need.cpus_per)).find(|n| *n != 0).unwrap_or(0);
            let sum = |of: fn(&GresNeed) -> u64| same().map(of).sum::<u64>();
            let (by_job, by_node) = (sum(|n| n.per_job), sum(|n| n.per_node));
            let (by_socket, by_task) = (sum(|n| n.per_socket), sum(|n| n.per_task));
            let first = |values: [u64; 4]| values.into_iter().find(|n| *n != 0).unwrap_or(0);
            let times = u64::saturating_mul;
            let on_node = first([by_node, times(by_socket, sockets), times(by_task, per_node), 0]);
            let fallback = u64::from(by_node + by_socket + by_task == 0);
            node = node.max(times(cpus, on_node.max(fallback)));
            let (tasks, all) = (times(per_node.max(1), nodes), times(nodes, sockets));
            let by_all =
                [by_job, times(by_node, nodes), times(by_socket, all), times(by_task, tasks)];
            let in_job = first(by_all);
            job = job.max(times(cpus, in_job));
        }
        self.gres_cpus_node = u32::try_from(node).unwrap_or(u32::MAX);
        self.gres_cpus_job = u32::try_from(job).unwrap_or(u32::MAX);
        self.sockets = self.sockets_for_gres();
    }

    /// Sockets on which a node's part of the job would fit; `None` where that can't be said.
    fn sockets_for_gres(&self) -> Option<u32> {
        let ask = self.ask;
        let nodes = ask.min_nodes.max(1);
        let cpus = ask.min_cpus.max(self.tasks.saturating_mul(ask.cpus_per_task)) / nodes;
        let with_devices =
            ask.gres.iter().map(|need| self.cpus_of(need, nodes)).fold(0, u64::saturating_add);
        if cpus <= 1 && with_devices <= 1 {
            return Some(1);
        }
        let per_socket = ask.shape.ntasks_per_socket?;
        Some((self.tasks / nodes).div_ceil(per_socket))
    }

    fn cpus_of(&self, need: &GresNeed, nodes: u32) -> u64 {
        let count = if need.per_node != 0 {
            need.per_node
        } else if need.per_task != 0 {
            need.per_task.saturating_mul(self.tasks.into())
        } else if need.per_socket != 0 {
            need.per_socket
        } else {
            need.per_job / u64::from(nodes)
        };
        count.saturating_mul(need.cpus_per.into())
    }
}
