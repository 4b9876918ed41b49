//! The way to Slurm: which slurmrestd is asked, in which version of its API, and whether at all.
//!
//! ```text
//!             pings: v0.0.45 404, v0.0.44 404, v0.0.43 served
//!   Unknown ──────────────────────────────────────────────────▶ Ready(v0.0.43)
//!    ▲   ▲ │                                                     │  │
//!    │   │ └─ out of reach, no reply, no version fits ─▶ Resting ◀┘  │ 404: the server was changed
//!    │   └──────────────── pause over ─────────────────────┘  lost    │
//!    └────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Each slurmrestd has such a state; one of them is the current one, and stays it until it fails.
//! A token that was refused shuts the way for everybody until a cheap question goes through again.
//!
//! [`Link::way`] says what to do next, [`Link::probed`] and [`Link::heard`] take what came of it.
//! The bridge and the command-line tools use the same machine.

mod status;

use drawbridge_sim::Time;
use serde::{Deserialize, Serialize};

use crate::{
    backoff::Backoff,
    input::SlurmFault,
    slurm::{ApiVersion, Via},
};

pub use status::{EndpointState, EndpointStatus, LinkStatus};

/// Requests in a row whose reply must be lost before a server is taken for dead. One may be a list
/// that took too long.
const LOSSES: u32 = 2;

/// What to do with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Send it so.
    Open(Via),
    /// First ask this, and tell [`Link::probed`] what came of it.
    Ask(Probe),
    /// A question is out. Wait for its answer.
    Asking,
    /// Nothing can be sent before this time.
    Shut {
        /// When to look again.
        until: Time,
        /// Why.
        fault: SlurmFault,
    },
}

/// A small question that finds out whether a server can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Where to ask it.
    pub via: Via,
    /// What to ask.
    pub question: Question,
}

/// What a probe asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// Is this version served? A ping, which answers whatever the token.
    Version,
    /// Is the token accepted? Anything small that slurmctld itself answers.
    Token,
}

/// The way to Slurm.
#[derive(Clone, Debug)]
pub struct Link {
    endpoints: Vec<Endpoint>,
    /// The one that is asked, or tried next.
    current: usize,
    /// The one that was last found to answer.
    in_use: usize,
    pin: Option<ApiVersion>,
    asking: Option<Probe>,
    token: Token,
    /// What happened, and whether it is a matter of course.
    news: Vec<(String, bool)>,
}

#[derive(Clone, Debug)]
struct Endpoint {
    name: String,
    state: State,
    /// Troubles since it last answered a request of somebody's.
    failures: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// This version is tried next.
    Unknown(ApiVersion),
    /// It speaks this version; so many requests in a row were lost.
    Ready(ApiVersion, u32),
    Resting {
        until: Time,
        fault: SlurmFault,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Fine,
    Refused { until: Time, failures: u32, why: String },
}

impl Link {
    /// A way to these servers, of which there is at least one, in the order of preference. A
    /// version that is pinned is the only one tried.
    pub fn new(names: Vec<String>, pin: Option<ApiVersion>) -> Self {
        let state = State::Unknown(pin.unwrap_or(ApiVersion::NEWEST));
        let endpoint = |name| Endpoint { name, state: state.clone(), failures: 0 };
        Self {
            endpoints: names.into_iter().map(endpoint).collect(),
            current: 0,
            in_use: 0,
            pin,
            asking: None,
            token: Token::Fine,
            news: Vec::new(),
        }
    }

    /// What to do with a request now. Who is told to ask does so, once.
    pub fn way(&mut self, now: Time) -> Way {
        if self.asking.is_some() {
            return Way::Asking;
        }
        if let Token::Refused { until, why, .. } = &self.token
            && now < *until
        {
            return Way::Shut {
                until: *until,
                fault: SlurmFault::Unauthorized { why: why.clone() },
            };
        }
        let Some(index) = self.choose(now) else {
            return self.shut();
        };
        self.current = index;
        let (version, question) = match (&self.endpoints[index].state, &self.token) {
            (State::Ready(version, _), Token::Fine) => {
                return Way::Open(Via { endpoint: index, version: *version });
            }
            (State::Ready(version, _), Token::Refused { .. }) => (*version, Question::Token),
            (State::Unknown(version), _) => (*version, Question::Version),
            (State::Resting { .. }, _) => (self.first_tried(), Question::Version),
        };
        let probe = Probe { via: Via { endpoint: index, version }, question };
        self.asking = Some(probe);
        Way::Ask(probe)
    }

