//! slurmrestd, held to recordings of the real one, to the vendor's OpenAPI document, and to lists of
//! paths and types that need neither.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests may fail loudly, and say what they skip"
)]

mod cluster;
mod dialogues;
mod document;
mod laws;
mod openapi;
mod recorded;
mod replay;
mod shape;
mod shapes;
