//! A run that can be looked at from any of its moments.
//!
//! ```text
//!   World ──Recorder──▶ Chunk: records, and rows that changed ──▶ Film: every version of every row
//!                         │      ▲                                   │
//!                         ▼      │                                   ▼
//!                        a file of chunks                       Still: all rows at one moment
//! ```
//!
//! Nothing is played again to see it again: each row keeps its versions, so going back costs what
//! going forward does. Chunks are plain data, and whoever makes them is nobody's business: a world
//! that runs, a file, or a look at real clusters.

mod chunk;
mod diary;
mod film;
mod recorder;
mod still;
pub mod tape;
mod versions;
mod watched;

pub use chunk::{Change, Chunk, Ending};
pub use diary::{Diary, RecordRef};
pub use film::{Altered, Film, RowKind};
pub use recorder::Recorder;
pub use still::Still;
pub use versions::Versions;
pub use watched::{Happened, Watched};
