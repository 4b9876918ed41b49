//! The nodes as they are while a cycle gives out more: what a job gets, and if nothing, why.
//!
//! ```text
//!   may it be here at all? ──no──▶ Partition
//!     is a node big enough?  ──no──▶ Never
//!       pick ──▶ an allocation, or Busy, NotAvail, Licenses, Never
//! ```

use std::sync::Arc;

use super::{
    held_now::HeldNow,
    pick::{No, Pick},
};
use crate::{
    Allocation, IndexSet, Job, Reason, Slurmctld, UserName, fold_hostlist,
    rows::Holder,
    select::{self, Ask, NodeCounts, Quest, View},
};

/// What is held right now, while a cycle gives out more.
pub(crate) struct NodesNow<'a> {
    ctld: &'a Slurmctld,
    held: HeldNow<'a>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Others have what it needs.
    Busy,
    /// What it needs is out of service.
    NotAvail(Reason),
    /// Too few licences are free.
    Licenses,
    /// No node of the partition will do, whatever happens; what it then waits for, if that changes.
    Never(Option<Reason>),
    /// The partition would have to change.
    Partition(Reason),
}

impl Refusal {
    /// What the job then waits for, if that changes.
    pub(crate) fn reason(self) -> Option<Reason> {
        match self {
            Self::Busy => Some(Reason::Resources),
            Self::Licenses => Some(Reason::Licenses),
            Self::NotAvail(reason) | Self::Partition(reason) => Some(reason),
            Self::Never(reason) => reason,
        }
    }
}

/// A job that looks for nodes.
#[derive(Clone, Copy)]
pub(crate) struct Seeker<'a> {
    pub(crate) job: &'a Job,
    pub(crate) ask: &'a Ask,
    pub(crate) partition: usize,
    /// In service, and not withdrawn by whoever comes first.
    pub(crate) available: &'a IndexSet,
    /// Other nodes are out of the question.
    pub(crate) within: Option<&'a IndexSet>,
    /// Whether its licences are free.
    pub(crate) licensed: bool,
}

impl<'a> NodesNow<'a> {
    pub(crate) fn new(ctld: &'a Slurmctld) -> Self {
        Self {
            ctld,
            held: HeldNow::new(ctld),
            busy: ctld.busy.clone(),
            unshared: ctld.unshared.clone(),
            newcomers: vec![],
            owners: false,
        }
    }

    /// Takes nodes for a job, if there are some.
    pub(crate) fn start(&mut self, seeker: Seeker<'_>) -> Result<Arc<Allocation>, Refusal> {
        let view = View::now(self.ctld, &self.held);
        let allocation = self.find(seeker, Some(&view))?;
        let Seeker { job, ask, partition, .. } = seeker;
        let policy = self.ctld.policy(partition);
        let held = allocation.clone();
        let holder = Holder { job: job.id, partition, held };
        self.take(&holder, policy.keeps_nodes(ask));
        let user_only = self.ctld.is_user_only(job, partition);
        self.owners |= user_only;
        self.newcomers.push((job.submission.user.clone(), allocation.clone(), user_only));
        Ok(allocation)
    }

    /// Whether the nodes would do, were those that may be shared idle: asked of a job that comes in.
    pub(crate) fn would_do(&self, seeker: Seeker<'_>) -> Result<(), Refusal> {
        self.find(seeker, None).map(|_| ())
    }

    fn find(
        &self,
        seeker: Seeker<'_>,
        view: Option<&View<'_>>,
    ) -> Result<Arc<Allocation>, Refusal> {
        let Seeker { job, ask, partition, available, within, licensed } = seeker;
        if let Some(reason) = self.ctld.group_refusal(&job.submission.user, partition) {
            return Err(Refusal::Partition(reason));
        }
        let policy = self.ctld.policy(partition);
        let mut members = self.members(ask, partition);
        if let Some(within) = within {
            members.keep(within);
        }
        if members.is_empty() {
            return Err(Refusal::Never(Some(Reason::BadConstraints)));
        }
        if !members.holds(&ask.required) {
            return Err(Refusal::Never(None));
        }
        let quest = match Quest::new(ask, &policy) {
            Ok(quest) => quest,
            Err(NodeCounts::OfJob) => return Err(Refusal::Never(None)),
            Err(NodeCounts::OfPartition) => {
                return Err(Refusal::Partition(Reason::PartitionNodeLimit));
            }
        };
        let pick = Pick {
            ctld: self.ctld,
            ask,
            policy: &policy,
            view,
            available,
            shareable: &self.shareable(job, partition),
            busy: &self.busy,
            licensed,
        };
        pick.pick(&members, &quest).map_err(|no| match no {
            No::Busy => Refusal::Busy,
            No::Licenses => Refusal::Licenses,
            No::Never => Refusal::Never(Some(Reason::Resources)),
            No::Partition => Refusal::Partition(Reason::PartitionNodeLimit),
            No::NotAvail => Refusal::NotAvail(self.not_avail(job, partition, available)),
        })
    }

    /// Nodes of the partition that are big enough and have what every node must have.
    fn members(&self, ask: &Ask, partition: usize) -> IndexSet {
        let mut members = self.ctld.partition_nodes[partition].clone();
        members.subtract(&ask.excluded);
        if !ask.external {
            members.subtract(&self.ctld.external);
        }
        self.ctld.census.keep(&mut members, |spec| {
            select::is_big_enough(ask, spec) && ask.features.matched_by(&spec.active_features)
        });
        members
    }

    /// Nodes that nobody keeps from the job.
    fn shareable(&self, job: &Job, partition: usize) -> IndexSet {
        let mut nodes = self.ctld.partition_nodes[partition].clone();
        nodes.subtract(&self.unshared);
        self.ctld.keep_own_nodes(job, partition, &mut nodes);
        self.keep_from_newcomers(job, partition, &mut nodes);
        nodes
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

    fn take(&mut self, holder: &Holder, exclusive: bool) {
        self.held.take(holder);
        for share in &holder.held.nodes {
            self.busy.insert(share.index);
            if exclusive {
                self.unshared.insert(share.index);
            }
        }
    }

    /// Names the nodes of the partition that are down, of those that it insists on if it does.
    fn not_avail(&self, job: &Job, partition: usize, available: &IndexSet) -> Reason {
        let mut missing = self.ctld.partition_nodes[partition].clone();
        missing.subtract(available);
        if !job.ask.required.is_empty() {
            missing.keep(&job.ask.required);
        }
        let down =
            missing.iter().map(|place| &self.ctld.nodes[place]).filter(|node| node.is_down());
        let names: Vec<&str> = down.map(|node| node.name().as_str()).collect();
        match names.is_empty() {
            true => Reason::ReqNodeNotAvail,
            false => Reason::UnavailableNodes(fold_hostlist(&names).into()),
        }
    }
}
