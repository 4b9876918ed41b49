//! `drawbridge`: the one binary. Reads the command line, calls the library, says how it went.
//!
//! ```text
//!   args ──▶ commands/{run, verify, explore, replay, serve, bridge, lab, schema, tui, …} ──▶ exit code
//!                                     0 all good · 1 an expectation or snapshot failed
//!                                     2 the input is wrong · 3 a server could not be reached
//! ```

mod args;
mod bridge;
mod events;
mod explore;
mod failure;
mod files;
mod junit;
mod lab;
mod oracle;
mod play;
mod replay;
mod rerun;
mod run;
mod schema;
mod serve;
mod show;
mod slurm;
mod snapshots;
mod table;
mod tui;
mod verify;

use std::{io::Write, process::ExitCode};

use clap::FromArgMatches;

use crate::{
    args::{Args, Command},
    failure::Failure,
};

/// A world makes and drops many small objects; see BENCHMARKS.md for what this brings.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = slurm::run() {
        return ExitCode::from(code);
    }
    let matches = slurm::whole_command().get_matches();
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
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
        Command::Explore(args) => explore::explore(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Oracle(args) => oracle::oracle(&args),
        Command::Lab(args) => lab::lab(&args),
        Command::Tui(args) => tui::tui(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Bridge(args) => bridge::bridge(&args),
        Command::Token(args) => serve::slurm::token(&args),
        Command::Schema(args) => schema::schema(args.what),
        Command::Completions(args) => {
            let mut script = vec![];
            let name = args.command.unwrap_or_else(|| "drawbridge".to_owned());
            let mut command = slurm::link_command(&name).unwrap_or_else(slurm::whole_command);
            clap_complete::generate(args.shell, &mut command, name, &mut script);
            failure::print(&script)
        }
    }
}
