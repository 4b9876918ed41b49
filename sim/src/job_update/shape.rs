//! How large a job is, and where it may run.

use crate::{JobId, JobState, JobUpdate, SlurmError, Slurmctld, Submission};

impl Slurmctld {
    /// Nodes, tasks and CPUs, by number and by name.
    pub(super) fn change_shape(
        &mut self,
        job: JobId,
        update: &JobUpdate,
    ) -> Result<(), SlurmError> {
        self.change_numbers(job, update)?;
        let Some(cpus) = update.cpus else {
            return Ok(());
        };
        self.pending(job)?;
        if let Some(record) = self.job_mut(job) {
            std::sync::Arc::make_mut(&mut record.ask).min_cpus = cpus;
        }
        Ok(())
    }

    fn change_numbers(&mut self, job: JobId, update: &JobUpdate) -> Result<(), SlurmError> {
        let JobUpdate { nodes, tasks, cpus_per_task, required_nodes, excluded_nodes, .. } = update;
        if nodes.is_none()
            && tasks.is_none()
            && cpus_per_task.is_none()
            && required_nodes.is_none()
            && excluded_nodes.is_none()
        {
            return Ok(());
        }
        if self.running.contains(&job) {
            return self.shrink(job, update);
        }
        let record = self.pending(job)?;
        let by_name = required_nodes.is_some() || excluded_nodes.is_some();
        if !by_name && cpus_per_task.is_none() && record.ask.gres.is_empty() {
            return self.resize(job, *nodes, *tasks);
        }
        self.reask(job, |asked| {
            if let Some((least, most)) = *nodes {
                (asked.min_nodes, asked.max_nodes) = (Some(least), most);
                asked.tasks = asked.tasks.map(|tasks| tasks.max(least));
            }
            asked.tasks = tasks.or(asked.tasks);
            asked.cpus_per_task = cpus_per_task.or(asked.cpus_per_task);
            if let Some(names) = required_nodes {
                asked.required_nodes.clone_from(names);
            }
            if let Some(names) = excluded_nodes {
                asked.excluded_nodes.clone_from(names);
            }
        })
    }

    /// Other numbers of nodes and tasks, and the CPUs that follow from them.
    fn resize(
        &mut self,
        job: JobId,
        nodes: Option<(u32, Option<u32>)>,
        tasks: Option<u32>,
    ) -> Result<(), SlurmError> {
        let record = self.pending(job)?;
        let mut ask = (*record.ask).clone();
        let (least, most) = nodes.unwrap_or((ask.min_nodes, ask.max_nodes));
        if least == 0 || most.is_some_and(|most| most < least) {
            return Err(SlurmError::InvalidNodeCount);
        }
        let by_node = ask.ntasks_per_node;
        let implied =
            (most.unwrap_or(least) == least && by_node != 0).then(|| least.saturating_mul(by_node));
        let wanted = tasks.or(implied).filter(|tasks| *tasks != ask.tasks);
        ask.tasks_given |= tasks.is_some();
        (ask.min_nodes, ask.max_nodes) = (least, most);
        let mut cpus = None;
        if nodes.is_some() {
            // Every node has a task at least, and as many CPUs as it must.
            let tasks = wanted.unwrap_or(ask.tasks).max(least);
            let all = tasks.saturating_mul(ask.cpus_per_task);
            let all = all.max(ask.min_cpus_per_node.saturating_mul(least));
            cpus = (ask.min_cpus < all).then_some(all);
        }
        if let Some(tasks) = wanted {
            ask.tasks = if nodes.is_some() { tasks.max(least) } else { tasks };
            cpus = cpus.or(Some(ask.tasks));
        }
        ask.min_cpus = cpus.unwrap_or(ask.min_cpus);
        if (least as usize) < ask.required.len() {
            // More nodes than it takes: any of them, and none else.
            let mut others = crate::IndexSet::below(self.nodes.len());
            others.subtract(&std::mem::take(&mut ask.required));
            ask.excluded.add(&others);
        }
        if let Some(record) = self.job_mut(job) {
            let asked = std::sync::Arc::make_mut(&mut record.submission);
            (asked.min_nodes, asked.max_nodes) = (Some(least), most);
            asked.tasks = tasks.or(asked.tasks);
            record.ask = ask.into();
        }
        Ok(())
    }

    /// Whatever is changed, a job that waits then gets as many CPUs as all its nodes must have, and
    /// tasks for them: also where it asked for fewer tasks than `--ntasks-per-node` on each.
    pub(super) fn count_cpus_again(&mut self, job: JobId) {
        let Some(record) = self.job_mut(job).filter(|job| job.state == JobState::Pending) else {
            return;
        };
        let least = record.ask.min_cpus_per_node.saturating_mul(record.ask.min_nodes);
        if record.ask.min_cpus < least {
            let ask = std::sync::Arc::make_mut(&mut record.ask);
            (ask.min_cpus, ask.tasks_given) = (least, false);
        }
    }

    /// Memory and features.
    pub(super) fn change_request(
        &mut self,
        job: JobId,
        update: &JobUpdate,
    ) -> Result<(), SlurmError> {
        let JobUpdate { memory, constraints, .. } = update;
        if memory.is_none() && constraints.is_none() {
            return Ok(());
        }
        self.pending(job)?;
        self.reask(job, |asked| {
            asked.memory = memory.unwrap_or(asked.memory);
            if let Some(text) = constraints {
                asked.constraints = Some(text.clone()).filter(|text| !text.is_empty());
            }
        })
    }

    /// Changes what is asked for; if that can't be understood, nothing.
    fn reask(
        &mut self,
        job: JobId,
        change: impl FnOnce(&mut Submission),
    ) -> Result<(), SlurmError> {
        let record = self.pending(job)?;
        let mut asked = (*record.submission).clone();
        change(&mut asked);
        let ask = self.ask(&asked, record.partitions[0])?;
        if let Some(record) = self.job_mut(job) {
            (record.submission, record.ask) = (asked.into(), ask.into());
        }
        Ok(())
    }

    pub(super) fn ask_again(&mut self, job: JobId) -> Result<(), SlurmError> {
        self.reask(job, |_| {})
    }

    /// A running job can give nodes away, but not the one that its script runs on.
    fn shrink(&mut self, job: JobId, update: &JobUpdate) -> Result<(), SlurmError> {
        if update.tasks.is_some()
            || update.cpus_per_task.is_some()
            || update.excluded_nodes.is_some()
        {
            return Err(SlurmError::JobNotPending);
        }
        let allocation = self.job(job).and_then(|job| job.allocation.clone()).unwrap_or_default();
        let held: Vec<_> = allocation.nodes.iter().map(|share| share.index).collect();
        let keep: Vec<usize> = if let Some(names) = &update.required_nodes {
            let places = names.iter().map(|name| self.node_places.get(name).copied());
            let places: Option<Vec<_>> = places.collect();
            let sound = |places: &Vec<usize>| {
                places.iter().all(|place| held.contains(place))
                    && held.first().is_some_and(|first| places.contains(first))
            };
            places.filter(sound).ok_or(SlurmError::InvalidNodeName)?
        } else {
            let (least, _) = update.nodes.unwrap_or((u32::MAX, None));
            match least as usize {
                0 => return Err(SlurmError::InvalidNodeCount),
                more if held.len() < more => return Err(SlurmError::NotSupported),
                fewer => held[..fewer].to_vec(),
            }
        };
        for place in held.into_iter().filter(|place| !keep.contains(place)) {
            self.leave_node(job, place);
        }
        Ok(())
    }
}
