//! What came from outside, kept so that it can come again.
//!
//! ```text
//!   request ──▶ host lock ──▶ tape: (time, what) ──▶ host        live
//!                             tape ──▶ Player ──▶ host           again: the same host afterwards
//! ```
//!
//! A host is determined by its seed and by what comes from outside at which time. Requests that only
//! read change nothing and aren't kept. Tokens aren't kept either, only whose they were.

mod bytes;

use std::{collections::BTreeMap, fmt::Debug};

use drawbridge_fakes::{
    Attempt, HttpRequest, User,
    slurmrestd::{RestRequest, token::Key},
};
use drawbridge_sim::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::bytes::Body;
use crate::host::{KubeHost, SlurmHost};

/// Whoever keeps what came from outside. It is told while the host is locked, in the order in which
/// things happen.
pub trait Tape: Send + Debug {
    /// This came, at this time of the host's.
    fn keep(&mut self, at: Time, what: &Outside);
}

/// One thing that came from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outside {
    /// The authority that vouches for the API server was made known.
    Authority(String),
    /// A request to the API server was tried; with answers of webhooks, if it waited for some.
    Kube(KubeTry),
    /// A webhook answered a controller.
    Reviewed {
        /// Which call of whose.
        ticket: (u64, usize),
        /// What it said.
        answer: Result<Value, String>,
    },
    /// A request to slurmrestd.
    Slurm(SlurmAsked),
}

/// One try of a request to the API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeTry {
    /// Tries of one request have the same number.
    pub number: u64,
    /// The request, at the first try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<KubeAsked>,
    /// What webhooks answered since the try before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(usize, Result<Value, String>)>,
}

/// A request to the API server, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeAsked {
    user: String,
    groups: Vec<String>,
    method: String,
    target: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    body: Body,
}

/// A request to slurmrestd, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlurmAsked {
    user: String,
    method: String,
    target: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    body: Body,
}

/// Headers that change what a request does.
const HEADERS: [&str; 3] = ["accept", "content-type", "user-agent"];

fn kept(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str())).cloned().collect()
}

fn reads_only(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS"].contains(&method)
}

impl KubeAsked {
    /// The request as it is kept; nothing if it only reads.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        let HttpRequest { user: User { name, groups }, method, target, headers, body } = request;
        (!reads_only(method)).then(|| Self {
            user: name.clone(),
            groups: groups.clone(),
            method: method.clone(),
            target: target.clone(),
            headers: kept(headers),
            body: Body(body.clone()),
        })
    }

    fn request(&self) -> HttpRequest {
        let Self { user, groups, method, target, headers, body } = self.clone();
        HttpRequest { user: User { name: user, groups }, method, target, headers, body: body.0 }
    }
}

impl SlurmAsked {
    /// The request as it is kept; nothing if it only reads, or if nobody asks whom Slurm knows.
    pub(crate) fn of(request: &RestRequest, user: Option<String>) -> Option<Self> {
        let RestRequest { method, target, headers, body, .. } = request;
        let user = user.filter(|_| !reads_only(method))?;
        let (method, target, headers) = (method.clone(), target.clone(), kept(headers));
        Some(Self { user, method, target, headers, body: Body(body.clone()) })
    }

    fn request(&self, key: &Key, unix: u64) -> RestRequest {
        let Self { user, method, target, headers, body } = self.clone();
        let mut request =
            RestRequest { method, target, headers, body: body.0, ..RestRequest::default() };
        let token = key.mint(&user, unix, 60);
        request.headers.push(("x-slurm-user-token".to_owned(), token));
        request
    }
}

/// Lets what was kept come again.
#[derive(Debug)]
pub struct Player {
    key: Key,
    tries: BTreeMap<u64, (HttpRequest, Attempt)>,
}

impl Default for Player {
    fn default() -> Self {
        // Nobody else sees its tokens.
        Self { key: Key::new(b"player".to_vec()), tries: BTreeMap::new() }
    }
}

impl Player {
    /// This comes again, for a host's cluster.
    pub fn kube(&mut self, host: &mut (impl KubeHost + ?Sized), at: Time, what: &Outside) {
        match what {
            Outside::Authority(authority) => {
                host.visit(at, &mut |cluster, _| cluster.api_mut().publish_authority(authority));
            }
            Outside::Kube(one) => self.try_again(host, at, one),
            Outside::Reviewed { ticket, answer } => host.visit(at, &mut |cluster, hooks| {
                // Whoever called it has been told of the call.
                drop(cluster.take_calls());
                cluster.answered(at, *ticket, answer.clone(), hooks);
            }),
            Outside::Slurm(_) => {}
        }
    }

    fn try_again(&mut self, host: &mut (impl KubeHost + ?Sized), at: Time, one: &KubeTry) {
        if let Some(asked) = &one.request {
            self.tries.insert(one.number, (asked.request(), Attempt::default()));
        }
        let Some((request, attempt)) = self.tries.get_mut(&one.number) else { return };
        for (number, answer) in &one.answers {
            attempt.answer(*number, answer.clone());
        }
        host.visit(at, &mut |cluster, hooks| {
            drop(cluster.answer(at, request, attempt, hooks));
        });
        if attempt.waiting().next().is_none() {
            self.tries.remove(&one.number);
        }
    }

    /// This comes again, for a host's Slurm.
    pub fn slurm(&mut self, host: &mut (impl SlurmHost + ?Sized), at: Time, what: &Outside) {
        let Outside::Slurm(asked) = what else { return };
        let key = &self.key;
        host.visit(at, &mut |slurm| {
            let unix = slurm.ctld().epoch().unix(at);
            drop(slurm.answer(at, unix, key, &asked.request(key, unix)));
        });
    }
}
