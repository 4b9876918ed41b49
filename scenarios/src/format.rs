//! Scenario files, format version 1: YAML in, a checked [`Scenario`](crate::Scenario) out.
//!
//! ```text
//!  text ──▶ File (as written) ──▶ Scenario (as played)
//!              │                     ▲
//!              └── every mistake: file, line, column, what is wrong, what would be right
//! ```
//!
//! Nothing here touches the disk: included files come from the caller's [`Files`].

mod duration;
mod error;
mod file;
mod kinds;
mod known;
mod source;
mod steps;
mod suggest;
mod text_or;

use serde_json::Value;

pub use duration::Lasting;
pub use error::ScenarioError;

/// Where included files come from.
pub trait Files {
    /// The text of a file, by its path relative to the scenario; `Err` says why there is none.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// A scenario that includes nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("this scenario can't include files".into())
    }
}

/// The JSON Schema of scenario files.
pub fn schema() -> Value {
    schemars::schema_for!(file::File).into()
}
