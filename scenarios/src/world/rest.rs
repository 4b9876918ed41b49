//! The slurmrestd servers that the bridge is told of: any number, all in front of one slurmctld.
//!
//! ```text
//!   request via server 1 ──▶ up? ──▶ serves this version? ──▶ token good? ──▶ slurmctld
//!                        refused            404                   511
//! ```

use drawbridge_core::{
    Config, SlurmFault, SlurmRequest,
    slurm::{ApiVersion, Via},
};
use drawbridge_fakes::Response;
use serde_json::{Value, json};

use crate::scenario::{RestChange, RestState, TokenState};

/// All servers, and whether the bridge's token is good.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    servers: Vec<Server>,
    token: TokenState,
}

#[derive(Clone, Debug)]
struct Server {
    address: String,
    state: RestState,
    /// Only these, of what its release serves.
    serves: Option<Vec<ApiVersion>>,
}

/// What becomes of a request.
pub(super) enum Verdict {
    /// slurmctld gets it.
    Pass,
    /// Somebody before slurmctld answers.
    Answer(Response),
    /// The connection isn't made.
    Fault(SlurmFault),
    /// It is never heard of again.
    Silence,
}

impl Rest {
    /// One server for each address of the configuration, all up.
    pub(super) fn new(config: Option<&Config>) -> Self {
        let addresses = config.map(|config| config.slurm_rest_api.0.clone()).unwrap_or_default();
        let server = |address| Server { address, state: RestState::Up, serves: None };
        Self { servers: addresses.into_iter().map(server).collect(), token: TokenState::Renewed }
    }

    /// Changes servers; says what that means.
    pub(super) fn change(&mut self, change: &RestChange) -> String {
        let wanted = |server: &&mut Server| {
            change.server.as_ref().is_none_or(|address| *address == server.address)
        };
        for server in self.servers.iter_mut().filter(wanted) {
            if let Some(state) = change.state {
                server.state = state;
            }
            if let Some(versions) = &change.serves {
                server.serves = Some(versions.clone());
            }
        }
        let which = change.server.as_deref().unwrap_or("every slurmrestd");
        let state = change.state.map(|state| match state {
            RestState::Up => "is up".to_owned(),
            RestState::Down => "is down".to_owned(),
            RestState::Silent => "answers nobody".to_owned(),
        });
        let serves = change.serves.as_ref().map(|versions| {
            let names: Vec<&str> = versions.iter().map(|version| version.as_str()).collect();
            format!("serves {}", names.join(", "))
        });
        let what: Vec<String> = state.into_iter().chain(serves).collect();
        format!("{which} {}", what.join(" and "))
    }

    /// The server of this number refuses connections, or takes them again.
    pub(super) fn set_down(&mut self, number: u8, is_down: bool) {
        let n = self.servers.len().max(1);
        if let Some(server) = self.servers.get_mut(usize::from(number) % n) {
            server.state = if is_down { RestState::Down } else { RestState::Up };
        }
    }

    /// Changes the token; says what that means.
    pub(super) fn change_token(&mut self, state: TokenState) -> &'static str {
        self.token = state;
        match state {
            TokenState::Expired => "the bridge's token has expired",
            TokenState::Renewed => "the bridge's token was renewed",
        }
    }

    /// Whether the bridge can get through at all.
    pub(super) fn is_within_reach(&self) -> bool {
        let usable = |server: &Server| {
            server.state == RestState::Up
                && server.serves.as_ref().is_none_or(|versions| !versions.is_empty())
        };
        self.token == TokenState::Renewed && self.servers.iter().any(usable)
    }

    /// Which servers take connections.
    pub(super) fn open_doors(&self) -> Vec<bool> {
        self.servers.iter().map(|server| server.state != RestState::Down).collect()
    }

    /// What becomes of this request.
    pub(super) fn verdict(&self, via: Via, request: &SlurmRequest) -> Verdict {
        let refused =
            || Verdict::Fault(SlurmFault::Unreachable { why: "connection refused".to_owned() });
        let Some(server) = self.servers.get(via.endpoint) else { return refused() };
        match server.state {
            RestState::Down => return refused(),
            RestState::Silent => return Verdict::Silence,
            RestState::Up => {}
        }
        if server.serves.as_ref().is_some_and(|versions| !versions.contains(&via.version)) {
            let text = "Unable find requested URL. Please view /openapi/v3 for API reference.";
            return answer(404, Value::from(text));
        }
        match (self.token, request) {
            (TokenState::Expired, SlurmRequest::Ping) | (TokenState::Renewed, _) => Verdict::Pass,
            (TokenState::Expired, _) => {
                let error = json!({
                    "description": "Unable to query slurmctld",
                    "error_number": 1007,
                    "error": "Protocol authentication error",
                    "source": "slurmrestd",
                });
                answer(511, json!({ "errors": [error], "warnings": [] }))
            }
        }
    }
}

fn answer(status: u16, body: Value) -> Verdict {
    Verdict::Answer(Response { status, body: body.into() })
}
