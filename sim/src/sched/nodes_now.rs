//! Which nodes a job gets if it is to start right now, and if none, why.
//!
//! ```text
//!   available ∩ partition ──select──▶ an allocation
//!         │ no: would they do if they were idle?
//!         ├─ yes, or some are in somebody's hands ──▶ Busy
//!         ├─ the whole partition would              ──▶ NotAvail
//!         └─ not even that                          ──▶ Never
//! ```

use std::sync::Arc;

use crate::{
    Allocation, IndexSet, Job, Reason, Slurmctld, UserName, fold_hostlist,
    select::{self, View},
};

/// What is held right now, while a cycle gives out more.
pub(crate) struct NodesNow<'a> {
    ctld: &'a Slurmctld,
    view: View<'a>,
    /// Nodes that some job holds.
    busy: IndexSet,
    /// Nodes that a job holds as a whole.
    unshared: IndexSet,
    /// Who came to which nodes in this cycle, and whether they keep them to themself.
    newcomers: Vec<(UserName, Arc<Allocation>, bool)>,
    /// Whether anybody does.
    owners: bool,
}

/// Why a job doesn't start now.
pub(crate) enum Refusal {
    /// Others have what it needs.
    Busy,
    /// What it needs is out of service.
    NotAvail(Reason),
    /// No node of the partition will do, whatever happens.
    Never,
}

impl<'a> NodesNow<'a> {
    pub(crate) fn new(ctld: &'a Slurmctld) -> Self {
        Self {
            ctld,
            view: View::of(&ctld.nodes),
            busy: ctld.busy.clone(),
            unshared: ctld.unshared.clone(),
            newcomers: vec![],
            owners: false,
        }
    }

    /// Takes nodes for a job out of `available`, if they suffice.
    pub(crate) fn start(
        &mut self,
        job: &Job,
        partition: usize,
        available: &IndexSet,
    ) -> Result<Arc<Allocation>, Refusal> {
        let policy = self.ctld.policy(partition);
        let (candidates, free) = self.candidates(job, partition, available)?;
        if let Some(allocation) = select::select(&self.view, &free, &job.ask, policy) {
            self.take(&allocation, job.ask.exclusive || policy.exclusive());
            let user_only = self.ctld.is_user_only(job, partition);
            self.owners |= user_only;
            self.newcomers.push((job.submission.user.clone(), allocation.clone(), user_only));
            return Ok(allocation);
        }
        Err(self.why_not(job, partition, &candidates, &free))
    }

    /// Whether the nodes in service would do, whoever holds some of them: asked when a job is
    /// submitted.
    pub(crate) fn would_do(&self, job: &Job, partition: usize) -> Result<(), Refusal> {
        let ctld = self.ctld;
        let (candidates, free) = self.candidates(job, partition, &ctld.up)?;
        if free.len() < ctld.partition_nodes[partition].len()
            && select::select(&View::empty(&ctld.nodes), &free, &job.ask, ctld.policy(partition))
                .is_none()
        {
            return Err(self.why_not(job, partition, &candidates, &free));
        }
        Ok(())
    }

    /// Nodes that it may have, and those of them that nobody keeps for themselves.
    fn candidates(
        &self,
        job: &Job,
        partition: usize,
        available: &IndexSet,
    ) -> Result<(IndexSet, IndexSet), Refusal> {
        if !available.holds(&job.ask.required) {
            return Err(self.not_avail(job, partition, available));
        }
        let mut candidates = available.clone();
        candidates.keep(&self.ctld.partition_nodes[partition]);
        candidates.subtract(&job.ask.excluded);
        let exclusive = job.ask.exclusive || self.ctld.policy(partition).exclusive();
        let mut free = candidates.clone();
        free.subtract(&self.ctld.completing);
        free.subtract(if exclusive { &self.busy } else { &self.unshared });
        self.ctld.keep_own_nodes(job, partition, &mut free);
        self.keep_from_newcomers(job, partition, &mut free);
        Ok((candidates, free))
    }

    /// Takes out nodes to which somebody else came in this cycle, where that matters.
    fn keep_from_newcomers(&self, job: &Job, partition: usize, nodes: &mut IndexSet) {
        let mine = self.ctld.is_user_only(job, partition);
        if !mine && !self.owners {
            return;
        }
        let others = self
            .newcomers
            .iter()
            .filter(|(user, _, only)| *user != job.submission.user && (mine || *only));
        for share in others.flat_map(|(_, allocation, _)| &allocation.nodes) {
            nodes.remove(share.index);
        }
    }

    fn take(&mut self, allocation: &Allocation, exclusive: bool) {
        self.view.take(allocation);
        for share in &allocation.nodes {
            self.busy.insert(share.index);
            if exclusive {
                self.unshared.insert(share.index);
            }
        }
    }

    fn why_not(
        &self,
        job: &Job,
        partition: usize,
        candidates: &IndexSet,
        free: &IndexSet,
    ) -> Refusal {
        let ctld = self.ctld;
        let policy = ctld.policy(partition);
        let idle = View::empty(&ctld.nodes);
        let enough = job.ask.min_nodes as usize <= free.len();
        if enough && select::select(&idle, candidates, &job.ask, policy).is_some() {
            return Refusal::Busy;
        }
        let all = &ctld.partition_nodes[partition];
        if select::select(&idle, all, &job.ask, policy).is_none() {
            return Refusal::Never;
        }
        let mut held = candidates.clone();
        held.subtract(free);
        let suits = |place: usize| job.ask.features.matched_by(&ctld.nodes[place].spec.features);
        if held.iter().any(suits) {
            return Refusal::Busy;
        }
        self.not_avail(job, partition, candidates)
    }

    /// Names the nodes of the partition that are down, of those that it insists on if it does.
    fn not_avail(&self, job: &Job, partition: usize, available: &IndexSet) -> Refusal {
        let mut missing = self.ctld.partition_nodes[partition].clone();
        missing.subtract(available);
        if !job.ask.required.is_empty() {
            missing.keep(&job.ask.required);
        }
        let down =
            missing.iter().map(|place| &self.ctld.nodes[place]).filter(|node| node.is_down());
        let names: Vec<&str> = down.map(|node| node.name().as_str()).collect();
        Refusal::NotAvail(match names.is_empty() {
            true => Reason::ReqNodeNotAvail,
            false => Reason::UnavailableNodes(fold_hostlist(&names).into()),
        })
    }
}
