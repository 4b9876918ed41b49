//! Scenario files, format version 1: YAML in, a checked [`Scenario`] out.
//!
//! ```text
//!  text ──▶ File (as written) ──▶ Scenario (as played)
//!              │                     ▲
//!              └── every mistake: file, line, column, what is wrong, what would be right
//! ```
//!
//! Nothing here touches the disk: included files come from the caller's [`Files`].

mod behaviours;
mod build;
mod duration;
mod edit;
mod error;
mod expectations;
mod fields;
mod file;
pub(crate) mod kinds;
mod known;
mod kube_side;
mod manifests;
mod scontrol;
mod slurm_side;
mod source;
mod steps;
mod suggest;
mod text_or;
mod timeline;

use serde_json::Value;

pub use duration::Lasting;
pub use edit::{retold, slurm_conf, with_slurm_conf};
pub use error::ScenarioError;

use crate::scenario::Scenario;

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

/// Reads and checks a scenario. `name` is its path, as errors shall show it.
pub fn parse(name: &str, text: &str, files: &dyn Files) -> Result<Scenario, ScenarioError> {
    build::parse(name, text, files)
}

/// The JSON Schema of scenario files.
pub fn schema() -> Value {
    schemars::schema_for!(file::File).into()
}
