//! The world as it is: the process's environment, its clock, its standard streams.

use std::{
    env, fs,
    io::{self, IsTerminal, Read, Write},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use drawbridge_bridge::slurm::session::{Session, SessionError};
use jiff::tz::TimeZone;

use crate::shell::{Shell, World};

/// The process that we are in.
#[derive(Debug)]
pub struct System {
    stdin: io::Stdin,
    stdout: io::Stdout,
    stderr: io::Stderr,
}

impl Default for System {
    fn default() -> Self {
        Self { stdin: io::stdin(), stdout: io::stdout(), stderr: io::stderr() }
    }
}

impl System {
    /// A shell around a command that was called by this name.
    pub fn shell(&mut self, name: &str) -> Shell<'_> {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Shell {
            name: name.to_owned(),
            env: env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
            cwd: env::current_dir().map_or_else(|_| "/".to_owned(), |path| text(path.into())),
            zone: TimeZone::system(),
            world: self,
            out: vec![],
        }
    }
}

impl World for System {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    fn sleep(&self, span: Duration) {
        std::thread::sleep(span);
    }

    fn connect(&self) -> Result<Session, SessionError> {
        Session::from_env(None)
    }

    fn me(&self) -> Option<String> {
        let var = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let file = || fs::read_to_string(var("SLURM_JWT_FILE")?).ok();
        let in_token = || user_of(var("SLURM_JWT").or_else(file)?.trim());
        var("SLURM_USER_NAME").or_else(in_token)
    }

    fn user_id(&self, name: &str) -> Option<u32> {
        let passwd = fs::read_to_string("/etc/passwd").ok()?;
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        line.split(':').nth(2)?.parse().ok()
    }

    fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn stdin_is_terminal(&self) -> bool {
        self.stdin.is_terminal()
    }

    fn stdin(&mut self) -> &mut dyn Read {
        &mut self.stdin
    }

    fn stdout(&mut self) -> &mut dyn Write {
        &mut self.stdout
    }

    fn stderr(&mut self) -> &mut dyn Write {
        &mut self.stderr
    }
}

/// Whose token it is: `sun`, or `username`, in its middle part. Nobody checks it here; the server
/// does.
pub fn user_of(token: &str) -> Option<String> {
    let claims = token.split('.').nth(1)?;
    let claims: serde_json::Value = serde_json::from_slice(&base64(claims)?).ok()?;
    let named = claims.get("sun").or_else(|| claims.get("username"))?;
    named.as_str().map(str::to_owned)
}

/// The bytes that a text in URL-safe base64 stands for.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    let (mut held, mut bits) = (0u32, 0u32);
    for letter in text.trim_end_matches('=').bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(six)) & 0xffff;
        bits += 6;
        if 8 <= bits {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_whose_it_is() {
        let token = |claims| format!("eyJhbGciOiJIUzI1NiJ9.{claims}.c2lnbmF0dXJl");
        assert_eq!(user_of(&token("eyJzdW4iOiJhbGljZSJ9")).as_deref(), Some("alice"));
        assert_eq!(user_of(&token("eyJ1c2VybmFtZSI6ImJvYiJ9")).as_deref(), Some("bob"));
        for wrong in ["", "a.b", "a.b.c", "a.e30.c", "a.!!.c"] {
            assert_eq!(user_of(wrong), None, "{wrong}");
        }
    }
}