    /// Takes what came of the question that is out.
    pub fn probed(&mut self, now: Time, outcome: Result<(), &SlurmFault>) {
        let Some(Probe { via, question }) = self.asking.take() else { return };
        match (question, outcome) {
            // Whatever it complains about, it knows the path.
            (Question::Version, Ok(()) | Err(SlurmFault::Refused { .. })) => self.speaks(via),
            (Question::Version, Err(SlurmFault::NotServed { why })) => {
                self.try_older(now, via, why);
            }
            (Question::Token, Ok(()) | Err(SlurmFault::Refused { .. })) => self.accepted(),
            (Question::Token, Err(fault @ SlurmFault::NotServed { .. })) => {
                self.changed(now, via.endpoint, fault);
            }
            (_, Err(SlurmFault::Unauthorized { why })) => self.refused(now, why),
            (_, Err(fault)) => self.rest(now, via.endpoint, fault),
        }
    }

    /// Takes what came of a request that was sent this way.
    pub fn heard(&mut self, now: Time, via: Via, outcome: Result<(), &SlurmFault>) {
        if self.endpoints.get(via.endpoint).and_then(Endpoint::version) != Some(via.version) {
            // Sent before the last trouble. What is true now is being found out.
            return;
        }
        match outcome {
            Ok(()) | Err(SlurmFault::Refused { .. }) => {
                self.answered(via);
                self.accepted();
            }
            Err(SlurmFault::Unintelligible { .. }) => self.answered(via),
            Err(SlurmFault::Unauthorized { why }) => self.refused(now, why),
            Err(fault @ SlurmFault::NotServed { .. }) => self.changed(now, via.endpoint, fault),
            Err(fault @ SlurmFault::Unreachable { .. }) => self.rest(now, via.endpoint, fault),
            Err(fault @ SlurmFault::Lost { .. }) => self.lost(now, via, fault),
        }
    }

    /// Where the way stands.
    pub(crate) fn state_name(&self) -> &'static str {
        match (&self.token, self.endpoints.get(self.current).map(|endpoint| &endpoint.state)) {
            (Token::Refused { .. }, _) => "link without token",
            (Token::Fine, Some(State::Ready(..))) => "link ready",
            (Token::Fine, Some(State::Resting { .. })) => "link resting",
            (Token::Fine, Some(State::Unknown(_)) | None) => "link unknown",
        }
    }

    /// What happened since the last call, as sentences, each with whether it is a matter of course.
    pub fn take_news(&mut self) -> Vec<(String, bool)> {
        std::mem::take(&mut self.news)
    }

    fn tell(&mut self, text: String) {
        self.news.push((text, false));
    }

    /// The current server if it can be tried, or the next one that can.
    fn choose(&self, now: Time) -> Option<usize> {
        let rests = |index: &usize| match self.endpoints[*index].state {
            State::Resting { until, .. } => now < until,
            State::Unknown(_) | State::Ready(..) => false,
        };
        let count = self.endpoints.len();
        (self.current..self.current + count).map(|index| index % count).find(|index| !rests(index))
    }

    /// All rest: when the first wakes, and what the current one said.
    fn shut(&self) -> Way {
        let resting = |endpoint: &Endpoint| match &endpoint.state {
            State::Resting { until, fault } => Some((*until, fault.clone())),
            State::Unknown(_) | State::Ready(..) => None,
        };
        let until = self.endpoints.iter().filter_map(resting).map(|(until, _)| until).min();
        let fault = self.endpoints.get(self.current).and_then(resting).map(|(_, fault)| fault);
        let nobody = || SlurmFault::Unreachable { why: "no slurmrestd is configured".to_owned() };
        Way::Shut { until: until.unwrap_or(Time::MAX), fault: fault.unwrap_or_else(nobody) }
    }

    fn first_tried(&self) -> ApiVersion {
        self.pin.unwrap_or(ApiVersion::NEWEST)
    }

