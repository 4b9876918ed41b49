//! A set of completion indexes, written `0-3,5`.

use std::{collections::BTreeSet, fmt};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeSet<u64>);

impl Indexes {
    /// Reads `0-3,5`; what is no index, or none of the first so many, is left out.
    pub(super) fn parse(text: &str, completions: u64) -> Self {
        let ranges = text.split(',').filter(|part| !part.is_empty());
        let bounds = ranges.filter_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u64, u64) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            Some((from, to.min(completions.saturating_sub(1))))
        });
        let all = bounds.flat_map(|(from, to)| from..=to);
        Self(all.filter(|index| *index < completions).collect())
    }

    pub(super) fn contains(&self, index: u64) -> bool {
        self.0.contains(&index)
    }

    pub(super) fn insert(&mut self, index: u64) {
        self.0.insert(index);
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// How many are in both.
    pub(super) fn common(&self, other: &Self) -> u64 {
        self.0.intersection(&other.0).count() as u64
    }
}

impl FromIterator<u64> for Indexes {
    fn from_iter<T: IntoIterator<Item = u64>>(indexes: T) -> Self {
        Self(indexes.into_iter().collect())
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u64, u64)> = vec![];
        for index in &self.0 {
            match ranges.last_mut() {
                Some((_, to)) if *to + 1 == *index => *to = *index,
                _ => ranges.push((*index, *index)),
            }
        }
        let parts = ranges.iter().map(|(from, to)| match to - from {
            0 => from.to_string(),
            1 => format!("{from},{to}"),
            _ => format!("{from}-{to}"),
        });
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_ranges_and_read_back() {
        for (numbers, text) in [(vec![], ""), (vec![3], "3"), (vec![0, 1, 2, 5, 7, 8], "0-2,5,7,8")]
        {
            let set: Indexes = numbers.into_iter().collect();
            assert_eq!(set.to_string(), text);
            assert_eq!(Indexes::parse(text, 9), set);
        }
        assert_eq!(Indexes::parse("0-99,x,200", 3).to_string(), "0-2");
    }
}
