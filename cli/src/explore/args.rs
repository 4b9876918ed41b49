//! What `drawbridge explore` is told.

use std::path::PathBuf;

use drawbridge_explore::Shard;
use drawbridge_scenarios::fault::Fault;

use crate::args::VerifyOutput;

#[derive(Debug, clap::Args)]
pub(crate) struct ExploreArgs {
    /// Scenario files, or folders of them
    #[arg(required_unless_present_any = ["generate", "generated", "merge"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Add so many scenarios that are made from a grammar: clusters, workloads, people's actions
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) generate: u64,
    /// Add the scenario that the grammar makes of this seed
    #[arg(long, value_name = "SEED")]
    pub(crate) generated: Vec<u64>,
    /// How many seeds for each scenario [default: 20, or without end if --minutes is given]
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// The first of them
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) first_seed: u64,
    /// Begin no run after so many minutes
    #[arg(long, value_name = "M")]
    pub(crate) minutes: Option<u64>,
    /// Crash the bridge before and after every request of each scenario that has at most so many
    #[arg(long, value_name = "MOST", default_value_t = 500)]
    pub(crate) crash_points: u64,
    /// Try no crash points
    #[arg(long, conflicts_with = "crash_points")]
    pub(crate) no_crash_points: bool,
    /// How many pairs of crashes in one run, for each scenario
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) pairs: u64,
    /// Play this part of the whole, as `1/4`: four parts together are the whole
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Add up what shards wrote with --output json, and play nothing more than that
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["resume", "shard", "fault"])]
    pub(crate) merge: Vec<PathBuf>,
    /// Go on where the run that wrote this file stopped, and write it again
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Play one run with exactly these faults and print its story
    ///
    /// Written as `REQUEST #N: VERDICT`, such as `slurm.submit #1: loseReply` or
    /// `effect #17: crashAfter 5s`. May be given several times.
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    pub(crate) fault: Vec<Fault>,
    /// With --fault: two replicas of the bridge share the work, as in every fourth seed
    #[arg(long, requires = "fault")]
    pub(crate) shared: bool,
    /// Write the first failure, made small, into this folder as a scenario [default: scenarios/found,
    /// where there is one]
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Tries to make the first failure smaller
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) shrink: u64,
    /// Threads [default: one per core]
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) workers: Option<u16>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = VerifyOutput::Table)]
    pub(crate) output: VerifyOutput,
}

fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || format!("`{text}` is no part of a whole; write `1/4` for the first of four");
    let (index, of) = text.split_once('/').ok_or_else(wrong)?;
    let (index, of): (u64, u64) =
        (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if index == 0 || of < index {
        return Err(wrong());
    }
    Ok(Shard { index: index - 1, of })
}

fn fault(text: &str) -> Result<Fault, String> {
    text.parse()
}
