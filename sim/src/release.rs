//! Which Slurm is modelled, where releases differ.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A release of Slurm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Release {
    /// 24.11, as in Debian 13.
    #[default]
    #[serde(rename = "24.11")]
    V24_11,
    /// 26.05.
    #[serde(rename = "26.05")]
    V26_05,
}

impl Release {
    /// Reads `24.11`.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::V24_11, Self::V26_05].into_iter().find(|release| release.as_str() == text)
    }

    /// `24.11`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V24_11 => "24.11",
            Self::V26_05 => "26.05",
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
