//! Which jobs have which cores in which partition, where that matters: cores that several jobs may
//! have, and limits that count a partition's own jobs.
//!
//! ```text
//!   partition p, OverSubscribe=FORCE:2     row 0   ▓▓▓▓░░▓▓    each core once in a row; a job goes
//!                                          row 1   ░░▓▓░░░░    to the first row that has room
//! ```
//!
//! After a job is gone the rows of its partition are packed anew before anybody looks at them.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use crate::{
    Allocation, IndexSet, JobId, SlurmConfig,
    conf::{OverSubscribe, ResourceUnit},
};

/// A job that holds something.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    pub(crate) job: JobId,
    pub(crate) partition: usize,
    pub(crate) held: Arc<Allocation>,
}

/// The rows of every partition; none where nothing depends on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowTable {
    partitions: Vec<Rows>,
}

#[derive(Clone, Debug)]
struct Rows {
    tier: u32,
    rows: Vec<Row>,
    /// Some job was in it.
    used: bool,
    /// A job is gone since it was packed.
    stale: bool,
}

#[derive(Clone, Debug, Default)]
struct Row {
    jobs: Vec<Holder>,
    cores: BTreeMap<usize, IndexSet>,
}

impl RowTable {
    pub(crate) fn new(config: &SlurmConfig) -> Self {
        let specs = || config.partitions().iter();
        let limited = specs()
            .any(|spec| spec.max_cpus_per_node.is_some() || spec.max_cpus_per_socket.is_some());
        let matters = limited
            || config.params().unit == ResourceUnit::Socket
            || specs().any(|spec| 1 < n_rows(spec.oversubscribe));
        if !matters {
            return Self::default();
        }
        let rows = |oversubscribe| vec![Row::default(); n_rows(oversubscribe)];
        let partitions = specs().map(|spec| Rows {
            tier: spec.priority_tier,
            rows: rows(spec.oversubscribe),
            used: false,
            stale: false,
        });
        Self { partitions: partitions.collect() }
    }

    /// Whether anything depends on it.
    pub(crate) const fn matters(&self) -> bool {
        !self.partitions.is_empty()
    }

    /// A job has cores.
    pub(crate) fn add(&mut self, holder: &Holder) {
        let Some(partition) = self.partitions.get_mut(holder.partition) else { return };
        partition.pack();
        partition.used = true;
        if let Some(row) = partition.rows.iter_mut().find(|row| row.fits(&holder.held)) {
            row.add(holder.clone());
        }
    }

    /// A job has them no more.
    pub(crate) fn remove(&mut self, partition: usize, job: JobId) {
        let Some(partition) = self.partitions.get_mut(partition) else { return };
        for row in &mut partition.rows {
            if let Some(at) = row.jobs.iter().position(|holder| holder.job == job) {
                row.jobs.remove(at);
                if partition.rows.len() == 1 {
                    partition.rows[0].recount();
                } else {
                    partition.stale = true;
                }
                return;
            }
        }
    }

    /// Rows are packed before anybody looks at them.
    pub(crate) fn pack(&mut self) {
        self.partitions.iter_mut().for_each(Rows::pack);
    }

    /// Whether jobs that share cores keep others from a node: another partition has rows, and such a
    /// job is there.
    pub(crate) fn is_shared(&self, node: usize, own: usize) -> bool {
        let others = self.partitions.iter().enumerate();
        let mut others = others.filter(|(place, rows)| *place != own && 1 < rows.rows.len());
        others.any(|(_, rows)| rows.used) && self.has_sharer(node)
    }

    fn has_sharer(&self, node: usize) -> bool {
        let jobs = self.partitions.iter().flat_map(|it| &it.rows).flat_map(|row| &row.jobs);
        jobs.flat_map(|job| &job.held.nodes).any(|share| share.index == node && share.sharing)
    }

    /// The cores of a partition's own jobs on a node; `None` if it never had any.
    pub(crate) fn own_cores(&self, partition: usize, node: usize) -> Option<IndexSet> {
        let rows = self.partitions.get(partition).filter(|rows| rows.used)?;
        Some(rows.cores_on(node))
    }

    /// How many rows a partition has that were ever used, the fullest first.
    pub(crate) fn fullest_first(&self, partition: usize) -> Vec<usize> {
        let Some(rows) = self.partitions.get(partition) else { return vec![0] };
        let counts: Vec<usize> = rows.rows.iter().map(Row::n_cores).collect();
        order_of(&counts)
    }

