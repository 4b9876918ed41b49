//! Where to listen, as Kubernetes' own daemons spell it: `:8080`, `127.0.0.1:8080`, `0` for nowhere.

use std::{fmt, io, net::IpAddr, str::FromStr};

use tokio::net::TcpListener;

/// A place to listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// At every address of the machine if unset.
    host: Option<IpAddr>,
    port: u16,
}

impl Listen {
    /// This port, at every address of the machine.
    pub const fn everywhere(port: u16) -> Self {
        Self { host: None, port }
    }

    /// Reads `:8080`, `127.0.0.1:8080` or `[::1]:8080`; `0` is nowhere.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        if text == "0" {
            return Ok(None);
        }
        text.parse().map(Some)
    }

    /// Listens there. Every address is IPv6's, which IPv4's are part of, where the machine has it.
    pub async fn bind(self) -> io::Result<TcpListener> {
        let Self { host, port } = self;
        match host {
            Some(host) => TcpListener::bind((host, port)).await,
            None => match TcpListener::bind(("::", port)).await {
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    TcpListener::bind(("0.0.0.0", port)).await
                }
                bound => bound,
            },
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write it as `:8080`, `127.0.0.1:8080` or `[::1]:8080`".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = match host {
            "" => None,
            "localhost" => Some(IpAddr::from([127, 0, 0, 1])),
            host => {
                let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
                Some(bare.unwrap_or(host).parse().map_err(|_| wrong())?)
            }
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            None => write!(f, ":{}", self.port),
            Some(IpAddr::V4(host)) => write!(f, "{host}:{}", self.port),
            Some(IpAddr::V6(host)) => write!(f, "[{host}]:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_they_are_written() {
        for text in [":8080", "127.0.0.1:0", "[::1]:9443"] {
            assert_eq!(Listen::parse(text).unwrap().unwrap().to_string(), text);
        }
        assert_eq!(Listen::parse("localhost:1").unwrap().unwrap().to_string(), "127.0.0.1:1");
        assert_eq!(Listen::parse("0"), Ok(None));
        for wrong in ["", "8080", ":", ":x", "host:1", ":70000", "1.2.3:4"] {
            assert!(Listen::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn every_address_of_the_machine_answers() {
        let listener = Listen::everywhere(0).bind().await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        assert!(Listen::everywhere(port).bind().await.is_err(), "it is taken");
    }
}
