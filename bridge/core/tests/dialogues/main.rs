//! Dialogues: the bridge talks to a small double of both sides, and the test reads what was said.
//!
//! `<` is what happens to the bridge, `>` is what it asks for. Lists, watches, polls and reads are
//! left out: they are in every dialogue and say nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod annotations;
mod chaos;
mod crashes;
mod devices;
mod exhaustive;
mod external;
mod external_nodes;
mod gangs;
mod kube;
mod load;
mod nodes;
mod owners;
mod pods;
mod rosters;
mod slurm;
mod states;
mod town;
