//! What a command finds around it: its environment, the time, the way to Slurm, where its text goes.
//!
//! Everything that reads or changes the world goes through here, so that a test can stand for all of
//! it. Start at [`Shell`].

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    time::Duration,
};

use drawbridge_bridge::slurm::session::{Session, SessionError};
use drawbridge_core::SlurmFault;
use jiff::tz::TimeZone;

/// Everything around a command.
pub struct Shell<'a> {
    /// The command's own name, in front of what it complains about.
    pub name: String,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// The working directory.
    pub cwd: String,
    /// Where local time is from.
    pub zone: TimeZone,
    /// The rest of the world.
    pub world: &'a mut dyn World,
    /// What was printed and not yet sent.
    pub out: Vec<u8>,
}

/// What a command can do to the world.
pub trait World {
    /// Seconds since the epoch.
    fn now(&self) -> i64;
    /// Sleeps.
    fn sleep(&self, span: Duration);
    /// A session with slurmrestd.
    fn connect(&self) -> Result<Session, SessionError>;
    /// Whose token it is, if that can be told.
    fn me(&self) -> Option<String>;
    /// The number of the user of this name, if the system knows one.
    fn user_id(&self, name: &str) -> Option<u32>;
    /// A file's content.
    fn read_file(&self, path: &str) -> io::Result<Vec<u8>>;
    /// Whether standard input is a terminal.
    fn stdin_is_terminal(&self) -> bool;
    /// Standard input.
    fn stdin(&mut self) -> &mut dyn Read;
    /// Standard output.
    fn stdout(&mut self) -> &mut dyn Write;
    /// Standard error.
    fn stderr(&mut self) -> &mut dyn Write;
}

/// The end of a command that didn't go well; it has said why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quit(pub u8);

/// How a command goes.
pub type Outcome<T = ()> = Result<T, Quit>;

/// Exit code when slurmrestd or what stands behind it could not be reached.
const UNREACHABLE: u8 = 3;

impl Shell<'_> {
    /// An environment variable that is set to something.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Prints.
    pub fn print(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Sends what was printed. Whoever has read enough is no failure.
    pub fn flush(&mut self) -> Outcome {
        let text = std::mem::take(&mut self.out);
        let out = self.world.stdout();
        match out.write_all(&text).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Quit(0)),
            Err(_) => Err(Quit(1)),
        }
    }

    /// Writes a line to standard error as it is.
    pub fn say(&mut self, line: &str) {
        // What was printed before comes before.
        let _ = self.flush();
        let _ = writeln!(self.world.stderr(), "{line}");
    }

    /// Complains as Slurm's commands do, and goes on.
    pub fn error(&mut self, what: &str) {
        let name = self.name.clone();
        self.say(&format!("{name}: error: {what}"));
    }

    /// Complains, and ends.
    pub fn fail<T>(&mut self, what: &str) -> Outcome<T> {
        self.error(what);
        Err(Quit(1))
    }

    /// Complains as Slurm's commands do of what makes no sense, and ends.
    pub fn fatal<T>(&mut self, what: &str) -> Outcome<T> {
        let name = self.name.clone();
        self.say(&format!("{name}: fatal: {what}"));
        Err(Quit(1))
    }

    /// Refuses what can't be done over slurmrestd.
    pub fn unsupported<T>(&mut self, what: &str, why: &str) -> Outcome<T> {
        let name = self.name.clone();
        self.error(&format!("{what} can't be had over slurmrestd: {why}"));
        self.say(&format!("Try \"{name} --help\" for what is supported"));
        Err(Quit(2))
    }

    /// A session with slurmrestd.
    pub fn connect(&mut self) -> Outcome<Session> {
        match self.world.connect() {
            Ok(session) => Ok(session),
            Err(error) => {
                let name = self.name.clone();
                self.say(&format!("{name}: error: {error}"));
                if let Some(hint) = error.hint() {
                    self.say(&format!("hint: {hint}"));
                }
                Err(Quit(2))
            }
        }
    }

    /// Complains of an answer that didn't come, as the C library's `perror` does.
    pub fn perror<T>(&mut self, what: &str, error: &SessionError) -> Outcome<T> {
        self.say(&format!("{what}: {}", reason(error)));
        Err(self.quit(error))
    }

    /// The exit code for an answer that didn't come, with a hint if there is one.
    pub fn quit(&mut self, error: &SessionError) -> Quit {
        if let Some(hint) = error.hint() {
            self.say(&format!("hint: {hint}"));
        }
        Quit(if error.is_unreachable() { UNREACHABLE } else { 1 })
    }
}

/// Slurm's own words where it said no; ours where nobody was there to say anything.
pub fn reason(error: &SessionError) -> String {
    if let SessionError::Fault { fault: SlurmFault::Refused { text, .. }, .. } = error {
        return text.clone();
    }
    error.to_string()
}

/// Slurm's number where it said no.
pub fn number(error: &SessionError) -> Option<i64> {
    if let SessionError::Fault { fault: SlurmFault::Refused { number, .. }, .. } = error {
        return Some(*number);
    }
    None
}
