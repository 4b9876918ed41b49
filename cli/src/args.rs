//! The command line. The doc comments are the help texts.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use drawbridge_sim::Seed;

/// Run Kubernetes workloads on Slurm, or rehearse it first.
///
/// Drawbridge is a digital twin of a Kubernetes cluster and a Slurm cluster with a bridge between
/// them. Scenario files say what is there, what happens and what must come of it; one seed gives
/// one outcome, to the last event.
#[derive(Debug, Parser)]
#[command(name = "drawbridge", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  all good
  1  an expectation, a law or a snapshot failed
  2  the input is wrong: file, line, column and a hint are printed
  3  a server could not be reached

Start with:
  drawbridge run scenarios
  drawbridge tui scenarios/mpi_podgroup.yaml";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play scenarios and judge them
    ///
    /// Plays scenario files, or every `*.yaml` in folders and the folders in them, and prints a
    /// table of results. Folders named `files` hold what scenarios include, and `src`, `tests` and
    /// `benches` are code: they are left out, as are links to folders.
    Run(RunArgs),
    /// Prove that scenarios are deterministic
    ///
    /// Plays each scenario in separate processes with other time zones, languages, working
    /// directories and numbers of workers, and compares every event. On a difference the first
    /// event that differs is printed.
    Verify(VerifyArgs),
    /// Replay a recorded workload through the Slurm model
    ///
    /// Reads a trace, gives its jobs to the model of slurmctld (or to an ideal EASY scheduler) at
    /// the times when they were submitted, and prints how long they waited, how busy the machine
    /// was, and how far the starts lie from the recorded ones.
    Replay(Box<crate::replay::args::ReplayArgs>),
    /// Check the Slurm model against a real Slurm, decision by decision
    ///
    /// Starts real slurmctld and slurmd processes in namespaces of their own, makes clusters and
    /// operations from seeds, does each operation on the real Slurm and on the model, waits until
    /// both have settled, and compares every job's state, reason, nodes, CPU ids, memory and GPU
    /// indices and every node's state and allocation. What differs is made as small as possible
    /// and printed as a case to keep.
    ///
    /// Needs Linux, root, and apt with a Debian mirror; packages are unpacked once into a cache.
    /// Exit codes: 0 all equal, 1 a difference, 2 the input is wrong, 3 Slurm can't be started.
    Oracle(OracleArgs),
    /// Explore a run, forwards and backwards in time
    Tui(TuiArgs),
    /// Serve the twin to other tools, over the network
    ///
    /// Starts a Kubernetes API server with controllers and kubelets behind it, for kubectl, helm,
    /// client libraries and other people's controllers. Everything is in memory and gone at the
    /// end.
    Serve(ServeArgs),
    /// Print the JSON Schema of scenario files or of the bridge's configuration
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Scenario files, or folders of them
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Play with this seed instead of each scenario's own
    #[arg(long, value_parser = seed)]
    pub(crate) seed: Option<Seed>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
    /// Write every event to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write the results to this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Compare each story with DIR/SCENARIO.snap, and fail where they differ
    #[arg(long, value_name = "DIR", conflicts_with = "update_snapshots")]
    pub(crate) check_snapshots: Option<PathBuf>,
    /// Write each story to DIR/SCENARIO.snap
    #[arg(long, value_name = "DIR")]
    pub(crate) update_snapshots: Option<PathBuf>,
    /// How many scenarios to play at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) workers: Option<u16>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Scenario files, or folders of them
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Play with this seed instead of each scenario's own
    #[arg(long, value_parser = seed)]
    pub(crate) seed: Option<Seed>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = VerifyOutput::Table)]
    pub(crate) output: VerifyOutput,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OracleArgs {
    /// How many seeds of each family
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seeds: u64,
    /// The first of them
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) first_seed: u64,
    /// Only these families, with commas or several times; `list` prints them
    #[arg(long, value_name = "F", value_delimiter = ',')]
    pub(crate) family: Vec<String>,
    /// Begin no case after so many minutes
    #[arg(long, value_name = "M")]
    pub(crate) minutes: Option<u64>,
    /// Cases at a time [default: one per core]
    #[arg(long, value_name = "J", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = VerifyOutput::Table)]
    pub(crate) output: VerifyOutput,
    /// Use this Slurm: the folder with sbin/slurmctld, sbin/slurmd and bin/sbatch
    #[arg(long, value_name = "DIR")]
    pub(crate) slurm: Option<PathBuf>,
    /// Use this slurm.conf for every case instead of generated clusters
    #[arg(long, value_name = "FILE")]
    pub(crate) conf: Option<PathBuf>,
    /// Run these case files instead of families
    #[arg(long, value_name = "FILE")]
    pub(crate) case: Vec<PathBuf>,
    /// Leave out the cases that are kept in the binary
    #[arg(long)]
    pub(crate) no_kept: bool,
    /// Write each difference, made small, into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Ask only the real Slurm, and write what it shows into this folder, a file per seed
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Compare the model with recordings: files or folders of them; starts no Slurm
    #[arg(long, value_name = "PATH")]
    pub(crate) replay: Vec<PathBuf>,
    /// Succeed if all kept cases and so many percent of all operations are equal
    #[arg(long, value_name = "PERCENT")]
    pub(crate) floor: Option<f64>,
    /// Where the unpacked packages are kept [default: drawbridge/slurm-24.11 in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// How many times faster Slurm's clock runs
    #[arg(long, value_name = "X", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub(crate) speed: u32,
    /// Tries to make a difference smaller
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) shrink: usize,
    /// Compare when things happen, in the cases kept for that (or in --case files); with --keep,
    /// write down what Slurm did
    #[arg(long, conflicts_with_all = ["family", "conf", "minutes"])]
    pub(crate) timed: bool,
    /// Compare with what was recorded of a real Slurm, without starting one
    #[arg(long, requires = "timed")]
    pub(crate) recorded: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TuiArgs {
    /// The scenario to play
    pub(crate) path: PathBuf,
    /// Play with this seed instead of the scenario's own
    #[arg(long, value_parser = seed)]
    pub(crate) seed: Option<Seed>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Serve Kubernetes alone, without Slurm and without a bridge; there is no other way yet
    #[arg(long)]
    pub(crate) kube_only: bool,
    /// Where the Kubernetes API listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6443")]
    pub(crate) kube_addr: SocketAddr,
    /// Write a kubeconfig for the administrator to this file
    #[arg(long, value_name = "FILE", default_value = "drawbridge.kubeconfig")]
    pub(crate) kubeconfig_out: PathBuf,
    /// How many seconds of the twin pass in one second
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    pub(crate) speed: f64,
    /// Draw uids and names from this seed instead of the system's randomness
    #[arg(long, value_parser = seed)]
    pub(crate) seed: Option<Seed>,
    /// Leave the nodes without kubelets: nothing runs, whoever asks writes the status of pods
    #[arg(long)]
    pub(crate) no_kubelets: bool,
    /// Leave out the default scheduler: its pods wait until somebody binds them
    #[arg(long)]
    pub(crate) no_scheduler: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Which schema
    #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
    pub(crate) what: SchemaOf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// What `run` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// One line per scenario, and what failed
    Table,
    /// One JSON document per scenario, a line each
    Json,
    /// What happened, as a story
    Story,
}

/// What `verify` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyOutput {
    /// One line per scenario
    Table,
    /// One JSON document per scenario, a line each
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Scenario files
    Scenario,
    /// The bridge's configuration
    Config,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Makes this the choice for everything that is printed.
    pub(crate) fn write_global(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

pub(crate) fn seed(text: &str) -> Result<Seed, String> {
    text.parse().map(Seed).map_err(|_| "a seed is a whole number from 0 to 2^64-1".to_owned())
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "a speed is a number".to_owned())?;
    match (0.001..=100_000.0).contains(&speed) {
        true => Ok(speed),
        false => Err("a speed lies between 0.001 and 100000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
