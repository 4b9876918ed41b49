//! Licences: counts of something that isn't on any node, `Licenses=fluent:30,matlab`.

use std::{collections::BTreeMap, fmt};

/// What a job takes of each licence, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LicenseAsk(BTreeMap<String, u64>);

/// The licences of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Licenses {
    total: BTreeMap<String, u64>,
    used: BTreeMap<String, u64>,
}

impl LicenseAsk {
    /// Reads `fluent:2,matlab`, also with `=` and `;`; `None` if it can't be read.
    pub fn parse(text: &str) -> Option<Self> {
        let mut asked = BTreeMap::new();
        for word in text.split([',', ';']).filter(|word| !word.is_empty()) {
            let (name, count) = match word.find([':', '=']) {
                Some(at) => (&word[..at], word[at + 1..].parse().ok()?),
                None => (word, 1),
            };
            if name.is_empty() || name.contains(char::is_whitespace) {
                return None;
            }
            let sum: &mut u64 = asked.entry(name.to_owned()).or_default();
            *sum = sum.checked_add(count)?;
        }
        Some(Self(asked))
    }

    /// Whether it takes none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both take the same.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.0.keys().any(|name| other.0.contains_key(name))
    }

    /// Names and counts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

/// `fluent:2,matlab:1`.
impl fmt::Display for LicenseAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.iter().map(|(name, count)| format!("{name}:{count}")).collect();
        f.pad(&words.join(","))
    }
}

impl Licenses {
    pub(crate) fn new(configured: &LicenseAsk) -> Self {
        Self { total: configured.0.clone(), used: BTreeMap::new() }
    }

    /// The same, with nothing used.
    pub(crate) fn unused(&self) -> Self {
        Self { total: self.total.clone(), used: BTreeMap::new() }
    }

    /// Whether there are so many at all.
    pub(crate) fn could_give(&self, ask: &LicenseAsk) -> bool {
        ask.iter().all(|(name, count)| self.total.get(name).is_some_and(|total| count <= *total))
    }

    /// Whether so many are free.
    pub(crate) fn can_give(&self, ask: &LicenseAsk) -> bool {
        ask.iter().all(|(name, count)| count <= self.free(name))
    }

    /// How many are free.
    pub fn free(&self, name: &str) -> u64 {
        let of = |map: &BTreeMap<String, u64>| map.get(name).copied().unwrap_or(0);
        of(&self.total).saturating_sub(of(&self.used))
    }

    /// Names, totals and what is used of them, as `scontrol show licenses` lists them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let used = |name: &str| self.used.get(name).copied().unwrap_or(0);
        self.total.iter().map(move |(name, total)| (name.as_str(), *total, used(name)))
    }

    pub(crate) fn take(&mut self, ask: &LicenseAsk) {
        for (name, count) in ask.iter() {
            *self.used.entry(name.into()).or_default() += count;
        }
    }

    pub(crate) fn give_back(&mut self, ask: &LicenseAsk) {
        for (name, count) in ask.iter() {
            let used = self.used.entry(name.into()).or_default();
            *used = used.saturating_sub(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_read_in_every_spelling() {
        #[rustfmt::skip]
        let rows = [
            ("fluent",             Some("fluent:1")),
            ("fluent:2,matlab",    Some("fluent:2,matlab:1")),
            ("fluent=2;matlab:3",  Some("fluent:2,matlab:3")),
            ("a:1,a:2",            Some("a:3")),
            ("a:x",                None),
            ("a b",                None),
        ];
        for (text, expected) in rows {
            let found = LicenseAsk::parse(text).map(|ask| ask.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
