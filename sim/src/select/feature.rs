//! `--constraint`: features that a node must have.

/// A feature expression of plain names with `&` and `|`, read from left to right as Slurm does.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Features {
    terms: Vec<(Join, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Join {
    And,
    Or,
}

impl Features {
    /// `None` where it isn't plain names joined by `&` (or `,`) and `|`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut terms = vec![];
        let mut join = Join::And;
        let mut rest = text.trim();
        while !rest.is_empty() {
            let end = rest.find(['&', '|', ',']).unwrap_or(rest.len());
            let name = rest[..end].trim();
            if name.is_empty() || !name.chars().all(is_feature_char) {
                return None;
            }
            terms.push((join, name.to_owned()));
            join = if rest[end..].starts_with('|') { Join::Or } else { Join::And };
            let more = !rest[end..].is_empty();
            rest = rest.get(end + 1..).unwrap_or_default();
            if more && rest.is_empty() {
                return None;
            }
        }
        Some(Self { terms })
    }

    /// The names in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|(_, name)| name.as_str())
    }

    /// Whether a node with these features will do.
    pub(crate) fn matched_by(&self, features: &[String]) -> bool {
        self.terms.iter().fold(true, |so_far, (join, name)| {
            let has = features.contains(name);
            match join {
                Join::And => so_far && has,
                Join::Or => so_far || has,
            }
        })
    }
}

fn is_feature_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '=' | ':')
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
            ("[a|b]",       "a",       None),
            ("a*2",         "a",       None),
            ("a&",          "a",       None),
        ];
        for (text, features, matched) in rows {
            let features: Vec<_> = features.split_whitespace().map(String::from).collect();
            let found = Features::parse(text).map(|wanted| wanted.matched_by(&features));
            assert_eq!(found, matched, "{text}");
        }
    }
}
