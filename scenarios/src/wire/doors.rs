//! The servers' doors: pipes behind which HTTP is spoken, and requests that wait for the world.
//!
//! ```text
//!   client ─ dial ─▶ pipe ─▶ hyper ─▶ request as bytes ─▶ take(): the world answers when it is time
//!                                ◀── reply(), open() and lines() ──┘
//! ```

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes as Piece;
use drawbridge_bridge::slurm::client::{Dial, Dialling, REQUEST_ID};
use drawbridge_core::names::BRIDGE_USER;
use drawbridge_fakes::{HttpRequest, User, slurmrestd::RestRequest};
use futures::channel::mpsc as pieces;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{io::DuplexStream, sync::oneshot, task::AbortHandle};

use crate::world::{
    process::Life,
    wire::{Asked, Bytes, Tag},
};

/// How much a pipe holds before whoever writes has to wait.
const PIPE: usize = 64 * 1024;

/// The body of a reply.
type Body = UnsyncBoxBody<Piece, Infallible>;

/// Where the lines of a watch go.
type Lines = pieces::UnboundedSender<Result<Frame<Piece>, Infallible>>;

/// All doors of all servers.
#[derive(Clone, Default)]
pub(super) struct Doors(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// Which slurmrestd take connections.
    open: Vec<bool>,
    arrived: Vec<(Life, Tag, Asked)>,
    waiting: BTreeMap<(Life, Tag), oneshot::Sender<Response<Body>>>,
    streams: BTreeMap<(Life, Tag), Lines>,
    /// Connections that will be refused, by slurmrestd.
    dialling: BTreeMap<(Life, usize), VecDeque<oneshot::Sender<DuplexStream>>>,
    /// Connections that are open, by slurmrestd; the API server has none.
    connections: BTreeMap<(Life, Option<usize>), Vec<AbortHandle>>,
}

impl Doors {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way of one life to the API server.
    pub(super) fn kube(&self, life: Life) -> Dial {
        let doors = self.clone();
        Dial::always(move || doors.connect(life, None))
    }

    /// The way of one life to a slurmrestd.
    pub(super) fn slurm(&self, life: Life, server: usize) -> Dial {
        let doors = self.clone();
        Dial(Arc::new(move || doors.dial(life, server)))
    }

    fn dial(&self, life: Life, server: usize) -> Dialling {
        if self.lock().open.get(server).copied().unwrap_or(false) {
            let end = self.connect(life, Some(server));
            return Box::pin(async move { Ok(end) });
        }
        let (made, never) = oneshot::channel();
        self.lock().dialling.entry((life, server)).or_default().push_back(made);
        Box::pin(async move {
            let refused =
                |_| io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused");
            never.await.map_err(refused)
        })
    }

    /// Opens a pipe and serves its other end.
    fn connect(&self, life: Life, server: Option<usize>) -> DuplexStream {
        let (near, far) = tokio::io::duplex(PIPE);
        let doors = self.clone();
        let service = service_fn(move |request| doors.clone().serve(life, server, request));
        let serving = tokio::spawn(async move {
            let http = hyper::server::conn::http1::Builder::new();
            let _ = http.serve_connection(TokioIo::new(far), service).await;
        });
        self.lock().connections.entry((life, server)).or_default().push(serving.abort_handle());
        near
    }

