//! Requests and responses without the wire: what a thin HTTP server hands in and gives out.

mod accept;
mod discovery;
mod documents;
mod exchange;
mod health;
mod listing;
mod log;
mod media;
mod openapi;
mod protobuf;
mod reviews;
mod stream;
mod swagger;
mod table;
mod wire;

pub use self::{
    exchange::{Answer, HttpRequest, Reply, User},
    listing::Listing,
    stream::{News, Stream, Texts},
};

use std::sync::Arc;

use serde_json::Value;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who asks, after authentication: `system:serviceaccount:slurm-bridge:bridge`, `alice`.
    pub user: String,
    /// What to do.
    pub method: Method,
    /// The path without the query, unescaped.
    pub path: String,
    /// Query parameters in order, unescaped.
    pub query: Vec<(String, String)>,
    /// The body, if it was JSON.
    pub body: Option<Value>,
    /// The program that asks; fields are attributed to it unless it names a manager.
    pub agent: String,
    /// The groups that authentication found; none for those inside, whose groups follow from their name.
    pub groups: Vec<String>,
}

/// HTTP methods; the content types of PATCH are methods of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Read, list or watch.
    Get,
    /// Create.
    Post,
    /// Replace.
    Put,
    /// `application/merge-patch+json`.
    MergePatch,
    /// `application/json-patch+json`.
    JsonPatch,
    /// `application/strategic-merge-patch+json`.
    StrategicPatch,
    /// `application/apply-patch+yaml`: server-side apply.
    Apply,
    /// Delete.
    Delete,
}

/// One response. A plain-text body is a JSON string.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The body; objects are shared with the store, not copied.
    pub body: Arc<Value>,
}

impl Request {
    /// A request without query or body.
    pub fn new(user: &str, method: Method, path: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            method,
            path: path.into(),
            query: vec![],
            body: None,
            agent: String::new(),
            groups: vec![],
        }
    }

    /// The same request with a query parameter more.
    #[must_use]
    pub fn with_query(mut self, key: &str, value: impl Into<String>) -> Self {
        self.query.push((key.into(), value.into()));
        self
    }

    /// The same request with a body.
    #[must_use]
    pub fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// The first value of a query parameter.
    pub fn query(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}
