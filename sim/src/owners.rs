//! Nodes that belong to one user at a time: `--exclusive=user`.

use crate::{IndexSet, Job, Slurmctld};

impl Slurmctld {
    /// Whether a job shares its nodes only with jobs of its own user.
    pub(crate) fn is_user_only(job: &Job) -> bool {
        job.ask.exclusive_user
    }

    /// Takes out nodes that the job may not use because of whose jobs are there.
    pub(crate) fn keep_own_nodes(&self, job: &Job, nodes: &mut IndexSet) {
        let mine = Self::is_user_only(job);
        let mut closed = if mine { self.busy.clone() } else { self.owned.clone() };
        closed.keep(nodes);
        for place in closed.iter() {
            if self.has_others(job, place, mine) {
                nodes.remove(place);
            }
        }
    }

    /// Whether somebody else's job is on the node: any, or one that keeps its nodes to its user.
    fn has_others(&self, job: &Job, place: usize, any: bool) -> bool {
        let others = self.nodes[place].jobs.iter().filter_map(|id| self.job(*id));
        let mut others = others.filter(|other| other.submission.user != job.submission.user);
        others.any(|other| any || Self::is_user_only(other))
    }

    /// Keeps `owned` right after a job came to a node or left it.
    pub(crate) fn note_owner(&mut self, place: usize) {
        let jobs = self.nodes[place].jobs.iter().filter_map(|id| self.job(*id));
        let owned = jobs.into_iter().any(Self::is_user_only);
        self.owned.set(place, owned);
    }
}
