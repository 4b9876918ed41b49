//! Sets of small numbers: cores and GPUs by their index on a node, nodes by their place in
//! slurm.conf.

use std::fmt;

use serde::{Serialize, Serializer};

/// An ordered set of small numbers. Prints as Slurm prints them: `0-1,8-9`.
///
/// Cores and devices of a node nearly always fit the first words, so their sets live without
/// memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexSet {
    /// All numbers, where they are so small; nothing otherwise.
    few: [u64; FEW],
    /// All numbers, where one isn't. Never ends in a zero word, and is either longer than `few` or
    /// empty, so that equal sets are equal values.
    many: Vec<u64>,
}

/// Words that need no memory of their own.
const FEW: usize = 2;

impl IndexSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { few: [0; FEW], many: vec![] }
    }

    /// Every number below `end`.
    pub fn below(end: usize) -> Self {
        let mut set = Self::new();
        set.insert_range(0, end);
        set
    }

    /// Adds a number; whether it was new.
    pub fn insert(&mut self, index: usize) -> bool {
        if self.words().len() <= index / 64 {
            self.reach(index / 64 + 1);
        }
        let (word, bit) = (&mut self.words_mut()[index / 64], 1 << (index % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes a number out; whether it was there.
    pub fn remove(&mut self, index: usize) -> bool {
        let there = self.contains(index);
        if there {
            self.words_mut()[index / 64] &= !(1 << (index % 64));
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
            self.reach((to - 1) / 64 + 1);
            let words = self.words_mut();
            for (at, word) in words.iter_mut().enumerate().take((to - 1) / 64 + 1).skip(from / 64) {
                *word |= mask(at, from, to);
            }
        }
    }

    /// Takes out every number in `from..to`.
    pub fn remove_range(&mut self, from: usize, to: usize) {
        let words = self.words_mut();
        let end = to.min(words.len() * 64);
        if from < end {
            for (at, word) in words.iter_mut().enumerate().take((end - 1) / 64 + 1).skip(from / 64)
            {
                *word &= !mask(at, from, end);
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
        self.words().iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        let [first, second] = self.few;
        first | second == 0 && self.many.is_empty()
    }

    /// The least number.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.words();
        let (mut at, mut left) = (0, words[0]);
        std::iter::from_fn(move || {
            while left == 0 {
                at += 1;
                left = *words.get(at)?;
            }
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            Some(at * 64 + bit)
        })
    }

    /// Adds every number of `other`.
    pub fn add(&mut self, other: &Self) {
        self.reach(other.words().len());
        for (word, more) in self.words_mut().iter_mut().zip(other.words()) {
            *word |= more;
        }
    }

    /// Takes out every number of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, less) in self.words_mut().iter_mut().zip(other.words()) {
            *word &= !less;
        }
        self.trim();
    }

    /// Keeps only what is also in `other`.
    pub fn keep(&mut self, other: &Self) {
        let theirs = other.words();
        self.many.truncate(theirs.len());
        for (word, mask) in self.words_mut().iter_mut().zip(theirs) {
            *word &= mask;
        }
        self.trim();
    }

    /// Whether the two share a number.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.words().iter().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// Whether every number of `other` is in it.
    pub fn holds(&self, other: &Self) -> bool {
        let (own, theirs) = (self.words(), other.words());
        theirs.iter().zip(own).all(|(theirs, own)| theirs & !own == 0)
            && theirs.iter().skip(own.len()).all(|word| *word == 0)
    }

    /// Whether at least `least` numbers are in both.
    pub(crate) fn shares_at_least(&self, other: &Self, least: usize) -> bool {
        self.n_shared_below(other, least).is_none()
    }

    /// How many numbers are in both, if that is fewer than `least`.
    pub(crate) fn n_shared_below(&self, other: &Self, least: usize) -> Option<usize> {
        // A good many words at a time: whether it is enough is asked rarely, what counts is counting.
        const STEP: usize = 16;
        let (own, theirs) = (self.words().chunks(STEP), other.words().chunks(STEP));
        let mut found = 0;
        for (own, theirs) in own.zip(theirs) {
            if least <= found {
                return None;
            }
            let both = own.iter().zip(theirs).map(|(a, b)| (a & b).count_ones());
            found += both.sum::<u32>() as usize;
        }
        (found < least).then_some(found)
    }

    /// The stretches of neighbouring numbers, ascending: the first and the last of each.
    pub(crate) fn stretches(&self) -> Stretches<'_> {
        let words = self.words();
        Stretches { words, at: 0, left: words[0] }
    }

    /// How many numbers lie in `from..to`.
    pub fn count_in(&self, from: usize, to: usize) -> usize {
        if to <= from {
            return 0;
        }
        let words = from / 64..=((to - 1) / 64).min(self.words().len() - 1);
        words.map(|at| (self.word(at) & mask(at, from, to)).count_ones() as usize).sum()
    }

    /// The words that aren't empty, with their places: a small part of a large set in short.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let words = (0..).zip(self.words());
        words.filter(|(_, bits)| **bits != 0).map(|(word, bits)| Part { word, bits: *bits })
    }

    /// Adds what the parts have.
    pub(crate) fn add_parts(&mut self, parts: impl Iterator<Item = Part>) {
        for Part { word, bits } in parts.filter(|part| part.bits != 0) {
            let at = word as usize;
            if self.words().len() <= at {
                self.reach(at + 1);
            }
            self.words_mut()[at] |= bits;
        }
    }

    /// Takes out what the parts have.
    pub(crate) fn subtract_parts<'a>(&mut self, parts: impl Iterator<Item = &'a Part>) {
        let words = self.words_mut();
        for Part { word, bits } in parts {
            if let Some(word) = words.get_mut(*word as usize) {
                *word &= !bits;
            }
        }
        self.trim();
    }

    /// What of a part is in it.
    pub(crate) fn bits_of(&self, part: Part) -> u64 {
        self.word(part.word as usize) & part.bits
    }

    const fn words(&self) -> &[u64] {
        if self.many.is_empty() { &self.few } else { self.many.as_slice() }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        if self.many.is_empty() { &mut self.few } else { &mut self.many }
    }

    fn word(&self, at: usize) -> u64 {
        self.words().get(at).copied().unwrap_or(0)
    }

    /// Makes room for so many words. Whoever calls it fills the last of them.
    fn reach(&mut self, n_words: usize) {
        if FEW < n_words && self.many.len() < n_words {
            if self.many.is_empty() {
                self.many.extend(std::mem::take(&mut self.few));
            }
            self.many.resize(n_words, 0);
        }
    }

    fn trim(&mut self) {
        while self.many.last() == Some(&0) {
            self.many.pop();
        }
        if !self.many.is_empty() && self.many.len() <= FEW {
            for (few, word) in self.few.iter_mut().zip(std::mem::take(&mut self.many)) {
                *few = word;
            }
        }
    }
}

