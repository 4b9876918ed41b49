//! A request that may have to wait for webhooks.
//!
//! ```text
//!  attempt ─▶ route ─▶ a webhook must be asked ─┬─ it answers at once ─▶ … ─▶ Response
//!     ▲                                         └─ later ─▶ nothing is written, `waiting` says what is missing
//!     └── answer(…) ◀── whoever can call it, with no lock held ◀──┘
//! ```
//!
//! Nothing is stored before admission is through, so a request that waits has changed nothing and is
//! simply tried again once the answers are there. An attempt keeps what makes the second try the same
//! as the first: the time, the names and uids that were drawn, the answers. If the object changed
//! meanwhile, webhooks see something new and are asked again, as on a real server.

use drawbridge_sim::Time;
use serde_json::Value;

use crate::kube::identity::Draws;

/// One call of a webhook.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewCall {
    /// The webhook's name: `pods.slurm-bridge.net`.
    pub hook: String,
    /// Where it is.
    pub place: Place,
    /// The path that is called, with its query.
    pub path: String,
    /// Certificates in PEM that the webhook's own must come from; empty if the configuration has none.
    pub ca_bundle: Vec<u8>,
    /// How long it may take.
    pub timeout_secs: u64,
    /// The `AdmissionReview`.
    pub review: Value,
}

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a URL: its host and port.
    Url {
        /// The host name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// Behind a Service.
    Service {
        /// The Service's namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The port of the Service.
        port: u16,
    },
}

/// What came of asking a webhook.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// An `AdmissionReview` with a response.
    Answered(Value),
    /// It could not be reached, or said nothing that makes sense.
    Failed(String),
    /// The answer isn't there yet; the request waits for it.
    Later,
}

/// Whoever answers admission webhooks.
pub trait Webhooks {
    /// Calls the webhook at `path` with an `AdmissionReview`; the answer is one too.
    /// An error means that it could not be reached.
    fn call(&mut self, now: Time, path: &str, review: &Value) -> Result<Value, String>;

    /// The same, for those who know where a webhook is, or can't answer at once.
    fn ask(&mut self, now: Time, call: &ReviewCall) -> Asked {
        match self.call(now, &call.path, &call.review) {
            Ok(answer) => Asked::Answered(answer),
            Err(why) => Asked::Failed(why),
        }
    }
}

/// Nobody answers.
pub struct NoWebhooks;

impl Webhooks for NoWebhooks {
    fn call(&mut self, _now: Time, _path: &str, _review: &Value) -> Result<Value, String> {
        Err("connection refused".into())
    }
}

/// Somebody else calls the webhooks: every request that needs one waits.
pub struct Elsewhere;

impl Webhooks for Elsewhere {
    fn call(&mut self, _now: Time, _path: &str, _review: &Value) -> Result<Value, String> {
        Err("the webhook is called elsewhere".into())
    }

    fn ask(&mut self, _now: Time, _call: &ReviewCall) -> Asked {
        Asked::Later
    }
}

/// What is known about a request from the times that it was tried.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    pub(crate) began: Option<Time>,
    pub(crate) draws: Draws,
    pub(crate) runs: u32,
    calls: Vec<Asking>,
}

#[derive(Clone, Debug)]
struct Asking {
    call: ReviewCall,
    answer: Option<Result<Value, String>>,
}

impl Attempt {
    /// The calls that were not answered yet, with their numbers.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, &ReviewCall)> {
        let open = self.calls.iter().enumerate().filter(|(_, asking)| asking.answer.is_none());
        open.map(|(number, asking)| (number, &asking.call))
    }

    /// Answers the call of this number.
    pub fn answer(&mut self, number: usize, answer: Result<Value, String>) {
        if let Some(asking) = self.calls.get_mut(number) {
            asking.answer = Some(answer);
        }
    }

    /// The answer to a call, if it was asked before.
    pub(crate) fn known(&self, call: &ReviewCall) -> Option<Result<Value, String>> {
        let found = self.calls.iter().find(|it| it.answer.is_some() && is_same(&it.call, call))?;
        let mut answer = found.answer.clone()?;
        if let Ok(review) = &mut answer
            && review["response"]["uid"] == found.call.review["request"]["uid"]
            && review["response"].is_object()
        {
            review["response"]["uid"] = call.review["request"]["uid"].clone();
        }
        Some(answer)
    }

    /// Notes a call that must be made.
    pub(crate) fn want(&mut self, call: ReviewCall) {
        self.calls.push(Asking { call, answer: None });
    }
}

/// Whether two calls ask the same, whatever the number of their review.
fn is_same(one: &ReviewCall, other: &ReviewCall) -> bool {
    let (Some(mine), Some(theirs)) =
        (one.review["request"].as_object(), other.review["request"].as_object())
    else {
        return false;
    };
    one.hook == other.hook
        && mine.len() == theirs.len()
        && mine.iter().all(|(key, value)| key == "uid" || theirs.get(key) == Some(value))
}
