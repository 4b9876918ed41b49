//! A server of small pages: every connection, body and answer is bounded.
//!
//! ```text
//!   client ── TCP, or TLS with the certificate of the day ──▶ Question ──▶ Front::answer ──▶ Page
//! ```
//!
//! The webhooks, the health pages and the metrics stand behind one each. Nobody who dawdles keeps
//! others waiting.

mod certificates;

use std::{convert::Infallible, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use crate::settings::Listen;

pub(crate) use certificates::make;
pub use certificates::{CertificateError, Shown};

/// Connections at a time; the API server keeps a few.
const CONNECTIONS: usize = 256;
/// The largest body: a review holds a pod twice, and the API server stores none over 1.5 MiB.
const LARGEST: usize = 7 << 20;
/// How long a handshake, a request's head, or its body may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may lie idle.
const IDLE: Duration = Duration::from_mins(2);

/// A request, whole.
#[derive(Debug)]
pub struct Question<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its path.
    pub path: &'a str,
    /// What its body is.
    pub content_type: &'a str,
    /// The bearer token that it shows.
    pub token: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
}

/// An answer, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// HTTP status.
    pub status: u16,
    /// What the body is.
    pub content_type: &'static str,
    /// The text.
    pub body: String,
}

impl Page {
    pub(crate) fn text(status: u16, body: String) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body }
    }

    pub(crate) fn json(body: String) -> Self {
        Self { status: 200, content_type: "application/json", body }
    }
}

/// An answer that is being worked out.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Page> + Send + 'a>>;

/// Whoever answers.
pub trait Front: Send + Sync + 'static {
    /// The answer to this.
    fn answer<'a>(&'a self, question: &'a Question<'a>) -> Answering<'a>;
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// Where it should have been.
        address: Listen,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate can't be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// A server, until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Listens there; behind TLS, if there is a certificate to show.
    pub async fn start(
        address: Listen,
        shown: Option<Shown>,
        http2: bool,
        front: Arc<dyn Front>,
    ) -> Result<Self, FrontError> {
        let failed = |source| FrontError::Listen { address, source };
        let listener = address.bind().await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let tls = shown.map(|shown| acceptor(shown, http2)).transpose()?;
        let way = Way { tls, http2, front };
        Ok(Self { address: bound, task: tokio::spawn(serve(listener, way)) })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

fn acceptor(shown: Shown, http2: bool) -> Result<TlsAcceptor, FrontError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let unusable = |error: rustls::Error| CertificateError::Unusable(error.to_string());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(shown));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if http2 {
        config.alpn_protocols.insert(0, b"h2".to_vec());
    }
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What every connection needs.
#[derive(Clone)]
struct Way {
    tls: Option<TlsAcceptor>,
    http2: bool,
    front: Arc<dyn Front>,
}

async fn serve(listener: TcpListener, way: Way) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small: none waits for the client to acknowledge the one before.
                let _ = stream.set_nodelay(true);
                let way = way.clone();
                tokio::spawn(async move {
                    way.shake_hands(stream).await;
                    drop(place);
                });
            }
            // Too many open files, a client that left: the next one may do better.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

impl Way {
    async fn shake_hands(self, stream: TcpStream) {
        let Some(tls) = self.tls.clone() else { return self.talk(stream).await };
        if let Ok(Ok(stream)) = timeout(PATIENCE, tls.accept(stream)).await {
            self.talk(stream).await;
        }
    }

    async fn talk(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let Self { http2, front, .. } = self;
        let service = service_fn(move |request| {
            let front = front.clone();
            async move { Ok::<_, Infallible>(response(reply(&*front, request).await)) }
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        if !http2 {
            builder = builder.http1_only();
        }
        // An idle connection's next head may take as long as it may lie idle.
        builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE);
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(IDLE);
        builder.http2().max_concurrent_streams(64);
        // Clients hang up whenever they like.
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    }
}

async fn reply(front: &dyn Front, request: Request<Incoming>) -> Page {
    let (head, body) = request.into_parts();
    let body = match timeout(PATIENCE, Limited::new(body, LARGEST).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Page::text(413, format!("the body is larger than {LARGEST} bytes\n"));
        }
        Ok(Err(_)) | Err(_) => return Page::text(400, "the body did not arrive whole\n".into()),
    };
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let question = Question {
        method: &head.method,
        path: head.uri.path(),
        content_type: text(CONTENT_TYPE).unwrap_or_default(),
        token: text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")),
        body: &body,
    };
    let answered = timeout(PATIENCE, front.answer(&question)).await;
    answered.unwrap_or_else(|_| Page::text(504, "there was no answer in time\n".into()))
}

fn response(page: Page) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(page.body)));
    *response.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    response
}
