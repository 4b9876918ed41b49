//! `MaxMemPerCPU` and `MaxMemPerNode`: what becomes of a job that names more memory.
//!
//! ```text
//!   the job's     slurm.conf's     what happens
//!   per CPU       per CPU          more CPUs for each task, less memory for each
//!   per node      per CPU          more CPUs on each node
//!   either        per node         it waits for `MaxMemPerLimit`, or is refused
//! ```

use std::{borrow::Cow, sync::Arc};

use crate::{
    Job, Slurmctld, Submission,
    conf::{MemoryDefault, PartitionSpec},
    select::{Ask, MemoryNeed},
};

impl Slurmctld {
    /// The job as one of its partitions makes it; `None` if it names more memory than it may.
    pub(crate) fn ask_in<'a>(&self, job: &'a Job, partition: usize) -> Option<Cow<'a, Arc<Ask>>> {
        let fitted = self.fit_memory(&job.submission, &job.ask, partition)?;
        let ask = fitted.as_deref().unwrap_or(&job.ask);
        let changed = self.with_gpu_defaults(ask, partition).or(fitted);
        Some(changed.map_or(Cow::Borrowed(&job.ask), |ask| Cow::Owned(Arc::from(ask))))
    }

    /// The request with the partition's own amount of memory, and within its limit; nothing if that
    /// is what it has. `None` if it names more memory than it may.
    pub(crate) fn fit_memory(
        &self,
        submission: &Submission,
        ask: &Ask,
        partition: usize,
    ) -> Option<Option<Box<Ask>>> {
        let spec = self.partition_spec(partition);
        let memory = self.memory_need(submission.memory, spec);
        let own = (memory != ask.memory).then(|| Box::new(Ask { memory, ..ask.clone() }));
        let Some(limit) = spec.max_mem.or(self.params().max_mem) else { return Some(own) };
        let ask = own.as_deref().unwrap_or(ask);
        self.within(ask, limit, partition).map(|ask| Some(Box::new(ask)))
    }

    fn within(&self, ask: &Ask, limit: MemoryDefault, partition: usize) -> Option<Ask> {
        let spec = self.partition_spec(partition);
        let memory = match ask.memory {
            MemoryNeed::WholeNode => MemoryNeed::PerNode(self.memory_of_first(partition)),
            given @ (MemoryNeed::PerNode(_) | MemoryNeed::PerCpu(_)) => given,
        };
        let per_node = self.cpus_per_node(ask, spec, partition);
        match (memory, limit) {
            (MemoryNeed::PerCpu(job), MemoryDefault::PerCpu(most)) => {
                Some(more_cpus_per_task(ask, job, most))
            }
            (MemoryNeed::PerNode(job), MemoryDefault::PerNode(most)) => {
                (job <= most).then(|| ask.clone())
            }
            (MemoryNeed::PerCpu(job), MemoryDefault::PerNode(most)) => {
                (job.saturating_mul(per_node.into()) <= most).then(|| ask.clone())
            }
            (MemoryNeed::PerNode(job), MemoryDefault::PerCpu(most)) => {
                more_cpus_per_node(ask, job, most, per_node)
            }
            (MemoryNeed::WholeNode, _) => None,
        }
    }

    /// Slurm takes the first node's memory where a job names none.
    fn memory_of_first(&self, partition: usize) -> u64 {
        let first = self.partition_nodes[partition].first();
        first.map_or(0, |node| self.nodes[node].spec.usable_memory_mib())
    }

    /// CPUs that the job has on a node, as far as is known.
    fn cpus_per_node(&self, ask: &Ask, spec: &PartitionSpec, partition: usize) -> u32 {
        if spec.exclusive || ask.exclusive {
            let cpus = self.partition_nodes[partition].iter().map(|at| self.nodes[at].spec.cpus);
            return cpus.max().unwrap_or(0);
        }
        let by_nodes =
            ask.max_nodes.filter(|max| *max != 0).map_or(0, |max| ask.tasks.div_ceil(max));
        let tasks = ask.ntasks_per_node.max(1).max(by_nodes);
        tasks.saturating_mul(ask.cpus_per_task).max(ask.min_cpus_per_node)
    }
}

/// So many CPUs for each task that none of them has more memory than it may.
fn more_cpus_per_task(ask: &Ask, job: u64, most: u64) -> Ask {
    let mut ask = ask.clone();
    if job <= most {
        return ask;
    }
    let ratio = job.div_ceil(most.max(1));
    let factor = u32::try_from(ratio).unwrap_or(u32::MAX);
    ask.cpus_per_task = ask.cpus_per_task.saturating_mul(factor);
    ask.memory = MemoryNeed::PerCpu(job.div_ceil(ratio));
    if ask.tasks == 0 {
        ask.min_cpus_per_node = ask.cpus_per_task;
    } else {
        ask.min_cpus = ask.tasks.saturating_mul(ask.cpus_per_task);
    }
    ask
}

/// So many CPUs on each node that none of them has more memory than it may.
fn more_cpus_per_node(ask: &Ask, job: u64, most: u64, per_node: u32) -> Option<Ask> {
    let mut ask = ask.clone();
    let needed = u32::try_from(job.div_ceil(most.max(1))).unwrap_or(u32::MAX);
    let mut per_node = per_node;
    if ask.min_cpus_per_node < needed {
        ask.min_cpus_per_node = needed;
        ask.min_cpus = ask.min_cpus.max(needed);
        per_node = per_node.max(needed);
        if ask.ntasks_per_node != 0 {
            ask.cpus_per_task = needed.div_ceil(ask.ntasks_per_node);
            ask.min_cpus_per_node = needed.max(ask.cpus_per_task * ask.ntasks_per_node);
        } else if ask.tasks != 0 && ask.min_nodes != 0 {
            let all = needed.saturating_mul(ask.min_nodes);
            ask.cpus_per_task = all.div_ceil(ask.tasks);
            let each = ask.cpus_per_task.saturating_mul(ask.tasks) / ask.min_nodes;
            (ask.min_cpus_per_node, ask.min_cpus) = (each, each);
        } else {
            ask.cpus_per_task = ask.cpus_per_task.max(ask.min_cpus_per_node);
        }
    }
    (job <= most.saturating_mul(per_node.into())).then_some(ask)
}
