//! A session's settings, from the environment.

use std::{env, io, time::Duration};

use drawbridge_core::{
    SlurmFault,
    slurm::{ApiVersion, UnknownVersion},
};

use crate::slurm::client::{Address, AddressError, Settings, SettingsError, TlsFiles, TokenSource};

/// How a session behaves.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Where and as whom.
    pub client: Settings,
    /// The only version to speak; the newest that is served if unset.
    pub pin: Option<ApiVersion>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long, from the beginning of the session, servers that are out of reach are tried again.
    pub patience: Duration,
}

/// Why a session has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no address.
    #[error("no address of slurmrestd is given")]
    NoAddress,
    /// What is given isn't one.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// What is given isn't a version.
    #[error(transparent)]
    Version(#[from] UnknownVersion),
    /// A certificate is of no use without its key, nor a key without its certificate.
    #[error("only one of SLURM_REST_CERT and SLURM_REST_KEY is set")]
    HalfACertificate,
    /// A token is somebody's.
    #[error("SLURM_JWT_KEY signs tokens, but nobody is named to sign them for")]
    NobodyToSignFor,
    /// Something else of the settings can't be used.
    #[error(transparent)]
    Settings(SettingsError),
    /// The system doesn't let us work.
    #[error("can't start")]
    Runtime(#[source] io::Error),
    /// Slurm refused, or could not be asked.
    #[error("{fault}")]
    Fault {
        /// The server that was asked.
        address: String,
        /// What it said.
        fault: SlurmFault,
    },
}

impl SessionSettings {
    /// These settings, with the values in force where nothing is set.
    pub fn new(client: Settings) -> Self {
        let (timeout, patience) = (Duration::from_secs(60), Duration::ZERO);
        Self { client, pin: None, timeout, patience }
    }

    /// What the environment says: `SLURM_REST_API` (addresses, with commas between them; one that is
    /// given goes before), `SLURM_REST_API_VERSION`; the first that is set of `SLURM_JWT`,
    /// `SLURM_JWT_FILE` and `SLURM_JWT_KEY` (slurmctld's key, to sign for `SLURM_USER_NAME`);
    /// `SLURM_USER_NAME`, `SLURM_REST_CA`, `SLURM_REST_CERT` and `SLURM_REST_KEY`.
    pub fn from_env(address: Option<&str>) -> Result<Self, SessionError> {
        Self::from(address, |name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from(
        address: Option<&str>,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SessionError> {
        let addresses = address.map(str::to_owned).or_else(|| var("SLURM_REST_API"));
        let addresses = addresses.ok_or(SessionError::NoAddress)?;
        let parsed: Result<Vec<Address>, _> =
            addresses.split(',').map(|address| address.trim().parse()).collect();
        let mut client = Settings::new(parsed?);
        client.token = token(&var)?;
        client.user = var("SLURM_USER_NAME");
        let pair = match (var("SLURM_REST_CERT"), var("SLURM_REST_KEY")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err(SessionError::HalfACertificate),
        };
        client.tls =
            TlsFiles { ca: var("SLURM_REST_CA").map(Into::into), client: pair, server_name: None };
        let pin = var("SLURM_REST_API_VERSION").map(|version| version.parse()).transpose()?;
        Ok(Self { pin, ..Self::new(client) })
    }
}

fn token(var: &impl Fn(&str) -> Option<String>) -> Result<TokenSource, SessionError> {
    Ok(match (var("SLURM_JWT"), var("SLURM_JWT_FILE"), var("SLURM_JWT_KEY")) {
        (Some(token), _, _) => TokenSource::Text(token),
        (None, Some(file), _) => TokenSource::File(file.into()),
        (None, None, Some(key)) => {
            let user = var("SLURM_USER_NAME").ok_or(SessionError::NobodyToSignFor)?;
            TokenSource::signed_by(key.as_ref(), &user).map_err(SessionError::Settings)?
        }
        (None, None, None) => TokenSource::None,
    })
}

impl SessionError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoAddress => Some("set SLURM_REST_API, for example to `http://host:6820`".into()),
            Self::Address(error) => Some(error.hint().into()),
            Self::Version(_) => Some("leave it out to take the newest that is served".into()),
            Self::HalfACertificate => Some("set both, or neither".into()),
            Self::NobodyToSignFor => Some("set SLURM_USER_NAME, for example to `slurm`".into()),
            Self::Settings(_) | Self::Runtime(_) => None,
            Self::Fault { address, fault } => hint(address, fault),
        }
    }

    /// Whether no server could be asked, as opposed to one that said no.
    pub fn is_unreachable(&self) -> bool {
        let Self::Fault { fault, .. } = self else { return false };
        match fault {
            SlurmFault::Unreachable { .. }
            | SlurmFault::Lost { .. }
            | SlurmFault::NotServed { .. } => true,
            SlurmFault::Refused { .. }
            | SlurmFault::Unauthorized { .. }
            | SlurmFault::Unintelligible { .. } => false,
        }
    }
}

fn hint(address: &str, fault: &SlurmFault) -> Option<String> {
    match fault {
        SlurmFault::Unauthorized { .. } => Some(
            "set SLURM_JWT or SLURM_JWT_FILE to a token that holds; `scontrol token` \
             makes one, and `drawbridge token` for the twin"
                .into(),
        ),
        SlurmFault::NotServed { .. } => {
            Some(format!("check that {address} is a slurmrestd of Slurm 23.11 or newer"))
        }
        SlurmFault::Unreachable { .. } | SlurmFault::Lost { .. } => {
            Some(format!("check that `curl {address}/openapi/v3` answers from this host"))
        }
        SlurmFault::Refused { .. } | SlurmFault::Unintelligible { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_enough() {
        let var = |name: &str| {
            let value = match name {
                "SLURM_REST_API" => "http://a, unix:/b",
                "SLURM_JWT" => "t",
                "SLURM_REST_API_VERSION" => "v0.0.41",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let settings = SessionSettings::from(None, var).unwrap();
        let names: Vec<_> = settings.client.endpoints.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["http://a:6820", "unix:///b"]);
        assert_eq!(settings.pin, Some(ApiVersion::V41));
        let given = SessionSettings::from(Some("https://c"), var).unwrap();
        assert_eq!(given.client.endpoints[0].to_string(), "https://c:6820");
        let none = SessionSettings::from(None, |_| None).unwrap_err();
        assert_eq!(none.hint().unwrap(), "set SLURM_REST_API, for example to `http://host:6820`");
    }

    #[test]
    fn half_of_what_belongs_together_is_refused() {
        let with = |set: &'static [(&'static str, &'static str)]| {
            let var = move |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let error = SessionSettings::from(Some("http://a"), var).unwrap_err();
            format!("{error} ({})", error.hint().unwrap_or_default())
        };
        let told = [
            with(&[("SLURM_REST_CERT", "tls.crt")]),
            with(&[("SLURM_JWT_KEY", "jwt.key")]),
            with(&[("SLURM_JWT_KEY", "/nonexistent/key"), ("SLURM_USER_NAME", "slurm")]),
            with(&[("SLURM_REST_API_VERSION", "v0.0.39")]),
        ];
        insta::assert_snapshot!(told.join("\n"), @"
        only one of SLURM_REST_CERT and SLURM_REST_KEY is set (set both, or neither)
        SLURM_JWT_KEY signs tokens, but nobody is named to sign them for (set SLURM_USER_NAME, for example to `slurm`)
        can't read the signing key in /nonexistent/key: No such file or directory (os error 2) ()
        `v0.0.39` is no version of slurmrestd's API that we speak: v0.0.40 to v0.0.45 (leave it out to take the newest that is served)
        ");
    }
}
