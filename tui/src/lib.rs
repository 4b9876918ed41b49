//! Explore a run on the terminal, forwards and backwards in time, and change it.
//!
//! ```text
//!   key ──input──▶ Msg ──update──▶ Model ──view──▶ screen
//!                   ▲       │
//!   feed: a run ── News     └──▶ Effects: copy, save, tell the story differently
//! ```
//!
//! Update never draws and view never decides: `model` says what is shown, `view` says where.
//! Start reading at `model.rs`.

mod command;
mod export;
mod feed;
mod input;
mod model;
mod press;
mod run;
mod theme;
mod view;

#[cfg(test)]
mod tests;

pub use feed::{Feed, LiveSettings, Opening, Play, demo};
pub use press::{PressError, Script, manual, moment, save, screen};
pub use run::{Options, TuiError, run};
pub use theme::ThemeName;
