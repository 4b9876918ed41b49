//! The wire form, against the real slurmrestd's recordings and its OpenAPI document.
//!
//! Those lie beside the repository, in `../shared`. Where they aren't, [`recordings`] and a part of
//! [`requests`] have nothing to do and say so; [`bodies`] always runs.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::panic, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

mod bodies;
mod mangled;
mod recorded;
mod recordings;
mod requests;
