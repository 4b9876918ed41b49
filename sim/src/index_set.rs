//! Sets of small numbers: cores and GPUs by their index on a node, nodes by their place in
//! slurm.conf.

use std::fmt;

use serde::{Serialize, Serializer};

/// An ordered set of small numbers. Prints as Slurm prints them: `0-1,8-9`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexSet {
    // Never ends in a zero word, so that equal sets are equal values.
    words: Vec<u64>,
}

impl IndexSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: vec![] }
    }

    /// Every number below `end`.
    pub fn below(end: usize) -> Self {
        (0..end).collect()
    }

    /// Adds a number; whether it was new.
    pub fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (index / 64, 1 << (index % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Takes a number out; whether it was there.
    pub fn remove(&mut self, index: usize) -> bool {
        let there = self.contains(index);
        if there {
            self.words[index / 64] &= !(1 << (index % 64));
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

    /// Whether the number is in it.
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit as usize)
            })
        })
    }

    /// Adds every number of `other`.
    pub fn add(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Takes out every number of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, less) in self.words.iter_mut().zip(&other.words) {
            *word &= !less;
        }
        self.trim();
    }

    /// Keeps only what is also in `other`.
    pub fn keep(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, mask) in self.words.iter_mut().zip(&other.words) {
            *word &= mask;
        }
        self.trim();
    }

    /// Whether the two share a number.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Whether every number of `other` is in it.
    pub fn holds(&self, other: &Self) -> bool {
        let own = self.words.iter().copied().chain(std::iter::repeat(0));
        other.words.iter().zip(own).all(|(theirs, own)| theirs & !own == 0)
    }

    /// How many numbers lie in `from..to`.
    pub fn count_in(&self, from: usize, to: usize) -> usize {
        if to <= from {
            return 0;
        }
        let last = (to - 1) / 64;
        let words = self.words.iter().enumerate().take(last + 1).skip(from / 64);
        words
            .map(|(at, word)| {
                let low = if at == from / 64 { !0 << (from % 64) } else { !0 };
                let high = if at == last { !0 >> (63 - (to - 1) % 64) } else { !0 };
                (word & low & high).count_ones() as usize
            })
            .sum()
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
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
            prop_assert_eq!(x.count_in(from, to), a.iter().filter(|n| (from..to).contains(*n)).count());
        }
    }
}
