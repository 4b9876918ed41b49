//! What is held of the nodes, at some moment.
//!
//! ```text
//!   as it is, and what a cycle gave out ─┐
//!   with some of the running jobs gone ──┼──Held──▶ View ──▶ selection
//!   nothing at all ──────────────────────┘
//! ```

use std::borrow::Cow;

use crate::{
    IndexSet, Slurmctld,
    census::{Census, Kind},
    conf::NodeSpec,
    node::{Node, Usage},
    rows::RowTable,
};

/// What is held of each node.
pub(crate) trait Held {
    /// Nodes with a core that nobody holds, and perhaps some without; `None` may be any.
    fn open(&self) -> Option<&IndexSet>;

    /// What is held of a node.
    fn usage(&self, index: usize) -> Cow<'_, Usage>;

    /// Cores of a node that nobody holds.
    fn free_cores(&self, index: usize) -> u32;

    /// Memory of a node that somebody holds, MiB.
    fn held_memory(&self, index: usize) -> u64;

    /// Whether nobody holds a core or a device of a node.
    fn is_idle(&self, index: usize) -> bool;

    /// Whether jobs share cores anywhere.
    fn anybody_shares(&self) -> bool;

    /// Who has which cores, where more than their sum matters.
    fn rows(&self) -> Option<&RowTable>;
}

/// The nodes, and what is held of them.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    nodes: &'a [Node],
    census: &'a Census,
    /// Nodes where nobody may start, because a job is completing there.
    barred: Option<&'a IndexSet>,
    /// `None` is nothing.
    held: Option<&'a dyn Held>,
    /// It is for a plan: those go by the weights in slurm.conf.
    planned: bool,
    /// It is some later time: who shares cores then isn't known.
    future: bool,
    /// `bf_busy_nodes`: nodes with jobs, which come first then.
    busy: Option<&'a IndexSet>,
}

impl<'a> View<'a> {
    /// To start a job now.
    pub(crate) fn now(ctld: &'a Slurmctld, held: &'a dyn Held) -> Self {
        let barred = Some(&ctld.completing);
        Self { barred, held: Some(held), ..Self::empty(ctld) }
    }

    /// To find out whether a job could start now, once whoever is completing is gone.
    pub(crate) fn later(ctld: &'a Slurmctld, held: &'a dyn Held) -> Self {
        Self { held: Some(held), planned: true, ..Self::empty(ctld) }
    }

    /// To find out where a job could start at some later time, nodes with jobs first if so wished.
    pub(crate) fn future(
        ctld: &'a Slurmctld,
        held: &'a dyn Held,
        busy: Option<&'a IndexSet>,
    ) -> Self {
        Self { future: true, busy, ..Self::later(ctld, held) }
    }

    /// To find out whether it ever could: nothing is held. What is found then names nodes and
    /// nothing on them.
    pub(crate) fn empty(ctld: &'a Slurmctld) -> Self {
        Self {
            nodes: &ctld.nodes,
            census: &ctld.census,
            barred: None,
            held: None,
            planned: false,
            future: false,
            busy: None,
        }
    }

    pub(super) const fn nothing_held(&self) -> bool {
        self.held.is_none()
    }

    pub(super) fn spec(&self, index: usize) -> &'a NodeSpec {
        &self.nodes[index].spec
    }

    /// Plans go by the weight that slurm.conf gives the node, whatever an operator has changed since.
    pub(super) fn weight(&self, index: usize) -> u32 {
        let kind = self.census.kind_at(index);
        if self.planned { kind.planned_weight } else { kind.spec.weight }
    }

    pub(super) const fn is_future(&self) -> bool {
        self.future
    }

    pub(super) fn kinds(&self) -> &'a [Kind] {
        self.census.kinds()
    }

    pub(super) fn kind_of(&self, index: usize) -> usize {
        self.census.kind_of(index)
    }

    /// The candidates that could give something to a job that is to have cores of its own.
    pub(super) fn open<'b>(&self, candidates: &'b IndexSet) -> Cow<'b, IndexSet> {
        let Some(those) = self.held.and_then(Held::open) else {
            return Cow::Borrowed(candidates);
        };
        let mut open = candidates.clone();
        open.keep(those);
        if let Some(barred) = self.barred {
            open.subtract(barred);
        }
        Cow::Owned(open)
    }

    pub(super) fn is_barred(&self, index: usize) -> bool {
        self.barred.is_some_and(|barred| barred.contains(index))
    }

    pub(super) fn usage(&self, index: usize) -> Cow<'a, Usage> {
        static NOTHING: Usage = Usage::nothing();
        self.held.map_or(Cow::Borrowed(&NOTHING), |held| held.usage(index))
    }

    pub(super) fn free_cores(&self, index: usize) -> u32 {
        self.held.map_or_else(|| self.census.kind_at(index).cores, |held| held.free_cores(index))
    }

    pub(super) fn held_memory(&self, index: usize) -> u64 {
        self.held.map_or(0, |held| held.held_memory(index))
    }

    pub(super) fn is_idle(&self, index: usize) -> bool {
        self.held.is_none_or(|held| held.is_idle(index))
    }

    pub(super) fn anybody_shares(&self) -> bool {
        self.held.is_some_and(Held::anybody_shares)
    }

    /// Who has which cores, where more than their sum matters.
    pub(super) fn rows(&self) -> Option<&'a RowTable> {
        self.held.and_then(Held::rows)
    }

    /// Whether jobs that share cores keep this one from a node.
    pub(super) fn is_shared(&self, index: usize, partition: usize) -> bool {
        let rows = self.rows().filter(|_| !self.future);
        rows.is_some_and(|rows| rows.is_shared(index, partition))
    }

    /// Nodes with jobs, where those come first.
    pub(super) const fn busy(&self) -> Option<&'a IndexSet> {
        self.busy
    }
}
