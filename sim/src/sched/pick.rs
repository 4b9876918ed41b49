//! Which of a partition's nodes a job gets, and if none, why: slurmctld's way through features,
//! nodes that are held, and nodes that are out of service.
//!
//! ```text
//!   nodes of the partition that are big enough, by feature
//!     counted features first, each of them ──▶ nodes that it then insists on
//!       those in service, that others may share ──select──▶ an allocation
//!         │ no: would those in service do if they were idle?  ──▶ Busy
//!         │ no, and nobody holds any of them: would all?      ──▶ NotAvail
//!         └ not even all of them                              ──▶ Never
//! ```

use std::sync::Arc;

use crate::{
    Allocation, IndexSet, Slurmctld,
    select::{self, Ask, Policy, Quest, View},
};

/// Why a job gets no nodes: slurmctld's error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum No {
    /// Others have what it needs.
    Busy,
    /// What it needs is out of service.
    NotAvail,
    /// Too few licences are free.
    Licenses,
    /// No nodes of the partition will do, whatever happens.
    Never,
    /// More nodes than the partition gives.
    Partition,
}

/// A job that looks for nodes in a partition.
pub(super) struct Pick<'a> {
    pub(super) ctld: &'a Slurmctld,
    pub(super) ask: &'a Ask,
    pub(super) policy: &'a Policy,
    /// What is held; without it, the job is only tested as if nothing were.
    pub(super) view: Option<&'a View<'a>>,
    /// In service, and not withdrawn by whoever comes first.
    pub(super) available: &'a IndexSet,
    /// Nodes that nobody keeps from the job.
    pub(super) shareable: &'a IndexSet,
    /// Nodes that some job holds.
    pub(super) busy: &'a IndexSet,
    /// Whether the job's licences are free.
    pub(super) licensed: bool,
}

/// Nodes with the same of the bracketed features.
#[derive(Clone, Debug)]
struct Set {
    nodes: IndexSet,
    /// By place of the feature.
    has: Vec<bool>,
}

