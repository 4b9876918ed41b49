//! The bridge's shell: everything between the pure core and the world that isn't a decision.
//!
//! ```text
//!   config.yaml, environment, flags ──▶ settings ──▶ daemon
//!                                                      │
//!          ┌────────────────────────────┬──────────────┴──────────────┐
//!          ▼                            ▼                             ▼
//!   webhook: admission        shell: the loop around           observe: health, metrics
//!                             drawbridge_core::Bridge
//!                     kube ◀──────┤     ├──────▶ slurm
//!                                 └──▶ scribe ──▶ journal, log, board
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | [`daemon`] | the whole process, from its start to its graceful end |
//! | [`shell`] | the loop: one place that waits, one that reads the clock, none that decides |
//! | [`slurm`] | slurmrestd's wire form, one module per family of versions, and the client |
//! | [`kube`] | the Kubernetes API server: requests, and watches as lines |
//! | [`webhook`] | admission behind TLS, and the certificate for it |
//! | [`settings`] | flags, environment and file, with one precedence |
//! | [`config`] | the configuration file, checked, with a place for each mistake |
//! | [`yaml`] | YAML in which every key, value and mistake has a line and a column |
//! | [`journal`] | every input and effect as lines of JSON, and their replay |
//! | [`scribe`] | who writes journal and log |
//! | [`observe`] | health, readiness and metrics, as pages |
//! | [`front`] | servers of small pages, behind TLS or not |
//!
//! Start at [`daemon`], or at [`slurm`] for the client alone.
//!
//! **Invariant:** nothing here is written after our own fakes. The recordings of the real slurmrestd and
//! its OpenAPI document are what both are held to.

pub mod clock;
pub mod config;
pub mod daemon;
pub mod front;
pub mod journal;
pub mod kube;
pub mod observe;
pub mod scribe;
pub mod settings;
pub mod shell;
pub mod slurm;
mod stream;
pub mod webhook;
pub mod yaml;
