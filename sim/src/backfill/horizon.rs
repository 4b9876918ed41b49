//! What is held at later moments, as running jobs end one after the other.
//!
//! ```text
//!   ends     0 ──── 1 ──── 2 ──── 3 ──── …      moment g: the first g of them are gone
//!   open     ▪             ▪                    nodes with a free core, kept for some moments;
//!                                               in between each end opens the nodes of its job
//! ```
//!
//! Any moment can be looked at without going through those before it.

mod holds;

use std::{
    borrow::Cow,
    cell::OnceCell,
    collections::BTreeMap,
    ops::{Deref, Range},
    sync::Arc,
};

use crate::{
    Allocation, IndexSet, Job, JobId, LicenseAsk, NodeShare, Slurmctld,
    index_set::Part,
    node::Usage,
    rows::{Holder, RowTable},
};

use holds::Holds;

/// The running jobs' ends, and the nodes that come free with them.
pub(super) struct Horizon<'a> {
    ctld: &'a Slurmctld,
    /// By time.
    ends: Vec<Ending<'a>>,
    /// The nodes of all endings of which the jobs hold cores, one ending after the other. Wide jobs
    /// have neighbours, so that there are far fewer parts than nodes.
    parts: Vec<Part>,
    /// What is held of nodes where it isn't what the controller says.
    changed: BTreeMap<usize, Usage>,
    /// Nodes with holders that are no running jobs, or hold no cores.
    odd: IndexSet,
    anybody_shares: bool,
    /// The open nodes at some moments, by time; at the first and at every so many-th from there.
    marks: Vec<Mark>,
    step: usize,
    /// Who holds what of each node: worked out when it is asked for.
    holds: OnceCell<Holds>,
    /// Who has which cores, where more than their sum matters.
    rows: Option<RowsThen>,
}

/// Rows with nobody gone, and at some moment: packed rows don't come back as they were.
struct RowsThen {
    first: RowTable,
    gone: usize,
    then: RowTable,
}

/// A running job's end.
pub(super) struct Ending<'a> {
    pub(super) at: u64,
    /// When it really ends, should `at` be over.
    pub(super) overdue: u64,
    pub(super) licenses: &'a LicenseAsk,
    job: JobId,
    /// Where rows matter.
    partition: usize,
    held: Share<'a>,
    /// Its nodes, in the list of all.
    parts: Range<u32>,
}

/// What a job holds: its allocation, or what a cycle made of it.
enum Share<'a> {
    OfJob(&'a Allocation),
    Made(Arc<Allocation>),
}

impl Deref for Share<'_> {
    type Target = Allocation;

    fn deref(&self) -> &Allocation {
        match self {
            Self::OfJob(allocation) => allocation,
            Self::Made(allocation) => allocation,
        }
    }
}

/// The open nodes at some moment.
struct Mark {
    gone: usize,
    open: IndexSet,
}

impl<'a> Ending<'a> {
    /// `None` if the job holds nothing.
    pub(super) fn of(ctld: &Slurmctld, job: &'a Job, at: u64, overdue: u64) -> Option<Self> {
        let held = match (job.coreless, job.allocation.as_deref()) {
            (false, Some(allocation)) => Share::OfJob(allocation),
            (_, _) => Share::Made(job.held()?),
        };
        let partition = ctld.place_in_rows(job);
        let licenses = &job.licenses;
        Some(Self { at, overdue, licenses, job: job.id, partition, held, parts: 0..0 })
    }

    /// Lists its nodes: those with cores at the end of `parts`, where its own begin.
    fn list(&mut self, parts: &mut Vec<Part>) {
        let from = number(parts.len());
        parts.extend_from_slice(&self.held.with_cores);
        self.parts = from..number(parts.len());
    }
}

