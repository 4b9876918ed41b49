//! What operators change of partitions: `scontrol update`, `create` and `delete`.

use std::sync::Arc;

use crate::{
    ConfError, Job, JobId, JobState, PartitionName, SlurmConfig, SlurmError, Slurmctld, Time,
    UserName,
    conf::{NodesError, PartitionSpec},
};

/// Why a partition or a node can't be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// slurmctld's own refusal.
    #[error("{0}")]
    Slurm(#[from] SlurmError),
    /// The words aren't understood: scontrol's own refusal.
    #[error("{0}")]
    Words(#[from] ConfError),
}

impl Slurmctld {
    /// Changes a partition: `words` as `scontrol update partition` takes them, such as
    /// `State=DOWN MaxTime=1:00:00`.
    pub fn update_partition(
        &mut self,
        now: Time,
        partition: &PartitionName,
        words: &str,
        by: &UserName,
    ) -> Result<(), AdminError> {
        self.allow_operators(by)?;
        let place = self.partition_places(std::slice::from_ref(partition))?[0];
        let spec = self.changed_partition(self.partition_spec(place), words)?;
        let mut specs = self.config.partitions().to_vec();
        specs[place] = Arc::new(spec);
        self.set_partitions(now, specs, Some(place));
        Ok(())
    }

    /// Makes a partition, with the same words.
    pub fn create_partition(
        &mut self,
        now: Time,
        partition: &PartitionName,
        words: &str,
        by: &UserName,
    ) -> Result<(), AdminError> {
        self.allow_operators(by)?;
        if self.config.partition(partition).is_some() {
            return Err(SlurmError::InvalidPartitionName.into());
        }
        let spec = self.changed_partition(&SlurmConfig::new_partition(partition), words)?;
        let mut specs = self.config.partitions().to_vec();
        specs.push(Arc::new(spec));
        let place = specs.len() - 1;
        self.set_partitions(now, specs, Some(place));
        Ok(())
    }

    /// Deletes a partition that no job uses.
    pub fn delete_partition(
        &mut self,
        now: Time,
        partition: &PartitionName,
        by: &UserName,
    ) -> Result<(), AdminError> {
        self.allow_operators(by)?;
        let place = self.partition_places(std::slice::from_ref(partition))?[0];
        let used = self.jobs().filter(|job| !job.state.is_end() || job.completing).any(|job| {
            let waits = job.state == JobState::Pending && job.partitions.contains(&place);
            waits || job.partition == *partition
        });
        if used {
            return Err(SlurmError::PartitionInUse.into());
        }
        let left = |place: &usize, gone: usize| {
            (*place != gone).then(|| *place - usize::from(gone < *place))
        };
        let mut specs = self.config.partitions().to_vec();
        specs.remove(place);
        self.empty_queue();
        for job in self.jobs.values_mut().map(Arc::make_mut) {
            job.partitions = job.partitions.iter().filter_map(|at| left(at, place)).collect();
        }
        self.set_partitions(now, specs, None);
        Ok(())
    }

    fn allow_operators(&self, by: &UserName) -> Result<(), SlurmError> {
        Self::is_operator(by).then_some(()).ok_or(SlurmError::UserIdMissing)
    }

    fn changed_partition(
        &self,
        spec: &PartitionSpec,
        words: &str,
    ) -> Result<PartitionSpec, AdminError> {
        let (mut spec, nodes) = SlurmConfig::change_partition(spec, words)?;
        let Some(text) = nodes else {
            return Ok(spec);
        };
        spec.nodes_text = self.plus_minus(&spec, &text)?;
        let found = self.resolve_nodes(&spec.nodes_text);
        spec.nodes = found.map_err(|_| SlurmError::InvalidNodeName)?.iter().collect();
        Ok(spec)
    }

    /// `+n1,-n2` changes what there is; anything else replaces it.
    fn plus_minus(&self, spec: &PartitionSpec, text: &str) -> Result<String, SlurmError> {
        if !text.starts_with(['+', '-']) {
            return Ok(text.to_owned());
        }
        let mut nodes: crate::IndexSet = spec.nodes.iter().copied().collect();
        for word in text.split(',') {
            let (sign, names) = word.split_at(word.len().min(1));
            let found = self.resolve_nodes(names).map_err(|_| SlurmError::InvalidNodeName)?;
            match sign {
                "+" => nodes.add(&found),
                "-" => nodes.subtract(&found),
                _ => return Err(SlurmError::InvalidNodeName),
            }
        }
        let names: Vec<_> = nodes.iter().map(|at| self.nodes[at].name().as_str()).collect();
        Ok(crate::fold_hostlist(&names))
    }

    pub(crate) fn resolve_nodes(&self, text: &str) -> Result<crate::IndexSet, NodesError> {
        let there = self.nodes.iter().enumerate().filter(|(_, node)| !node.is_deleted());
        let nodes: Vec<_> = there.map(|(place, node)| (place, node.spec.as_ref())).collect();
        crate::conf::resolve_nodes(text, &nodes, &self.node_places, self.config.node_sets())
    }

    /// Puts other partitions in place; what follows from them follows.
    pub(crate) fn set_partitions(
        &mut self,
        now: Time,
        mut specs: Vec<Arc<PartitionSpec>>,
        default: Option<usize>,
    ) {
        // There is one default: the last that somebody named.
        if let Some(place) = default.filter(|place| specs[*place].default) {
            for (at, spec) in specs.iter_mut().enumerate().filter(|(_, spec)| spec.default) {
                Arc::make_mut(spec).default = at == place;
            }
        }
        self.empty_queue();
        self.config.set_partitions(specs);
        self.renew_rows();
        self.spread_partitions();
        let waiting = self.jobs.values().filter(|job| job.state == JobState::Pending);
        for id in waiting.map(|job| job.id).collect::<Vec<_>>() {
            self.show_limit(id);
            self.requeue_eligible(now, id);
            self.unchecked.insert(id);
        }
        self.ask_for_cycle(now);
    }

    /// A waiting job without a limit of its own shows the longest time of the partition in which it
    /// was looked at last.
    pub(crate) fn show_limit(&mut self, id: JobId) {
        let waits = |job: &&Job| !job.limit_given && job.state == JobState::Pending;
        let Some(job) = self.job(id).filter(waits) else { return };
        let Some(spec) = self.config.partition(&job.partition) else { return };
        let max_time = spec.max_time;
        if job.time_limit != max_time
            && let Some(record) = self.job_mut(id)
        {
            record.time_limit = max_time;
        }
    }

    /// Keys name places and tiers, which are about to change.
    pub(crate) fn empty_queue(&mut self) {
        self.queue.clear();
    }

    /// What nodes know of partitions, and partitions of nodes.
    pub(crate) fn spread_partitions(&mut self) {
        let mut member_of: Vec<Vec<PartitionName>> = vec![vec![]; self.nodes.len()];
        for spec in self.config.partitions() {
            for place in &spec.nodes {
                member_of[*place].push(spec.name.clone());
            }
        }
        for (node, partitions) in self.nodes.iter_mut().zip(member_of) {
            node.partitions = partitions.into();
        }
        let sets = self.config.partitions().iter().map(|spec| spec.nodes.iter().copied().collect());
        self.partition_nodes = sets.collect();
        self.partition_sizes = crate::slurmctld::sizes(&self.partition_nodes, &self.config);
    }

    /// Every partition's nodes anew, after nodes came or went.
    pub(crate) fn resolve_partitions(&mut self, now: Time) {
        let mut specs = self.config.partitions().to_vec();
        for spec in &mut specs {
            // Names that are gone are simply left out.
            if let Ok(nodes) = self.resolve_nodes(&spec.nodes_text) {
                Arc::make_mut(spec).nodes = nodes.iter().collect();
            } else {
                let left = spec.nodes.iter().copied();
                let left = left.filter(|at| !self.nodes[*at].is_deleted()).collect();
                Arc::make_mut(spec).nodes = left;
            }
        }
        self.set_partitions(now, specs, None);
    }
}
