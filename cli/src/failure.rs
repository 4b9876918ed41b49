//! What can go wrong, and the exit code that says so.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Style};
use drawbridge_scenarios::ScenarioError;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Expectations, laws or snapshots failed; they have been printed.
    #[error("{0}")]
    Unmet(String),
    /// Scenario files are wrong.
    #[error("the input is wrong")]
    Scenarios(Vec<ScenarioError>),
    /// A file or folder can't be used.
    #[error("{}: {what}", path.display())]
    Path { path: PathBuf, what: String, hint: &'static str },
    /// A line of a file is wrong, or the file as a whole.
    #[error("{place}: {what}")]
    Input { place: String, what: String, hint: String },
    /// What was to be printed could not be.
    #[error("could not print: {0}")]
    Print(io::Error),
    /// The terminal would not be used.
    #[error("{what}")]
    Terminal { what: String, hint: &'static str },
    /// A server that is needed could not be started or reached.
    #[error("{what}")]
    Server { what: String, hint: &'static str },
    /// A process that we started did not do its part.
    #[error("{0}")]
    Process(String),
    /// A command that we ran for somebody ended so; it has said why itself.
    #[error("the command ended with {0}")]
    Exit(u8),
}

impl Failure {
    pub(crate) fn path(path: &Path, what: impl std::fmt::Display, hint: &'static str) -> Self {
        Self::Path { path: path.to_owned(), what: what.to_string(), hint }
    }

    /// A mistake at a line and column.
    pub(crate) fn place(
        path: &Path,
        (line, column): (usize, usize),
        what: &str,
        hint: String,
    ) -> Self {
        let place = format!("{}:{line}:{column}", path.display());
        Self::Input { place, what: what.to_owned(), hint }
    }

    /// A mistake that is no one line's.
    pub(crate) fn whole(path: &Path, what: &dyn std::fmt::Display, hint: String) -> Self {
        Self::Input { place: path.display().to_string(), what: what.to_string(), hint }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Unmet(_) | Self::Print(_) | Self::Process(_) => 1,
            Self::Scenarios(_) | Self::Path { .. } | Self::Terminal { .. } | Self::Input { .. } => {
                2
            }
            Self::Server { .. } => 3,
            Self::Exit(code) => *code,
        }
    }

    /// The whole text, with colours that the stream takes out where they aren't wanted.
    pub(crate) fn render(&self) -> String {
        match self {
            Self::Scenarios(errors) => {
                errors.iter().map(|error| format!("{}\n", error.render_coloured())).collect()
            }
            Self::Path { hint, .. } | Self::Terminal { hint, .. } | Self::Server { hint, .. } => {
                format!("{ERROR}error{ERROR:#}: {self}\n{HINT}hint{HINT:#}: {hint}\n")
            }
            Self::Input { hint, .. } => {
                format!("{ERROR}error{ERROR:#}: {self}\n{HINT}hint{HINT:#}: {hint}\n")
            }
            Self::Exit(_) => String::new(),
            Self::Unmet(_) | Self::Print(_) | Self::Process(_) => {
                format!("{ERROR}error{ERROR:#}: {self}\n")
            }
        }
    }
}

/// Prints to standard output. A reader who has seen enough is not a failure.
pub(crate) fn print(text: &[u8]) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
