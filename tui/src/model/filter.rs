//! Which rows to show: what stands behind `/`.
//!
//! ```text
//!   ring wait      rows that match both, each a regular expression, whatever the case
//!   ring !Running  the second not
//!   -f mpj0        letters in this order, others between them
//!   -l app=web     labels, as kubectl has them
//! ```

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

/// What [`Filter::new`] understands.
pub(crate) const EXAMPLES: &str = "regex, !not this, -f fuzzy, -l label=value";

/// A filter that was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    text: String,
    terms: Vec<Term>,
    /// What is wrong with it: it is then taken literally.
    pub(crate) wrong: Option<String>,
}

#[derive(Clone, Debug)]
enum Term {
    Matches(Regex),
    DoesNot(Regex),
    Fuzzy(Vec<char>),
    Labels(Vec<Requirement>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Is(String, String),
    IsNot(String, String),
    Has(String),
    HasNot(String),
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// What a filter looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hay<'a> {
    /// Everything that a row says, a line each.
    pub(crate) text: &'a str,
    /// Its labels, if it can have any.
    pub(crate) labels: Option<&'a BTreeMap<String, String>>,
}

impl Filter {
    /// Reads what somebody typed. Anything is a filter; a bad expression is taken as it stands.
    pub(crate) fn new(text: &str) -> Self {
        let text = text.trim();
        let mut filter = Self { text: text.to_owned(), ..Self::default() };
        if let Some(letters) = text.strip_prefix("-f ") {
            let letters = letters.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
            filter.terms.push(Term::Fuzzy(letters));
        } else if let Some(selector) = text.strip_prefix("-l ") {
            filter.terms.push(Term::Labels(selector.split(',').filter_map(requirement).collect()));
        } else {
            for word in text.split_whitespace() {
                filter.word(word);
            }
        }
        filter
    }

    fn word(&mut self, word: &str) {
        let (not, pattern) = match word.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        if pattern.is_empty() {
            return;
        }
        let regex = build(pattern).or_else(|| {
            self.wrong = Some(format!("`{pattern}` is no regular expression: taken as it stands"));
            build(&regex::escape(pattern))
        });
        let term = regex.map(|regex| if not { Term::DoesNot(regex) } else { Term::Matches(regex) });
        self.terms.extend(term);
    }

    /// What was typed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether everything passes.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a row passes.
    pub(crate) fn passes(&self, hay: Hay<'_>) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Matches(regex) => regex.is_match(hay.text),
            Term::DoesNot(regex) => !regex.is_match(hay.text),
            Term::Fuzzy(letters) => hay.text.lines().any(|line| in_order(letters, line)),
            Term::Labels(all) => {
                hay.labels.is_some_and(|labels| all.iter().all(|it| it.holds(labels)))
            }
        })
    }
}

fn build(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).case_insensitive(true).multi_line(true).build().ok()
}

fn in_order(letters: &[char], line: &str) -> bool {
    let mut line = line.chars().flat_map(char::to_lowercase);
    letters.iter().all(|letter| line.any(|c| c == *letter))
}

fn requirement(text: &str) -> Option<Requirement> {
    let text = text.trim();
    let pair = |it: (&str, &str)| (it.0.trim().to_owned(), it.1.trim().to_owned());
    if text.is_empty() {
        None
    } else if let Some((key, value)) = text.split_once("!=").map(pair) {
        Some(Requirement::IsNot(key, value))
    } else if let Some((key, value)) = text.split_once("==").or(text.split_once('=')).map(pair) {
        Some(Requirement::Is(key, value))
    } else if let Some(key) = text.strip_prefix('!') {
        Some(Requirement::HasNot(key.to_owned()))
    } else {
        Some(Requirement::Has(text.to_owned()))
    }
}

impl Requirement {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Is(key, value) => labels.get(key) == Some(value),
            Self::IsNot(key, value) => labels.get(key) != Some(value),
            Self::Has(key) => labels.contains_key(key),
            Self::HasNot(key) => !labels.contains_key(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_passes_if_everything_that_was_typed_is_so() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        let text = "slurm-bridge\nmpi-job-0\nPending\nResources";
        #[rustfmt::skip]
        let rows = [
            ("",               true),
            ("MPI",            true),
            ("mpi Running",    false),
            ("mpi !Running",   true),
            ("!mpi",           false),
            ("job-[0-1]$",     true),
            ("^mpi",           true),
            ("(",              false),
            ("!(",             true),
            ("-f mj0",         true),
            ("-f 0jm",         false),
            ("-l app=web",     true),
            ("-l app=db",      false),
            ("-l app!=db,app", true),
            ("-l !app",        false),
            ("-l tier",        false),
        ];
        for (typed, passes) in rows {
            let hay = Hay { text, labels: Some(&labels) };
            assert_eq!(Filter::new(typed).passes(hay), passes, "{typed}");
        }
        let unlabelled = Hay { text, labels: None };
        assert!(!Filter::new("-l app").passes(unlabelled));
        assert!(Filter::new("(").wrong.is_some());
    }
}