impl<'a> Horizon<'a> {
    /// `ends` are those of all running jobs, by time.
    pub(super) fn new(ctld: &'a Slurmctld, ends: Vec<Ending<'a>>) -> Self {
        let mut horizon = Self {
            ctld,
            parts: vec![],
            changed: BTreeMap::new(),
            odd: IndexSet::new(),
            anybody_shares: ctld.census.anybody_shares(),
            marks: vec![Mark { gone: 0, open: ctld.census.open().clone() }],
            // Small sets cost little to keep, large ones little to work out.
            step: (ctld.nodes.len() / 512).clamp(1, 32),
            holds: OnceCell::new(),
            rows: None,
            ends,
        };
        let mut rows = ctld.rows.matters().then(|| ctld.rows.clone());
        let n_completing = horizon.give_back_completing(rows.as_mut());
        horizon.rows = rows.map(|rows| RowsThen { gone: 0, then: rows.clone(), first: rows });
        let n_listed = horizon.list_nodes();
        if n_listed + n_completing != ctld.census.n_holders() {
            horizon.find_odd_nodes();
        }
        horizon
    }

    /// Whoever is completing has given back everything already; only its nodes are barred.
    fn give_back_completing(&mut self, mut rows: Option<&mut RowTable>) -> usize {
        let ctld = self.ctld;
        let mut ids: Vec<_> =
            ctld.completing.iter().flat_map(|place| &ctld.nodes[place].jobs).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut n_shares = 0;
        for job in ids.into_iter().filter_map(|id| ctld.job(*id)).filter(|job| job.completing) {
            let held = job.held();
            if let Some(rows) = rows.as_deref_mut().filter(|_| held.is_some()) {
                rows.remove(ctld.place_in_rows(job), job.id);
                rows.pack();
            }
            for share in held.iter().flat_map(|held| &held.nodes) {
                n_shares += 1;
                self.usage_mut(share.index).give_back(share);
                let open = self.may_be_open(share.index, self.cores_now(share.index));
                self.marks[0].open.set(share.index, open);
            }
        }
        n_shares
    }

    /// How many there are, counted once for each job.
    fn list_nodes(&mut self) -> usize {
        let mut n_nodes = 0;
        for ending in &mut self.ends {
            ending.list(&mut self.parts);
            n_nodes += ending.held.nodes.len();
            self.odd.add_parts(ending.held.without_cores.iter().copied());
        }
        n_nodes
    }

    /// Suspended jobs, and what else isn't running and holds something.
    fn find_odd_nodes(&mut self) {
        for place in 0..self.ctld.nodes.len() {
            let job = |id| self.ctld.job(id);
            let ends = |job: &Job| self.ctld.running.contains(&job.id) || job.completing;
            let mut holders = self.ctld.nodes[place].jobs.iter();
            if holders.any(|id| job(*id).is_none_or(|job| !ends(job))) {
                self.odd.insert(place);
            }
        }
    }

    /// Whether more than the sum of what is held matters.
    pub(super) const fn has_rows(&self) -> bool {
        self.rows.is_some()
    }

    pub(super) fn ends(&self) -> &[Ending<'a>] {
        &self.ends
    }

    /// A job starts now and ends at `end`.
    pub(super) fn add(&mut self, end: u64, holder: &Holder, licenses: &'a LicenseAsk) {
        let held = &holder.held;
        let at = self.ends.partition_point(|ending| ending.at <= end);
        let mut ending = Ending {
            at: end,
            overdue: end,
            licenses,
            job: holder.job,
            partition: holder.partition,
            held: Share::Made(held.clone()),
            parts: 0..0,
        };
        ending.list(&mut self.parts);
        self.ends.insert(at, ending);
        if let Some(rows) = &mut self.rows {
            rows.first.add(holder);
            (rows.gone, rows.then) = (0, rows.first.clone());
        }
        for share in &held.nodes {
            self.usage_mut(share.index).take(share);
            self.anybody_shares |= share.shared;
            if share.cores.is_empty() {
                self.odd.insert(share.index);
            }
        }
        self.add_holds(at, held);
        self.mark_again(at, held);
    }

    /// A job that ends as the one at `at` does has come: until then its nodes have less.
    fn mark_again(&mut self, at: usize, held: &Allocation) {
        for mark in 0..self.marks.len() {
            let gone = self.marks[mark].gone;
            if at < gone {
                self.marks[mark].gone += 1;
                continue;
            }
            for share in &held.nodes {
                // Whoever takes the only core leaves none.
                let single = self.ctld.census.kind_at(share.index).is_single();
                let open = (!single || share.cores.is_empty())
                    && self.may_be_open(share.index, self.free_cores(share.index, gone));
                self.marks[mark].open.set(share.index, open);
            }
        }
    }

