//! `drawbridge`: the one binary. Reads the command line, calls the library, says how it went.
//!
//! ```text
//!   args ──▶ commands/{run, verify, replay, serve, schema, tui, completions} ──▶ exit code
//!                                     0 all good · 1 an expectation or snapshot failed
//!                                     2 the input is wrong · 3 a server could not be reached
//! ```

mod args;
mod events;
mod failure;
mod files;
mod junit;
mod oracle;
mod play;
mod replay;
mod run;
mod schema;
mod serve;
mod show;
mod snapshots;
mod table;
mod tui;
mod verify;

use std::{io::Write, process::ExitCode};

use clap::{CommandFactory, Parser};

use crate::{
    args::{Args, Command},
    failure::Failure,
};

/// A world makes and drops many small objects; see BENCHMARKS.md for what this brings.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.write_global();
    match dispatch(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = anstream::stderr().write_all(failure.render().as_bytes());
            ExitCode::from(failure.exit_code())
        }
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Oracle(args) => oracle::oracle(&args),
        Command::Tui(args) => tui::tui(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Schema(args) => schema::schema(args.what),
        Command::Completions(args) => {
            let mut script = vec![];
            clap_complete::generate(args.shell, &mut Args::command(), "drawbridge", &mut script);
            failure::print(&script)
        }
    }
}
