//! One of Slurm's commands, by itself: `cargo run -p drawbridge-commands --example slurm -- squeue -l`.

use std::{env, process::ExitCode};

use drawbridge_commands::{find, system::System};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let found = args.split_first().and_then(|(name, rest)| Some((find(name)?, name, rest)));
    let Some((command, name, rest)) = found else { return ExitCode::from(2) };
    let mut system = System::default();
    ExitCode::from(command.run(&mut system.shell(name), rest))
}
