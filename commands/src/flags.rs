//! A command's flags as data: what reads the command line, writes the help and completes in shells.

use std::fmt::Write;

/// A flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Long names; the first is the one that code uses. A flag with a letter alone has one as well,
    /// which begins with `-` and can't be typed.
    pub names: &'static [&'static str],
    /// One-letter names.
    pub letters: &'static str,
    /// Whether it takes a value.
    pub takes: Takes,
    /// What it does, in our words.
    pub help: &'static str,
    /// Whether it does it here.
    pub here: Here,
}

/// Whether a flag takes a value, and what to call that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// Always.
    Value(&'static str),
    /// Only glued to the flag.
    Maybe(&'static str),
}

/// What a flag of Slurm's means over slurmrestd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// The same.
    Works,
    /// Nothing, and nothing is lost.
    NoBearing,
    /// It can't be done; why.
    Refused(&'static str),
}

/// A flag that works.
pub const fn flag(
    names: &'static [&'static str],
    letters: &'static str,
    takes: Takes,
    help: &'static str,
) -> Flag {
    Flag { names, letters, takes, help, here: Here::Works }
}

impl Flag {
    /// The same flag, which can't be done here.
    pub const fn refused(self, why: &'static str) -> Self {
        Self { here: Here::Refused(why), ..self }
    }

    /// The same flag, which has no bearing here.
    pub const fn no_bearing(self) -> Self {
        Self { here: Here::NoBearing, ..self }
    }

    /// The name that code uses.
    pub fn key(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// How it is written: `-p, --partition=LIST`.
    pub fn spelling(&self) -> String {
        let letter = self.letters.chars().next().map(|letter| format!("-{letter}"));
        let long = Some(self.key()).filter(|name| !name.starts_with('-'));
        let long = long.map(|long| format!("--{long}"));
        let (glue, value) = match (self.takes, long.is_some()) {
            (Takes::Nothing, _) => ("", String::new()),
            (Takes::Value(value), true) => ("=", value.to_owned()),
            (Takes::Value(value), false) => (" ", value.to_owned()),
            (Takes::Maybe(value), true) => ("", format!("[={value}]")),
            (Takes::Maybe(value), false) => ("", format!("[{value}]")),
        };
        let names: Vec<String> = letter.into_iter().chain(long).collect();
        format!("{}{glue}{value}", names.join(", "))
    }
}

/// A command as help shows it.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// Its name.
    pub name: &'static str,
    /// One line: what it is for.
    pub about: &'static str,
    /// How it is called, without its name.
    pub usage: &'static str,
    /// Its flags.
    pub flags: &'static [Flag],
    /// What else there is to say.
    pub notes: &'static str,
}

/// Where every command's server comes from.
const SERVER: &str = "\
slurmrestd is found by the environment:
  SLURM_REST_API          its addresses, with commas between them: http://host:6820, unix:/path
  SLURM_JWT               a token; SLURM_JWT_FILE names a file with one
  SLURM_REST_API_VERSION  the only version to speak, such as v0.0.42; the newest if unset
  SLURM_REST_CA, SLURM_REST_CERT, SLURM_REST_KEY  files for TLS
";

impl Manual {
    /// What `--usage` prints.
    pub fn usage(&self) -> String {
        format!("Usage: {} {}\n", self.name, self.usage)
    }

    /// What `--help` prints.
    pub fn help(&self) -> String {
        let mut text = format!("{}\n{}\n", self.usage(), self.about);
        let (works, refused): (Vec<&Flag>, Vec<&Flag>) =
            self.flags.iter().partition(|flag| !matches!(flag.here, Here::Refused(_)));
        text.push_str("\nOptions:\n");
        for flag in works {
            let help = match flag.here {
                Here::NoBearing => format!("{} (no bearing here)", flag.help),
                Here::Works | Here::Refused(_) => flag.help.to_owned(),
            };
            let _ = writeln!(text, "  {:<32} {help}", flag.spelling());
        }
        if !refused.is_empty() {
            text.push_str("\nNot to be had over slurmrestd:\n");
        }
        for flag in refused {
            let Here::Refused(why) = flag.here else { continue };
            let _ = writeln!(text, "  {:<32} {why}", flag.spelling());
        }
        if !self.notes.is_empty() {
            let _ = write!(text, "\n{}", self.notes);
        }
        let _ = write!(text, "\n{SERVER}");
        text
    }
}
