//! The client: sends one request, hands back what it means, and decides nothing.
//!
//! ```text
//!   Call ─▶ HttpRequest ─▶ token ─▶ pool ─▶ TCP · TLS · Unix socket · memory ─▶ slurmrestd
//!                                    │
//!                         kept alive between requests
//! ```
//!
//! No retry, no fail-over, no choice of a version: whoever calls says where and how ([`Via`]). A
//! connection that the server closed while it lay idle is opened anew before anything was sent.

mod address;
mod configured;
mod connect;
mod metrics;
mod tls;
mod token;

use std::{io, path::PathBuf, sync::Mutex, time::Duration};

use bytes::{Bytes, BytesMut};
use drawbridge_core::{SlurmFault, SlurmReply, SlurmRequest, slurm::Via};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    Request, Uri,
    body::Incoming,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT},
};
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::Instant;

use self::connect::Connector;
use super::{
    calls::Call,
    effects,
    http::{HttpMethod, HttpRequest},
    reply::{Answered, Body, Reply, Sieve},
};

pub use crate::stream::{Dial, Dialling};
pub use address::{Address, AddressError};
pub use metrics::{Metrics, Outcome, Tally};
pub use tls::{TlsError, TlsFiles};
pub use token::{SigningKey, TokenError, TokenSource};

/// How to reach Slurm.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where slurmrestd answers, in order of preference.
    pub endpoints: Vec<Address>,
    /// The token to show.
    pub token: TokenSource,
    /// The user to name beside it; slurmrestd takes the token's own if none is.
    pub user: Option<String>,
    /// Certificates.
    pub tls: TlsFiles,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// The largest reply that is read, in bytes.
    pub largest_reply: usize,
}

impl Settings {
    /// These servers, without a token, with the values in force where nothing is set.
    pub fn new(endpoints: Vec<Address>) -> Self {
        Self {
            endpoints,
            token: TokenSource::None,
            user: None,
            tls: TlsFiles::default(),
            connect_timeout: Duration::from_secs(5),
            largest_reply: 512 << 20,
        }
    }
}

/// The number of a request, so that a server's log and ours can be laid side by side.
pub const REQUEST_ID: &str = "x-request-id";

/// How long a reply is waited for, under which number the request goes, and what of the reply is kept.
struct Terms<'a> {
    limit: Duration,
    id: Option<&'a str>,
    sieve: Option<Sieve>,
}

impl Terms<'_> {
    /// All of a reply that comes within this time.
    fn within(limit: Duration) -> Self {
        Self { limit, id: None, sieve: None }
    }
}

/// A client of one or several slurmrestd.
#[derive(Debug)]
pub struct Client {
    endpoints: Vec<Endpoint>,
    token: TokenSource,
    user: Option<HeaderValue>,
    largest_reply: usize,
    metrics: Mutex<Metrics>,
}

#[derive(Debug)]
struct Endpoint {
    /// `http://host:6820`, and what comes before `/slurm`.
    base: String,
    http: legacy::Client<Connector, Full<Bytes>>,
}

/// What can't be used of the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is nobody to ask.
    #[error("no address of slurmrestd is given")]
    NoEndpoint,
    /// The certificates can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// An address isn't one.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The key that signs tokens can't be read.
    #[error("can't read the signing key in {}: {source}", path.display())]
    Key {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The user's name can't stand in a header.
    #[error("`{0}` can't be the name of a user")]
    User(String),
}

