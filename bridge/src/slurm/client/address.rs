//! Where slurmrestd answers: `http://host:6820`, `https://host/prefix`, `unix:///run/slurmrestd.sock`.

use std::{fmt, path::PathBuf, str::FromStr};

use crate::stream::Dial;

/// slurmrestd's port where none is given.
const PORT: u16 = 6820;

/// Where slurmrestd answers.
#[derive(Clone, Debug)]
pub enum Address {
    /// A host and a port.
    Tcp(Host),
    /// The same, by TLS.
    Tls(Host),
    /// A socket in the file system.
    Unix(PathBuf),
    /// A server in this process.
    Memory(Dial),
}

/// A host, a port, and what comes before `/slurm` in paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A name or a number, without brackets.
    pub name: String,
    /// The port.
    pub port: u16,
    /// Empty, or with a slash in front and none behind.
    pub prefix: String,
}

/// The text isn't an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address of slurmrestd")]
pub struct AddressError(String);

impl AddressError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "write it as `http://host:6820`, `https://host:6820` or `unix:///path/to/socket`"
    }
}

impl Address {
    /// What comes before a path in a request's target.
    pub(super) fn base(&self) -> String {
        match self {
            Self::Tcp(host) => format!("http://{}{}", host.authority(), host.prefix),
            Self::Tls(host) => format!("https://{}{}", host.authority(), host.prefix),
            Self::Unix(_) | Self::Memory(_) => "http://localhost".to_owned(),
        }
    }
}

impl Host {
    fn authority(&self) -> String {
        let Self { name, port, .. } = self;
        if name.contains(':') { format!("[{name}]:{port}") } else { format!("{name}:{port}") }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.to_owned());
        if let Some(path) = text.strip_prefix("unix://").or_else(|| text.strip_prefix("unix:")) {
            let good = path.starts_with('/') && path.len() > 1;
            return good.then(|| Self::Unix(path.into())).ok_or_else(wrong);
        }
        let (kind, rest): (fn(Host) -> Self, _) = match text.split_once("://") {
            Some(("http", rest)) => (Self::Tcp, rest),
            Some(("https", rest)) => (Self::Tls, rest),
            _ => return Err(wrong()),
        };
        host(rest).map(kind).ok_or_else(wrong)
    }
}

fn host(text: &str) -> Option<Host> {
    let clean = |text: &str| !text.contains(|c: char| c.is_whitespace() || "?#@[]".contains(c));
    let (authority, prefix) = text.split_once('/').unwrap_or((text, ""));
    let prefix = prefix.trim_end_matches('/');
    let (name, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None if rest.is_empty() => PORT,
        None => return None,
    };
    let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
    (!name.is_empty() && clean(name) && clean(&prefix)).then(|| Host {
        name: name.to_owned(),
        port,
        prefix,
    })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(_) | Self::Tls(_) => f.write_str(&self.base()),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Memory(_) => f.write_str("memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_or_a_path() {
        let table = [
            ("http://a", "http://a:6820"),
            ("http://a:1/", "http://a:1"),
            ("https://a.b:443/x/y/", "https://a.b:443/x/y"),
            ("http://[::1]:7", "http://[::1]:7"),
            ("unix:///run/s.sock", "unix:///run/s.sock"),
            ("unix:/run/s.sock", "unix:///run/s.sock"),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), expected);
        }
        let wrong = [
            "",
            "a:6820",
            "http://",
            "http://:1",
            "http://a:0",
            "http://a:b",
            "http://a b",
            "ftp://a",
            "unix://",
            "unix:x",
            "http://a:70000",
            "http://u@a",
            "http://[::1",
            "http://a?x=1",
        ];
        for text in wrong {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
