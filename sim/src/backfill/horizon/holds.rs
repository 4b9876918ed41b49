//! Who holds what of each node, and until which end.
//!
//! ```text
//!   node 7   ├ 2 cores until end 1
//!            ├ 1 core until end 3          free cores at g: those now, and of each end before g
//! ```

use super::*;
use crate::select::Held;

const NONE: u32 = u32::MAX;

/// What jobs hold of each node, by end.
pub(super) struct Holds {
    /// Each node's first in `all`.
    first: Vec<u32>,
    all: Vec<Hold>,
}

/// What one job holds of one node.
#[derive(Clone, Copy)]
struct Hold {
    end: u32,
    /// Which of the job's nodes it is.
    share: u32,
    cores: u32,
    next: u32,
}

impl Holds {
    /// From the last end to the first, so that each node's list begins with its first.
    fn new(n_nodes: usize, ends: &[Ending<'_>]) -> Self {
        let mut holds = Self { first: vec![NONE; n_nodes], all: vec![] };
        for (end, ending) in ends.iter().enumerate().rev() {
            for (share, of) in ending.held.nodes.iter().enumerate() {
                let new = number(holds.all.len());
                let next = std::mem::replace(&mut holds.first[of.index], new);
                let (end, share) = (number(end), number(share));
                holds.all.push(Hold { end, share, cores: number(of.cores.len()), next });
            }
        }
        holds
    }

    /// A job has come whose end is the one at `end`.
    fn add(&mut self, end: u32, held: &Allocation) {
        for hold in &mut self.all {
            hold.end += u32::from(end <= hold.end);
        }
        for (share, of) in (0..).zip(&held.nodes) {
            let new = number(self.all.len());
            let (mut before, mut next) = (NONE, self.first[of.index]);
            while next != NONE && self.all[next as usize].end < end {
                (before, next) = (next, self.all[next as usize].next);
            }
            self.all.push(Hold { end, share, cores: number(of.cores.len()), next });
            match self.all.get_mut(before as usize) {
                Some(before) => before.next = new,
                None => self.first[of.index] = new,
            }
        }
    }

    /// What a node has got back at a moment.
    fn given_back(&self, index: usize, gone: usize) -> impl Iterator<Item = &Hold> {
        let all = |at: u32| self.all.get(at as usize);
        let list = std::iter::successors(all(self.first[index]), move |hold| all(hold.next));
        list.take_while(move |hold| (hold.end as usize) < gone)
    }
}

impl Horizon<'_> {
    fn holds(&self) -> &Holds {
        self.holds.get_or_init(|| Holds::new(self.ctld.nodes.len(), &self.ends))
    }

    /// A job has come; nothing to do while nobody has asked.
    pub(super) fn add_holds(&mut self, end: usize, held: &Allocation) {
        if let Some(holds) = self.holds.get_mut() {
            holds.add(number(end), held);
        }
    }

    /// Cores that nobody holds at a moment; fewer than none where a node lost some.
    pub(super) fn free_cores(&self, index: usize, gone: usize) -> i32 {
        let now = match self.changed.is_empty() {
            true => self.ctld.census.all_cores()[index],
            false => self.cores_now(index),
        };
        if gone == 0 {
            return now;
        }
        let given = self.holds().given_back(index, gone).map(|hold| hold.cores as i32);
        now + given.sum::<i32>()
    }

    /// What is held when the first so many jobs are gone.
    pub(in crate::backfill) fn at(&mut self, gone: usize) -> Moment<'_> {
        self.move_rows(gone);
        Moment { horizon: self, gone }
    }

    /// Jobs leave the rows one by one; to come back they begin anew.
    fn move_rows(&mut self, gone: usize) {
        let Some(rows) = &mut self.rows else { return };
        if gone < rows.gone {
            (rows.gone, rows.then) = (0, rows.first.clone());
        }
        for ending in &self.ends[rows.gone..gone] {
            rows.then.remove(ending.partition, ending.job);
            rows.then.pack();
        }
        rows.gone = gone;
    }
}

/// What is held when the first so many jobs are gone.
#[derive(Clone, Copy)]
pub(in crate::backfill) struct Moment<'a> {
    horizon: &'a Horizon<'a>,
    gone: usize,
}

impl Moment<'_> {
    /// Whether `nodes` have so many CPUs of free cores.
    pub(in crate::backfill) fn has_cpus(&self, nodes: &IndexSet, least: u64) -> bool {
        let census = &self.horizon.ctld.census;
        let mut found = 0;
        let mut count = |index: usize| {
            let spec = &census.kind_at(index).spec;
            // Where a node lost cores to the system, too many are counted; never too few.
            let cores = u64::from(self.free_cores(index)) + spec.spec_cores.len() as u64;
            found += cores * u64::from(spec.threads_per_core);
            least <= found
        };
        least == 0 || nodes.iter().any(&mut count)
    }

    /// What of a node is given back, job by job.
    fn given_back(&self, index: usize) -> impl Iterator<Item = &NodeShare> {
        let ends = &self.horizon.ends;
        let given = self.horizon.holds().given_back(index, self.gone);
        given.map(|hold| &ends[hold.end as usize].held.nodes[hold.share as usize])
    }
}

impl Held for Moment<'_> {
    /// Candidates are chosen among the open nodes already.
    fn open(&self) -> Option<&IndexSet> {
        None
    }

    fn usage(&self, index: usize) -> Cow<'_, Usage> {
        let mut usage = Cow::Borrowed(self.horizon.usage_now(index));
        for share in self.given_back(index) {
            usage.to_mut().give_back(share);
        }
        usage
    }

    fn free_cores(&self, index: usize) -> u32 {
        u32::try_from(self.horizon.free_cores(index, self.gone)).unwrap_or(0)
    }

    fn held_memory(&self, index: usize) -> u64 {
        let now = self.horizon.usage_now(index).memory_mib;
        now.saturating_sub(self.given_back(index).map(|share| share.memory_mib).sum())
    }

    fn is_idle(&self, index: usize) -> bool {
        if self.horizon.odd.contains(index) {
            let usage = self.usage(index);
            return usage.cores.is_empty() && usage.gres.is_empty();
        }
        let given_back = |gone| self.horizon.holds().given_back(index, gone).count();
        given_back(self.gone) == given_back(usize::MAX)
    }

    fn anybody_shares(&self) -> bool {
        self.horizon.anybody_shares
    }

    fn rows(&self) -> Option<&RowTable> {
        self.horizon.rows.as_ref().map(|rows| &rows.then)
    }
}
