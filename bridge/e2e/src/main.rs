//! The bridge end to end: real processes, a real Slurm, real time.
//!
//! ```text
//!   scenes ──▶ API server (ours over TLS, or any) ◀──▶ drawbridge bridge ×2, admission ◀──▶ slurmrestd (real)
//!                    ▲                ▲                                                          ▲
//!                 kubelets         observer ──────────── looks at both ─────────────────────────┘
//! ```
//!
//! Start at [`scenes::play`]. See README.md for how to run it on other clusters.

mod api;
mod bench;
mod bridges;
mod cluster;
mod kubelets;
mod manifests;
mod observer;
mod options;
mod scenes;
mod slurm;
mod stage;

use std::{io::Write, process::ExitCode};

use options::Options;

/// Why something isn't as it should be.
type Trouble = String;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            say(&format!("error: {wrong}\n{}", options::USAGE));
            return ExitCode::from(2);
        }
    };
    match scenes::play(&options).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            say(&format!("error: {trouble}"));
            ExitCode::from(3)
        }
    }
}

/// Prints a line at once.
fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
