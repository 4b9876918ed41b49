//! Rows of one kind, each with all of its versions.
//!
//! ```text
//!   slot 0   key a   (3, row) (17, row') (402, row'')       from how many records on it is so
//!   slot 1   key b   (9, row) (12, gone)
//! ```

use std::{collections::HashMap, hash::Hash, sync::Arc};

/// One version of a row: from how many records on, and what it is then; `None` once it is gone.
pub(super) type Version<T> = (u64, Option<Arc<T>>);

/// Every version of every row. A row keeps its slot for the whole run.
#[derive(Clone, Debug)]
pub struct Versions<K, T> {
    slots: Vec<Vec<Version<T>>>,
    // Only looked things up in, never gone through: its order doesn't matter.
    by_key: HashMap<K, u32>,
}

impl<K, T> Default for Versions<K, T> {
    fn default() -> Self {
        Self { slots: vec![], by_key: HashMap::new() }
    }
}

impl<K: Eq + Hash, T> Versions<K, T> {
    /// How many rows there are, at any time.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The slot of a row.
    pub fn slot<Q>(&self, key: &Q) -> Option<usize>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.by_key.get(key).map(|slot| *slot as usize)
    }

    /// Every version of the row in this slot, in order.
    pub fn of(&self, slot: usize) -> &[Version<T>] {
        self.slots.get(slot).map_or(&[], Vec::as_slice)
    }

    /// The row in this slot after so many records; `None` where it isn't there.
    pub fn at(&self, slot: usize, event: u64) -> Option<&Arc<T>> {
        let versions = self.of(slot);
        let after = versions.partition_point(|(from, _)| *from <= event);
        versions.get(after.checked_sub(1)?)?.1.as_ref()
    }

    /// Adds a version. Returns its slot and its number.
    pub(super) fn add(&mut self, key: K, from: u64, row: Option<Arc<T>>) -> (usize, usize) {
        let next = self.slots.len();
        let slot = *self.by_key.entry(key).or_insert_with(|| u32::try_from(next).unwrap_or(0));
        let slot = slot as usize;
        if slot == next {
            self.slots.push(vec![]);
        }
        let versions = &mut self.slots[slot];
        versions.push((from, row));
        (slot, versions.len() - 1)
    }

    /// Forgets what came after so many records.
    pub(super) fn cut(&mut self, event: u64) {
        for versions in &mut self.slots {
            versions.truncate(versions.partition_point(|(from, _)| *from <= event));
        }
        // Slots are given out in order: those that are empty now are the last ones.
        let kept = self.slots.partition_point(|versions| !versions.is_empty());
        self.slots.truncate(kept);
        self.by_key.retain(|_, slot| (*slot as usize) < kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Versions<&'static str, &'static str> {
        let mut rows = Versions::default();
        for (key, from, row) in
            [("a", 1, Some("a1")), ("b", 2, Some("b2")), ("a", 5, Some("a5")), ("b", 5, None)]
        {
            rows.add(key, from, row.map(Arc::new));
        }
        rows
    }

    #[test]
    fn a_row_is_what_it_last_became() {
        let rows = sample();
        let seen = |event| [0, 1].map(|slot| rows.at(slot, event).map_or("-", |row| **row));
        assert_eq!(seen(0), ["-", "-"]);
        assert_eq!(seen(1), ["a1", "-"]);
        assert_eq!(seen(4), ["a1", "b2"]);
        assert_eq!(seen(5), ["a5", "-"]);
        assert_eq!(rows.slot("b"), Some(1));
    }

    #[test]
    fn what_is_cut_off_never_was() {
        let mut rows = sample();
        rows.cut(1);
        assert_eq!((rows.len(), rows.slot("a"), rows.slot("b")), (1, Some(0), None));
        assert_eq!(rows.at(0, 99).map(|row| **row), Some("a1"));
        assert_eq!(rows.add("c", 2, Some(Arc::new("c2"))), (1, 0));
    }
}
