//! `--constraint`: features that nodes must have.
//!
//! ```text
//!   a&b  a|b     every node, read from left to right; (…) first
//!   [a|b]        all nodes a, or all nodes b
//!   a*2          at least two nodes with a
//!   [a*2&b*1]    two nodes with a, and another with b
//! ```

/// A feature expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Features {
    terms: Vec<Term>,
}

/// One name and what joins it to the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    name: String,
    /// 0 is not counted.
    count: u32,
    in_parens: bool,
    in_brackets: bool,
    join: Join,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Join {
    And,
    Or,
    /// `|` in brackets: one of them for all nodes.
    OneForAll,
    /// `&` in brackets: nodes of each.
    Each,
    End,
}

impl Join {
    const fn is_bracketed(self) -> bool {
        matches!(self, Self::OneForAll | Self::Each)
    }
}

/// A part of the expression that is looked at by itself: a name, or names in parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    terms: &'a [Term],
    /// So many nodes have it; 0 is not counted.
    pub(crate) count: u32,
    /// The next one is for other nodes.
    pub(crate) each: bool,
    bracketed: bool,
}

impl Features {
    /// `None` where it isn't an expression that slurmctld takes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.replace(',', "&");
        let mut reader = Reader { rest: &text, parens: false, brackets: 0, closed: false };
        let mut terms = vec![];
        while !reader.rest.is_empty() {
            terms.push(reader.term()?);
        }
        let sound = reader.balanced() && sound(&terms);
        sound.then_some(Self { terms })
    }

    /// The names in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| term.name.as_str())
    }

    /// Whether nodes are counted by feature.
    pub(crate) fn counts(&self) -> bool {
        self.terms.iter().any(|term| term.count != 0)
    }

    /// Whether there are brackets: nodes by feature.
    pub(crate) fn alternatives(&self) -> bool {
        self.terms.iter().any(|term| term.join.is_bracketed())
    }

    /// Whether nodes of each of several features are wanted.
    pub(crate) fn each(&self) -> bool {
        self.terms.iter().any(|term| term.join == Join::Each)
    }

    /// Whether a node with these features will do, as far as that can be said of one node alone:
    /// brackets aside, and anything goes where nodes are counted.
    pub(crate) fn matched_by(&self, features: &[String]) -> bool {
        if self.counts() {
            return true;
        }
        let mut result = true;
        let mut join = Join::And;
        let mut terms = self.terms.as_slice();
        while let Some(first) = terms.first() {
            let n = if first.in_parens {
                terms.iter().position(|term| !term.in_parens).map_or(terms.len(), |at| at + 1)
            } else {
                1
            };
            let (group, rest) = terms.split_at(n);
            let last = group.last().map_or(Join::End, |term| term.join);
            if !last.is_bracketed() && !join.is_bracketed() {
                let has = matches(group, features);
                result = if join == Join::Or { result || has } else { result && has };
            }
            join = last;
            terms = rest;
        }
        result
    }

    /// Its parts, each by itself, in order.
    pub(crate) fn parts(&self) -> Vec<Group<'_>> {
        let mut parts = vec![];
        let (mut first, mut before) = (0, Join::And);
        for (at, term) in self.terms.iter().enumerate().filter(|(_, term)| !term.in_parens) {
            parts.push(Group {
                terms: &self.terms[first..=at],
                count: term.count,
                each: term.join == Join::Each,
                bracketed: term.join.is_bracketed() || before.is_bracketed(),
            });
            (first, before) = (at + 1, term.join);
        }
        parts
    }

    /// The parts in brackets.
    pub(crate) fn brackets(&self) -> Vec<Group<'_>> {
        self.parts().into_iter().filter(|part| part.bracketed).collect()
    }
}

impl Group<'_> {
    pub(crate) fn matched_by(&self, features: &[String]) -> bool {
        matches(self.terms, features)
    }
}

/// Plain names with `&` and `|`, from left to right.
fn matches(terms: &[Term], features: &[String]) -> bool {
    let mut join = Join::And;
    terms.iter().fold(true, |so_far, term| {
        let has = features.contains(&term.name);
        let result = if join == Join::Or { so_far || has } else { so_far && has };
        join = term.join;
        result
    })
}

/// Counts go with `[a&b]`, never with `[a|b]`; outside brackets they go with a single feature.
fn sound(terms: &[Term]) -> bool {
    let mut before = Join::And;
    let in_order = terms.iter().all(|term| {
        let counted = term.count != 0;
        let sound = match (before, term.join) {
            _ if term.in_parens => !counted,
            (_, Join::Each) | (Join::Each, _) => counted,
            (_, Join::OneForAll) | (Join::OneForAll, _) => !counted,
            _ => true,
        };
        before = term.join;
        sound
    });
    let loose = terms.iter().any(|term| term.count != 0 && !term.in_brackets);
    in_order && (terms.len() == 1 || !loose)
}

