//! How large a job is, and where it may run.

use crate::{JobId, JobUpdate, SlurmError, Slurmctld, Submission};

impl Slurmctld {
    /// Nodes, tasks and CPUs, by number and by name.
    pub(super) fn change_shape(
        &mut self,
        job: JobId,
        update: &JobUpdate,
    ) -> Result<(), SlurmError> {
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
        self.pending(job)?;
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