impl Client {
    /// A client with these settings. Reads certificates, if an address needs them; tokens are read
    /// when they are shown.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let Settings { endpoints, token, user, tls, connect_timeout, largest_reply } = settings;
        if endpoints.is_empty() {
            return Err(SettingsError::NoEndpoint);
        }
        let endpoint = |address: Address| -> Result<Endpoint, SettingsError> {
            let base = address.base();
            let connector = Connector::new(address, &tls, connect_timeout)?;
            Ok(Endpoint { base, http: pool(connector) })
        };
        let header =
            |user: String| HeaderValue::from_str(&user).map_err(|_| SettingsError::User(user));
        Ok(Self {
            endpoints: endpoints.into_iter().map(endpoint).collect::<Result<_, _>>()?,
            token,
            user: user.map(header).transpose()?,
            largest_reply,
            metrics: Mutex::default(),
        })
    }

    /// Asks one question: exactly one request, for at most so long.
    pub async fn send<C: Call>(
        &self,
        via: Via,
        call: &C,
        limit: Duration,
    ) -> Result<Answered<C::Answer>, SlurmFault> {
        let request = call.request(via.version);
        let request = request.map_err(|unserved| unserved_fault(&unserved.to_string()))?;
        let answer = |status, body: &[u8]| call.answer(&Reply { status, body: Body::Bytes(body) });
        self.measured(C::NAME, via.endpoint, &request, Terms::within(limit), answer).await
    }

    /// Performs a request of the core's: exactly one request, under this number. Whoever has waited long
    /// enough drops it.
    pub async fn perform(
        &self,
        via: Via,
        id: &str,
        request: &SlurmRequest,
    ) -> Result<SlurmReply, SlurmFault> {
        let http = effects::encode(request, via.version);
        let http = http.map_err(|unserved| unserved_fault(&unserved.to_string()))?;
        let answer = |status, body: &[u8]| {
            effects::decode(request, &Reply { status, body: Body::Bytes(body) })
        };
        let terms = Terms { limit: Duration::MAX, id: Some(id), sieve: effects::sieve(request) };
        self.measured(effects::name(request), via.endpoint, &http, terms, answer).await
    }

    /// The reply to a call as it came, for those who print it as it is.
    pub async fn raw<C: Call>(
        &self,
        via: Via,
        call: &C,
        limit: Duration,
    ) -> Result<serde_json::Value, SlurmFault> {
        let request = call.request(via.version);
        let request = request.map_err(|unserved| unserved_fault(&unserved.to_string()))?;
        let answer = |status, body: &[u8]| {
            let reply = Reply { status, body: Body::Bytes(body) };
            call.answer(&reply)?;
            Ok(reply.body.read()?)
        };
        self.measured(C::NAME, via.endpoint, &request, Terms::within(limit), answer).await
    }

    /// The answer to a call, and the text of the reply, for those who print some of it as it is.
    pub async fn text<C: Call>(
        &self,
        via: Via,
        call: &C,
        limit: Duration,
    ) -> Result<(C::Answer, String), SlurmFault> {
        let request = call.request(via.version);
        let request = request.map_err(|unserved| unserved_fault(&unserved.to_string()))?;
        let answer = |status, body: &[u8]| {
            let answered = call.answer(&Reply { status, body: Body::Bytes(body) })?;
            Ok((answered.value, String::from_utf8_lossy(body).into_owned()))
        };
        self.measured(C::NAME, via.endpoint, &request, Terms::within(limit), answer).await
    }

    /// What was sent so far, by call and by outcome.
    pub fn metrics(&self) -> Metrics {
        self.metrics.lock().map(|metrics| metrics.clone()).unwrap_or_default()
    }

    async fn measured<T>(
        &self,
        name: &'static str,
        endpoint: usize,
        request: &HttpRequest,
        terms: Terms<'_>,
        answer: impl FnOnce(u16, &[u8]) -> Result<T, SlurmFault>,
    ) -> Result<T, SlurmFault> {
        let began = Instant::now();
        let exchanged = self.exchange(endpoint, request, terms).await;
        let bytes = exchanged.as_ref().map_or(0, |came| came.bytes);
        let outcome = exchanged.and_then(|came| answer(came.status, &came.body));
        if let Ok(mut metrics) = self.metrics.lock() {
            metrics.count(name, Outcome::of(outcome.as_ref().err()), began.elapsed(), bytes);
        }
        outcome
    }

    /// One request and its reply, whatever it says.
    async fn exchange(
        &self,
        endpoint: usize,
        request: &HttpRequest,
        Terms { limit, id, sieve }: Terms<'_>,
    ) -> Result<Came, SlurmFault> {
        let Some(endpoint) = self.endpoints.get(endpoint) else {
            let why = format!("there is no slurmrestd number {endpoint}");
            return Err(SlurmFault::Unreachable { why });
        };
        let http = self.http_request(&endpoint.base, request, id)?;
        let exchange = async {
            let reply = endpoint.http.request(http).await.map_err(|error| sending(&error))?;
            let status = reply.status().as_u16();
            let (body, bytes) = self.body(reply.into_body(), sieve).await?;
            Ok(Came { status, body, bytes })
        };
        let late =
            || SlurmFault::Lost { why: format!("nothing came within {} s", limit.as_secs_f32()) };
        if limit == Duration::MAX {
            return exchange.await;
        }
        tokio::time::timeout(limit, exchange).await.unwrap_or_else(|_| Err(late()))
    }

    fn http_request(
        &self,
        base: &str,
        request: &HttpRequest,
        id: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, SlurmFault> {
        let unsent = |why: String| SlurmFault::Refused { number: 0, text: why };
        let target = format!("{base}{}", request.target());
        let uri = target.parse::<Uri>().map_err(|error| unsent(format!("{target}: {error}")))?;
        let method = match request.method {
            HttpMethod::Get => hyper::Method::GET,
            HttpMethod::Post => hyper::Method::POST,
            HttpMethod::Delete => hyper::Method::DELETE,
        };
        let body = request.body.as_ref().map(|body| Bytes::from(body.to_string()));
        let mut http = Request::new(Full::new(body.clone().unwrap_or_default()));
        *http.method_mut() = method;
        *http.uri_mut() = uri;
        let headers = http.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("drawbridge/", env!("CARGO_PKG_VERSION"))),
        );
        let id = id.and_then(|id| HeaderValue::from_str(id).ok());
        headers.extend(id.map(|id| (HeaderName::from_static(REQUEST_ID), id)));
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let token = self.token.current();
        let token = token.map_err(|error| SlurmFault::Unauthorized { why: error.to_string() })?;
        headers.extend(token.map(|token| (token::USER_TOKEN, token)));
        headers.extend(self.user.clone().map(|user| (token::USER_NAME, user)));
        Ok(http)
    }

    async fn body(
        &self,
        body: Incoming,
        sieve: Option<Sieve>,
    ) -> Result<(Bytes, usize), SlurmFault> {
        let body = Limited::new(body, self.largest_reply);
        let read = match sieve {
            None => whole(body).await.map(|body| (body.clone(), body.len())),
            Some(sieve) => sifted(body, sieve).await,
        };
        read.map_err(|error| {
            if error.is::<LengthLimitError>() {
                let mib = self.largest_reply >> 20;
                return SlurmFault::Unintelligible {
                    why: format!("the reply is larger than {mib} MiB"),
                };
            }
            SlurmFault::Lost { why: chain(error.as_ref()) }
        })
    }
}

