//! Slurm's short form for many node names.
//!
//! ```text
//!   expand:  rack[1-2]n[01-03],login  ──▶  rack1n01 rack1n02 … rack2n03 login
//!   fold:    n01 n02 n03 n7           ──▶  n[01-03,7]
//! ```
//!
//! Digits keep their leading zeros. [`fold_hostlist`] keeps the order, so expanding what it wrote
//! gives the names back.

/// Most names that one hostlist may stand for: far above any cluster, far below our memory.
const NAMES_MAX: usize = 1 << 17;

/// Why a hostlist can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostlistError {
    /// A bracket without its partner.
    #[error("`{0}` has a bracket without its partner")]
    Unbalanced(String),
    /// Not a number or a range of numbers between brackets.
    #[error("`{0}` is no number and no range of numbers")]
    BadRange(String),
    /// A range that runs downwards.
    #[error("the range `{0}` runs downwards")]
    Backwards(String),
    /// More names than anybody means.
    #[error("`{0}` stands for more than {NAMES_MAX} names")]
    TooMany(String),
    /// A name that is empty or holds a character that no host name has.
    #[error("`{0}` is no host name")]
    BadName(String),
}

/// Every name that `text` stands for, in order. An empty text stands for none.
pub fn expand_hostlist(text: &str) -> Result<Vec<String>, HostlistError> {
    if text.trim().is_empty() {
        return Ok(vec![]);
    }
    let mut names = vec![];
    for word in split_outside_brackets(text)? {
        names.extend(expand_word(word.trim())?);
        if NAMES_MAX < names.len() {
            return Err(HostlistError::TooMany(text.into()));
        }
    }
    Ok(names)
}

/// The short form of `names`: neighbours with one prefix share a bracket.
pub fn fold_hostlist(names: &[impl AsRef<str>]) -> String {
    let mut groups: Vec<Group<'_>> = vec![];
    for name in names {
        let (prefix, digits) = split_digits(name.as_ref());
        match groups.last_mut() {
            Some(group) if group.prefix == prefix && !digits.is_empty() && group.numbered() => {
                group.add(digits);
            }
            _ => groups.push(Group::new(prefix, digits)),
        }
    }
    let folded: Vec<_> = groups.iter().map(Group::render).collect();
    folded.join(",")
}

/// Names that share a prefix: the ranges of digits that follow it.
struct Group<'a> {
    prefix: &'a str,
    ranges: Vec<(&'a str, u64)>,
}

impl<'a> Group<'a> {
    fn new(prefix: &'a str, digits: &'a str) -> Self {
        let ranges = match digits.parse() {
            Ok(number) => vec![(digits, number)],
            Err(_) => vec![],
        };
        Self { prefix, ranges }
    }

    fn numbered(&self) -> bool {
        !self.ranges.is_empty()
    }

    fn add(&mut self, digits: &'a str) {
        let Ok(number) = digits.parse::<u64>() else {
            return;
        };
        if let Some((first, last)) = self.ranges.last_mut()
            && last.checked_add(1) == Some(number)
            && pad(number, first.len()) == digits
        {
            *last = number;
            return;
        }
        self.ranges.push((digits, number));
    }

    fn render(&self) -> String {
        match self.ranges.as_slice() {
            [] => self.prefix.into(),
            [(first, last)] if first.parse() == Ok(*last) => format!("{}{first}", self.prefix),
            ranges => {
                let inner: Vec<_> = ranges.iter().map(|(a, b)| render_range(a, *b)).collect();
                format!("{}[{}]", self.prefix, inner.join(","))
            }
        }
    }
}

fn render_range(first: &str, last: u64) -> String {
    if first.parse() == Ok(last) {
        first.into()
    } else {
        format!("{first}-{}", pad(last, first.len()))
    }
}

fn pad(number: u64, width: usize) -> String {
    format!("{number:0width$}")
}

/// The name and the digits at its end; no digits where they don't fit a number.
fn split_digits(name: &str) -> (&str, &str) {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[prefix.len()..];
    if 18 < digits.len() || prefix.is_empty() { (name, "") } else { (prefix, digits) }
}

