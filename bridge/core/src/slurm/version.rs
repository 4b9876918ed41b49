//! The versions of slurmrestd's API that we speak.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One version of the API. Slurm 24.11 serves v0.0.40 to v0.0.42, 26.05 v0.0.42 to v0.0.45.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ApiVersion {
    /// v0.0.40
    #[serde(rename = "v0.0.40")]
    V40,
    /// v0.0.41
    #[serde(rename = "v0.0.41")]
    V41,
    /// v0.0.42
    #[serde(rename = "v0.0.42")]
    V42,
    /// v0.0.43
    #[serde(rename = "v0.0.43")]
    V43,
    /// v0.0.44
    #[serde(rename = "v0.0.44")]
    V44,
    /// v0.0.45
    #[serde(rename = "v0.0.45")]
    V45,
}

/// The text isn't a version that we speak.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version of slurmrestd's API that we speak: v0.0.40 to v0.0.45")]
pub struct UnknownVersion(String);

impl ApiVersion {
    /// All of them, oldest first.
    pub const ALL: [Self; 6] = [Self::V40, Self::V41, Self::V42, Self::V43, Self::V44, Self::V45];
    /// The newest.
    pub const NEWEST: Self = Self::V45;

    /// As it stands in a path: `v0.0.42`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V40 => "v0.0.40",
            Self::V41 => "v0.0.41",
            Self::V42 => "v0.0.42",
            Self::V43 => "v0.0.43",
            Self::V44 => "v0.0.44",
            Self::V45 => "v0.0.45",
        }
    }

    /// The version before this one.
    pub fn older(self) -> Option<Self> {
        Self::ALL.into_iter().rev().find(|version| *version < self)
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ApiVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let same = |version: &Self| {
            let full = version.as_str();
            text == full || text == &full[1..]
        };
        Self::ALL.into_iter().find(same).ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_down_from_the_newest() {
        let all: Vec<_> = std::iter::successors(Some(ApiVersion::NEWEST), |v| v.older()).collect();
        assert_eq!(all, ApiVersion::ALL.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn a_version_is_read_as_it_is_written() {
        for version in ApiVersion::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
            assert_eq!(serde_json::to_value(version).unwrap(), version.as_str());
        }
        assert_eq!("0.0.42".parse(), Ok(ApiVersion::V42));
        assert!("v0.0.39".parse::<ApiVersion>().is_err());
    }
}
