//! The bridge's requests to slurmrestd, and what it answers.
//!
//! ```text
//!   request ──▶ a server's verdict ──▶ slurmctld ──▶ JSON ──▶ what the bridge's client makes of it
//!                                          └─ asked before, and nothing changed: the same again
//! ```

use drawbridge_bridge::slurm::{
    HttpMethod, HttpRequest, decode, encode,
    reply::{Body, Reply},
};
use drawbridge_core::{CallId, Input, SlurmFault, SlurmReply, SlurmRequest, slurm::Via};
use drawbridge_fakes as fakes;
use drawbridge_fakes::{Request, Response};
use drawbridge_sim::{JobState, Time};

use super::{
    SLURM_LATENCY, World,
    outside::digest,
    process::Life,
    rest,
    trial::{self, Answer},
};
use crate::{
    fault::Verdict,
    log::Line,
    record::{Actor, Subject},
};

/// Whose token the bridge shows to slurmrestd.
const SLURM_USER: &str = "slurm";

/// What a question was answered with when Slurm was so.
#[derive(Clone)]
pub(super) struct Answered {
    version: u64,
    /// From then on it would be another.
    until: Option<Time>,
    status: u16,
    outcome: Result<SlurmReply, SlurmFault>,
}

impl World {
    pub(super) fn arrive_at_slurm(
        &mut self,
        life: Life,
        call: CallId,
        via: Via,
        request: &SlurmRequest,
        fate: Option<Verdict>,
    ) {
        if self.wire.is_some() {
            return self.slurm_by_wire(life, call, via, request);
        }
        let Some(outcome) = self.ask_slurm(via, request, fate) else { return };
        match trial::reply_of(fate) {
            Answer::Comes(later) => {
                self.post(life, SLURM_LATENCY + later, Input::SlurmReplied { call, outcome });
            }
            Answer::Breaks => {
                let outcome = Err(SlurmFault::Lost { why: trial::broken().why });
                self.post(life, SLURM_LATENCY, Input::SlurmReplied { call, outcome });
            }
            Answer::Never => {}
        }
    }

    /// What becomes of a request to one of the slurmrestd; `None` if nobody ever hears of it.
    fn ask_slurm(
        &mut self,
        via: Via,
        request: &SlurmRequest,
        fate: Option<Verdict>,
    ) -> Option<Result<SlurmReply, SlurmFault>> {
        let http = match encode(request, via.version) {
            Ok(http) => slurm_request(http),
            Err(unserved) => {
                return Some(Err(SlurmFault::Refused { number: 0, text: unserved.to_string() }));
            }
        };
        let refused = fate.and_then(trial::slurm_refusal).map(rest::Verdict::Answer);
        let said = match refused.unwrap_or_else(|| self.rest.verdict(via, request)) {
            rest::Verdict::Pass if self.is_known(request) => {
                return Some(self.known_answer(request, &http));
            }
            rest::Verdict::Pass => Ok(self.ask_slurmctld(request, &http, fate)),
            rest::Verdict::Answer(response) => Ok(response),
            rest::Verdict::Fault(fault) => Err(Some(fault)),
            rest::Verdict::Silence => Err(None),
        };
        let came = match &said {
            Ok(response) => response.status.to_string(),
            Err(Some(fault)) => fault.to_string(),
            Err(None) => "silence".to_owned(),
        };
        self.note_slurm(&http, &came);
        match said {
            Ok(response) => Some(understood(request, &response)),
            Err(fault) => fault.map(Err),
        }
    }

    /// Whether a request is a question whose answer depends on slurmctld alone.
    fn is_known(&self, request: &SlurmRequest) -> bool {
        // Whether a reservation has begun depends on the time as well.
        let of_slurmctld = is_question(request) && *request != SlurmRequest::Reservations;
        of_slurmctld && self.troubles.slurmctld <= self.now && !self.faults.may_be_stale()
    }

