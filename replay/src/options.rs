//! How a trace is to be replayed.

use drawbridge_sim::{Seed, Span};

/// Which scheduler decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Main and backfill cycles as slurmctld runs them.
    SlurmCycles,
    /// EASY backfill, ideal: at every arrival and end, on a pool of processors.
    Easy,
}

impl Mode {
    /// Its name, as printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlurmCycles => "Slurm cycles",
            Self::Easy => "EASY",
        }
    }
}

/// Which limit the scheduler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limits {
    /// The one that the user asked for.
    Requested,
    /// The job's own run time: a perfect estimate.
    RunTime,
    /// None: the partition's.
    None,
}

/// How long jobs run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunTimes {
    /// As recorded.
    Recorded,
    /// As recorded, times this.
    Scaled(f64),
}

/// What becomes of a job that runs longer than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverLimit {
    /// It runs on, as it did when it was recorded.
    Keep,
    /// It is killed, as slurm.conf's `OverTimeLimit` says.
    Kill,
}

/// Everything that changes what a replay does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Which scheduler decides.
    pub mode: Mode,
    /// Which limit it is told.
    pub limits: Limits,
    /// How long jobs run.
    pub run_times: RunTimes,
    /// What becomes of a job that runs longer than its limit.
    pub over_limit: OverLimit,
    /// Every submit time is moved by up to this, forwards.
    pub jitter: Span,
    /// Where the randomness comes from.
    pub seed: Seed,
    /// Only the first so many jobs.
    pub first_jobs: Option<usize>,
    /// Only jobs submitted so many seconds after the first, or later.
    pub from: Option<Span>,
    /// Only jobs submitted earlier than so many seconds after the first.
    pub to: Option<Span>,
}

impl Options {
    /// Every job as it was recorded, in Slurm's cycles.
    pub const fn as_recorded() -> Self {
        Self {
            mode: Mode::SlurmCycles,
            limits: Limits::Requested,
            run_times: RunTimes::Recorded,
            over_limit: OverLimit::Keep,
            jitter: Span::ZERO,
            seed: Seed(0),
            first_jobs: None,
            from: None,
            to: None,
        }
    }
}
