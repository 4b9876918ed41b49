//! What is held right now: as it is, and what a cycle has given out since.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    IndexSet, Slurmctld,
    node::Usage,
    rows::{Holder, RowTable},
    select::Held,
};

/// What is held right now.
pub(super) struct HeldNow<'a> {
    ctld: &'a Slurmctld,
    /// Of the nodes of which something was given out.
    changed: BTreeMap<usize, Usage>,
    /// Nodes with a core that nobody holds.
    open: IndexSet,
    anybody_shares: bool,
    /// Who has which cores, where more than their sum matters.
    rows: Option<Cow<'a, RowTable>>,
}

impl<'a> HeldNow<'a> {
    pub(super) fn new(ctld: &'a Slurmctld) -> Self {
        Self {
            ctld,
            changed: BTreeMap::new(),
            open: ctld.census.open().clone(),
            anybody_shares: ctld.census.anybody_shares(),
            rows: ctld.rows.matters().then_some(Cow::Borrowed(&ctld.rows)),
        }
    }

    pub(super) fn take(&mut self, holder: &Holder) {
        for share in &holder.held.nodes {
            let node = &self.ctld.nodes[share.index];
            let usage = self.changed.entry(share.index).or_insert_with(|| node.usage.clone());
            usage.take(share);
            if node.spec.cores() as usize <= usage.cores.len() {
                self.open.remove(share.index);
            }
            self.anybody_shares |= share.shared;
        }
        if let Some(rows) = &mut self.rows {
            rows.to_mut().add(holder);
        }
    }
}

impl Held for HeldNow<'_> {
    fn open(&self) -> Option<&IndexSet> {
        Some(&self.open)
    }

    fn usage(&self, index: usize) -> Cow<'_, Usage> {
        Cow::Borrowed(self.changed.get(&index).unwrap_or(&self.ctld.nodes[index].usage))
    }

    fn free_cores(&self, index: usize) -> u32 {
        let census = &self.ctld.census;
        match self.changed.get(&index) {
            None => census.cores(index),
            Some(usage) => u32::try_from(census.cores_beside(index, usage)).unwrap_or(0),
        }
    }

    fn held_memory(&self, index: usize) -> u64 {
        self.usage(index).memory_mib
    }

    fn is_idle(&self, index: usize) -> bool {
        let usage = self.usage(index);
        usage.cores.is_empty() && usage.gres.is_empty()
    }

    fn anybody_shares(&self) -> bool {
        self.anybody_shares
    }

    fn rows(&self) -> Option<&RowTable> {
        self.rows.as_deref()
    }
}
