//! A server that says what it is told to, and remembers what it was asked.

use std::{
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use drawbridge_bridge::slurm::client::{Address, Client, Dial, Settings};
use drawbridge_core::slurm::{ApiVersion, Via};
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    task::JoinHandle,
};

/// How long a request may take where it doesn't matter.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);
/// Where most tests send their requests.
pub(crate) const VIA: Via = Via { endpoint: 0, version: ApiVersion::V42 };
/// A reply to a ping.
pub(crate) const PONG: &str = r#"{"pings": [{"pinged": "UP"}], "errors": [], "warnings": []}"#;
/// What slurmrestd says to a path that it doesn't know.
pub(crate) const NO_PATH: &str =
    "Unable find requested URL. Please view /openapi/v3 for API reference.";

/// What to answer: by the request's line, the status and the body. Status 0 is no answer at all.
pub(crate) type Script = dyn Fn(&str) -> (u16, String) + Send + Sync;

/// What a server has seen.
#[derive(Clone)]
pub(crate) struct Server {
    script: Arc<Script>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<String>,
}

impl Server {
    pub(crate) fn new(script: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), seen: Arc::default() }
    }

    /// A server to which everything is a ping.
    pub(crate) fn ponging() -> Self {
        Self::new(|_| (200, PONG.to_owned()))
    }

    /// A server that speaks only these versions.
    pub(crate) fn speaking(versions: &'static [&'static str]) -> Self {
        Self::new(|line| match versions.iter().any(|version| line.contains(version)) {
            true if line.contains("/ping") => (200, PONG.to_owned()),
            true => (200, r#"{"licenses": [], "jobs": [], "errors": []}"#.to_owned()),
            false => (404, NO_PATH.to_owned()),
        })
    }

    /// The lines and headers of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Serves one connection.
    pub(crate) async fn serve(self, io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        self.seen.lock().unwrap().connections += 1;
        let service = service_fn(|request| self.answer(request));
        // Clients hang up whenever they like.
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(io), service)
            .await;
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let line = format!("{} {}", request.method(), request.uri());
        let wanted = ["x-slurm-user-token", "x-slurm-user-name", "content-type", "accept"];
        let headers = wanted.iter().filter_map(|name| {
            let value = request.headers().get(*name)?.to_str().ok()?;
            Some(format!(" {name}={value}"))
        });
        let told = format!("{line}{}", headers.collect::<String>());
        self.seen.lock().unwrap().requests.push(told);
        let (status, body) = (self.script)(&line);
        if status == 0 {
            std::future::pending::<()>().await;
        }
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap();
        Ok(response)
    }

    /// An address in this process.
    pub(crate) fn in_memory(&self) -> Address {
        let server = self.clone();
        Address::Memory(Dial::always(move || {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(server.clone().serve(theirs));
            ours
        }))
    }

    /// Serves a port of this machine.
    pub(crate) async fn on_tcp(&self) -> (Address, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = self.clone();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(server.clone().serve(stream));
            }
        });
        (address.parse().unwrap(), task)
    }

    /// Serves a socket in the file system.
    pub(crate) fn on_unix(&self, path: &Path) -> Address {
        let listener = UnixListener::bind(path).unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(server.clone().serve(stream));
            }
        });
        format!("unix://{}", path.display()).parse().unwrap()
    }
}

pub(crate) fn client(address: Address) -> Client {
    Client::new(Settings::new(vec![address])).unwrap()
}
