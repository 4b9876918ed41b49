//! The arguments of `drawbridge replay`.

use std::path::PathBuf;

use clap::ValueEnum;
use drawbridge_replay::{Limits, Mode, Options, OverLimit, RunTimes};
use drawbridge_scenarios::format::Lasting;
use drawbridge_sim::{Seed, Span};

pub(crate) const AFTER_HELP: &str = "\
Files:
  Standard Workload Format, as the Parallel Workloads Archive has it; what `sacct --parsable2`
  prints, with its header (or the same with commas); a journal of the bridge. Plain or gzip, told
  by their content. A damaged file is refused whole, with line, column and a hint.

Examples:
  drawbridge replay KTH-SP2-1996-2.1-cln.swf.gz
  drawbridge replay jobs.txt --conf /etc/slurm/slurm.conf --report report.html
  drawbridge replay log.swf --mode easy --limit runtime -o json
  drawbridge replay log.swf --replicas 20 --jitter 5s
  drawbridge replay --synthetic day";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ReplayArgs {
    /// The trace; `-` reads standard input
    #[arg(required_unless_present = "synthetic")]
    pub(crate) file: Option<PathBuf>,
    /// Replay a made-up workload instead
    #[arg(long, value_enum, conflicts_with = "file")]
    pub(crate) synthetic: Option<Synthetic>,
    /// Write the workload to this file, in Standard Workload Format
    #[arg(long, value_name = "FILE", requires = "synthetic")]
    pub(crate) write_swf: Option<PathBuf>,
    /// The cluster's slurm.conf; without it a cluster is made up from the trace, and printed
    #[arg(long, value_name = "FILE")]
    pub(crate) conf: Option<PathBuf>,
    /// The cluster's gres.conf
    #[arg(long, value_name = "FILE", requires = "conf")]
    pub(crate) gres_conf: Option<PathBuf>,
    /// Which scheduler decides
    #[arg(long, value_enum, default_value_t = ModeArg::Slurm)]
    pub(crate) mode: ModeArg,
    /// Which time limit the scheduler is told
    #[arg(long, value_enum, default_value_t = LimitArg::Requested)]
    pub(crate) limit: LimitArg,
    /// How long jobs run: `recorded`, or `scaled:0.9` for nine tenths of that
    #[arg(long, value_name = "HOW", value_parser = run_times, default_value = "recorded")]
    pub(crate) runtime: RunTimes,
    /// What becomes of a job that runs longer than its limit
    #[arg(long, value_enum, default_value_t = OverLimitArg::Keep)]
    pub(crate) over_limit: OverLimitArg,
    /// Where the randomness comes from: the jitter, the synthetic workload
    #[arg(long, value_parser = crate::args::seed, default_value = "0")]
    pub(crate) seed: Seed,
    /// Move each submission by up to this long, at random: `5s`, `1m`
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "0")]
    pub(crate) jitter: Span,
    /// Replay so many times, each with other jitter, and print how the results are spread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value = "1")]
    pub(crate) replicas: u32,
    /// How many replicas to replay at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) workers: Option<u16>,
    /// Only the first so many jobs of the trace
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Only jobs submitted so long after the first, or later: `7d`
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(crate) from: Option<Span>,
    /// Only jobs submitted earlier than so long after the first: `14d`
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(crate) to: Option<Span>,
    /// How far a start may lie from the recorded one before it counts as another
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "60s")]
    pub(crate) tolerance: Span,
    /// How many users, partitions and QOS to list
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) top: usize,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = ReplayOutput::Table)]
    pub(crate) output: ReplayOutput,
    /// Write one line per job to this file: submit, start, end, wait, recorded start, nodes
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a page with a Gantt chart and the utilisation to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Slurm cycles: the main and backfill cycles, as slurmctld runs them
    Slurm,
    /// EASY: ideal backfill at every arrival and end, on a pool of processors
    Easy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LimitArg {
    /// The limit that the user asked for
    Requested,
    /// The job's own run time: a perfect estimate
    Runtime,
    /// No limit
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverLimitArg {
    /// It runs on, as it did when it was recorded
    Keep,
    /// It is killed, as slurm.conf's OverTimeLimit says
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Synthetic {
    /// 2,000 jobs on 100 nodes
    Day,
    /// 1,000,000 jobs on 10,000 nodes
    Month,
}

/// What `replay` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayOutput {
    /// Tables
    Table,
    /// One JSON document
    Json,
}

impl ReplayArgs {
    pub(crate) fn options(&self) -> Options {
        Options {
            mode: match self.mode {
                ModeArg::Slurm => Mode::SlurmCycles,
                ModeArg::Easy => Mode::Easy,
            },
            limits: match self.limit {
                LimitArg::Requested => Limits::Requested,
                LimitArg::Runtime => Limits::RunTime,
                LimitArg::None => Limits::None,
            },
            run_times: self.runtime,
            over_limit: match self.over_limit {
                OverLimitArg::Keep => OverLimit::Keep,
                OverLimitArg::Kill => OverLimit::Kill,
            },
            jitter: self.jitter,
            seed: self.seed,
            first_jobs: self.jobs,
            from: self.from,
            to: self.to,
        }
    }
}

fn span(text: &str) -> Result<Span, String> {
    Lasting::parse(text).map(|lasting| lasting.0)
}

fn run_times(text: &str) -> Result<RunTimes, String> {
    if text == "recorded" {
        return Ok(RunTimes::Recorded);
    }
    let factor = text.strip_prefix("scaled:").and_then(|factor| factor.parse::<f64>().ok());
    factor
        .filter(|factor| factor.is_finite() && 0.0 <= *factor)
        .map(RunTimes::Scaled)
        .ok_or_else(|| "write `recorded`, or `scaled:` and a number: `scaled:0.9`".to_owned())
}
