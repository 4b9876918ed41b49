//! One attempt to place a job: what it asks for, where, and the numbers that follow from both.

use std::borrow::Cow;

use crate::{
    IndexSet,
    conf::{NodeSpec, ResourceUnit as Unit},
};

use super::{Ask, Policy, Quest, Share, View, ask::GresNeed};

/// Which cores count as taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Those that anybody has.
    All,
    /// Those of jobs in these partitions.
    By(Vec<usize>),
    /// Those of one row of the job's partition.
    Row(usize),
    Nothing,
}

/// A job and the conditions under which it is tried.
pub(super) struct Trial<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) ask: &'a Ask,
    pub(super) policy: &'a Policy,
    pub(super) quest: &'a Quest,
    /// Whole nodes, because the job or its partition says so.
    pub(super) whole: bool,
    /// Which cores count as taken.
    pub(super) taken: Taken,
    /// Only which nodes it gets is of interest.
    pub(super) nodes_only: bool,
    /// CPUs that its devices need on a node, and in all.
    pub(super) gres_cpus_node: u32,
    pub(super) gres_cpus_job: u32,
    /// Sockets on which it could make do, where its devices must be near its cores.
    pub(super) sockets: Option<u32>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        view: &'a View<'a>,
        ask: &'a Ask,
        policy: &'a Policy,
        quest: &'a Quest,
    ) -> Self {
        let mut trial = Self {
            view,
            ask,
            policy,
            quest,
            // Of some later time a job isn't told that its partition gives whole nodes only.
            whole: ask.exclusive || (policy.exclusive() && !view.is_future()),
            taken: Taken::All,
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

    /// Whether it counts as a job that shares: for that it's enough to ask.
    pub(super) fn would_share(&self) -> bool {
        self.shares() || (self.ask.oversubscribe && self.policy.share != Share::Exclusive)
    }

    /// The cores of a node that count as taken.
    pub(super) fn taken_on(&self, index: usize) -> Cow<'a, IndexSet> {
        let own = self.policy.partition;
        match (&self.taken, self.view.rows()) {
            (Taken::Nothing, _) => Cow::Owned(IndexSet::new()),
            (Taken::By(others), Some(rows)) => Cow::Owned(rows.cores_of(others, index)),
            (Taken::Row(row), Some(rows)) => Cow::Owned(rows.row_cores(own, *row, index)),
            (Taken::All | Taken::By(_) | Taken::Row(_), _) => match self.view.usage(index) {
                Cow::Borrowed(usage) => Cow::Borrowed(&usage.cores),
                Cow::Owned(usage) => Cow::Owned(usage.cores),
            },
        }
    }

    /// The cores of a node that the partition's own jobs have; `None` where all count.
    pub(super) fn own_cores(&self, index: usize) -> Option<IndexSet> {
        let rows = self.view.rows().filter(|_| self.taken != Taken::Nothing)?;
        rows.own_cores(self.policy.partition, index)
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
        } else if !ask.overcommit && ask.max_nodes == Some(1) && self.quest.tasks != 0 {
            self.quest.tasks
        } else {
            1
        };
        tasks.saturating_mul(ask.cpus_per_task)
    }

    /// Nodes that so many tasks take, where it is said how many go on one; 0 otherwise.
    pub(super) const fn nodes_by_tasks(&self) -> u32 {
        let per_node = self.ask.ntasks_per_node;
        let tasks = self.quest.tasks;
        if per_node != 0 && tasks != 0 { tasks.div_ceil(per_node) } else { 0 }
    }

    /// The fewest and the most tasks that a node takes, with so many CPUs; at most none where the
    /// fewest don't fit.
    pub(super) fn task_range(&self, spec: &NodeSpec, cpus: u32) -> (u32, u32) {
        let (min, max) = self.tasks_on_a_node(spec);
        if self.ask.overcommit {
            return (min, max);
        }
        let fit = cpus / self.ask.cpus_per_task;
        (min, if fit < min { 0 } else { max.min(fit) })
    }

    fn tasks_on_a_node(&self, spec: &NodeSpec) -> (u32, u32) {
        let (ask, tasks) = (self.ask, self.quest.tasks);
        let any = (1, u32::MAX);
        if ask.ntasks_per_node != 0 {
            (ask.ntasks_per_node, ask.ntasks_per_node)
        } else if let Some(n) = ask.shape.ntasks_per_socket {
            (n, n.saturating_mul(spec.sockets))
        } else if let Some(n) = ask.shape.ntasks_per_core {
            (n, n.saturating_mul(spec.cores()))
        } else if let Some(need) = ask.gres.iter().find(|need| need.tasks_per != 0) {
            if Some(ask.min_nodes) == ask.max_nodes {
                (tasks / ask.min_nodes, tasks / ask.min_nodes)
            } else {
                (need.tasks_per, tasks)
            }
        } else if ask.max_nodes == Some(1) {
            if tasks == 0 { any } else { (tasks, tasks) }
        } else if tasks == 1 || (tasks == ask.min_nodes && Some(tasks) == ask.max_nodes) {
            (1, 1)
        } else {
            any
        }
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
            let cpus =
                same().map(|need| u64::from(need.told_cpus_per())).find(|n| *n != 0).unwrap_or(0);
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
        let cpus = ask.min_cpus.max(self.quest.tasks.saturating_mul(ask.cpus_per_task)) / nodes;
        let with_devices =
            ask.gres.iter().map(|need| self.cpus_of(need, nodes)).fold(0, u64::saturating_add);
        if cpus <= 1 && with_devices <= 1 {
            return Some(1);
        }
        let per_socket = ask.shape.ntasks_per_socket?;
        Some((self.quest.tasks / nodes).div_ceil(per_socket))
    }

    fn cpus_of(&self, need: &GresNeed, nodes: u32) -> u64 {
        let count = if need.per_node != 0 {
            need.per_node
        } else if need.per_task != 0 {
            need.per_task.saturating_mul(self.quest.tasks.into())
        } else if need.per_socket != 0 {
            need.per_socket
        } else {
            need.per_job / u64::from(nodes)
        };
        count.saturating_mul(need.cpus_per.into())
    }
}
