//! How the way to Slurm looks, for health checks and metrics.

use drawbridge_sim::Time;

use super::{Endpoint, Link, State, Token};
use crate::slurm::ApiVersion;

/// How the way to Slurm looks now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// The server that is asked, by its place in the list.
    pub current: usize,
    /// All of them, in the order of the configuration.
    pub endpoints: Vec<EndpointStatus>,
    /// Why the token is refused, while it is.
    pub token_refused: Option<String>,
}

/// One slurmrestd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointStatus {
    /// Its address.
    pub name: String,
    /// Whether it can be used.
    pub state: EndpointState,
    /// Troubles in a row.
    pub failures: u32,
}

/// Whether a slurmrestd can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointState {
    /// Nobody has asked it yet, or it is being asked.
    Unknown,
    /// It speaks this version.
    Ready(ApiVersion),
    /// It is left alone until this time.
    Resting {
        /// When it is tried again.
        until: Time,
        /// What it did.
        why: String,
    },
}

impl LinkStatus {
    /// Whether requests can go through.
    pub fn is_ready(&self) -> bool {
        let current = self.endpoints.get(self.current).map(|endpoint| &endpoint.state);
        matches!(current, Some(EndpointState::Ready(_))) && self.token_refused.is_none()
    }
}

impl Link {
    /// How it looks now.
    pub fn status(&self) -> LinkStatus {
        let token_refused = match &self.token {
            Token::Fine => None,
            Token::Refused { why, .. } => Some(why.clone()),
        };
        let endpoints = self.endpoints.iter().map(Endpoint::status).collect();
        LinkStatus { current: self.current, endpoints, token_refused }
    }
}

impl Endpoint {
    fn status(&self) -> EndpointStatus {
        let state = match &self.state {
            State::Unknown(_) => EndpointState::Unknown,
            State::Ready(version, _) => EndpointState::Ready(*version),
            State::Resting { until, fault } => {
                EndpointState::Resting { until: *until, why: fault.to_string() }
            }
        };
        EndpointStatus { name: self.name.clone(), state, failures: self.failures }
    }
}
