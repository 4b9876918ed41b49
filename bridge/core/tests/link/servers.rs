//! Two servers and a token, and somebody who wants to ask them something every second.

use drawbridge_core::{
    SlurmFault,
    link::{Link, Question, Way},
    slurm::{ApiVersion, Via},
};
use drawbridge_sim::{Span, Time};

/// How one slurmrestd is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// Connections are refused.
    Down,
    /// Requests are lost.
    Mute,
    /// It serves this version and the one before.
    Serves(ApiVersion),
    /// It pings in this version, and knows no other path.
    Hollow(ApiVersion),
    /// It serves nothing that we know.
    Alien,
}

/// Everything outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    pub(crate) servers: [Server; 2],
    pub(crate) token: bool,
}

impl Outside {
    /// What comes of a request.
    fn answer(&self, via: Via, question: Option<Question>) -> Result<(), SlurmFault> {
        let not_served = || SlurmFault::NotServed { why: "Unable find requested URL.".to_owned() };
        let is_ping = question == Some(Question::Version);
        match self.servers[via.endpoint] {
            Server::Down => Err(SlurmFault::Unreachable { why: "refused".to_owned() }),
            Server::Mute => Err(SlurmFault::Lost { why: "timed out".to_owned() }),
            Server::Alien => Err(not_served()),
            Server::Serves(v) if ![Some(v), v.older()].contains(&Some(via.version)) => {
                Err(not_served())
            }
            Server::Hollow(v) if v != via.version || !is_ping => Err(not_served()),
            Server::Serves(_) | Server::Hollow(_) if self.token || is_ping => Ok(()),
            Server::Serves(_) | Server::Hollow(_) => {
                Err(SlurmFault::Unauthorized { why: "expired".to_owned() })
            }
        }
    }

    /// Whether this server answers requests.
    pub(crate) fn answers(&self, endpoint: usize) -> bool {
        self.token && matches!(self.servers[endpoint], Server::Serves(_))
    }
}

/// What one attempt to ask came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Answered(Via),
    Failed(Via, SlurmFault),
    TurnedAway(Time),
}

/// Somebody who asks.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) link: Link,
    pub(crate) now: Time,
    /// Requests so far.
    pub(crate) sent: usize,
    pub(crate) log: Vec<String>,
}

impl Asker {
    pub(crate) fn new(pin: Option<ApiVersion>) -> Self {
        let link = Link::new(vec!["a".to_owned(), "b".to_owned()], pin);
        Self { link, now: Time::ZERO, sent: 0, log: Vec::new() }
    }

    /// Tries to ask once, with as many probes as that takes.
    pub(crate) fn ask(&mut self, outside: &Outside) -> Attempt {
        loop {
            match self.link.way(self.now) {
                Way::Open(via) => return self.send(outside, via),
                Way::Ask(probe) => {
                    assert_eq!(self.link.way(self.now), Way::Asking, "one probe at a time");
                    let outcome = outside.answer(probe.via, Some(probe.question));
                    self.say(&format!("{:?}", probe.question), probe.via, &outcome);
                    self.link.probed(self.now, outcome.as_ref().map(drop));
                }
                Way::Asking => panic!("nobody asked"),
                Way::Shut { until, .. } => {
                    assert!(self.now < until && until <= self.now + Span::secs(15), "{until}");
                    return Attempt::TurnedAway(until);
                }
            }
            self.tell_news();
        }
    }

    fn send(&mut self, outside: &Outside, via: Via) -> Attempt {
        let outcome = outside.answer(via, None);
        self.say("request", via, &outcome);
        self.link.heard(self.now, via, outcome.as_ref().map(drop));
        self.tell_news();
        match outcome {
            Ok(()) => Attempt::Answered(via),
            Err(fault) => Attempt::Failed(via, fault),
        }
    }

    /// Asks every second for so long.
    pub(crate) fn pass(&mut self, outside: &Outside, secs: u64) {
        for _ in 0..secs {
            self.ask(outside);
            self.now = self.now + Span::secs(1);
        }
    }

    fn say(&mut self, what: &str, via: Via, outcome: &Result<(), SlurmFault>) {
        self.sent += 1;
        let server = ["a", "b"][via.endpoint];
        let came = outcome.as_ref().err().map_or("ok".to_owned(), ToString::to_string);
        self.log.push(format!("{} > {what} {server} {}: {came}", self.now, via.version));
    }

    fn tell_news(&mut self) {
        for (text, _) in self.link.take_news() {
            self.log.push(format!("{}     = {text}", self.now));
        }
    }

    /// What was said since the last call.
    pub(crate) fn dialogue(&mut self) -> String {
        std::mem::take(&mut self.log).join("\n")
    }
}
