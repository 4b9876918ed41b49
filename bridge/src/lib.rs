//! The bridge's shell: everything between the pure core and the world that isn't a decision.
//!
//! ```text
//!                      config.yaml ──▶ config ──▶ Config
//!                                                   │
//!   slurmrestd ──▶ slurm::decode ──▶ Input ──▶ drawbridge_core::Bridge::step ──▶ Effect ──▶ slurm::encode ──▶ slurmrestd
//!                                      │                                           │
//!                                      └───────────────▶ journal ◀─────────────────┘
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | [`slurm`] | slurmrestd's wire form, one module per family of versions |
//! | [`config`] | the configuration file, checked, with a place for each mistake |
//! | [`yaml`] | YAML in which every key, value and mistake has a line and a column |
//! | [`journal`] | every input and effect as lines of JSON, and their replay |
//!
//! Start at [`slurm`]. The clients, the webhook server and the loop that drives the core join here;
//! they send, receive and keep time, and decide nothing.
//!
//! **Invariant:** nothing here is written after our own fake of slurmrestd. The recordings of the
//! real one and its OpenAPI document are what both are held to.

pub mod config;
pub mod journal;
pub mod slurm;
pub mod yaml;
