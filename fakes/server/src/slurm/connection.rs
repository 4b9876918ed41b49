//! One connection to slurmrestd: requests as bytes in and out.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use drawbridge_fakes::slurmrestd::{Peer, Pieces, RestBody, RestRequest, RestResponse};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONNECTION, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::Watcher,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::timeout,
};

use crate::{body::ReplyBody, slurm::shared::Shared};

/// The largest body. The real one takes what it gets; nobody needs more than this.
const LARGEST: usize = 32 * 1024 * 1024;
/// How long a request's head or its body may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pieces of a list that may wait for a slow reader.
const AHEAD: usize = 4;

/// Serves one connection to its end. Whatever goes wrong on it concerns nobody else.
pub(super) async fn serve<S>(shared: Arc<Shared>, stream: S, source: String, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let (shared, source) = (shared.clone(), source.clone());
        async move { Ok::<_, Infallible>(reply(shared, request, source).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    // As the real one writes them: names with capitals, no date. A client may stop sending and still
    // wait for its answer.
    builder.title_case_headers(true).auto_date_header(false).half_close(true);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let _ = watcher.watch(connection).await;
}

async fn reply(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    source: String,
) -> Response<ReplyBody> {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter().filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    let mut request = RestRequest {
        method: head.method.as_str().to_owned(),
        target: head.uri.to_string(),
        headers: headers.collect(),
        body: vec![],
        peer: Peer { source },
    };
    // Chunks are refused, and so never waited for.
    if !head.headers.contains_key("transfer-encoding") {
        match timeout(PATIENCE, Limited::new(body, LARGEST).collect()).await {
            Ok(Ok(body)) => request.body = body.to_bytes().to_vec(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return finish(text(413, &format!("a body may have {LARGEST} bytes")));
            }
            Ok(Err(_)) | Err(_) => return finish(text(400, "the body did not arrive whole")),
        }
    }
    finish(shared.answer(&request))
}

fn text(status: u16, text: &str) -> RestResponse {
    RestResponse { status, content_type: "text/plain", body: RestBody::Whole(text.into()) }
}

fn finish(answer: RestResponse) -> Response<ReplyBody> {
    let (status, closes) = (answer.status, answer.closes());
    let empty = matches!(&answer.body, RestBody::Whole(bytes) if bytes.is_empty());
    let body = match answer.body {
        RestBody::Whole(bytes) => {
            ReplyBody::Whole(Some(Bytes::from(bytes)).filter(|it| !it.is_empty()))
        }
        RestBody::Pieces(pieces) => ReplyBody::Pieces(write(*pieces)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    if !empty {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    }
    if closes {
        headers.insert(CONNECTION, HeaderValue::from_static("Close"));
    }
    response
}

/// Writes a list in a thread of its own, as fast as it is read. Who reads no more ends it.
fn write(pieces: Pieces) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        for piece in pieces {
            if sender.blocking_send(Bytes::from(piece)).is_err() {
                break;
            }
        }
    });
    receiver
}