    /// The version is served. Only an answer to somebody's request shows that all is well again.
    fn speaks(&mut self, via: Via) {
        let endpoint = &mut self.endpoints[via.endpoint];
        endpoint.state = State::Ready(via.version, 0);
        let text = format!("{} speaks {}", endpoint.name, via.version);
        let (is_routine, name) = (endpoint.failures == 0, endpoint.name.clone());
        self.news.push((text, is_routine));
        if std::mem::replace(&mut self.in_use, via.endpoint) != via.endpoint {
            self.tell(format!("asking {name} from now on"));
        }
    }

    fn try_older(&mut self, now: Time, via: Via, why: &str) {
        match via.version.older().filter(|_| self.pin.is_none()) {
            Some(older) => self.endpoints[via.endpoint].state = State::Unknown(older),
            None => {
                let fault = SlurmFault::NotServed { why: self.no_version(why) };
                self.rest(now, via.endpoint, &fault);
            }
        }
    }

    fn no_version(&self, why: &str) -> String {
        let said = why.split(['.', '\n']).next().unwrap_or_default().trim();
        match self.pin {
            Some(pin) => {
                format!("it doesn't serve {pin}, which the configuration asks for ({said})")
            }
            None => {
                let oldest = ApiVersion::V40;
                let newest = ApiVersion::NEWEST;
                format!("it serves no version from {oldest} to {newest} ({said})")
            }
        }
    }

    fn answered(&mut self, via: Via) {
        let endpoint = &mut self.endpoints[via.endpoint];
        endpoint.state = State::Ready(via.version, 0);
        endpoint.failures = 0;
    }

    fn accepted(&mut self) {
        if self.token != Token::Fine {
            self.token = Token::Fine;
            self.tell("the token is accepted again".to_owned());
        }
    }

    fn refused(&mut self, now: Time, why: &str) {
        let failures = match &self.token {
            Token::Fine => {
                self.news.push((format!("the token was refused: {why}"), false));
                1
            }
            // Others that were out with it are refused as well: that is no more news.
            Token::Refused { until, failures, .. } if now < *until => *failures,
            Token::Refused { failures, .. } => failures.saturating_add(1),
        };
        let until = now + Backoff::LINK.after(failures);
        self.token = Token::Refused { until, failures, why: why.to_owned() };
    }

    /// The path is unknown: another release answers there now. The second time in a row it rests,
    /// or two that contradict each other would be asked without a pause.
    fn changed(&mut self, now: Time, index: usize, fault: &SlurmFault) {
        if self.endpoints[index].failures > 0 {
            return self.rest(now, index, fault);
        }
        let state = State::Unknown(self.first_tried());
        let endpoint = &mut self.endpoints[index];
        endpoint.failures = 1;
        endpoint.state = state;
        let text = format!("{} no longer knows what it served", endpoint.name);
        self.tell(text);
    }

    fn lost(&mut self, now: Time, via: Via, fault: &SlurmFault) {
        let State::Ready(_, losses) = &mut self.endpoints[via.endpoint].state else { return };
        *losses += 1;
        if LOSSES <= *losses {
            self.rest(now, via.endpoint, fault);
        }
    }

    fn rest(&mut self, now: Time, index: usize, fault: &SlurmFault) {
        let endpoint = &mut self.endpoints[index];
        endpoint.failures = endpoint.failures.saturating_add(1);
        let until = now + Backoff::LINK.after(endpoint.failures);
        endpoint.state = State::Resting { until, fault: fault.clone() };
        if endpoint.failures == 1 {
            let text = format!("{}: {fault}", endpoint.name);
            self.tell(text);
        }
    }
}

impl Endpoint {
    fn version(&self) -> Option<ApiVersion> {
        match self.state {
            State::Ready(version, _) => Some(version),
            State::Unknown(_) | State::Resting { .. } => None,
        }
    }
}

impl SlurmFault {
    /// Whether the same request may be sent once more: nothing was done, or nothing can have been,
    /// because it only reads.
    pub fn allows_repeating(&self, reads_only: bool) -> bool {
        match self {
            Self::Unreachable { .. } | Self::NotServed { .. } => true,
            Self::Lost { .. } => reads_only,
            Self::Refused { .. } | Self::Unauthorized { .. } | Self::Unintelligible { .. } => false,
        }
    }
}
