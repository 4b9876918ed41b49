//! A recorded run as a file.
//!
//! ```text
//!   drawfilm, version │ header │ block │ block │ … │ index │ where the index is │ drawfilm
//!                          │
//!                          └─ length, checksum, deflated chunk
//! ```
//!
//! Blocks come in order and can be read one after the other; the index says at once how long the run
//! is, and where in the file each moment lies. A file whose writer died has no index: its blocks are
//! read as far as they are whole.

mod read;
mod write;

use drawbridge_sim::Time;
use serde::{Deserialize, Serialize};

pub use read::Reader;
pub use write::Writer;

/// The first bytes of a file, and its last.
const MAGIC: &[u8; 8] = b"drawfilm";
/// The format's version. The rows are written field by field, so another row is another version; a
/// test sees to it.
const VERSION: u8 = 1;
/// Nothing that we write is larger than this: what claims to be is damaged.
const LARGEST: u32 = 1 << 28;

const BLOCK: u8 = b'B';
const INDEX: u8 = b'I';

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The scenario's name.
    pub title: String,
    /// What it shows.
    pub why: String,
    /// The seed that it was played with.
    pub seed: u64,
}

/// What is where in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The blocks, in order.
    pub blocks: Vec<Place>,
    /// How many records there are.
    pub events: u64,
    /// The time of the last.
    pub now: Time,
}

/// Where a block is, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where in the file.
    pub offset: u64,
    /// Records before it.
    pub events: u64,
    /// The time that the run had reached before it.
    pub from: Time,
}

/// Why a file can't be read.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// It can't be read at all.
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    /// It is something else.
    #[error("this is no recorded run")]
    NoTape,
    /// Another version wrote it.
    #[error("this is version {0} of recorded runs")]
    Version(u8),
    /// It is damaged here.
    #[error("the file is damaged at byte {0}: {1}")]
    Damaged(u64, &'static str),
}

impl TapeError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable(_) => "give a readable file".to_owned(),
            Self::NoTape => "give a scenario (.yaml), or what --record has written".to_owned(),
            Self::Version(_) => {
                format!("this drawbridge reads version {VERSION}: record the run again")
            }
            Self::Damaged(..) => "record the run again".to_owned(),
        }
    }
}

/// Whether a file that begins like this is a recorded run.
pub fn is_tape(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}
