//! What a job asks for, once every default is filled in.

use crate::{
    GresAsk, GresPer, IndexSet, MemoryAsk, SlurmError, SlurmNode, Slurmctld, Submission,
    conf::{MemoryDefault, PartitionSpec},
};

use super::{View, feature::Features, select};

/// A request, with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ask {
    pub(crate) tasks: u32,
    pub(crate) cpus_per_task: u32,
    pub(crate) ntasks_per_node: Option<u32>,
    pub(crate) min_nodes: u32,
    pub(crate) max_nodes: Option<u32>,
    pub(crate) memory: MemoryNeed,
    pub(crate) gres: Vec<GresAsk>,
    pub(crate) exclusive: bool,
    pub(crate) required: IndexSet,
    pub(crate) excluded: IndexSet,
    pub(crate) features: Features,
}

/// Memory that a job needs, MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemoryNeed {
    /// Memory isn't given out.
    Uncounted,
    PerNode(u64),
    PerCpu(u64),
    WholeNode,
}

impl Ask {
    /// CPUs that it needs at least.
    pub(crate) fn min_cpus(&self) -> u32 {
        (self.tasks * self.cpus_per_task).max(self.min_nodes)
    }

    /// CPUs that it needs on each node at least.
    pub(super) fn min_cpus_per_node(&self) -> u32 {
        let tasks = self.ntasks_per_node.unwrap_or(1).min(self.tasks).max(1);
        tasks * self.cpus_per_task
    }

    /// As many nodes as it would like.
    pub(super) fn wanted_nodes(&self) -> u32 {
        self.max_nodes.unwrap_or(self.min_nodes).max(self.min_nodes)
    }

    /// Devices counted for the whole job.
    pub(super) fn per_job(&self) -> impl Iterator<Item = &GresAsk> {
        self.gres.iter().filter(|gres| gres.per == GresPer::Job)
    }
}

impl Slurmctld {
    /// The request with defaults filled in from the (first) partition and slurm.conf.
    pub(crate) fn ask(&self, submission: &Submission, partition: usize) -> Result<Ask, SlurmError> {
        let spec = self.partition_spec(partition);
        let (tasks, min_nodes) = counts(submission)?;
        let required = self.places(&submission.required_nodes)?;
        if !self.partition_nodes[partition].holds(&required) {
            return Err(SlurmError::RequestedNodesNotInPartition);
        }
        let ask = Ask {
            tasks,
            cpus_per_task: submission.cpus_per_task.unwrap_or(1).max(1),
            ntasks_per_node: submission.ntasks_per_node,
            min_nodes: min_nodes.max(u32::try_from(required.len()).unwrap_or(u32::MAX)),
            max_nodes: submission.max_nodes,
            memory: self.memory_need(submission.memory, spec),
            gres: submission.gres.iter().filter(|gres| gres.count != 0).cloned().collect(),
            exclusive: submission.exclusive,
            required,
            excluded: self.places(&submission.excluded_nodes)?,
            features: self.find_features(submission)?,
        };
        if u64::from(ask.tasks) * u64::from(ask.cpus_per_task) > u64::from(u32::MAX / 2) {
            return Err(SlurmError::RequestedNodeConfigUnavailable);
        }
        let known =
            |name: &str| self.config.nodes().iter().any(|node| node.gres_count(name, None) != 0);
        let all_known = ask.gres.iter().all(|gres| known(&gres.name));
        all_known.then_some(ask).ok_or(SlurmError::InvalidGres)
    }

    fn places(&self, names: &[SlurmNode]) -> Result<IndexSet, SlurmError> {
        let place = |name| self.node_places.get(name).copied();
        let places: Option<IndexSet> = names.iter().map(place).collect();
        places.ok_or(SlurmError::InvalidNodeName)
    }

    fn find_features(&self, submission: &Submission) -> Result<Features, SlurmError> {
        let Some(text) = &submission.constraints else {
            return Ok(Features::default());
        };
        let features = Features::parse(text).ok_or(SlurmError::InvalidFeature)?;
        let known =
            |name| self.config.nodes().iter().any(|node| node.features.iter().any(|f| f == name));
        let all_known = features.names().all(known);
        all_known.then_some(features).ok_or(SlurmError::InvalidFeature)
    }

    fn memory_need(&self, memory: MemoryAsk, partition: &PartitionSpec) -> MemoryNeed {
        if !self.params().memory {
            return MemoryNeed::Uncounted;
        }
        let default = partition.def_mem.or(self.params().def_mem);
        match (memory, default) {
            (MemoryAsk::PerNode(0) | MemoryAsk::PerCpu(0), _) => MemoryNeed::WholeNode,
            (MemoryAsk::PerNode(mib), _) => MemoryNeed::PerNode(mib),
            (MemoryAsk::PerCpu(mib), _) => MemoryNeed::PerCpu(mib),
            (MemoryAsk::Default, Some(MemoryDefault::PerNode(mib))) => MemoryNeed::PerNode(mib),
            (MemoryAsk::Default, Some(MemoryDefault::PerCpu(mib))) => MemoryNeed::PerCpu(mib),
            (MemoryAsk::Default, None) => MemoryNeed::WholeNode,
        }
    }

    /// Whether the partition's nodes, all idle and in service, could hold it.
    pub(crate) fn could_ever_run(&self, ask: &Ask, partition: usize) -> bool {
        let all = &self.partition_nodes[partition];
        let view = View::empty(&self.nodes);
        select(&view, all, ask, self.policy(partition)).is_some()
    }
}

/// Tasks and fewest nodes, each from the other where only one is given.
fn counts(submission: &Submission) -> Result<(u32, u32), SlurmError> {
    let min_nodes = submission.min_nodes.unwrap_or(1);
    if min_nodes == 0 || submission.max_nodes.is_some_and(|max| max < min_nodes) {
        return Err(SlurmError::InvalidNodeCount);
    }
    let per_node = submission.ntasks_per_node.filter(|n| *n != 0);
    let tasks = match (submission.tasks.filter(|n| *n != 0), per_node) {
        (Some(tasks), _) => tasks,
        (None, Some(per_node)) => min_nodes.saturating_mul(per_node),
        (None, None) => min_nodes,
    };
    let by_tasks = per_node.map_or(1, |per_node| tasks.div_ceil(per_node));
    Ok((tasks, min_nodes.max(by_tasks)))
}