fn split_outside_brackets(text: &str) -> Result<Vec<&str>, HostlistError> {
    let (mut words, mut inside, mut from) = (vec![], false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' if inside => return Err(HostlistError::Unbalanced(text.into())),
            '[' => inside = true,
            ']' if !inside => return Err(HostlistError::Unbalanced(text.into())),
            ']' => inside = false,
            ',' if !inside => {
                words.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(HostlistError::Unbalanced(text.into()));
    }
    words.push(&text[from..]);
    Ok(words)
}

fn expand_word(word: &str) -> Result<Vec<String>, HostlistError> {
    let Some((prefix, rest)) = word.split_once('[') else {
        return if is_name(word) {
            Ok(vec![word.into()])
        } else {
            Err(HostlistError::BadName(word.into()))
        };
    };
    let (inner, rest) =
        rest.split_once(']').ok_or_else(|| HostlistError::Unbalanced(word.into()))?;
    if !prefix.chars().all(is_name_char) {
        return Err(HostlistError::BadName(word.into()));
    }
    let middles = expand_ranges(inner)?;
    let tails = if rest.is_empty() { vec![String::new()] } else { expand_word(rest)? };
    if NAMES_MAX < middles.len().saturating_mul(tails.len()) {
        return Err(HostlistError::TooMany(word.into()));
    }
    let names = middles
        .iter()
        .flat_map(|middle| tails.iter().map(move |tail| format!("{prefix}{middle}{tail}")));
    Ok(names.collect())
}

fn expand_ranges(inner: &str) -> Result<Vec<String>, HostlistError> {
    let mut all = vec![];
    for range in inner.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (number(first, range)?, number(last, range)?);
        if to < from {
            return Err(HostlistError::Backwards(range.into()));
        }
        if NAMES_MAX as u64 <= to - from || NAMES_MAX < all.len() {
            return Err(HostlistError::TooMany(inner.into()));
        }
        all.extend((from..=to).map(|number| pad(number, first.trim().len())));
    }
    Ok(all)
}

fn number(text: &str, range: &str) -> Result<u64, HostlistError> {
    let text = text.trim();
    let sound = !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten().ok_or_else(|| HostlistError::BadRange(range.into()))
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_name_char)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostlists_expand_as_slurm_expands_them() {
        #[rustfmt::skip]
        let rows = [
            ("",                     ""),
            ("n1",                   "n1"),
            ("n[1-3]",               "n1 n2 n3"),
            ("n[01-03,7]",           "n01 n02 n03 n7"),
            ("n[9-11]",              "n9 n10 n11"),
            ("n[098-101]",           "n098 n099 n100 n101"),
            ("a,b[1,3],c",           "a b1 b3 c"),
            ("r[1-2]n[01-02]-ib",    "r1n01-ib r1n02-ib r2n01-ib r2n02-ib"),
            ("gpu-node.cluster",     "gpu-node.cluster"),
        ];
        for (text, names) in rows {
            assert_eq!(expand_hostlist(text).unwrap().join(" "), names, "{text}");
        }
    }

    #[test]
    fn hostlists_fold_as_slurm_folds_them() {
        #[rustfmt::skip]
        let rows = [
            ("",                       ""),
            ("n1",                     "n1"),
            ("n001 n002 n003",         "n[001-003]"),
            ("n001 n003 n004",         "n[001,003-004]"),
            ("n9 n10 n11",             "n[9-11]"),
            ("n09 n10 n7",             "n[09-10,7]"),
            ("a1 b1 b2 login",         "a1,b[1-2],login"),
            ("worker-a worker-b",      "worker-a,worker-b"),
            ("compute-0 compute-2",    "compute-[0,2]"),
        ];
        for (names, folded) in rows {
            let names: Vec<_> = names.split_whitespace().collect();
            assert_eq!(fold_hostlist(&names), folded);
        }
    }

    #[test]
    fn bad_hostlists_are_refused_with_their_reason() {
        #[rustfmt::skip]
        let rows = [
            ("n[1-3",            "`n[1-3` has a bracket without its partner"),
            ("n1-3]",            "`n1-3]` has a bracket without its partner"),
            ("n[a-b]",           "`a-b` is no number and no range of numbers"),
            ("n[]",              "`` is no number and no range of numbers"),
            ("n[3-1]",           "the range `3-1` runs downwards"),
            ("n[1-999999999]",   "`1-999999999` stands for more than 131072 names"),
            ("n[1-999]m[1-999]", "`n[1-999]m[1-999]` stands for more than 131072 names"),
            ("n1,,n2",           "`` is no host name"),
            ("n 1",              "`n 1` is no host name"),
        ];
        for (text, error) in rows {
            assert_eq!(expand_hostlist(text).unwrap_err().to_string(), error);
        }
    }

    proptest! {
        #[test]
        fn what_was_folded_expands_to_the_same_names(
            names in prop::collection::vec("[a-z]{1,3}-?(0{0,2}[0-9]{1,4})?", 0..40)
        ) {
            prop_assert_eq!(expand_hostlist(&fold_hostlist(&names)).unwrap(), names);
        }

        #[test]
        fn no_text_makes_expansion_panic(text in "[n\\[\\]0-9,a-]{0,24}") {
            let _ = expand_hostlist(&text);
        }
    }
}