/// What came back: how many bytes it was, and what was kept of it.
struct Came {
    status: u16,
    body: Bytes,
    bytes: usize,
}

/// Reads a body of which only a part is wanted.
async fn sifted(
    mut body: Limited<Incoming>,
    mut sieve: Sieve,
) -> Result<(Bytes, usize), Box<dyn std::error::Error + Send + Sync>> {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            bytes += data.len();
            sieve.push(&data);
        }
    }
    Ok((sieve.into_kept().freeze(), bytes))
}

/// Reads a body into one piece. Pieces that are put together afterwards would need twice its room.
async fn whole(
    mut body: Limited<Incoming>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let length = hyper::body::Body::size_hint(&body).exact();
    let length = length.and_then(|length| usize::try_from(length).ok());
    let mut whole = BytesMut::with_capacity(length.unwrap_or_default());
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole.freeze())
}

fn pool(connector: Connector) -> legacy::Client<Connector, Full<Bytes>> {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .build(connector)
}

/// A request that was never written had no effect; of any other nobody knows.
fn sending(error: &legacy::Error) -> SlurmFault {
    let why = chain(error);
    if error.is_connect() { SlurmFault::Unreachable { why } } else { SlurmFault::Lost { why } }
}

/// An error and its causes, without those that only repeat the next.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    // What hyper says first is that something went wrong; its causes say what.
    if texts.len() > 1 {
        texts.remove(0);
    }
    texts.dedup();
    texts.join(": ")
}

fn unserved_fault(unserved: &str) -> SlurmFault {
    SlurmFault::Refused { number: 0, text: unserved.to_owned() }
}
