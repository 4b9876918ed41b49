//! Explore a run on the terminal, forwards and backwards in time.
//!
//! ```text
//!   key ──input──▶ Msg ──update──▶ Model ──view──▶ screen
//!                            ▲
//!                         Source: frames and records of a run
//! ```
//!
//! Update never draws and view never decides: `model` says what is shown, `view` says where.
//! Start reading at `model.rs`.

mod input;
mod model;
mod run;
mod source;
mod theme;
mod view;

#[cfg(test)]
mod tests;

pub use run::{Options, TuiError, run};
pub use source::Source;
