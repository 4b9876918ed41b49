//! slurmrestd's wire form, and the client that speaks it.
//!
//! ```text
//!   SlurmRequest ─ encode ─▶ HttpRequest ─▶ Client ─▶ slurmrestd
//!   any Call ─────────────────▲                │
//!                                              ▼
//!   SlurmReply or SlurmFault ◀── decode ── status, body
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | [`calls`] | every question, with the tables of what differs between versions |
//! | [`types`] | every answer: one set of full types for v0.0.40 to v0.0.45 |
//! | [`reply`] | what surrounds an answer, and (in `fault`) what an answer isn't |
//! | [`client`] | sends one request and decides nothing: TCP, TLS, Unix sockets, memory; tokens |
//! | [`session`] | one question after the other for command-line tools, with the core's [`Link`] |
//!
//! Written from recorded exchanges with the real daemon and from its OpenAPI documents. What is odd
//! about the real one is dealt with here, so that the core sees only endings that it can act on.
//!
//! [`Link`]: drawbridge_core::link::Link

pub mod calls;
pub mod client;
mod effects;
mod fault;
mod http;
pub mod reply;
pub mod session;
pub mod types;

pub use effects::{decode, encode};
pub use http::{HttpMethod, HttpRequest};
