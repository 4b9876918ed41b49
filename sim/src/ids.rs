//! Ids are types: a job is not a node is not a partition.
//!
//! A Kubernetes node isn't here. It has another name and another type, in `bridge/core`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares a name as a type of its own: cheap to clone, ordered, printed as it is.
#[macro_export]
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            ::serde::Serialize, ::serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(::std::sync::Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self(name.into())
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self(name.into())
            }
        }

        impl ::std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

name_type! {
    /// A node as Slurm names it. A Kubernetes node is another type: the two names differ.
    SlurmNode
}
name_type! {
    /// A Slurm partition.
    PartitionName
}
name_type! {
    /// A user as Slurm knows them.
    UserName
}
name_type! {
    /// An account in Slurm's accounting.
    AccountName
}

/// A Slurm job's number. Numbers are reused after state loss: on its own it identifies nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u32);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl UserName {
    /// A user number made from the name: there is no passwd file here, and it must always be the
    /// same.
    pub fn number(&self) -> u64 {
        match self.as_str() {
            "root" => 0,
            "slurm" => 64_030,
            number if number.parse::<u32>().is_ok() => number.parse().unwrap_or(0),
            name => 1_000 + crate::fnv1a(name.as_bytes()) % 50_000,
        }
    }
}
