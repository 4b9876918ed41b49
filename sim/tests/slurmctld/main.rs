//! The model beside what the real slurmctld 24.11.5 was seen to do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it stands")]

mod again;
mod always;
mod arrays;
mod backfill;
mod choices;
mod cycles;
mod ends;
mod external;
mod lab;
mod partitions;
mod priority;
mod reasons;
mod refusals;
