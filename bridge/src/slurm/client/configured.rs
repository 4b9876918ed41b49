//! A client's settings, from the bridge's configuration.

use std::{fs, path::Path, time::Duration};

use drawbridge_core::{Config, SlurmRest, SlurmTls};

use super::{Settings, SettingsError, SigningKey, TlsFiles, TokenSource};

/// How long a token holds that we sign ourselves. A new one is signed after half of it.
const LIFETIME: Duration = Duration::from_mins(30);

impl Settings {
    /// What the configuration says. A token in the environment is for the caller to put in its place.
    pub fn from_config(config: &Config) -> Result<Self, SettingsError> {
        let endpoints = config.slurm_rest_api.0.iter().map(|address| address.parse());
        let mut settings = Self::new(endpoints.collect::<Result<_, _>>()?);
        let SlurmRest { user_name, token_file, key_file, tls, .. } = &config.slurm_rest;
        settings.user.clone_from(user_name);
        settings.token = match (token_file, key_file, user_name) {
            (Some(path), _, _) => TokenSource::File(path.into()),
            (None, Some(path), Some(user)) => TokenSource::signed_by(path.as_ref(), user)?,
            (None, _, _) => TokenSource::None,
        };
        let SlurmTls { ca_file, cert_file, key_file, server_name } = tls.clone();
        settings.tls = TlsFiles {
            ca: ca_file.map(Into::into),
            client: cert_file.zip(key_file).map(|(cert, key)| (cert.into(), key.into())),
            server_name,
        };
        Ok(settings)
    }
}

impl TokenSource {
    /// Tokens for this user, signed with the key in this file.
    pub fn signed_by(path: &Path, user: &str) -> Result<Self, SettingsError> {
        let key = fs::read(path);
        let key = key.map_err(|source| SettingsError::Key { path: path.into(), source })?;
        Ok(Self::Key(SigningKey::new(&key, user, LIFETIME)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn every_key_of_the_configuration_finds_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("jwt_hs256.key");
        fs::write(&key, b"secret").unwrap();
        let text = format!(
            "slurmRestApi: [https://a, unix:/b]
slurmRest:
  userName: slurm
  keyFile: {}
  tls: {{caFile: ca.crt, certFile: tls.crt, keyFile: tls.key, serverName: rest}}
",
            key.display()
        );
        let settings = Settings::from_config(&config::parse(&text).unwrap()).unwrap();
        let names: Vec<_> = settings.endpoints.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["https://a:6820", "unix:///b"]);
        assert_eq!(settings.user.as_deref(), Some("slurm"));
        assert!(matches!(settings.token, TokenSource::Key(_)));
        assert_eq!(settings.tls.ca, Some("ca.crt".into()));
        assert_eq!(settings.tls.client, Some(("tls.crt".into(), "tls.key".into())));
        assert_eq!(settings.tls.server_name.as_deref(), Some("rest"));
        fs::remove_file(&key).unwrap();
        let missing = Settings::from_config(&config::parse(&text).unwrap()).unwrap_err();
        assert!(missing.to_string().starts_with("can't read the signing key"), "{missing}");
    }
}
