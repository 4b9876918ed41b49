//! Nodes that belong to one user at a time: `--exclusive=user`, `ExclusiveUser=YES`.

use crate::{IndexSet, Job, Slurmctld};

impl Slurmctld {
    /// Whether a job shares its nodes only with jobs of its own user.
    pub(crate) fn is_user_only(&self, job: &Job, partition: usize) -> bool {
        job.ask.exclusive_user || self.partition_spec(partition).exclusive_user
    }

    /// Takes out nodes that the job may not use because of whose jobs are there.
    pub(crate) fn keep_own_nodes(&self, job: &Job, partition: usize, nodes: &mut IndexSet) {
        let mine = self.is_user_only(job, partition);
        if !mine && self.owned.is_empty() {
            return;
        }
        let mut closed = if mine { self.busy.clone() } else { self.owned.clone() };
        closed.keep(nodes);
        for place in closed.iter() {
            let others = self.nodes[place].jobs.iter().filter_map(|id| self.job(*id));
            let mut others = others.filter(|other| other.submission.user != job.submission.user);
            if others.any(|other| mine || self.runs_user_only(other)) {
                nodes.remove(place);
            }
        }
    }

    /// The same of a job that runs.
    pub(crate) fn runs_user_only(&self, job: &Job) -> bool {
        let spec = self.config.partition(&job.partition);
        job.ask.exclusive_user || spec.is_some_and(|spec| spec.exclusive_user)
    }

    /// A job came to a node.
    pub(crate) fn note_owner(&mut self, job: crate::JobId, place: usize) {
        if self.job(job).is_some_and(|job| self.runs_user_only(job)) {
            self.owned.insert(place);
        }
    }

    /// A job left a node.
    pub(crate) fn forget_owner(&mut self, place: usize) {
        if self.owned.contains(place) {
            let mut jobs = self.nodes[place].jobs.iter().filter_map(|id| self.job(*id));
            let owned = jobs.any(|job| self.runs_user_only(job));
            self.owned.set(place, owned);
        }
    }
}
