//! How every command begins: its command line, `--help`, `--version`, what can't be done here.

use crate::{
    flags::{Here, Manual},
    getopt::{self, Parsed},
    shell::{Outcome, Quit, Shell},
};

/// A command that has begun.
pub(crate) enum Started {
    /// Everything is said.
    Done,
    /// It goes on with this.
    With(Parsed),
}

/// Reads the command line, answers `--help`, `--usage` and `--version`, and refuses what slurmrestd
/// can't do.
pub(crate) fn parse(shell: &mut Shell<'_>, manual: &Manual, args: &[String]) -> Outcome<Started> {
    judge(shell, manual, getopt::parse(manual.flags, args))
}

/// The same for commands that have words of their own after the flags.
pub(crate) fn parse_until_word(
    shell: &mut Shell<'_>,
    manual: &Manual,
    args: &[String],
) -> Outcome<Started> {
    judge(shell, manual, getopt::parse_until_word(manual.flags, args))
}

fn judge(
    shell: &mut Shell<'_>,
    manual: &Manual,
    parsed: Result<Parsed, String>,
) -> Outcome<Started> {
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(wrong) => {
            let name = manual.name;
            let spelt = shell.name.clone();
            shell.say(&format!("{spelt}: {wrong}"));
            // `sacct` alone says no more.
            if name != "sacct" {
                shell.say(&format!("Try \"{name} --help\" for more information"));
            }
            return Err(Quit(1));
        }
    };
    for (name, _) in &parsed.flags {
        match *name {
            "help" => shell.print(&manual.help()),
            "usage" => shell.print(&manual.usage()),
            "version" => version(shell),
            name => {
                refuse(shell, manual, name)?;
                continue;
            }
        }
        return Ok(Started::Done);
    }
    Ok(Started::With(parsed))
}

/// Refuses a flag that slurmrestd can't do.
pub(crate) fn refuse(shell: &mut Shell<'_>, manual: &Manual, name: &str) -> Outcome {
    let flag = manual.flags.iter().find(|flag| flag.key() == name);
    match flag.map(|flag| (flag.here, flag.spelling())) {
        Some((Here::Refused(why), spelling)) => shell.unsupported(&spelling, why),
        _ => Ok(()),
    }
}

/// Says which program this is; Slurm's own version is its server's.
fn version(shell: &mut Shell<'_>) {
    shell.print(concat!("drawbridge ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// The user whose token it is.
pub(crate) fn me(shell: &mut Shell<'_>) -> Outcome<String> {
    match shell.world.me() {
        Some(name) => Ok(name),
        None => {
            shell.error("can't tell whose token this is");
            shell.say("hint: set SLURM_USER_NAME, or SLURM_JWT to a token with a name in it");
            Err(Quit(2))
        }
    }
}
