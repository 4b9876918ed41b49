//! Everything that a bridge is told at its start, from three places with one precedence.
//!
//! ```text
//!   flags ──▶ environment ──▶ config.yaml ──▶ what is in force where nothing is set
//!   whoever comes first wins
//! ```
//!
//! Start at [`Settings::resolve`]. Nothing is read here but the text that is handed in and the files
//! that it names, so a test is a function call.

mod listen;
mod selector;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use drawbridge_core::{Addresses, Config, ConfigError, Duties};

use crate::{
    config,
    slurm::client::{Address, Settings as SlurmSettings, TokenSource},
    webhook::Certificates,
};

pub use listen::Listen;

/// Where the configuration is if nobody says otherwise.
pub const CONFIG_PATH: &str = "/etc/slurm-bridge/config.yaml";

/// What the command line says; unset where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--leader-elect`
    pub leader_elect: Option<bool>,
    /// `--leader-election-id`
    pub leader_election_id: Option<String>,
    /// `--metrics-secure`
    pub metrics_secure: Option<bool>,
    /// `--enable-http2`
    pub enable_http2: Option<bool>,
    /// `--component`; everything if none is named
    pub components: Vec<Component>,
    /// `--webhook-cert-dir`
    pub webhook_cert_dir: Option<PathBuf>,
    /// `--webhook-secret`
    pub webhook_secret: Option<String>,
    /// `--dry-run`
    pub dry_run: bool,
}

/// A part of the bridge that can run as a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Pods become jobs, and are bound where Slurm says.
    Scheduler,
    /// Nodes are kept in step.
    Controllers,
    /// The webhooks that pods pass when they are written.
    Admission,
}

impl Component {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Scheduler, Self::Controllers, Self::Admission];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Controllers => "controllers",
            Self::Admission => "admission",
        }
    }
}

/// What a bridge is told at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it is configured to do.
    pub config: Config,
    /// How slurmrestd is reached.
    pub slurm: SlurmSettings,
    /// What its core is there for.
    pub duties: Duties,
    /// Where the certificate of its webhooks comes from, if it serves them.
    pub webhook: Option<Certificates>,
    /// Nothing is changed, neither in Kubernetes nor in Slurm.
    pub dry_run: bool,
}

/// A setting that can't be used: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// `config.yaml:3:7`, `SLURM_REST_API`, `--leader-election-id`.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub hint: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for SettingsError {}

impl SettingsError {
    fn new(place: &str, what: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self { place: place.to_owned(), what: what.to_string(), hint: hint.into() }
    }
}

impl Settings {
    /// Puts the three together. `file` is the configuration with its path; `var` is the environment.
    pub fn resolve(
        flags: &Flags,
        var: &dyn Fn(&str) -> Option<String>,
        file: Option<(&Path, &str)>,
    ) -> Result<Self, SettingsError> {
        let mut config = match file {
            Some((path, text)) => from_file(path, text)?,
            None => Config::as_shipped(),
        };
        from_environment(&mut config, var)?;
        let components = match &flags.components[..] {
            [] => Component::ALL.to_vec(),
            named => named.to_vec(),
        };
        from_flags(&mut config, flags, &components)?;
        let mut slurm = SlurmSettings::from_config(&config)
            .map_err(|error| SettingsError::new("slurmRest", error, "see docs/bridge.md"))?;
        if let Some(token) = token(var)? {
            slurm.token = token;
        }
        let has = |component| components.contains(&component);
        Ok(Self {
            slurm,
            duties: Duties {
                workloads: has(Component::Scheduler),
                nodes: has(Component::Controllers),
            },
            webhook: if has(Component::Admission) { Some(certificates(flags)?) } else { None },
            dry_run: flags.dry_run,
            config,
        })
    }
}

fn from_file(path: &Path, text: &str) -> Result<Config, SettingsError> {
    config::parse(text).map_err(|error| {
        let place = format!("{}:{}:{}", path.display(), error.line, error.column);
        let hint = error.hint().unwrap_or("`drawbridge schema config` says what may stand there");
        SettingsError::new(&place, &error.what, hint)
    })
}