/// One word of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) word: u32,
    pub(crate) bits: u64,
}

impl Part {
    /// Adds numbers to a list of parts, with neighbours in one.
    pub(crate) fn list(numbers: impl Iterator<Item = usize>, parts: &mut Vec<Self>) {
        let mut last = Self { word: 0, bits: 0 };
        for number in numbers {
            let word = u32::try_from(number / 64).unwrap_or(u32::MAX);
            if word != last.word {
                parts.extend((last.bits != 0).then_some(last));
                last = Self { word, bits: 0 };
            }
            last.bits |= 1 << (number % 64);
        }
        parts.extend((last.bits != 0).then_some(last));
    }
}

/// The stretches of neighbours in a set.
pub(crate) struct Stretches<'a> {
    words: &'a [u64],
    /// The word that is looked at.
    at: usize,
    /// What of it is still to come.
    left: u64,
}

impl Iterator for Stretches<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        while self.left == 0 {
            self.at += 1;
            self.left = *self.words.get(self.at)?;
        }
        let from = self.left.trailing_zeros();
        let first = self.at * 64 + from as usize;
        loop {
            // Filled up from below, what is left begins where the stretch ends.
            self.left |= self.left.wrapping_sub(1);
            let end = self.left.trailing_ones();
            self.left &= self.left.wrapping_add(1);
            let next = self.words.get(self.at + 1).copied().unwrap_or(0);
            if end < 64 || next & 1 == 0 {
                return Some((first, self.at * 64 + end as usize - 1));
            }
            (self.at, self.left) = (self.at + 1, next);
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
        prop::collection::btree_set(0..300_usize, 0..60)
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
            let mut rest = x.clone();
            rest.subtract_parts(y.parts().collect::<Vec<_>>().iter());
            prop_assert_eq!(&rest, &set(&(&a - &b)));
            let mut listed = vec![];
            Part::list(b.iter().copied(), &mut listed);
            prop_assert_eq!(&listed, &y.parts().collect::<Vec<_>>());
            let mut sum = x.clone();
            sum.add_parts(listed.into_iter());
            prop_assert_eq!(&sum, &set(&(&a | &b)));
            prop_assert_eq!(y.parts().any(|part| x.bits_of(part) != 0), !a.is_disjoint(&b));
            let in_both = a.intersection(&b).count();
            prop_assert_eq!(x.n_shared_below(&y, in_both + 1), Some(in_both));
            prop_assert!(x.shares_at_least(&y, in_both) && !x.shares_at_least(&y, in_both + 1));
            let mut whole = IndexSet::new();
            let mut before = None;
            for (first, last) in more.stretches() {
                prop_assert!(first <= last && before.is_none_or(|before| before + 1 < first));
                whole.insert_range(first, last + 1);
                before = Some(last);
            }
            prop_assert_eq!(&whole, &more);
            prop_assert_eq!(x.count_in(from, to), a.iter().filter(|n| (from..to).contains(*n)).count());
        }
    }
}
