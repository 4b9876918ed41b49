//! Which nodes, cores and devices a job gets: `select/cons_tres` as it was seen to choose.
//!
//! ```text
//!   candidates, quest ──offer──▶ what each node could give
//!                                          │ eval
//!      Allocation ◀──place── cores, devices ◀──tasks── nodes, CPUs to use on each
//! ```
//!
//! Pure: it looks at a [`View`] of what is held, now or at some later time, and changes nothing.

mod ask;
mod boards;
mod cores;
mod counted;
mod eval;
mod feature;
mod gres;
mod offer;
mod place;
mod policy;
mod quest;
mod room;
mod tasks;
mod trial;
mod view;

use std::{borrow::Cow, sync::Arc};

pub(crate) use ask::{Ask, MemoryNeed, gres_agrees};
pub(crate) use feature::Group;
pub(crate) use offer::{fits_size, is_big_enough};
pub(crate) use policy::{Policy, Share};
pub(crate) use quest::{NodeCounts, Quest};
pub(crate) use view::{Held, View};

use crate::{Allocation, IndexSet};
use counted::Counted;
use offer::Offer;
use trial::{Taken, Trial};

/// What the job would get of `candidates`, or `None` if they don't suffice. Features are somebody
/// else's business.
pub(crate) fn select(
    view: &View<'_>,
    candidates: &IndexSet,
    ask: &Ask,
    policy: &Policy,
    quest: &Quest,
) -> Option<Arc<Allocation>> {
    Trial::new(view, ask, policy, quest).run(candidates).map(Arc::new)
}

/// Which nodes the job would get of `candidates`: the same as [`select`]'s, without working out
/// cores that nobody asks about.
pub(crate) fn nodes(
    view: &View<'_>,
    candidates: &IndexSet,
    ask: &Ask,
    policy: &Policy,
    quest: &Quest,
) -> Option<IndexSet> {
    let mut trial = Trial::new(view, ask, policy, quest);
    trial.nodes_only = true;
    let counted = match trial.takes_the_first() {
        true => Counted::Unsure,
        false => counted::nodes(&trial, &view.open(candidates)),
    };
    let found = match counted {
        Counted::Taken(nodes) => Some(nodes),
        Counted::TooFew => None,
        Counted::Unsure => trial.run(candidates).map(|allocation| places(&allocation)),
    };
    debug_assert_eq!(found, select(view, candidates, ask, policy, quest).map(|it| places(&it)));
    found
}

/// Whether what others hold of these nodes leaves each of them to the job at all.
pub(crate) fn stands(view: &View<'_>, nodes: &IndexSet, ask: &Ask, policy: &Policy) -> bool {
    let Ok(quest) = Quest::new(ask, policy) else { return false };
    let trial = Trial::new(view, ask, policy, &quest);
    nodes.iter().all(|index| offer::stands(&trial, index))
}

fn places(allocation: &Allocation) -> IndexSet {
    allocation.nodes.iter().map(|share| share.index).collect()
}

impl Trial<'_> {
    /// What the job would get of `candidates`: of cores that nobody holds, or else, where cores are
    /// shared, of those that the fewest do.
    fn run(&mut self, candidates: &IndexSet) -> Option<Allocation> {
        if !self.shares() || self.view.nothing_held() {
            return self.run_with(candidates, Taken::All);
        }
        // With all cores for itself it must fit, or nothing helps.
        self.run_with(candidates, Taken::Nothing)?;
        self.run_with(candidates, Taken::All)
            .or_else(|| self.beside_lower_tiers(candidates))
            .or_else(|| self.in_a_row(candidates))
    }

    /// Cores that nobody of its own tier has; as few as possible of those that lower ones have.
    fn beside_lower_tiers(&mut self, candidates: &IndexSet) -> Option<Allocation> {
        let rows = self.view.rows()?;
        let own = self.policy.partition;
        let mut taken = rows.same_tier(own);
        let mut found = self.run_with(candidates, Taken::By(taken.clone()))?;
        for lower in rows.lower_tiers(own) {
            taken.push(lower);
            match self.run_with(candidates, Taken::By(taken.clone())) {
                Some(better) => found = better,
                None => break,
            }
        }
        Some(found)
    }

    /// Cores that are free in one row of its partition, the fullest row first.
    fn in_a_row(&mut self, candidates: &IndexSet) -> Option<Allocation> {
        let rows = self.view.rows()?;
        let order = rows.fullest_first(self.policy.partition);
        order.into_iter().find_map(|row| self.run_with(candidates, Taken::Row(row)))
    }

    fn run_with(&mut self, candidates: &IndexSet, taken: Taken) -> Option<Allocation> {
        self.taken = taken;
        let offers = self.chosen(candidates)?;
        let outlined = self.nodes_only && self.are_sure_to_fit(&offers);
        if outlined || self.view.nothing_held() {
            return Some(self.outline(&offers));
        }
        self.place(&offers)
    }

    /// The nodes that are chosen, with the CPUs to use on each.
    fn chosen(&self, candidates: &IndexSet) -> Option<Vec<Offer>> {
        if self.takes_the_first() {
            return self.first_that_fits(candidates);
        }
        if self.taken != Taken::All {
            return self.chosen_one_by_one(candidates);
        }
        let open = self.view.open(candidates);
        match counted::take(self, &open) {
            Counted::Taken(offers) => {
                debug_assert_eq!(
                    Some(brief(&offers)),
                    self.chosen_one_by_one(candidates).map(|it| brief(&it))
                );
                Some(offers)
            }
            Counted::TooFew => {
                debug_assert_eq!(None, self.chosen_one_by_one(candidates).map(|it| brief(&it)));
                None
            }
            Counted::Unsure => self.chosen_one_by_one(&open),
        }
    }

    /// Whether one node is all that it may have, and any that fits will do.
    const fn takes_the_first(&self) -> bool {
        self.policy.first_of_one && self.quest.max_nodes == 1
    }

    /// The lightest node that fits, the first of several.
    fn first_that_fits(&self, candidates: &IndexSet) -> Option<Vec<Offer>> {
        let open = match self.taken {
            Taken::All => self.view.open(candidates),
            Taken::By(_) | Taken::Row(_) | Taken::Nothing => Cow::Borrowed(candidates),
        };
        let mut nodes = open.into_owned();
        if !self.quest.required.is_empty() {
            nodes.keep(&self.quest.required);
        }
        let mut nodes: Vec<usize> = nodes.iter().collect();
        nodes.sort_by_key(|index| self.view.weight(*index));
        nodes.into_iter().find_map(|index| self.chosen_one_by_one(&[index].into_iter().collect()))
    }

    /// The same, asking every node.
    fn chosen_one_by_one(&self, candidates: &IndexSet) -> Option<Vec<Offer>> {
        let few = |n: usize| n < self.quest.min_nodes as usize;
        if !candidates.holds(&self.quest.required) || few(candidates.len()) {
            return None;
        }
        let mut offers: Vec<_> =
            candidates.iter().filter_map(|index| offer::offer(self, index)).collect();
        let has = |index: usize| offers.binary_search_by_key(&index, |offer| offer.index).is_ok();
        if few(offers.len()) || !self.quest.required.iter().all(has) {
            return None;
        }
        eval::eval(self, &mut offers)?;
        Some(offers)
    }
}

/// Of each offer the node and its CPUs.
fn brief(offers: &[Offer]) -> Vec<(usize, u32, u32)> {
    offers.iter().map(|offer| (offer.index, offer.cpus, offer.max_cpus)).collect()
}
