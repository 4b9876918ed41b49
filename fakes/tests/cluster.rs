//! A cluster seen from outside: requests go in, and what changes is written down as a story.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

#[path = "cluster/stage.rs"]
mod stage;

mod cluster {
    mod gang;
    mod jobs;
    mod load;
    mod pods;
    mod properties;
    mod scheduling;
    mod sets;
}