    /// The cores of one row on a node.
    pub(crate) fn row_cores(&self, partition: usize, row: usize, node: usize) -> IndexSet {
        let rows = self.partitions.get(partition);
        let cores = rows.and_then(|rows| rows.rows.get(row)?.cores.get(&node));
        cores.cloned().unwrap_or_default()
    }

    /// The cores on a node of jobs in these partitions.
    pub(crate) fn cores_of(&self, partitions: &[usize], node: usize) -> IndexSet {
        let mut all = IndexSet::new();
        for rows in partitions.iter().filter_map(|place| self.partitions.get(*place)) {
            all.add(&rows.cores_on(node));
        }
        all
    }

    /// The partitions of the same tier as this one.
    pub(crate) fn same_tier(&self, partition: usize) -> Vec<usize> {
        let tier = self.partitions.get(partition).map(|rows| rows.tier);
        let all = self.partitions.iter().enumerate();
        all.filter(|(_, rows)| Some(rows.tier) == tier).map(|(place, _)| place).collect()
    }

    /// The partitions of lower tiers, the highest first.
    pub(crate) fn lower_tiers(&self, partition: usize) -> Vec<usize> {
        let tier = self.partitions.get(partition).map_or(0, |rows| rows.tier);
        let all = self.partitions.iter().enumerate();
        let mut lower: Vec<_> = all.filter(|(_, rows)| rows.tier < tier).collect();
        lower.sort_by_key(|(_, rows)| Reverse(rows.tier));
        lower.into_iter().map(|(place, _)| place).collect()
    }
}

fn n_rows(oversubscribe: OverSubscribe) -> usize {
    match oversubscribe {
        OverSubscribe::No | OverSubscribe::Exclusive => 1,
        OverSubscribe::Yes(jobs) | OverSubscribe::Force(jobs) => jobs.max(1) as usize,
    }
}

/// Places in the order in which slurmctld sorts rows: it swaps whatever is fuller to the front.
fn order_of(counts: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    for i in 0..order.len() {
        for j in i + 1..order.len() {
            if counts[order[i]] < counts[order[j]] {
                order.swap(i, j);
            }
        }
    }
    order
}

impl Rows {
    fn cores_on(&self, node: usize) -> IndexSet {
        let mut all = IndexSet::new();
        for cores in self.rows.iter().filter_map(|row| row.cores.get(&node)) {
            all.add(cores);
        }
        all
    }

    /// Puts the jobs into as few rows as possible, those with the lowest cores first. If one finds
    /// no row then, all stays as it was.
    fn pack(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let mut jobs: Vec<Holder> = self.rows.iter().flat_map(|row| row.jobs.clone()).collect();
        jobs.sort_by_key(|holder| (holder.first_core(), holder.held.cpus()));
        let mut rows = vec![Row::default(); self.rows.len()];
        for holder in jobs {
            let Some(row) = rows.iter_mut().find(|row| row.fits(&holder.held)) else {
                return self.rows.iter_mut().for_each(Row::recount);
            };
            row.add(holder);
            let counts: Vec<usize> = rows.iter().map(Row::n_cores).collect();
            rows = order_of(&counts).into_iter().map(|at| rows[at].clone()).collect();
        }
        self.rows = rows;
    }
}

impl Row {
    fn fits(&self, held: &Allocation) -> bool {
        let free = |node: usize, cores: &IndexSet| {
            self.cores.get(&node).is_none_or(|held| !held.overlaps(cores))
        };
        self.jobs.is_empty() || held.nodes.iter().all(|share| free(share.index, &share.cores))
    }

    fn add(&mut self, holder: Holder) {
        if self.jobs.is_empty() {
            self.cores.clear();
        }
        for share in &holder.held.nodes {
            self.cores.entry(share.index).or_default().add(&share.cores);
        }
        self.jobs.push(holder);
    }

    /// Counts again what its jobs have.
    fn recount(&mut self) {
        self.cores.clear();
        for holder in std::mem::take(&mut self.jobs) {
            self.add(holder);
        }
    }

    fn n_cores(&self) -> usize {
        self.cores.values().map(IndexSet::len).sum()
    }
}

impl Holder {
    /// Its first core, on its first node.
    fn first_core(&self) -> (usize, usize) {
        let first = self.held.nodes.first();
        first.map_or((0, 0), |share| (share.index, share.cores.first().unwrap_or(0)))
    }
}
