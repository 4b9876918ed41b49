//! Which job was on which node when: kept while the run comes in.
//!
//! ```text
//!   n1  ├──── job 1 ────┤      ├── job 4 ──
//!   n2  ├──── job 1 ────┤├─ job 3 ─┤
//! ```

use drawbridge_scenarios::{
    JobRow,
    recording::{Film, RowKind},
};
use drawbridge_sim::{Time, expand_hostlist};

/// One run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    /// The job's slot.
    pub(crate) job: usize,
    /// When it began.
    pub(crate) start: Time,
    /// When it ended; `None` as far as is known.
    pub(crate) end: Option<Time>,
    /// Slots of its nodes.
    pub(crate) nodes: Vec<usize>,
    /// Whether backfill started it.
    pub(crate) backfilled: bool,
}

/// All runs of all jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    stays: Vec<Stay>,
    /// The last run of each job, by its slot.
    last: Vec<Option<usize>>,
    /// Runs on each node, by its slot, in the order of their starts.
    on: Vec<Vec<usize>>,
    seen: usize,
    cuts: u64,
}

impl Lanes {
    /// Takes in what is new.
    pub(crate) fn follow(&mut self, film: &Film) {
        if self.cuts != film.cuts() {
            *self = Self { cuts: film.cuts(), ..Self::default() };
        }
        for altered in &film.altered()[self.seen..] {
            if altered.kind == RowKind::Job {
                let slot = altered.slot as usize;
                let row = film.jobs().of(slot).get(altered.version as usize);
                if let Some(job) = row.and_then(|it| it.1.as_deref()) {
                    self.job(film, slot, job);
                }
            }
        }
        self.seen = film.altered().len();
    }

    fn job(&mut self, film: &Film, slot: usize, job: &JobRow) {
        self.last.resize(self.last.len().max(slot + 1), None);
        let last = self.last[slot];
        let same = last.filter(|stay| Some(self.stays[*stay].start) == job.start_ms);
        match (same, job.start_ms) {
            (Some(stay), _) => self.stays[stay].end = job.end_ms,
            // It was queued again: what ran before ended at the latest now.
            (None, None) => self.close(last, job.submit_ms),
            (None, Some(start)) => {
                self.close(last, start);
                self.open(film, slot, job, start);
            }
        }
    }

    fn close(&mut self, stay: Option<usize>, at: Time) {
        if let Some(stay) = stay.and_then(|stay| self.stays.get_mut(stay)) {
            stay.end = stay.end.or(Some(at));
        }
    }

    fn open(&mut self, film: &Film, slot: usize, job: &JobRow, start: Time) {
        let names = expand_hostlist(&job.nodes).unwrap_or_default();
        let nodes: Vec<usize> = names.iter().filter_map(|name| film.slurm_node(name)).collect();
        let stay = self.stays.len();
        self.on.resize(self.on.len().max(film.nodes().len()), vec![]);
        for node in &nodes {
            self.on[*node].push(stay);
        }
        let (end, backfilled) = (job.end_ms, job.backfilled);
        self.stays.push(Stay { job: slot, start, end, nodes, backfilled });
        self.last[slot] = Some(stay);
    }

    /// Runs on a node, in the order of their starts.
    pub(crate) fn on(&self, node: usize) -> impl DoubleEndedIterator<Item = &Stay> {
        self.on.get(node).into_iter().flatten().map(|stay| &self.stays[*stay])
    }
}
