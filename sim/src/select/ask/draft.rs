//! The numbers of a request while they are being completed from each other.
//!
//! sbatch fills in what it can, then slurmctld does; both look at the generic resources, and those
//! may settle tasks, nodes and CPUs in turn.

use crate::{IndexSet, SlurmError, Submission};

use super::{
    Ask, MemoryNeed, Shape,
    gres::{self, GresNeed},
};
use crate::{MemoryAsk, select::feature::Features};

/// Most CPUs that a request may come to.
const CPUS_MAX: u64 = (u32::MAX / 2) as u64;

#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) tasks: Option<u32>,
    pub(super) min_nodes: Option<u32>,
    pub(super) max_nodes: Option<u32>,
    pub(super) cpus_per_task: Option<u32>,
    pub(super) ntasks_per_node: Option<u32>,
    pub(super) ntasks_per_socket: Option<u32>,
    pub(super) sockets_per_node: Option<u32>,
    pub(super) tasks_per_gpu: Option<u32>,
    pub(super) min_cpus: Option<u64>,
    tasks_given: bool,
    overcommit: bool,
}

impl Draft {
    pub(super) fn new(submission: &Submission, n_required: usize) -> Self {
        let positive = |number: Option<u32>| number.filter(|number| *number != 0);
        let n_required = u32::try_from(n_required).ok().filter(|n| *n != 0);
        Self {
            tasks: positive(submission.tasks),
            min_nodes: submission.min_nodes.or(n_required),
            max_nodes: submission.max_nodes,
            cpus_per_task: positive(submission.cpus_per_task),
            ntasks_per_node: positive(submission.ntasks_per_node),
            ntasks_per_socket: positive(submission.shape.ntasks_per_socket),
            sockets_per_node: positive(submission.shape.sockets_per_node),
            tasks_per_gpu: positive(submission.per_gpu.tasks),
            min_cpus: submission.min_cpus.map(u64::from),
            tasks_given: false,
            overcommit: submission.overcommit,
        }
    }

    /// Settles every number; the generic resources that it needs.
    pub(super) fn complete(
        &mut self,
        submission: &Submission,
        known: impl Fn(&str) -> bool,
    ) -> Result<Vec<GresNeed>, SlurmError> {
        let ends = self.min_nodes == Some(0) || self.max_nodes == Some(0);
        if ends || self.max_nodes.is_some_and(|max| max < self.min_nodes.unwrap_or(1)) {
            return Err(SlurmError::InvalidNodeCount);
        }
        gres::needs(submission, self, &known)?;
        if self.min_nodes.is_none()
            && let (Some(tasks), Some(per_node)) = (self.tasks, self.ntasks_per_node)
        {
            self.min_nodes = Some(tasks.div_ceil(per_node));
        }
        let min_nodes = *self.min_nodes.get_or_insert(1);
        self.tasks_given = self.tasks.is_some();
        let per_node = self.tasks_per_gpu.or(self.ntasks_per_node);
        self.tasks = self.tasks.or(per_node.map(|n| min_nodes.saturating_mul(n)));
        self.count_cpus(min_nodes);
        let needs = gres::needs(submission, self, &known)?;
        match self.min_cpus.unwrap_or(0) {
            cpus if CPUS_MAX < cpus => Err(SlurmError::RequestedNodeConfigUnavailable),
            _ => Ok(needs),
        }
    }

    fn count_cpus(&mut self, min_nodes: u32) {
        let by_tasks = self.tasks.map(u64::from);
        let enough = self.min_cpus.is_some_and(|cpus| by_tasks.unwrap_or(0) <= cpus);
        if self.overcommit {
            self.min_cpus.get_or_insert(min_nodes.into());
        } else if !enough {
            let count = by_tasks.unwrap_or(min_nodes.into());
            self.min_cpus = Some(count * u64::from(self.cpus_per_task.unwrap_or(1)));
        }
    }

    /// The fewest nodes, as completed.
    pub(super) fn min_nodes(&self) -> u64 {
        self.min_nodes.unwrap_or(1).into()
    }

    /// The request, as far as it is numbers.
    pub(super) fn ask(
        &self,
        submission: &Submission,
        one_task_per_core: bool,
        n_nodes: usize,
    ) -> Ask {
        let tasks = self.tasks.unwrap_or(0);
        let cpus_per_task = self.cpus_per_task.unwrap_or(1);
        let ntasks_per_node = self.ntasks_per_node.unwrap_or(0);
        let mut per_node =
            submission.min_cpus_per_node.or(self.cpus_per_task).unwrap_or(1).max(cpus_per_task);
        if 1 < tasks && !self.overcommit {
            per_node = per_node.max(cpus_per_task.saturating_mul(ntasks_per_node));
        }
        let max_nodes = self.max_nodes.or_else(|| {
            let all = u32::try_from(n_nodes).unwrap_or(u32::MAX);
            (submission.spread && tasks != 0).then_some(tasks.min(all))
        });
        Ask {
            tasks,
            tasks_given: self.tasks_given,
            cpus_per_task,
            cpus_given: submission.cpus_per_task.is_some(),
            ntasks_per_node,
            min_cpus: u32::try_from(self.min_cpus.unwrap_or(1)).unwrap_or(u32::MAX),
            min_cpus_per_node: per_node,
            min_nodes: self.min_nodes.unwrap_or(1),
            max_nodes,
            shape: self.shape(submission, one_task_per_core),
            memory: MemoryNeed::WholeNode,
            memory_given: submission.memory != MemoryAsk::Default,
            gres: vec![],
            enforce_binding: submission.enforce_binding,
            external: submission.external,
            exclusive: submission.exclusive,
            exclusive_user: submission.exclusive_user,
            oversubscribe: submission.oversubscribe,
            overcommit: submission.overcommit,
            contiguous: submission.contiguous,
            spread: submission.spread,
            use_min_nodes: submission.use_min_nodes,
            core_order: submission.core_order,
            plane: submission.plane,
            required: IndexSet::new(),
            excluded: IndexSet::new(),
            features: Features::default(),
        }
    }

    fn shape(&self, submission: &Submission, one_task_per_core: bool) -> Shape {
        let asked = submission.shape;
        Shape {
            sockets_per_node: self.sockets_per_node,
            cores_per_socket: asked.cores_per_socket,
            threads_per_core: asked.threads_per_core,
            ntasks_per_socket: self.ntasks_per_socket,
            ntasks_per_core: asked.ntasks_per_core.or(one_task_per_core.then_some(1)),
        }
    }
}
