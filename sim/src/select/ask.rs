//! What a job asks for, once every default is filled in.

mod draft;
mod gres;

use crate::{
    CoreOrder, IndexSet, MemoryAsk, Release, SlurmError, SlurmNode, Slurmctld, Submission,
    conf::{MemoryDefault, PartitionSpec},
};

pub(crate) use gres::GresNeed;

use super::feature::Features;
use draft::Draft;

/// A request, with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ask {
    /// 0 where neither it nor slurmctld counts them.
    pub(crate) tasks: u32,
    /// Its own number of tasks, not one that follows from the number of nodes.
    pub(crate) tasks_given: bool,
    pub(crate) cpus_per_task: u32,
    /// Its own number of CPUs for each task: then also tasks that are overcommitted need them.
    pub(crate) cpus_given: bool,
    /// 0 is as many as fit.
    pub(crate) ntasks_per_node: u32,
    pub(crate) min_cpus: u32,
    pub(crate) min_cpus_per_node: u32,
    pub(crate) min_nodes: u32,
    pub(crate) max_nodes: Option<u32>,
    pub(crate) shape: Shape,
    pub(crate) memory: MemoryNeed,
    /// Its own amount of memory, not slurm.conf's.
    pub(crate) memory_given: bool,
    pub(crate) gres: Vec<GresNeed>,
    pub(crate) enforce_binding: bool,
    /// Nodes without a slurmd will do.
    pub(crate) external: bool,
    pub(crate) exclusive: bool,
    pub(crate) exclusive_user: bool,
    /// Shares its CPUs where the partition lets it.
    pub(crate) oversubscribe: bool,
    pub(crate) overcommit: bool,
    pub(crate) contiguous: bool,
    pub(crate) spread: bool,
    pub(crate) use_min_nodes: bool,
    pub(crate) core_order: Option<CoreOrder>,
    pub(crate) plane: Option<u32>,
    pub(crate) required: IndexSet,
    pub(crate) excluded: IndexSet,
    pub(crate) features: Features,
}

/// What is wanted of sockets, cores and threads; unset is anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) sockets_per_node: Option<u32>,
    pub(crate) cores_per_socket: Option<u32>,
    pub(crate) threads_per_core: Option<u32>,
    pub(crate) ntasks_per_socket: Option<u32>,
    pub(crate) ntasks_per_core: Option<u32>,
}

/// Memory that a job needs, MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemoryNeed {
    PerNode(u64),
    PerCpu(u64),
    WholeNode,
}

impl Ask {
    /// The same with no more nodes than tasks, though it doesn't want as many.
    fn with_implied_nodes(self) -> Self {
        match (self.max_nodes, self.tasks) {
            (None, tasks @ 1..) => Self { max_nodes: Some(tasks), use_min_nodes: true, ..self },
            (None, 0) | (Some(_), _) => self,
        }
    }

    /// CPUs that it needs at least.
    pub(crate) const fn min_cpus(&self) -> u32 {
        self.min_cpus
    }

    /// Whether the CPUs of a task are its own number, or follow from it.
    pub(crate) fn says_cpus_per_task(&self) -> bool {
        let follows = |need: &GresNeed| need.cpus_per != 0 && need.per_task != 0;
        self.cpus_given || self.gres.iter().any(follows)
    }

    /// The most memory that it wants with one device.
    pub(super) fn memory_per_device(&self) -> u64 {
        self.gres.iter().map(|need| need.memory_per).max().unwrap_or(0)
    }
}

/// Whether a submission's devices, tasks, nodes and sockets agree with each other.
pub(crate) fn gres_agrees(submission: &Submission) -> Result<(), SlurmError> {
    let mut draft = Draft::new(submission, 0);
    gres::needs(submission, &mut draft, &|_| true).map(|_| ())
}

impl Slurmctld {
    /// The request with defaults filled in from the (first) partition and slurm.conf.
    pub(crate) fn ask(&self, submission: &Submission, partition: usize) -> Result<Ask, SlurmError> {
        let spec = self.partition_spec(partition);
        let mut required = self.places(&submission.required_nodes)?;
        if submission.contiguous
            && let (Some(first), Some(last)) = (required.first(), required.iter().last())
        {
            required.insert_range(first, last + 1);
        }
        let mut draft = Draft::new(submission, required.len());
        let known = |name: &str| {
            self.params().gres_types.iter().any(|known| known == name)
                || self.config.nodes().iter().any(|node| node.gres_count(name, None) != 0)
        };
        let gres = draft.complete(submission, known)?;
        let mut excluded = self.places(&submission.excluded_nodes)?;
        if draft.min_nodes() < required.len() as u64 {
            // More nodes than it takes: any of them, and none else.
            let mut others = IndexSet::below(self.nodes.len());
            others.subtract(&required);
            excluded.add(&others);
            required = IndexSet::new();
        }
        if excluded.overlaps(&required) {
            return Err(SlurmError::InvalidNodeName);
        }
        let ask = Ask {
            memory: self.memory_need(submission.memory, spec),
            features: self.find_features(submission)?,
            required,
            excluded,
            gres,
            ..draft.ask(submission, self.params().one_task_per_core, self.nodes.len())
        };
        let never_more_nodes_than_tasks = Release::V26_05 <= self.config.release();
        Ok(if never_more_nodes_than_tasks { ask.with_implied_nodes() } else { ask })
    }

    fn places(&self, names: &[SlurmNode]) -> Result<IndexSet, SlurmError> {
        let place = |name| self.node_places.get(name).copied();
        let places: Option<IndexSet> = names.iter().map(place).collect();
        places.ok_or(SlurmError::InvalidNodeName)
    }

    fn find_features(&self, submission: &Submission) -> Result<Features, SlurmError> {
        let Some(text) = submission.constraints.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(Features::default());
        };
        let features = Features::parse(text).ok_or(SlurmError::InvalidFeature)?;
        let known =
            |name| self.config.nodes().iter().any(|node| node.features.iter().any(|f| f == name));
        let all_known = features.names().all(known);
        all_known.then_some(features).ok_or(SlurmError::InvalidFeature)
    }

    pub(crate) fn memory_need(&self, memory: MemoryAsk, partition: &PartitionSpec) -> MemoryNeed {
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
}