    fn usage_mut(&mut self, index: usize) -> &mut Usage {
        let node = &self.ctld.nodes[index];
        self.changed.entry(index).or_insert_with(|| node.usage.clone())
    }

    fn usage_now(&self, index: usize) -> &Usage {
        match self.changed.is_empty() {
            true => &self.ctld.nodes[index].usage,
            false => self.changed.get(&index).unwrap_or(&self.ctld.nodes[index].usage),
        }
    }

    /// Cores that nobody holds now; fewer than none where a node lost some.
    fn cores_now(&self, index: usize) -> i32 {
        self.ctld.census.cores_beside(index, self.usage_now(index))
    }

    /// Where some cores are nobody's, their number doesn't tell.
    fn may_be_open(&self, index: usize, cores: i32) -> bool {
        0 < cores || !self.ctld.census.kind_at(index).spec.spec_cores.is_empty()
    }

    /// Which of `nodes` have a free core at a moment, and perhaps some that have none.
    pub(super) fn open(&mut self, gone: usize, nodes: &IndexSet) -> IndexSet {
        self.mark_until(gone);
        let mark = &self.marks[self.marks.partition_point(|mark| mark.gone <= gone) - 1];
        let mut open = nodes.clone();
        open.keep(&mark.open);
        let back = self.parts_of(mark.gone, gone);
        open.add_parts(back.map(|part| Part { bits: nodes.bits_of(*part), ..*part }));
        open
    }

    /// Whether at least so many of `nodes` may have a free core at a moment.
    pub(super) fn has_open(&mut self, gone: usize, nodes: &IndexSet, least: usize) -> bool {
        match gone {
            0 => nodes.shares_at_least(&self.marks[0].open, least),
            _ => self.open(gone, nodes).shares_at_least(nodes, least),
        }
    }

    /// A moment before which fewer than `least` of `nodes` are open; `None` if that is so until
    /// `last`. `counts` remembers how many are open at most.
    pub(super) fn enough_from(
        &mut self,
        (nodes, counts): (&IndexSet, &mut Vec<usize>),
        least: usize,
        last: usize,
    ) -> Option<usize> {
        self.mark_until(last);
        counts.resize(self.marks.len().max(counts.len()), usize::MAX);
        let mut few = |mark: usize| {
            if least <= counts[mark]
                && let Some(found) = nodes.n_shared_below(&self.marks[mark].open, least)
            {
                counts[mark] = found;
            }
            counts[mark] < least
        };
        let (mut enough, mut from) = (self.marks.partition_point(|mark| mark.gone < last), 0);
        if few(enough) {
            return None;
        }
        while from < enough {
            let middle = (from + enough) / 2;
            if few(middle) {
                from = middle + 1;
            } else {
                enough = middle;
            }
        }
        Some(enough.checked_sub(1).map_or(0, |few| self.marks[few].gone + 1))
    }

    fn mark_until(&mut self, gone: usize) {
        while let Some(last) = self.marks.last()
            && last.gone < gone
        {
            let (from, gone) = (last.gone, (last.gone + self.step).min(self.ends.len()));
            let mut open = last.open.clone();
            open.add_parts(self.parts_of(from, gone).copied());
            self.marks.push(Mark { gone, open });
        }
    }

    /// The nodes that get cores back from some ends.
    fn parts_of(&self, from: usize, to: usize) -> impl Iterator<Item = &Part> {
        self.ends[from..to].iter().flat_map(|ending| self.parts_at(ending))
    }

    fn parts_at(&self, ending: &Ending<'_>) -> &[Part] {
        &self.parts[ending.parts.start as usize..ending.parts.end as usize]
    }

    /// Whether the end of a job matters to somebody who looks at these nodes.
    pub(super) fn concerns(&self, end: usize, nodes: &IndexSet) -> bool {
        let ending = &self.ends[end];
        let matters = |part: &Part| nodes.bits_of(*part) != 0;
        self.parts_at(ending).iter().any(matters) || ending.held.without_cores.iter().any(matters)
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
