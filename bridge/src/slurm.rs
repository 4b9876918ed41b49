//! slurmrestd's wire form: the core's requests as HTTP, and HTTP replies in the core's terms.
//!
//! ```text
//!   SlurmRequest ── encode ──▶ HttpRequest ──▶ slurmrestd
//!                                                  │
//!   SlurmReply or SlurmFault ◀── decode ── status, body
//! ```
//!
//! One module per family of API versions, written from recorded exchanges with the real daemon and
//! from its OpenAPI document. What is odd about the real one is dealt with here, so that the core
//! sees only three endings: an answer, a refusal, or something that may have taken effect.

mod v0_0_42;
mod wire;

use drawbridge_core::{SlurmFault, SlurmReply, SlurmRequest};
use serde_json::Value;

/// One HTTP request to slurmrestd, without authentication.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    /// What to do.
    pub method: HttpMethod,
    /// For example `/slurm/v0.0.42/job/7`; names in it are percent-encoded.
    pub path: String,
    /// Query parameters, in order, not yet escaped.
    pub query: Vec<(String, String)>,
    /// JSON to send.
    pub body: Option<Value>,
}

/// The methods that slurmrestd knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Read.
    Get,
    /// Create or change.
    Post,
    /// Cancel or signal.
    Delete,
}

impl HttpMethod {
    /// As HTTP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// The request as slurmrestd understands it (v0.0.42).
pub fn encode(request: &SlurmRequest) -> HttpRequest {
    v0_0_42::encode(request)
}

/// What slurmrestd's reply to this request means. A body that isn't JSON is a `Value::String`.
pub fn decode(request: &SlurmRequest, status: u16, body: &Value) -> Result<SlurmReply, SlurmFault> {
    v0_0_42::decode(request, status, body)
}
