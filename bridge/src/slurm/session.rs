//! One question after the other, for command-line tools: the core's [`Link`] finds a server and a
//! version, the [`Client`] sends.
//!
//! ```no_run
//! use drawbridge_bridge::slurm::{calls::Jobs, session::Session};
//!
//! let session = Session::from_env(None)?;
//! for job in session.ask(&Jobs)?.items {
//!     println!("{} {}", job.job_id, job.job_state.join("+"));
//! }
//! # Ok::<(), drawbridge_bridge::slurm::session::SessionError>(())
//! ```
//!
//! [`Link`]: drawbridge_core::link::Link

mod settings;

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use drawbridge_core::{
    SlurmFault,
    link::{Link, LinkStatus, Probe, Question, Way},
    slurm::{ApiVersion, Via},
};
use drawbridge_sim::{Span, Time};
use serde_json::Value;
use tokio::{runtime::Runtime, time::Instant};

use super::{
    calls::{Call, Licenses, Pings},
    client::{Client, Metrics},
    reply::Answered,
};

pub use settings::{SessionError, SessionSettings};

/// Asks Slurm, blocking until there is an answer.
#[derive(Debug)]
pub struct Session {
    runtime: Runtime,
    line: Line,
}

/// Asks Slurm, without blocking.
#[derive(Debug)]
pub struct Line {
    client: Client,
    link: Mutex<Link>,
    began: Instant,
    timeout: Duration,
    patience: Duration,
}

impl Session {
    /// A session with the environment's settings; an address that is given goes before its own.
    pub fn from_env(address: Option<&str>) -> Result<Self, SessionError> {
        Self::new(SessionSettings::from_env(address)?)
    }

    /// A session with these settings. Nothing is sent yet.
    pub fn new(settings: SessionSettings) -> Result<Self, SessionError> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().map_err(SessionError::Runtime)?;
        let line = {
            let _inside = runtime.enter();
            Line::new(settings)?
        };
        Ok(Self { runtime, line })
    }

    /// Asks one question.
    pub fn ask<C: Call>(&self, call: &C) -> Result<C::Answer, SessionError> {
        self.runtime.block_on(self.line.ask(call))
    }

    /// Asks one question, and keeps what came with the answer.
    pub fn ask_fully<C: Call>(&self, call: &C) -> Result<Answered<C::Answer>, SessionError> {
        self.runtime.block_on(self.line.ask_fully(call))
    }

    /// Asks one question; the answer is the reply as it came.
    pub fn ask_raw<C: Call>(&self, call: &C) -> Result<Value, SessionError> {
        self.runtime.block_on(self.line.ask_raw(call))
    }

    /// Asks one question; beside the answer there is the reply's text.
    pub fn ask_text<C: Call>(&self, call: &C) -> Result<(C::Answer, String), SessionError> {
        self.runtime.block_on(self.line.ask_text(call))
    }

    /// The version that is spoken; found out if nothing was asked yet.
    pub fn version(&self) -> Result<ApiVersion, SessionError> {
        self.runtime.block_on(self.line.version())
    }

    /// The same without blocking.
    pub fn line(&self) -> &Line {
        &self.line
    }
}

impl Line {
    /// A line with these settings. Nothing is sent yet.
    pub fn new(settings: SessionSettings) -> Result<Self, SessionError> {
        let SessionSettings { client, pin, timeout, patience } = settings;
        let names = client.endpoints.iter().map(ToString::to_string).collect();
        let client = Client::new(client).map_err(SessionError::Settings)?;
        let link = Mutex::new(Link::new(names, pin));
        Ok(Self { client, link, began: Instant::now(), timeout, patience })
    }

    /// Asks one question.
    pub async fn ask<C: Call>(&self, call: &C) -> Result<C::Answer, SessionError> {
        Ok(self.ask_fully(call).await?.value)
    }

    /// Asks one question, and keeps what came with the answer.
    pub async fn ask_fully<C: Call>(&self, call: &C) -> Result<Answered<C::Answer>, SessionError> {
        self.repeat(call, |via| self.client.send(via, call, self.timeout)).await
    }

    /// Asks one question; the answer is the reply as it came.
    pub async fn ask_raw<C: Call>(&self, call: &C) -> Result<Value, SessionError> {
        self.repeat(call, |via| self.client.raw(via, call, self.timeout)).await
    }

    /// Asks one question; beside the answer there is the reply's text.
    pub async fn ask_text<C: Call>(&self, call: &C) -> Result<(C::Answer, String), SessionError> {
        self.repeat(call, |via| self.client.text(via, call, self.timeout)).await
    }

    /// The version that is spoken; found out if nothing was asked yet.
    pub async fn version(&self) -> Result<ApiVersion, SessionError> {
        Ok(self.way().await?.version)
    }

    /// How the way to Slurm looks.
    pub fn status(&self) -> LinkStatus {
        self.with_link(|link, _| link.status())
    }

    /// What was sent so far.
    pub fn metrics(&self) -> Metrics {
        self.client.metrics()
    }

    /// Sends until there is an answer, or none is to be had, or to send again wouldn't be safe.
    async fn repeat<C: Call, T, F>(
        &self,
        call: &C,
        send: impl Fn(Via) -> F,
    ) -> Result<T, SessionError>
    where
        F: Future<Output = Result<T, SlurmFault>>,
    {
        loop {
            let via = self.way().await?;
            let outcome = send(via).await;
            self.with_link(|link, now| link.heard(now, via, outcome.as_ref().map(drop)));
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(fault) if fault.allows_repeating(call.reads_only(via.version)) => {}
                Err(fault) => return Err(self.failed(via.endpoint, fault)),
            }
        }
    }

    /// The way for a request, once there is one.
    async fn way(&self) -> Result<Via, SessionError> {
        loop {
            match self.with_link(Link::way) {
                Way::Open(via) => return Ok(via),
                Way::Ask(probe) => self.probe(probe).await,
                // Somebody else's question is out.
                Way::Asking => tokio::time::sleep(Duration::from_millis(10)).await,
                Way::Shut { until, fault } => {
                    let until = self.began + Duration::from_millis(until.as_ms());
                    let current = self.status().current;
                    if matches!(fault, SlurmFault::Unauthorized { .. }) || !self.may_wait(until) {
                        return Err(self.failed(current, fault));
                    }
                    tokio::time::sleep_until(until).await;
                }
            }
        }
    }

    async fn probe(&self, probe: Probe) {
        let outcome = match probe.question {
            Question::Version => self.client.send(probe.via, &Pings, self.timeout).await.map(drop),
            Question::Token => self.client.send(probe.via, &Licenses, self.timeout).await.map(drop),
        };
        self.with_link(|link, now| link.probed(now, outcome.as_ref().map(drop)));
    }

    fn may_wait(&self, until: Instant) -> bool {
        until <= self.began + self.patience
    }

    fn failed(&self, endpoint: usize, fault: SlurmFault) -> SessionError {
        let status = self.status();
        let address = status.endpoints.get(endpoint).map(|endpoint| endpoint.name.clone());
        SessionError::Fault { address: address.unwrap_or_default(), fault }
    }

    fn with_link<T>(&self, act: impl FnOnce(&mut Link, Time) -> T) -> T {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut link, Time::ZERO + Span::ms(ms))
    }
}
