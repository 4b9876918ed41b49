//! The versions of the API, and which release serves which.

use drawbridge_sim::Release;

/// A version of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// v0.0.40, of 24.11 alone.
    V40,
    /// v0.0.41, of 24.11 alone.
    V41,
    /// v0.0.42, of both.
    V42,
    /// v0.0.43, of 26.05 alone.
    V43,
    /// v0.0.44, of 26.05 alone.
    V44,
    /// v0.0.45, of 26.05 alone.
    V45,
}

impl Version {
    /// Those that a release serves, oldest first.
    pub(crate) const fn served(release: Release) -> &'static [Self] {
        match release {
            Release::V24_11 => &[Self::V40, Self::V41, Self::V42],
            Release::V26_05 => &[Self::V42, Self::V43, Self::V44, Self::V45],
        }
    }

    /// As it is written in paths.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::V40 => "v0.0.40",
            Self::V41 => "v0.0.41",
            Self::V42 => "v0.0.42",
            Self::V43 => "v0.0.43",
            Self::V44 => "v0.0.44",
            Self::V45 => "v0.0.45",
        }
    }

    /// The version of this name, if the release serves it.
    pub(crate) fn find(release: Release, name: &str) -> Option<Self> {
        Self::served(release).iter().copied().find(|version| version.name() == name)
    }
}