    /// The answer to a question; the same as before if nothing has changed since. Most questions are
    /// asked again and again, and to write an answer and to read it costs more than all else.
    fn known_answer(
        &mut self,
        request: &SlurmRequest,
        http: &Request,
    ) -> Result<SlurmReply, SlurmFault> {
        let version = self.slurm.version();
        let holds = |known: &&Answered| {
            known.version == version && known.until.is_none_or(|until| self.now < until)
        };
        let known = self.answers.get(&http.path).filter(holds);
        if let Some(Answered { status, outcome, .. }) = known.cloned() {
            debug_assert_eq!(outcome, understood(request, &self.slurm.ask(self.now, http)));
            self.note_slurm(http, &status.to_string());
            return outcome;
        }
        let response = self.slurm.ask(self.now, http);
        self.note_slurm(http, &response.status.to_string());
        let (status, outcome) = (response.status, understood(request, &response));
        if self.answers.values().any(|known| known.version != version) {
            self.answers.clear();
        }
        let until = self.next_begin();
        let answered = Answered { version, until, status, outcome: outcome.clone() };
        self.answers.insert(http.path.clone(), answered);
        outcome
    }

    /// When the next job's begin time comes: slurmrestd says it as the start until then.
    fn next_begin(&self) -> Option<Time> {
        let waiting = self.slurm.ctld().jobs().filter(|job| job.state == JobState::Pending);
        waiting.filter_map(|job| job.begin_time).filter(|begin| self.now < *begin).min()
    }

    /// Writes down a request and what came of it.
    pub(super) fn note_asked(&mut self, via: Via, request: &SlurmRequest, came: &str) {
        if let Ok(http) = encode(request, via.version) {
            self.note_slurm(&slurm_request(http), came);
        }
    }

    fn note_slurm(&mut self, http: &Request, came: &str) {
        let text = format!("{:?} {} -> {came}", http.method, http.path);
        self.note(
            Line::detail(Actor::Bridge, Subject::Bridge, text).digest(digest(http.body.as_ref())),
        );
    }

    /// slurmrestd answers for slurmctld, or says that it can't be reached.
    fn ask_slurmctld(
        &mut self,
        request: &SlurmRequest,
        http: &Request,
        fate: Option<Verdict>,
    ) -> Response {
        if self.now < self.troubles.slurmctld && *request != SlurmRequest::Ping {
            return trial::no_slurmctld();
        }
        if !is_question(request) {
            return self.ask_model(http);
        }
        let question = || format!("{} {:?}", http.path, http.query);
        self.stale_or(question, fate, |world| world.ask_model(http))
    }

    fn ask_model(&mut self, http: &Request) -> Response {
        self.slurm.ask(self.now, http)
    }
}

/// Requests that change nothing and say how slurmctld sees things.
fn is_question(request: &SlurmRequest) -> bool {
    match request {
        SlurmRequest::JobStates
        | SlurmRequest::Job(_)
        | SlurmRequest::Jobs
        | SlurmRequest::Nodes
        | SlurmRequest::Reservations => true,
        SlurmRequest::Ping
        | SlurmRequest::TestToken
        | SlurmRequest::Submit(_)
        | SlurmRequest::Cancel { .. }
        | SlurmRequest::Remark { .. }
        | SlurmRequest::Revise { .. }
        | SlurmRequest::UpdateNode { .. }
        | SlurmRequest::CreateNode { .. }
        | SlurmRequest::DescribeNode { .. }
        | SlurmRequest::DeleteNode(_) => false,
    }
}

/// What the bridge's client makes of a response.
fn understood(request: &SlurmRequest, response: &Response) -> Result<SlurmReply, SlurmFault> {
    let Response { status, body } = response;
    decode(request, &Reply { status: *status, body: Body::Json(body) })
}

fn slurm_request(request: HttpRequest) -> Request {
    let HttpRequest { method, path, query, body } = request;
    let method = match method {
        HttpMethod::Get => fakes::Method::Get,
        HttpMethod::Post => fakes::Method::Post,
        HttpMethod::Delete => fakes::Method::Delete,
    };
    Request { query, body, ..Request::new(SLURM_USER, method, path) }
}
