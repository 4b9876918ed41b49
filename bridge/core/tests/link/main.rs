//! The way to Slurm: how it is found, lost and found again. As dialogues, and exhaustively over two
//! servers that may be in any state and change it at any time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod dialogues;
mod every_state;
mod servers;
