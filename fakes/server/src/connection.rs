//! One connection: a handshake, then requests as bytes in and out.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use drawbridge_fakes::{Answer, HttpRequest, Reply, User};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{HeaderMap, HeaderName, HeaderValue},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::Watcher},
};
use serde_json::json;
use tokio::{net::TcpStream, sync::mpsc, time::timeout};
use tokio_rustls::TlsAcceptor;

use crate::{
    body::ReplyBody,
    identity::{self, Tokens},
    listing,
    shared::Shared,
    watch,
};

/// The largest body, as on a real server.
const LARGEST: usize = 3 * 1024 * 1024;
/// How long a handshake, a request's head or its body may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What every connection needs.
pub(crate) struct Front {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tls: TlsAcceptor,
    pub(crate) tokens: Tokens,
}

impl Front {
    /// Serves one connection to its end. Whatever goes wrong on it concerns nobody else.
    pub(crate) async fn serve(self: Arc<Self>, stream: TcpStream, watcher: Watcher) {
        let Ok(Ok(stream)) = timeout(PATIENCE, self.tls.accept(stream)).await else {
            return;
        };
        let certificates = stream.get_ref().1.peer_certificates();
        let shown = certificates.and_then(|all| all.first());
        let user = shown.and_then(|certificate| identity::of_certificate(certificate));
        let service = service_fn(move |request| {
            let (front, user) = (self.clone(), user.clone());
            async move { Ok::<_, Infallible>(front.reply(request, user).await) }
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        builder.http2().timer(TokioTimer::new()).max_concurrent_streams(250);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let _ = watcher.watch(connection.into_owned()).await;
    }

    async fn reply(
        self: Arc<Self>,
        request: Request<Incoming>,
        certified: Option<User>,
    ) -> Response<ReplyBody> {
        let (head, body) = request.into_parts();
        let Some(user) = self.user(&head.headers, certified) else {
            return whole(refusal(401, "Unauthorized", "Unauthorized"));
        };
        let body = match timeout(PATIENCE, Limited::new(body, LARGEST).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let text = format!("Request entity too large: limit is {LARGEST}");
                return whole(refusal(413, "RequestEntityTooLarge", &text));
            }
            Ok(Err(_)) | Err(_) => {
                return whole(refusal(400, "BadRequest", "the body did not arrive whole"));
            }
        };
        let target = head.uri.path_and_query().map_or("/", |it| it.as_str()).to_owned();
        let headers = head.headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let request = HttpRequest {
            user,
            method: head.method.as_str().to_owned(),
            target,
            headers: headers.collect(),
            body: body.to_vec(),
        };
        match self.shared.answer(&request).await {
            Answer::Reply(reply) => whole(reply),
            Answer::List(listing) => pieces("application/json", listing::start(*listing)),
            Answer::Waits => whole(refusal(500, "InternalError", "the request still waits")),
            Answer::Stream(stream) => {
                let kind = stream.content_type();
                pieces(kind, watch::start(self.shared.clone(), *stream))
            }
        }
    }

    /// Who asks; nobody if a token is shown that isn't one of ours.
    fn user(&self, headers: &HeaderMap, certified: Option<User>) -> Option<User> {
        if certified.is_some() {
            return certified;
        }
        let Some(given) = headers.get(hyper::header::AUTHORIZATION) else {
            return Some(identity::anonymous());
        };
        let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
        let token = token.trim();
        let known = || self.tokens.user(token).or_else(|| self.shared.user_of_token(token));
        scheme.eq_ignore_ascii_case("bearer").then(known)?
    }
}

fn refusal(status: u16, reason: &str, message: &str) -> Reply {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": status,
    });
    Reply {
        status,
        headers: vec![("content-type", "application/json".to_owned())],
        body: body.to_string().into_bytes(),
    }
}

fn pieces(content_type: &'static str, from: mpsc::Receiver<Bytes>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Pieces(from));
    let kind = HeaderValue::from_static(content_type);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    response
}

fn whole(reply: Reply) -> Response<ReplyBody> {
    let body = Some(Bytes::from(reply.body)).filter(|bytes| !bytes.is_empty());
    let mut response = Response::new(ReplyBody::Whole(body));
    *response.status_mut() = hyper::StatusCode::from_u16(reply.status).unwrap_or_default();
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    response
}
