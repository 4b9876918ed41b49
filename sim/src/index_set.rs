//! Sets of small numbers: cores and GPUs by their index on a node, nodes by their place in
//! slurm.conf.

use std::fmt;

use serde::{Serialize, Serializer};

/// An ordered set of small numbers. Prints as Slurm prints them: `0-1,8-9`.
///
/// Cores and devices of a node nearly always fit the first word, so their sets live without
/// memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexSet {
    /// The numbers below 64.
    head: u64,
    /// The rest. Never ends in a zero word, so that equal sets are equal values.
    tail: Vec<u64>,
}

impl IndexSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { head: 0, tail: vec![] }
    }

    /// Every number below `end`.
    pub fn below(end: usize) -> Self {
        let mut set = Self::new();
        set.insert_range(0, end);
        set
    }

    /// Adds a number; whether it was new.
    pub fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (self.word_mut(index / 64), 1 << (index % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes a number out; whether it was there.
    pub fn remove(&mut self, index: usize) -> bool {
        let there = self.contains(index);
        if there {
            *self.word_mut(index / 64) &= !(1 << (index % 64));
            self.trim();
        }
        there
    }

    /// Adds a number or takes it out.
    pub fn set(&mut self, index: usize, there: bool) {
        if there {
            self.insert(index);
        } else {
            self.remove(index);
        }
    }

    /// Adds every number in `from..to`.
    pub fn insert_range(&mut self, from: usize, to: usize) {
        if from < to {
            for at in from / 64..=(to - 1) / 64 {
                *self.word_mut(at) |= mask(at, from, to);
            }
        }
    }

    /// Takes out every number in `from..to`.
    pub fn remove_range(&mut self, from: usize, to: usize) {
        let end = to.min(self.n_words() * 64);
        if from < end {
            for at in from / 64..=(end - 1) / 64 {
                *self.word_mut(at) &= !mask(at, from, end);
            }
            self.trim();
        }
    }

    /// Whether the number is in it.
    pub fn contains(&self, index: usize) -> bool {
        self.word(index / 64) >> (index % 64) & 1 == 1
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.head == 0 && self.tail.is_empty()
    }

    /// The least number.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words().enumerate().flat_map(|(at, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit as usize)
            })
        })
    }

    /// Adds every number of `other`.
    pub fn add(&mut self, other: &Self) {
        self.head |= other.head;
        if self.tail.len() < other.tail.len() {
            self.tail.resize(other.tail.len(), 0);
        }
        for (word, more) in self.tail.iter_mut().zip(&other.tail) {
            *word |= more;
        }
    }

    /// Takes out every number of `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.head &= !other.head;
        for (word, less) in self.tail.iter_mut().zip(&other.tail) {
            *word &= !less;
        }
        self.trim();
    }

    /// Keeps only what is also in `other`.
    pub fn keep(&mut self, other: &Self) {
        self.head &= other.head;
        self.tail.truncate(other.tail.len());
        for (word, mask) in self.tail.iter_mut().zip(&other.tail) {
            *word &= mask;
        }
        self.trim();
    }

    /// Whether the two share a number.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.words().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// Whether every number of `other` is in it.
    pub fn holds(&self, other: &Self) -> bool {
        let own = self.words().chain(std::iter::repeat(0));
        other.words().zip(own).all(|(theirs, own)| theirs & !own == 0)
    }

    /// Whether some number of it is in `next` but not in both of `now`.
    pub(crate) fn gains(&self, next: &Self, now: &Self, too: &Self) -> bool {
        self.words()
            .zip(next.words())
            .enumerate()
            .any(|(at, (own, next))| own & next & !(now.word(at) & too.word(at)) != 0)
    }

    /// How many numbers lie in `from..to`.
    pub fn count_in(&self, from: usize, to: usize) -> usize {
        if to <= from {
            return 0;
        }
        let words = from / 64..=((to - 1) / 64).min(self.tail.len());
        words.map(|at| (self.word(at) & mask(at, from, to)).count_ones() as usize).sum()
    }

    const fn n_words(&self) -> usize {
        1 + self.tail.len()
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.head).chain(self.tail.iter().copied())
    }

    fn word(&self, at: usize) -> u64 {
        match at.checked_sub(1) {
            None => self.head,
            Some(at) => self.tail.get(at).copied().unwrap_or(0),
        }
    }

    fn word_mut(&mut self, at: usize) -> &mut u64 {
        let Some(at) = at.checked_sub(1) else {
            return &mut self.head;
        };
        if self.tail.len() <= at {
            self.tail.resize(at + 1, 0);
        }
        &mut self.tail[at]
    }

    fn trim(&mut self) {
        while self.tail.last() == Some(&0) {
            self.tail.pop();
        }
    }
}

/// The bits of word `at` that stand for numbers in `from..to`, where that word has some.
const fn mask(at: usize, from: usize, to: usize) -> u64 {
    let low = if at == from / 64 { !0 << (from % 64) } else { !0 };
    let high = if at == (to - 1) / 64 { !0 >> (63 - (to - 1) % 64) } else { !0 };
    low & high
}

impl FromIterator<usize> for IndexSet {
    fn from_iter<I: IntoIterator<Item = usize>>(all: I) -> Self {
        let mut set = Self::new();
        for index in all {
            set.insert(index);
        }
        set
    }
}

impl Extend<usize> for IndexSet {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, all: I) {
        for index in all {
            self.insert(index);
        }
    }
}

impl fmt::Display for IndexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(usize, usize)> = vec![];
        for index in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == index => *last = index,
                _ => ranges.push((index, index)),
            }
        }
        for (at, (first, last)) in ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for IndexSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sets_print_as_slurm_prints_cpu_ids() {
        let rows: [(&[usize], &str); 4] =
            [(&[], ""), (&[3], "3"), (&[0, 1, 8, 9], "0-1,8-9"), (&[63, 64, 70], "63-64,70")];
        for (numbers, text) in rows {
            assert_eq!(numbers.iter().copied().collect::<IndexSet>().to_string(), text);
        }
    }

    fn numbers() -> impl Strategy<Value = BTreeSet<usize>> {
        prop::collection::btree_set(0..200_usize, 0..60)
    }

    proptest! {
        #[test]
        fn it_does_what_an_ordered_set_does(a in numbers(), b in numbers(), from in 0..200_usize, to in 0..200_usize) {
            let set = |all: &BTreeSet<usize>| all.iter().copied().collect::<IndexSet>();
            let (x, y) = (set(&a), set(&b));
            prop_assert_eq!(&x.iter().collect::<BTreeSet<_>>(), &a);
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.overlaps(&y), !a.is_disjoint(&b));
            prop_assert_eq!(x.holds(&y), a.is_superset(&b));
            let mut sum = x.clone();
            sum.add(&y);
            prop_assert_eq!(&sum, &set(&(&a | &b)));
            sum.subtract(&y);
            prop_assert_eq!(&sum, &set(&(&a - &b)));
            let mut both = x.clone();
            both.keep(&y);
            prop_assert_eq!(&both, &set(&(&a & &b)));
            let (mut more, mut less) = (x.clone(), x.clone());
            more.insert_range(from, to);
            less.remove_range(from, to);
            prop_assert_eq!(&more, &set(&(&a | &(from..to).collect())));
            prop_assert_eq!(&less, &set(&(&a - &(from..to).collect())));
            prop_assert_eq!(x.first(), a.first().copied());
            prop_assert_eq!(x.count_in(from, to), a.iter().filter(|n| (from..to).contains(*n)).count());
        }
    }
}
