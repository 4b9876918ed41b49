//! States of jobs and nodes: words on the wire, numbers inside Slurm, shorter words in print.
//!
//! On the wire a state is a list: one base state, and flags beside it. Which of them is printed is a
//! matter of rank.

pub mod job;
pub mod node;
