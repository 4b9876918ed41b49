//! Time as the real Slurm keeps it: when jobs started, when they will, what they are worth.
//!
//! ```text
//!   timed/*.txt: a cluster, operations ──▶ record: a real Slurm, its clock faster ──▶ when, when, when
//!                                     └──▶ judge:  the model, the same operations ──▶ as many seconds off
//! ```
//!
//! Nobody waits for anything to settle here. Time zero is the second in which slurmctld began to
//! work, on both sides, so that both look at limits and at the queue in the same seconds.

mod judge;
mod real;
mod twin;

pub use judge::{Judgement, judge};
pub use real::record;

use crate::{
    case::{Case, CaseError},
    view::View,
};

include!(concat!(env!("OUT_DIR"), "/timed.rs"));

/// The recordings that are kept in this crate, by name.
pub fn recordings() -> Result<Vec<(String, Case)>, (String, CaseError)> {
    crate::case::read_all(TIMED)
}

/// A line of `sprio -l`: what it says of the job that it begins with.
fn put_priority(line: &str, view: &mut View) {
    let mut words = line.split_whitespace();
    if let Some(job) = words.next() {
        view.set(&format!("job {job}"), "sprio", words.collect::<Vec<_>>().join(" "));
    }
}