    /// One request: it waits until the world answers.
    async fn serve(
        self,
        life: Life,
        server: Option<usize>,
        request: Request<Incoming>,
    ) -> io::Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes().to_vec();
        let headers: Vec<(String, String)> = head
            .headers
            .iter()
            .filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect();
        let tag = headers.iter().find(|(name, _)| name == REQUEST_ID);
        let tag = tag.map(|(_, tag)| tag.clone()).unwrap_or_default();
        let method = head.method.as_str().to_owned();
        let target = head.uri.path_and_query().map_or("/", |it| it.as_str()).to_owned();
        let asked = match server {
            None => Asked::Kube(HttpRequest { user: bridge(), method, target, headers, body }),
            Some(_) => Asked::Slurm(RestRequest {
                method,
                target,
                headers,
                body,
                ..RestRequest::default()
            }),
        };
        self.announce(life, tag, asked).await.map_err(|_| io::Error::other("nobody answers"))
    }

    /// Puts a request before the world; gives back where the answer will come.
    fn announce(&self, life: Life, tag: Tag, asked: Asked) -> oneshot::Receiver<Response<Body>> {
        let (answer, answered) = oneshot::channel();
        let mut inner = self.lock();
        inner.arrived.push((life, tag.clone(), asked));
        inner.waiting.insert((life, tag), answer);
        answered
    }

    /// Which slurmrestd take connections from now on. Those that don't close what is open.
    pub(super) fn set_open(&self, open: Vec<bool>) {
        let mut inner = self.lock();
        if inner.open == open {
            return;
        }
        for ((_, server), connections) in &mut inner.connections {
            let shut = server.is_some_and(|server| !open.get(server).copied().unwrap_or(false));
            if shut {
                connections.drain(..).for_each(|connection| connection.abort());
            }
        }
        inner.open = open;
    }

    /// Requests that came since the last call.
    pub(super) fn take(&self) -> Vec<(Life, Tag, Asked)> {
        std::mem::take(&mut self.lock().arrived)
    }

    pub(super) fn reply(&self, life: Life, tag: &str, bytes: Bytes) {
        let Bytes { status, content_type, body } = bytes;
        let response = Response::builder().status(status).header("content-type", content_type);
        let response = response.body(Full::new(Piece::from(body)).boxed_unsync());
        if let (Some(answer), Ok(response)) = (self.answer_of(life, tag), response) {
            let _ = answer.send(response);
        }
    }

    /// A watch is open: its lines will follow.
    pub(super) fn open(&self, life: Life, tag: &str) {
        let (lines, body) = pieces::unbounded();
        let response = Response::new(StreamBody::new(body).boxed_unsync());
        if let Some(answer) = self.answer_of(life, tag) {
            self.lock().streams.insert((life, tag.to_owned()), lines);
            let _ = answer.send(response);
        }
    }

    pub(super) fn lines(&self, life: Life, tag: &str, lines: Vec<u8>) {
        if let Some(stream) = self.lock().streams.get(&(life, tag.to_owned())) {
            let _ = stream.unbounded_send(Ok(Frame::data(Piece::from(lines))));
        }
    }

    pub(super) fn end(&self, life: Life, tag: &str) {
        self.lock().streams.remove(&(life, tag.to_owned()));
    }

    /// Refuses the connection that a request waits for, or hangs up on it.
    pub(super) fn refuse(&self, life: Life, tag: &str, server: usize) {
        drop(self.answer_of(life, tag));
        let mut inner = self.lock();
        drop(inner.dialling.get_mut(&(life, server)).and_then(VecDeque::pop_front));
    }

    /// A life is over: nobody waits for its replies.
    pub(super) fn forget(&self, life: Life) {
        let mut inner = self.lock();
        inner.waiting.retain(|(whose, _), _| *whose != life);
        inner.streams.retain(|(whose, _), _| *whose != life);
        inner.dialling.retain(|(whose, _), _| *whose != life);
        for ((whose, _), connections) in &mut inner.connections {
            if *whose == life {
                connections.drain(..).for_each(|connection| connection.abort());
            }
        }
    }

    fn answer_of(&self, life: Life, tag: &str) -> Option<oneshot::Sender<Response<Body>>> {
        self.lock().waiting.remove(&(life, tag.to_owned()))
    }
}

/// The bridge, as the API server's authentication would find it to be.
fn bridge() -> User {
    User { name: BRIDGE_USER.to_owned(), groups: vec!["system:masters".to_owned()] }
}
