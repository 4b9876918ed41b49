//! slurmrestd's side of HTTP: bytes in, bytes out, and what goes wrong in between in plain text.
//!
//! ```text
//!   method, encodings ──▶ is there a token? ──▶ path ──▶ Accept ──▶ body ──▶ handle ──▶ JSON or YAML
//!      405 406 411              401              404       415     400 415
//! ```
//!
//! That a token is *there* is all that slurmrestd asks; whether it is good is slurmctld's business
//! ([`token`]). Every answer that isn't a success closes the connection.

mod body;
mod media;
mod pieces;
mod target;
pub mod token;
mod yaml;

use drawbridge_sim::{Release, Time};
use serde_json::Value;

use crate::{Method, Request};

use self::{
    body::read_body,
    media::{Media, accepted},
    target::read_target,
    token::Key,
};

pub use self::pieces::Pieces;

use super::{
    Peer, Slurm,
    api::openapi,
    route::{not_found, route},
};

/// One request as it comes in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestRequest {
    /// `GET`.
    pub method: String,
    /// `/slurm/v0.0.42/jobs?flags=DETAIL`.
    pub target: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
    /// Who sent it.
    pub peer: Peer,
}

/// One answer as it goes out.
#[derive(Debug)]
pub struct RestResponse {
    /// HTTP status.
    pub status: u16,
    /// `application/json`.
    pub content_type: &'static str,
    /// What it says.
    pub body: RestBody,
}

/// The body of an answer.
#[derive(Debug)]
pub enum RestBody {
    /// All of it.
    Whole(Vec<u8>),
    /// A long list: it is written while it is sent, and nobody has to wait for it.
    Pieces(Box<Pieces>),
}

impl RestBody {
    /// All of it, however long that takes.
    pub fn whole(self) -> Vec<u8> {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Pieces(pieces) => pieces.flatten().collect(),
        }
    }
}

impl RestRequest {
    /// Who asks, if slurmctld believes it at this time.
    pub fn user(&self, key: &Key, unix: u64) -> Option<String> {
        token::Credentials::find(self)?.user(key, unix)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl RestResponse {
    fn text(status: u16, text: &str) -> Self {
        Self { status, content_type: "text/plain", body: RestBody::Whole(text.into()) }
    }

    /// Whether the connection ends with it.
    pub const fn closes(&self) -> bool {
        !matches!(self.status, 200..=399)
    }
}

impl Slurm {
    /// Answers one request. `unix` is the time by which tokens are judged, in seconds since 1970: not
    /// the model's, which may run faster.
    pub fn answer(
        &mut self,
        now: Time,
        unix: u64,
        key: &Key,
        request: &RestRequest,
    ) -> RestResponse {
        self.try_answer(now, unix, key, request).unwrap_or_else(|refusal| refusal)
    }

    fn try_answer(
        &mut self,
        now: Time,
        unix: u64,
        key: &Key,
        request: &RestRequest,
    ) -> Result<RestResponse, RestResponse> {
        let release = self.ctld().config().release();
        check_head(release, request)?;
        let credentials = token::Credentials::find(request)
            .ok_or_else(|| RestResponse::text(401, "Authentication failure"))?;
        let user = credentials.user(key, unix);
        let target = read_target(release, &request.target)?;
        let method = known_method(&request.method);
        let document = method == Some(Method::Get) && is_document(&target.path);
        let found = method.and_then(|method| route(release, method, &target.path));
        let served = |path: &str| self.dbd().is_some() || !path.starts_with("/slurmdb/");
        if !document && !found.is_some_and(|route| served(&route.operation.path)) {
            return Err(RestResponse::text(404, not_found(release)));
        }
        let media = accepted(release, request.header("accept"))?;
        let body = read_body(release, request.header("content-type"), &request.body)?;
        if document {
            return Ok(media.render(200, &openapi::document(release, self.dbd().is_some())));
        }
        let (name, trusted) = (user.clone().unwrap_or_default(), user.is_some());
        let method = method.unwrap_or(Method::Get);
        let query = target.query;
        let asked = Request { query, body, ..Request::new(&name, method, target.path) };
        if let Some(pieces) = self.pieces(now, &asked, trusted, &request.peer, media) {
            let body = RestBody::Pieces(Box::new(pieces));
            return Ok(RestResponse { status: 200, content_type: media.name(), body });
        }
        let response = self.handle(now, &asked, trusted, &request.peer);
        Ok(finish(media, response.status, &response.body))
    }
}

fn finish(media: Media, status: u16, body: &Value) -> RestResponse {
    match body.as_str() {
        Some(text) => RestResponse::text(status, text),
        None => media.render(status, body),
    }
}

/// What is refused whoever asks for whatever.
fn check_head(release: Release, request: &RestRequest) -> Result<(), RestResponse> {
    let old = release == Release::V24_11;
    if known_method(&request.method).is_none() && !other_method(&request.method) {
        let (status, text) = if old { (400, "") } else { (405, "Invalid HTTP method") };
        return Err(RestResponse::text(status, text));
    }
    if old && request.method == "HEAD" {
        return Err(RestResponse::text(411, ""));
    }
    if request.header("transfer-encoding").is_some() {
        let text = if old { "" } else { "Invalid HTTP Tranfser-Encoding header" };
        return Err(RestResponse::text(406, text));
    }
    if request.header("content-encoding").is_some_and(|encoding| encoding != "identity") {
        let text = if old { "" } else { "Invalid or unsupported HTTP Content-Encoding header" };
        return Err(RestResponse::text(406, text));
    }
    Ok(())
}

fn known_method(name: &str) -> Option<Method> {
    match name {
        "GET" => Some(Method::Get),
        "POST" => Some(Method::Post),
        "PUT" => Some(Method::Put),
        "DELETE" => Some(Method::Delete),
        _other => None,
    }
}

/// Methods that slurmrestd knows of and has no use for.
fn other_method(name: &str) -> bool {
    ["HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT"].contains(&name)
}

fn is_document(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    ["/openapi", "/openapi/v3", "/openapi.json", "/openapi.yaml"].contains(&path)
}
