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
            if others.any(|other| mine || other.keeps_others_out) {
                nodes.remove(place);
            }
        }
    }

    /// The same of a job that runs, as its partition is now.
    pub(crate) fn runs_user_only(&self, job: &Job) -> bool {
        let spec = self.config.partition(&job.partition);
        job.ask.exclusive_user || spec.is_some_and(|spec| spec.exclusive_user)
    }

    /// A job came to a node.
    pub(crate) fn note_owner(&mut self, id: crate::JobId, place: usize) {
        let only = self.job(id).is_some_and(|job| self.runs_user_only(job));
        if only {
            self.owned.insert(place);
        }
        if self.job(id).is_some_and(|job| job.keeps_others_out != only) {
            self.job_mut(id).into_iter().for_each(|job| job.keeps_others_out = only);
        }
    }

    /// Who has which nodes to themself, as partitions are now.
    pub(crate) fn renew_owners(&mut self) {
        self.owned = IndexSet::new();
        for id in self.running.clone() {
            let held = self.job(id).and_then(Job::held);
            for share in held.iter().flat_map(|held| &held.nodes) {
                self.note_owner(id, share.index);
            }
        }
    }

    /// Whether anybody may have nodes to themself, as partitions are now.
    pub(crate) fn anybody_owns(&self) -> bool {
        !self.owned.is_empty() || self.config.partitions().iter().any(|spec| spec.exclusive_user)
    }

    /// A job left a node.
    pub(crate) fn forget_owner(&mut self, place: usize) {
        if self.owned.contains(place) {
            let mut jobs = self.nodes[place].jobs.iter().filter_map(|id| self.job(*id));
            let owned = jobs.any(|job| job.keeps_others_out);
            self.owned.set(place, owned);
        }
    }
}
