//! Names with `*` in them.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// A name in which `*` stands for any text: `rank-*`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Glob(String);

impl Glob {
    /// Whether the name fits.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return rest.is_empty();
        };
        for part in parts {
            let Some(at) = rest.find(part) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }

    /// The text with its stars.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Glob {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Pods by `namespace/name`, each with `*`; a name alone is in any namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PodGlob(String);

impl PodGlob {
    /// Whether the pod fits.
    pub fn matches(&self, namespace: &str, name: &str) -> bool {
        match self.0.split_once('/') {
            Some((ns, pod)) => Glob::from(ns).matches(namespace) && Glob::from(pod).matches(name),
            None => Glob::from(self.0.as_str()).matches(name),
        }
    }
}

impl fmt::Display for PodGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text_and_nothing_else_does() {
        for (glob, name, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a", "ba", false),
            ("a*", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*bc", "abc", true),
            ("ab*bc", "abc", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a.c", "abc", false),
        ] {
            assert_eq!(Glob::from(glob).matches(name), fits, "{glob} {name}");
        }
    }

    #[test]
    fn a_pod_glob_without_a_namespace_means_any() {
        let any = PodGlob("rank-*".into());
        let one = PodGlob("mpi/rank-*".into());
        assert!(any.matches("mpi", "rank-0") && any.matches("other", "rank-0"));
        assert!(one.matches("mpi", "rank-0") && !one.matches("other", "rank-0"));
    }
}
