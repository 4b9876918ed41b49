//! A cluster seen from outside: requests go in, and what changes is written down as a story.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

#[path = "cluster/stage.rs"]
mod stage;

mod cluster {
    mod autoscalers;
    mod cron_jobs;
    mod daemon_sets;
    mod gang;
    mod groups;
    mod job_policies;
    mod job_sets;
    mod jobs;
    mod kubelets;
    mod load;
    mod nodes;
    mod placement;
    mod pods;
    mod properties;
    mod scheduling;
    mod sets;
    mod stateful_sets;
}
