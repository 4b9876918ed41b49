//! Which nodes, cores and devices a job gets: `select/cons_tres` as it was seen to choose.
//!
//! ```text
//!   candidates ──sets──▶ by feature ──offer──▶ what each node could give
//!                                                        │ eval
//!      Allocation ◀──place── cores, devices ◀──tasks── nodes, CPUs to use on each
//! ```
//!
//! Pure: it looks at a [`View`] of what is held, now or at some later time, and changes nothing.

mod ask;
mod cores;
mod eval;
mod feature;
mod gres;
mod offer;
mod place;
mod policy;
mod room;
mod sets;
mod tasks;
mod trial;

use std::{collections::BTreeMap, sync::Arc};

pub(crate) use ask::{Ask, MemoryNeed, gres_agrees};
pub(crate) use policy::{Policy, Share};

use crate::{
    Allocation, IndexSet,
    conf::NodeSpec,
    node::{Node, Usage},
};
use trial::Trial;

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Start it: nodes where a job is completing aren't used.
    Now,
    /// Find out when and where it could start.
    Later,
    /// Find out whether it ever could: nothing is held.
    Ever,
}

/// What is held of an idle node.
static NOTHING: Usage = Usage::nothing();

/// What is held of each node: as it is, but for the nodes that `changed` describes.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    nodes: &'a [Node],
    mode: Mode,
    changed: BTreeMap<usize, Usage>,
}

impl<'a> View<'a> {
    /// As things are, to start a job now.
    pub(crate) const fn of(nodes: &'a [Node]) -> Self {
        Self { nodes, mode: Mode::Now, changed: BTreeMap::new() }
    }

    /// As things are, to find out when and where a job could start.
    pub(crate) const fn later(nodes: &'a [Node]) -> Self {
        Self { nodes, mode: Mode::Later, changed: BTreeMap::new() }
    }

    pub(crate) fn spec(&self, index: usize) -> &'a NodeSpec {
        &self.nodes[index].spec
    }

    /// Whether nobody may start on the node, because a job is completing there.
    fn barred(&self, index: usize) -> bool {
        self.mode == Mode::Now && 0 < self.nodes[index].completing.jobs
    }

    pub(crate) fn usage(&self, index: usize) -> &Usage {
        self.changed.get(&index).unwrap_or_else(|| match self.mode {
            Mode::Now | Mode::Later => &self.nodes[index].usage,
            Mode::Ever => &NOTHING,
        })
    }

    pub(crate) fn take(&mut self, allocation: &Allocation) {
        for share in &allocation.nodes {
            self.usage_mut(share.index).take(share);
        }
    }

    pub(crate) fn give_back(&mut self, allocation: &Allocation) {
        for share in &allocation.nodes {
            self.usage_mut(share.index).give_back(share);
        }
    }

    /// The same nodes with nothing held. What is found then names nodes and nothing on them.
    pub(crate) const fn empty(nodes: &'a [Node]) -> Self {
        Self { nodes, mode: Mode::Ever, changed: BTreeMap::new() }
    }

    fn usage_mut(&mut self, index: usize) -> &mut Usage {
        if !self.changed.contains_key(&index) {
            let usage = self.usage(index).clone();
            self.changed.insert(index, usage);
        }
        self.changed.entry(index).or_default()
    }
}

/// What the job would get of `candidates`, or `None` if they don't suffice.
pub(crate) fn select(
    view: &View<'_>,
    candidates: &IndexSet,
    ask: &Ask,
    policy: Policy,
) -> Option<Arc<Allocation>> {
    sets::select(&mut Trial::new(view, ask, &policy), candidates).map(Arc::new)
}

/// Which nodes the job would get of `candidates`: the same as [`select`]'s, without working out
/// cores that nobody asks about.
pub(crate) fn nodes(
    view: &View<'_>,
    candidates: &IndexSet,
    ask: &Ask,
    policy: Policy,
) -> Option<IndexSet> {
    let mut trial = Trial::new(view, ask, &policy);
    trial.nodes_only = true;
    let found = sets::select(&mut trial, candidates).map(|allocation| places(&allocation));
    debug_assert_eq!(found, select(view, candidates, ask, policy).map(|it| places(&it)));
    found
}

fn places(allocation: &Allocation) -> IndexSet {
    allocation.nodes.iter().map(|share| share.index).collect()
}

impl Trial<'_> {
    /// What the job would get of `candidates`, features aside: of cores that nobody holds, or else,
    /// where cores are shared, that as few as possible do.
    fn run(&mut self, candidates: &IndexSet) -> Option<Allocation> {
        (0..self.rows()).find_map(|row| {
            self.row = row;
            self.run_row(candidates)
        })
    }

    fn run_row(&self, candidates: &IndexSet) -> Option<Allocation> {
        let few = |n: usize| n < self.min_nodes as usize;
        if !candidates.holds(&self.required) || few(candidates.len()) {
            return None;
        }
        let mut offers: Vec<_> =
            candidates.iter().filter_map(|index| offer::offer(self, index)).collect();
        let has = |index: usize| offers.binary_search_by_key(&index, |offer| offer.index).is_ok();
        if few(offers.len()) || !self.required.iter().all(has) {
            return None;
        }
        eval::eval(self, &mut offers)?;
        let outlined = self.nodes_only && self.is_sure_to_fit(&offers);
        if outlined || self.view.mode == Mode::Ever {
            return Some(self.outline(&offers));
        }
        self.place(&offers)
    }
}
