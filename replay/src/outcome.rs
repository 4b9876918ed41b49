//! What came of a replay, job by job.

use drawbridge_sim::{HashChain, Span, Time};

use crate::{options::Mode, trace::Notes};

/// What came of a replay.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which scheduler decided.
    pub mode: Mode,
    /// CPUs of the machine.
    pub cpus: u64,
    /// Nodes of the machine.
    pub nodes: u32,
    /// Every job that was replayed, by arrival.
    pub jobs: Vec<JobOutcome>,
    /// What was left out or done otherwise than asked.
    pub notes: Notes,
    /// Cycles of the main scheduler and of backfill; decisions for EASY.
    pub cycles: (u64, u64),
    /// Jobs that backfill started.
    pub backfilled: u64,
}

/// What came of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// Its place in the trace.
    pub job: u32,
    /// When it was submitted.
    pub submit: Time,
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// When it started, in the record.
    pub recorded: Option<Time>,
    /// CPUs that it held.
    pub cpus: u32,
    /// How it ended.
    pub ended: End,
    /// The nodes that it held, as ranges of places; empty where nodes aren't told apart.
    pub nodes: Box<[(u32, u32)]>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Completed,
    /// Its limit passed.
    Timeout,
}

impl JobOutcome {
    /// How long it waited.
    pub fn wait(&self) -> Span {
        self.start - self.submit
    }

    /// How long it ran.
    pub fn run(&self) -> Span {
        self.end - self.start
    }

    /// (wait + run) / run, with run times under ten seconds taken as ten; never under 1.
    pub fn bounded_slowdown(&self) -> f64 {
        let run = self.run().as_ms().max(10_000) as f64;
        ((self.wait().as_ms() + self.run().as_ms()) as f64 / run).max(1.0)
    }
}

impl Outcome {
    /// The hash over every job's start: equal hashes are equal schedules.
    pub fn hash(&self) -> HashChain {
        let mut chain = HashChain::default();
        let mut block = vec![];
        for jobs in self.jobs.chunks(256) {
            block.clear();
            for job in jobs {
                block.extend(job.job.to_le_bytes());
                block.extend(job.start.as_ms().to_le_bytes());
                block.extend(job.end.as_ms().to_le_bytes());
            }
            chain.add(&block);
        }
        chain
    }

    /// The first job's submission.
    pub fn begin(&self) -> Time {
        self.jobs.first().map_or(Time::ZERO, |job| job.submit)
    }

    /// The last job's end.
    pub fn end(&self) -> Time {
        self.jobs.iter().map(|job| job.end).max().unwrap_or(Time::ZERO)
    }
}
