//! A reply of slurmrestd: what all of them have around what was asked for.
//!
//! ```text
//!   {"jobs": [ … ], "meta": {"slurm": {"release": "26.05.5"}}, "errors": [], "warnings": []}
//! ```

mod infinity;
mod sieve;

use std::fmt;

use drawbridge_core::SlurmFault;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::types::wire;

pub(crate) use sieve::Sieve;

/// What came back.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// HTTP status.
    pub status: u16,
    /// What was in it.
    pub body: Body<'a>,
}

/// The body of a reply, as it came or already read. A text that isn't JSON is a `Value::String`.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// As it came.
    Bytes(&'a [u8]),
    /// Already read.
    Json(&'a Value),
}

/// An answer, and what came with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered<T> {
    /// What was asked for.
    pub value: T,
    /// What slurmrestd remarks.
    pub warnings: Vec<String>,
    /// Who answered.
    pub meta: Meta,
}

wire! {
    /// Who answered.
    Meta {
        slurm: MetaSlurm,
    }

    /// The Slurm that answered.
    MetaSlurm {
        /// `24.11.5`
        release: String,
        cluster: String,
    }

    /// What surrounds an answer.
    Envelope {
        meta: Meta,
        errors: Vec<ReplyError>,
        warnings: Vec<ReplyWarning>,
    }

    /// Something that went wrong.
    ReplyError {
        description: String,
        error_number: i64,
        error: String,
        source: String,
    }

    /// Something worth a remark.
    ReplyWarning {
        description: String,
        source: String,
    }
}

/// What is wrong with a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled(String);

impl Garbled {
    /// Says which part is wrong and what was expected there.
    pub(crate) fn new(part: &str, expected: &str) -> Self {
        Self(format!("`{part}` isn't {expected}"))
    }

    /// Says inside what the part lies.
    pub(crate) fn within(self, whole: impl fmt::Display) -> Self {
        Self(format!("{whole}: {}", self.0))
    }
}

impl From<Garbled> for SlurmFault {
    fn from(Garbled(why): Garbled) -> Self {
        Self::Unintelligible { why }
    }
}

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Reply<'_> {
    /// Whether the status is one of success.
    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Body<'_> {
    /// The body as what it should be. Keys that we don't know are passed over.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Garbled> {
        match self {
            Self::Bytes(bytes) => serde_json::from_slice(bytes).or_else(|_| {
                // Once more, to say where: the way through the document costs time.
                let bytes = infinity::replaced(bytes);
                let reader = &mut serde_json::Deserializer::from_slice(&bytes);
                let read = serde_path_to_error::deserialize::<_, T>(reader);
                read.map_err(|place| garbled(&place))
            }),
            Self::Json(value) => T::deserialize(*value).map_err(|error| {
                let place = serde_path_to_error::deserialize::<_, T>(*value);
                place.err().map_or_else(|| Garbled(error.to_string()), |place| garbled(&place))
            }),
        }
    }

    /// The body as text, if it isn't JSON; at most its first 200 characters.
    pub(crate) fn text(&self) -> Option<String> {
        let text = match self {
            Self::Json(Value::String(text)) => text.clone(),
            Self::Json(_) => return None,
            Self::Bytes(bytes) if bytes.trim_ascii_start().first() == Some(&b'{') => return None,
            Self::Bytes(bytes) => {
                String::from_utf8_lossy(&bytes[..bytes.len().min(1_000)]).into_owned()
            }
        };
        Some(text.trim().chars().take(200).collect())
    }
}

fn garbled<E: fmt::Display>(error: &serde_path_to_error::Error<E>) -> Garbled {
    let (path, inner) = (error.path().to_string(), error.inner());
    if path == "." { Garbled(inner.to_string()) } else { Garbled(format!("{path}: {inner}")) }
}
