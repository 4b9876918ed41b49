//! Slurm's own commands over slurmrestd: the same flags, the same columns, the same text.
//!
//! ```text
//!   argv, environment ─▶ getopt ─▶ options ─▶ Session ─▶ slurmrestd: the twin, or a real one
//!                                                 │
//!   standard output  ◀─ fields, formats, order ◀──┘  one set of types for every version of the API
//! ```
//!
//! Each command has a module: its flags, its table of fields, its order. What all of them need is
//! beside: [`getopt`] reads command lines as GNU does, [`mod@format`] the two format languages, [`cell`]
//! prints a field as C does. The text in and out goes through a [`Shell`], so a test is one function
//! call. Which release's text is printed is decided by the server's.
//!
//! Start reading at [`Command::run`], then `squeue.rs`.

pub mod amounts;
pub mod arrays;
pub mod cell;
pub mod flags;
pub mod format;
pub mod getopt;
pub mod hosts;
pub mod json;
pub mod merge_sort;
pub mod moments;
pub mod releases;
mod repeat;
mod sacct;
mod sbatch;
mod scancel;
mod scontrol;
mod sdiag;
pub mod shell;
pub mod signals;
mod sinfo;
pub mod spans;
mod sprio;
mod squeue;
mod start;
pub mod states;
pub mod system;
pub mod times;

pub use shell::{Outcome, Quit, Shell, World};

use flags::Manual;

type Run = fn(&mut Shell<'_>, &[String]) -> Outcome;

/// A command.
pub struct Command {
    /// Its name, flags and help.
    pub manual: &'static Manual,
    run: Run,
}

/// Every command.
pub static COMMANDS: &[Command] = &[
    Command { manual: &squeue::MANUAL, run: squeue::run },
    Command { manual: &sinfo::MANUAL, run: sinfo::run },
    Command { manual: &sbatch::MANUAL, run: sbatch::run },
    Command { manual: &scancel::MANUAL, run: scancel::run },
    Command { manual: &scontrol::MANUAL, run: scontrol::run },
    Command { manual: &sacct::MANUAL, run: sacct::run },
    Command { manual: &sprio::MANUAL, run: sprio::run },
    Command { manual: &sdiag::MANUAL, run: sdiag::run },
];

/// The command of this name.
pub fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.manual.name == name)
}

impl Command {
    /// Runs it, and gives back its exit code.
    pub fn run(&self, shell: &mut Shell<'_>, args: &[String]) -> u8 {
        let outcome = (self.run)(shell, args);
        let flushed = shell.flush();
        match outcome.and(flushed) {
            Ok(()) => 0,
            Err(Quit(code)) => code,
        }
    }
}