struct Reader<'a> {
    rest: &'a str,
    parens: bool,
    brackets: u32,
    closed: bool,
}

impl Reader<'_> {
    fn balanced(&self) -> bool {
        !self.parens && (self.brackets == 0 || self.closed)
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn in_brackets(&self) -> bool {
        self.brackets == 1 && !self.closed
    }

    fn term(&mut self) -> Option<Term> {
        if self.eat('[') {
            (self.brackets == 0 && !self.parens).then_some(())?;
            self.brackets = 1;
        }
        if self.eat('(') {
            (!self.parens).then_some(())?;
            self.parens = true;
        }
        let end = self.rest.find(['&', '|', '[', ']', '(', ')', '*']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        (!name.is_empty()).then_some(())?;
        self.rest = rest;
        let mut count = self.count()?;
        let closes = self.eat(')');
        if closes {
            (self.parens && count == 0).then_some(())?;
            self.parens = false;
            count = self.count()?;
        }
        let in_parens = self.parens;
        let in_brackets = self.in_brackets();
        if self.eat(']') {
            (in_brackets && !in_parens).then_some(())?;
            self.closed = true;
        }
        let join = self.join(in_parens)?;
        Some(Term { name: name.into(), count, in_parens, in_brackets, join })
    }

    /// `*2`, if it is there.
    fn count(&mut self) -> Option<u32> {
        if !self.eat('*') {
            return Some(0);
        }
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok().filter(|count| *count != 0)
    }

    fn join(&mut self, in_parens: bool) -> Option<Join> {
        if self.rest.is_empty() {
            return Some(Join::End);
        }
        let and = self.eat('&');
        if !and && !self.eat('|') {
            return None;
        }
        (!self.rest.is_empty()).then_some(())?;
        Some(match (and, in_parens, self.in_brackets()) {
            (true, false, true) => Join::Each,
            (false, false, true) => Join::OneForAll,
            (true, _, _) => Join::And,
            (false, _, _) => Join::Or,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_nodes_from_left_to_right() {
        #[rustfmt::skip]
        let rows = [
            // expression   features   matched
            ("",            "",        Some(true)),
            ("a",           "a b",     Some(true)),
            ("a",           "b",       Some(false)),
            ("a&b",         "a b",     Some(true)),
            ("a,b",         "a",       Some(false)),
            ("a|b",         "b",       Some(true)),
            ("a|b&c",       "a",       Some(false)),
            ("a&(b|c)",     "a c",     Some(true)),
            ("(a|b)&c",     "b",       Some(false)),
            ("c&[a|b]",     "c",       Some(true)),
            ("c&[a|b]",     "a",       Some(false)),
            ("[a|b]",       "x",       Some(true)),
            ("a*2",         "a",       Some(true)),
            ("a&",          "a",       None),
            ("[a|b",        "a",       None),
            ("a*0",         "a",       None),
            ("a*2&b",       "a",       None),
            ("[a&b]",       "a",       None),
            ("[a*1|b]",     "a",       None),
        ];
        for (text, features, matched) in rows {
            let features: Vec<_> = features.split_whitespace().map(String::from).collect();
            let found = Features::parse(text).map(|wanted| wanted.matched_by(&features));
            assert_eq!(found, matched, "{text}");
        }
    }

    #[test]
    fn what_stands_in_brackets_is_looked_at_by_itself() {
        #[rustfmt::skip]
        let rows = [
            // expression          parts          those in brackets
            ("a&b",               "a b",          ""),
            ("a*2",               "a*2",          ""),
            ("[a|b]",             "a b",          "a b"),
            ("c&[a|b]",           "c a b",        "a b"),
            ("[a*2&b*1]",         "a*2! b*1",     "a*2! b*1"),
            ("[(a&b)*2&c*1]",     "a+b*2! c*1",   "a+b*2! c*1"),
            ("[(a&b)|(c|d)]",     "a+b c+d",      "a+b c+d"),
        ];
        let words = |groups: Vec<Group<'_>>| {
            let words = groups.iter().map(|group| {
                let names: Vec<_> = group.terms.iter().map(|term| term.name.as_str()).collect();
                let count =
                    if group.count == 0 { String::new() } else { format!("*{}", group.count) };
                format!("{}{count}{}", names.join("+"), if group.each { "!" } else { "" })
            });
            words.collect::<Vec<_>>().join(" ")
        };
        for (text, parts, brackets) in rows {
            let features = Features::parse(text).unwrap();
            assert_eq!(words(features.parts()), parts, "{text}");
            assert_eq!(words(features.brackets()), brackets, "{text}");
        }
    }
}