fn from_environment(
    config: &mut Config,
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<(), SettingsError> {
    if let Some(text) = var("SLURM_REST_API") {
        let addresses: Vec<String> = text.split(',').map(|one| one.trim().to_owned()).collect();
        for address in &addresses {
            let parsed = address.parse::<Address>();
            parsed.map_err(|error| SettingsError::new("SLURM_REST_API", &error, error.hint()))?;
        }
        config.slurm_rest_api = Addresses(addresses);
    }
    if let Some(text) = var("NAMESPACE_SELECTOR") {
        let selector = selector::parse(&text).map_err(|what| {
            let hint = "write it as kubectl's --selector: `slurm.managed=true,team in (a,b)`";
            SettingsError::new("NAMESPACE_SELECTOR", what, hint)
        })?;
        config.managed_namespace_selector = Some(selector);
    }
    if let Some(user) = var("SLURM_USER_NAME") {
        config.slurm_rest.user_name = Some(user);
    }
    Ok(())
}

fn from_flags(
    config: &mut Config,
    flags: &Flags,
    components: &[Component],
) -> Result<(), SettingsError> {
    let features = &mut config.features;
    let mut set = |flag: Option<bool>, feature: fn(&mut drawbridge_core::Features) -> &mut bool| {
        if let Some(on) = flag {
            *feature(features) = on;
        }
    };
    set(flags.leader_elect, |features| &mut features.enable_leader_election);
    set(flags.metrics_secure, |features| &mut features.secure_metrics);
    set(flags.enable_http2, |features| &mut features.enable_http2);
    match &flags.leader_election_id {
        Some(id) => config.leader_election.id.clone_from(id),
        // Parts that run apart lead apart.
        None if components.len() < Component::ALL.len() => {
            let parts = components.iter().filter(|part| **part != Component::Admission);
            for part in parts {
                config.leader_election.id += &format!("-{}", part.name());
            }
        }
        None => {}
    }
    if flags.dry_run {
        config.features.enable_leader_election = false;
    }
    config.check().map_err(|error| {
        let is_lease = error == ConfigError::Empty { key: "leaderElection.id" };
        let place = if is_lease { "--leader-election-id" } else { "the settings" };
        SettingsError::new(place, &error, error.hint())
    })
}

/// A token of the environment goes before one of the file.
fn token(var: &dyn Fn(&str) -> Option<String>) -> Result<Option<TokenSource>, SettingsError> {
    Ok(match (var("SLURM_JWT"), var("SLURM_JWT_FILE"), var("SLURM_JWT_KEY")) {
        (Some(token), _, _) => Some(TokenSource::Text(token)),
        (None, Some(file), _) => Some(TokenSource::File(file.into())),
        (None, None, Some(key)) => {
            let nobody = "it signs tokens, but nobody is named to sign them for";
            let hint = "set SLURM_USER_NAME, for example to `slurm`";
            let user = var("SLURM_USER_NAME");
            let user = user.ok_or_else(|| SettingsError::new("SLURM_JWT_KEY", nobody, hint))?;
            let signed = TokenSource::signed_by(key.as_ref(), &user);
            Some(signed.map_err(|error| {
                SettingsError::new("SLURM_JWT_KEY", error, "give a file with slurmctld's key")
            })?)
        }
        (None, None, None) => None,
    })
}

fn certificates(flags: &Flags) -> Result<Certificates, SettingsError> {
    match (&flags.webhook_cert_dir, &flags.webhook_secret) {
        (Some(_), Some(_)) => Err(SettingsError::new(
            "--webhook-secret",
            "the certificate comes from a folder or from a secret, not both",
            "leave one of --webhook-cert-dir and --webhook-secret out",
        )),
        (Some(folder), None) => Ok(Certificates::Files(folder.clone())),
        (None, Some(name)) if is_name(name) => Ok(Certificates::Secret(name.clone())),
        (None, Some(name)) => Err(SettingsError::new(
            "--webhook-secret",
            format!("`{name}` can't be the name of a secret"),
            "small letters, digits, `-` and `.`; it is looked for in the bridge's own namespace",
        )),
        (None, None) => Ok(Certificates::SelfSigned),
    }
}

fn is_name(name: &str) -> bool {
    let letters =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    (1..=253).contains(&name.len())
        && name.bytes().all(letters)
        && !name.starts_with(['-', '.'])
        && !name.ends_with(['-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables = &'static [(&'static str, &'static str)];

    fn resolve(flags: &Flags, set: Variables, text: &str) -> Result<Settings, SettingsError> {
        let var = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::resolve(flags, &var, Some((Path::new("config.yaml"), text)))
    }

    #[test]
    fn whoever_comes_first_wins() {
        let text = "slurmRestApi: http://file\nfeatures: {enableLeaderElection: true}\n";
        let settings = resolve(&Flags::default(), &[], text).unwrap();
        assert_eq!(settings.config.slurm_rest_api.0, ["http://file"]);
        assert!(settings.config.features.enable_leader_election);
        let set: Variables = &[("SLURM_REST_API", "http://a, http://b"), ("SLURM_JWT", "t")];
        let flags = Flags { leader_elect: Some(false), ..Flags::default() };
        let settings = resolve(&flags, set, text).unwrap();
        assert_eq!(settings.config.slurm_rest_api.0, ["http://a", "http://b"]);
        assert!(!settings.config.features.enable_leader_election);
        assert!(matches!(settings.slurm.token, TokenSource::Text(_)));
        assert_eq!(settings.slurm.endpoints.len(), 2);
    }

    #[test]
    fn parts_that_run_apart_lead_apart() {
        let lease = |components: &[Component], id: Option<&str>| {
            let flags = Flags {
                components: components.to_vec(),
                leader_election_id: id.map(Into::into),
                ..Flags::default()
            };
            resolve(&flags, &[], "{}").unwrap().config.leader_election.id
        };
        assert_eq!(lease(&[], None), "drawbridge");
        assert_eq!(lease(&Component::ALL, None), "drawbridge");
        assert_eq!(lease(&[Component::Scheduler], None), "drawbridge-scheduler");
        assert_eq!(
            lease(&[Component::Controllers, Component::Admission], None),
            "drawbridge-controllers"
        );
        assert_eq!(lease(&[Component::Scheduler], Some("a1f3cd42")), "a1f3cd42");
    }

    #[test]
    fn what_cannot_be_used_has_its_place_and_what_would_be_right() {
        let shipped = Flags::default;
        let told = |flags: &Flags, set: Variables, text: &str| {
            let error = resolve(flags, set, text).unwrap_err();
            format!("{error} ({})", error.hint)
        };
        let both = Flags {
            webhook_cert_dir: Some("certs".into()),
            webhook_secret: Some("tls".into()),
            ..shipped()
        };
        let lines = [
            told(&shipped(), &[], "partition: main\npollSeconds: {nodes: 0}"),
            told(&shipped(), &[("SLURM_REST_API", "slurm:6820")], "{}"),
            told(&shipped(), &[("NAMESPACE_SELECTOR", "a in b")], "{}"),
            told(&shipped(), &[("SLURM_JWT_KEY", "jwt.key")], "{}"),
            told(&Flags { leader_election_id: Some(String::new()), ..shipped() }, &[], "{}"),
            told(&Flags { webhook_secret: Some("Not_Ok".into()), ..shipped() }, &[], "{}"),
            told(&both, &[], "{}"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        config.yaml:2:22: pollSeconds.nodes is 0 (use a whole number of seconds, at least 1)
        SLURM_REST_API: `slurm:6820` is not an address of slurmrestd (write it as `http://host:6820`, `https://host:6820` or `unix:///path/to/socket`)
        NAMESPACE_SELECTOR: `a in b` has no values in brackets (write it as kubectl's --selector: `slurm.managed=true,team in (a,b)`)
        SLURM_JWT_KEY: it signs tokens, but nobody is named to sign them for (set SLURM_USER_NAME, for example to `slurm`)
        --leader-election-id: leaderElection.id is empty (give it a name, or leave the key out)
        --webhook-secret: `Not_Ok` can't be the name of a secret (small letters, digits, `-` and `.`; it is looked for in the bridge's own namespace)
        --webhook-secret: the certificate comes from a folder or from a secret, not both (leave one of --webhook-cert-dir and --webhook-secret out)
        ");
    }
}
