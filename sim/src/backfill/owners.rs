//! Nodes that belong to one user at a time, in time: a job may have to wait until others leave.

use std::cmp::Reverse;

use crate::{Allocation, IndexSet, Job, Slurmctld, UserName, select::Quest};

use super::future::YEAR;

/// Whose nodes are whose, and until when.
pub(super) struct Owners<'a> {
    ctld: &'a Slurmctld,
    /// Made when the first one asks.
    nodes: Option<Vec<Used<'a>>>,
}

/// A node that somebody holds.
#[derive(Clone, Copy)]
struct Used<'a> {
    place: usize,
    /// Who came first.
    user: &'a UserName,
    /// They have it to themself.
    owned: bool,
    /// Others hold it as well.
    mixed: bool,
    /// When the last of them ends, in seconds since 1970.
    until: u64,
}

/// What a job may have of these nodes at some time.
pub(super) struct Look {
    /// Nodes in the way, the last to come free first, each with when it does.
    closed: Vec<(usize, u64)>,
    required: IndexSet,
    min_nodes: usize,
}

impl<'a> Owners<'a> {
    pub(super) const fn new(ctld: &'a Slurmctld) -> Self {
        Self { ctld, nodes: None }
    }

    /// Nodes that somebody else keeps from the job after `from`.
    pub(super) fn look(&mut self, job: &Job, partition: usize, quest: &Quest, from: u64) -> Look {
        let mine = self.ctld.is_user_only(job, partition);
        let user = &job.submission.user;
        let closed = |used: &&Used<'_>| match mine {
            true => used.mixed || used.user != user,
            false => used.owned && used.user != user,
        };
        let busy = if self.matters_to(job, partition).is_some() {
            let used = self.used().iter().filter(|used| from < used.until).filter(closed);
            used.map(|used| (used.place, used.until)).collect()
        } else {
            vec![]
        };
        let (required, min_nodes) = (quest.required.clone(), quest.min_nodes as usize);
        Look { closed: busy, required, min_nodes }
    }

    /// The job's user, where it matters who that is.
    pub(super) fn matters_to<'b>(&self, job: &'b Job, partition: usize) -> Option<&'b UserName> {
        let any = self.nodes.is_some() || self.ctld.anybody_owns();
        let matters = any || self.ctld.is_user_only(job, partition);
        matters.then_some(&job.submission.user)
    }

    /// A job starts.
    pub(super) fn add(&mut self, job: &'a Job, partition: usize, held: &Allocation, end: u64) {
        let owned = self.ctld.is_user_only(job, partition);
        if self.nodes.is_some() || owned {
            self.used();
            let nodes = self.nodes.get_or_insert_default();
            mark(nodes, &job.submission.user, owned, held, end);
            sort(nodes);
        }
    }

    fn used(&mut self) -> &[Used<'a>] {
        let ctld = self.ctld;
        self.nodes.get_or_insert_with(|| {
            let mut nodes = vec![];
            for job in ctld.jobs().filter(|job| job.holds_nodes()) {
                let Some(held) = &job.allocation else { continue };
                let start = job.counts_from().map_or(0, |start| ctld.epoch.unix(start));
                let limit = job.time_limit.map_or(YEAR, crate::Span::as_secs);
                let owned = ctld.runs_user_only(job);
                mark(&mut nodes, &job.submission.user, owned, held, start + limit);
            }
            sort(&mut nodes);
            nodes
        })
    }
}

fn mark<'a>(
    nodes: &mut Vec<Used<'a>>,
    user: &'a UserName,
    owned: bool,
    held: &Allocation,
    until: u64,
) {
    for share in &held.nodes {
        let place = share.index;
        match nodes.iter_mut().find(|used| used.place == place) {
            None => nodes.push(Used { place, user, owned, mixed: false, until }),
            Some(used) => {
                if !used.owned && !used.mixed {
                    (used.mixed, used.owned) = (used.user != user, owned);
                }
                used.until = used.until.max(until);
            }
        }
    }
}

fn sort(nodes: &mut [Used<'_>]) {
    nodes.sort_by_key(|used| Reverse(used.until));
}

impl Look {
    /// Whether nobody is in the way.
    pub(super) const fn is_open(&self) -> bool {
        self.closed.is_empty()
    }

    /// Takes out nodes as long as enough are left; when the first of them is free again. If too few
    /// are left, when to look again.
    pub(super) fn keep(&self, nodes: &mut IndexSet) -> Result<Option<u64>, Option<u64>> {
        let mut free = None;
        for (place, until) in &self.closed {
            if !nodes.contains(*place) {
                continue;
            }
            free = Some(*until);
            if nodes.len() <= self.min_nodes || self.required.contains(*place) {
                return Err(free);
            }
            nodes.remove(*place);
        }
        Ok(free)
    }
}
