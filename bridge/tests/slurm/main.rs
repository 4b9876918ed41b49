//! The wire form, against the real slurmrestd's recordings and its OpenAPI documents (`vendor`).
//!
//! The full recordings lie beside the repository, in `../shared`. Where they aren't, the condensed
//! ones are all there is, and the tests say so.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::panic, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

mod bodies;
mod every_reply;
mod everything;
mod mangled;
mod oddities;
mod recorded;
mod recordings;
mod requests;
