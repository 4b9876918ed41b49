//! Slurm's own commands: `drawbridge squeue`, or a link of the name `squeue` to this binary.

use std::{env, path::Path};

use clap::{Arg, ArgAction, CommandFactory};
use drawbridge_commands::{
    COMMANDS, find,
    flags::{Flag, Here, Manual, Takes},
    system::System,
};

use crate::args::Args;

/// Runs the command that the process was called by, or that comes first on its command line; `None`
/// if there is none. The exit code is the command's.
pub(crate) fn run() -> Option<u8> {
    let mut args = env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    let program = args.next()?;
    let own = Path::new(&program).file_name()?.to_string_lossy().into_owned();
    let (command, spelt) = match find(&own) {
        Some(command) => (command, own),
        None => {
            let word = args.next()?;
            (find(&word)?, word)
        }
    };
    let args: Vec<String> = args.collect();
    let mut system = System::default();
    Some(command.run(&mut system.shell(&spelt), &args))
}

/// The whole command line, for help and for completion in shells.
pub(crate) fn whole_command() -> clap::Command {
    let commands = COMMANDS.iter().map(|command| subcommand(command.manual));
    Args::command().subcommands(commands)
}

/// The same for a link of a command's name.
pub(crate) fn link_command(name: &str) -> Option<clap::Command> {
    find(name).map(|command| subcommand(command.manual))
}

fn subcommand(manual: &'static Manual) -> clap::Command {
    let command = clap::Command::new(manual.name)
        .about(manual.about)
        .disable_help_flag(true)
        .disable_version_flag(true);
    let works = manual.flags.iter().filter(|flag| !matches!(flag.here, Here::Refused(_)));
    command.args(works.map(argument)).arg(Arg::new("words").num_args(0..))
}

fn argument(flag: &'static Flag) -> Arg {
    let mut arg = Arg::new(flag.key()).help(flag.help);
    let mut names = flag.names.iter().copied().filter(|name| !name.starts_with('-'));
    if let Some(name) = names.next() {
        arg = arg.long(name);
    }
    arg = arg.visible_aliases(names);
    let mut letters = flag.letters.chars();
    if let Some(letter) = letters.next() {
        arg = arg.short(letter);
    }
    arg = arg.visible_short_aliases(letters.collect::<Vec<_>>());
    match flag.takes {
        Takes::Nothing => arg.action(ArgAction::Count),
        Takes::Value(name) => arg.value_name(name).action(ArgAction::Append),
        Takes::Maybe(name) => arg.value_name(name).num_args(0..=1).require_equals(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_command_line_is_sound() {
        whole_command().debug_assert();
        for command in COMMANDS {
            link_command(command.manual.name).unwrap().debug_assert();
        }
    }
}