impl Pick<'_> {
    /// Nodes for the whole job, of those in `members` that are big enough.
    pub(super) fn pick(&self, members: &IndexSet, quest: &Quest) -> Result<Arc<Allocation>, No> {
        let sets = self.sets(members);
        if !self.ask.features.counts() {
            return self.best(sets, quest, false);
        }
        let (mut found, mut apart, mut last) = (self.ask.required.clone(), false, 0);
        for part in self.ask.features.parts().iter().filter(|part| part.count != 0) {
            let members = |set: &Set| {
                let mut nodes = set.nodes.clone();
                self.ctld.census.keep(&mut nodes, |spec| part.matched_by(&spec.features));
                if apart {
                    nodes.subtract(&found);
                }
                Set { nodes, has: set.has.clone() }
            };
            let sets = sets.iter().map(members).collect();
            last = part.count;
            let got = self.best(sets, &quest.counted(self.ask, part.count), false);
            match got {
                Ok(got) => found.extend(got.nodes.iter().map(|share| share.index)),
                // Nodes that were found before may be too many by now.
                Err(_) if quest.max_nodes < quest.with_found(found, last).req_nodes => {
                    return Err(No::Never);
                }
                Err(no) => return Err(no),
            }
            apart |= part.each;
        }
        let quest = quest.with_found(found, last);
        if quest.max_nodes < quest.req_nodes {
            return Err(No::Never);
        }
        self.best(sets, &quest, apart)
    }

    /// The nodes, by what they have of the features in brackets. Who has none of them is out.
    fn sets(&self, members: &IndexSet) -> Vec<Set> {
        let brackets = self.ask.features.brackets();
        if brackets.is_empty() {
            return vec![Set { nodes: members.clone(), has: vec![true] }];
        }
        let mut sets: Vec<Set> = vec![];
        for at in members.iter() {
            let features = &self.ctld.nodes[at].spec.features;
            let has: Vec<bool> = brackets.iter().map(|part| part.matched_by(features)).collect();
            match sets.iter_mut().find(|set| set.has == has) {
                Some(set) => _ = set.nodes.insert(at),
                None if has.contains(&true) => {
                    sets.push(Set { nodes: [at].into_iter().collect(), has });
                }
                None => {}
            }
        }
        sets
    }

    /// Nodes with one of the features in brackets; `any` of them once all counts are met.
    fn best(&self, mut sets: Vec<Set>, quest: &Quest, any: bool) -> Result<Arc<Allocation>, No> {
        let required = &quest.required;
        if quest.max_nodes < u32::try_from(required.len()).unwrap_or(u32::MAX) {
            return Err(No::Partition);
        }
        if !self.available.holds(required) {
            return Err(No::NotAvail);
        }
        let mut fate = Fate::default();
        let mut reached = IndexSet::new();
        for place in 0..sets.iter().map(|set| set.has.len()).max().unwrap_or(0) {
            let mut pool = IndexSet::new();
            if !required.is_empty() {
                // Nodes of the features before count as well.
                let mut with = sets.iter().filter(|set| set.has[place]).peekable();
                if with.peek().is_none() {
                    continue;
                }
                with.for_each(|set| reached.add(&set.nodes));
                if !reached.holds(required) {
                    continue;
                }
                reached = IndexSet::new();
                pool.clone_from(required);
            }
            let mut total = IndexSet::new();
            for set in sets.iter_mut().filter(|set| any || set.has[place]) {
                total.add(&set.nodes);
                fate.busy |= self.keep_free(&mut set.nodes);
                pool.add(&set.nodes);
            }
            if total.is_empty() && pool.is_empty() {
                continue;
            }
            match self.attempt(&pool, quest) {
                Ok(allocation) => return Ok(allocation),
                Err(no) => fate.unlicensed |= no == No::Licenses,
            }
            self.could_run(&total, &pool, quest, &mut fate);
        }
        Err(fate.verdict())
    }

    /// Leaves the nodes that the job may have now; whether somebody else has others of them.
    fn keep_free(&self, nodes: &mut IndexSet) -> bool {
        nodes.keep(self.available);
        let before = nodes.len();
        if self.alone() {
            nodes.subtract(self.busy);
        } else {
            nodes.keep(self.shareable);
        }
        nodes.subtract(&self.ctld.completing);
        nodes.len() != before
    }

    /// Whether it takes only nodes that nobody holds.
    fn alone(&self) -> bool {
        self.policy.keeps_nodes(self.ask)
    }

    fn attempt(&self, pool: &IndexSet, quest: &Quest) -> Result<Arc<Allocation>, No> {
        let mut candidates = pool.clone();
        candidates.keep(self.shareable);
        let idle = View::empty(self.ctld);
        let view = match self.view {
            Some(view) if self.licensed => view,
            // A node that it insists on and can't have outweighs licences.
            Some(view) if select::stands(view, &quest.required, self.ask, self.policy) => {
                return Err(No::Licenses);
            }
            Some(_) => return Err(No::Busy),
            None => &idle,
        };
        select::select(view, &candidates, self.ask, self.policy, quest).ok_or(No::Busy)
    }

    /// Whether it could run if nobody held nodes, and if all nodes were in service.
    fn could_run(&self, total: &IndexSet, pool: &IndexSet, quest: &Quest, fate: &mut Fate) {
        let enough = |nodes: &IndexSet| quest.min_nodes as usize <= nodes.len();
        if (fate.ever && fate.once_free) || !enough(total) || !total.holds(&quest.required) {
            return;
        }
        let idle = View::empty(self.ctld);
        let test =
            |nodes: &IndexSet| select::nodes(&idle, nodes, self.ask, self.policy, quest).is_some();
        if !fate.once_free && enough(pool) {
            let mut there = total.clone();
            there.keep(self.available);
            if test(&there) {
                (fate.ever, fate.once_free) = (true, true);
            }
        }
        fate.ever = fate.ever || test(total);
    }
}

/// What is known of a job that can't start now.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    /// It could run if all nodes were idle and in service.
    ever: bool,
    /// It could run if those in service were idle.
    once_free: bool,
    /// Somebody holds nodes that it could use.
    busy: bool,
    unlicensed: bool,
}

impl Fate {
    const fn verdict(self) -> No {
        match self {
            Self { unlicensed: true, .. } => No::Licenses,
            Self { ever: false, .. } => No::Never,
            Self { once_free: false, busy: false, .. } => No::NotAvail,
            Self { .. } => No::Busy,
        }
    }
}
