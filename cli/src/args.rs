//! The command line. The doc comments are the help texts.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use drawbridge_server::Located;
use drawbridge_sim::{Release, Seed, Span};

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
    ///
    /// What `serve --record` wrote is run again, too: every request at its time, to the same hash.
    Run(RunArgs),
    /// Prove that scenarios are deterministic
    ///
    /// Plays each scenario in separate processes with other time zones, languages, working
    /// directories and numbers of workers, and compares every event. On a difference the first
    /// event that differs is printed.
    Verify(VerifyArgs),
    /// Try to break the bridge: many seeds, injected faults, a crash at every request
    ///
    /// Plays each scenario over and over while requests are delayed, refused, lost or doubled, replies
    /// are lost after they took effect, watches end, gape or fall silent, servers and machines are gone
    /// for a while, and the bridge crashes or stands still; each run draws from its seed what goes
    /// wrong, where and how often. Then the bridge is crashed before and after every request that it
    /// ever sends, one run each. Every run is judged: the laws on every event; and at the end, when
    /// all is quiet, nothing leaked, both sides agree, whoever waits has a true reason, and every
    /// workload came to what it comes to without faults. What the scenario itself expects, and when, is
    /// not judged.
    ///
    /// One seed gives one outcome, and any number of threads the same. A failure is printed with the
    /// command that repeats it, made small. Exit codes: 0 nothing found, 1 a run failed, 2 the input is
    /// wrong.
    Explore(Box<crate::explore::args::ExploreArgs>),
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
    /// Start a real Slurm to try things on
    ///
    /// Starts slurmctld, a slurmd for every node, slurmrestd and, if asked, slurmdbd with its
    /// database, in namespaces of their own: any number of them may run at a time. With a COMMAND it
    /// is there as long as that runs, and the exit code is the command's; without one, until it is
    /// stopped. What it prints, and what COMMAND finds in its environment:
    ///
    ///   SLURM_REST_API   where slurmrestd listens on this machine
    ///   SLURM_REST_SOCKET  its Unix socket
    ///   SLURM_JWT        a token of root's; SLURM_JWT_KEY is the file with the key for others
    ///   SLURM_LAB        a folder with `in`, which runs a command there: `$SLURM_LAB/in squeue`,
    ///                    `$SLURM_LAB/in -u alice sbatch`. Users: root, alice, bob, carol, dave.
    ///
    /// Needs Linux, root, and apt with a Debian mirror; packages are unpacked once into a cache.
    /// Exit code 3 if no Slurm can be started.
    #[command(verbatim_doc_comment)]
    Lab(LabArgs),
    /// Explore a run, forwards and backwards in time, and change it
    ///
    /// Overview, pods, jobs, nodes, a timeline, gangs, events and why each thing is as it is, at every
    /// moment of a run. The run goes on behind the screens. `?` shows every key, docs/tui.md tells
    /// more. Without a terminal, --press shows what the screens would be.
    Tui(Box<crate::tui::TuiArgs>),
    /// Serve the twin to other tools, over the network
    ///
    /// A Kubernetes API server with controllers and kubelets behind it, for kubectl, helm, client
    /// libraries and other people's controllers; slurmrestd over the Slurm model, for REST clients
    /// and the Slurm commands; and the bridge between the two, all on one clock. Without SCENARIO
    /// both have the nodes of --conf, and pods in the namespace `slurm-bridge`, or with
    /// `schedulerName: slurm-bridge-scheduler` anywhere, become Slurm jobs. Everything is in memory
    /// and gone at the end, unless --state-dir keeps it: requests that changed something are written
    /// down, and happen again at the next start. At speed 1 the calendar stays true over a restart;
    /// at another speed time stands still meanwhile.
    ///
    /// Jobs that come to slurmrestd run as long as their scripts say: `sleep`, endless loops and
    /// `exit` are understood. Who knows better says so, in the script (`#DRAWBRIDGE runtime=1h
    /// exit=3`), in the job's environment (DRAWBRIDGE_RUNTIME=90, DRAWBRIDGE_EXIT=3), in its comment
    /// (`drawbridge: runtime=90`), or for all others with --default-runtime.
    Serve(Box<ServeArgs>),
    /// Run the bridge between a real Kubernetes and a real Slurm
    ///
    /// Pods that choose the scheduler become Slurm jobs through slurmrestd; Slurm decides when and
    /// where; the bridge binds the pods to the nodes that Slurm chose and keeps both sides in step
    /// until everything has ended. Scheduler, controllers and admission run in one process, or
    /// apart (--component).
    ///
    /// What is set goes by one order: flags, then the environment (SLURM_REST_API, SLURM_JWT,
    /// SLURM_JWT_FILE, SLURM_JWT_KEY, SLURM_USER_NAME, NAMESPACE_SELECTOR, KUBECONFIG), then the
    /// configuration, then what is shipped. docs/bridge.md explains all of it.
    Bridge(Box<crate::bridge::BridgeArgs>),
    /// Make a token for slurmrestd, as `scontrol token` does
    ///
    /// Prints SLURM_JWT=… for a user, signed with the key that `serve` or slurmctld has.
    Token(TokenArgs),
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
    /// How the bridge reaches the two clusters
    #[arg(long, value_enum, default_value_t = Transport::Direct)]
    pub(crate) transport: Transport,
}

/// How the bridge reaches the two clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// The bridge's core beside them, on one order of events
    Direct,
    /// The bridge's shell with its real clients, over HTTP in memory; the outcome is the same
    Wire,
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
    /// Play everything so many times more over the wire: the bridge's shell and its clients, over HTTP
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) wire: u16,
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
    /// Which Slurm: 24.11 or 26.05. Families of what only one of them has are compared with that one
    #[arg(long, value_name = "RELEASE", default_value = "24.11", value_parser = release)]
    pub(crate) release: Release,
    /// Use this Slurm, of that release: the folder with sbin/slurmctld, sbin/slurmd and bin/sbatch
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
    /// Where the unpacked packages are kept [default: drawbridge in the user's cache]
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
pub(crate) struct LabArgs {
    /// Which Slurm: 24.11 or 26.05
    #[arg(long, value_name = "RELEASE", default_value = "24.11", value_parser = release)]
    pub(crate) release: Release,
    /// Use this slurm.conf, and gres.conf beside it, without what concerns ports, paths and daemons
    /// [default: 4 nodes of 16 CPUs, one partition]
    #[arg(long, value_name = "FILE")]
    pub(crate) conf: Option<PathBuf>,
    /// Start slurmdbd and its database too
    #[arg(long)]
    pub(crate) accounting: bool,
    /// Run sacctmgr with these words before anything else, for instance `add account physics`;
    /// may be given several times
    #[arg(long, value_name = "WORDS", requires = "accounting")]
    pub(crate) sacctmgr: Vec<String>,
    /// Where slurmrestd is to be reached; port 0 takes any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) addr: SocketAddr,
    /// How many times faster Slurm's clock runs
    #[arg(long, value_name = "X", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub(crate) speed: u32,
    /// Where the unpacked packages are kept [default: drawbridge in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Use this Slurm: the folder with sbin/slurmctld, sbin/slurmd and bin/sbatch
    #[arg(long, value_name = "DIR")]
    pub(crate) slurm: Option<PathBuf>,
    /// Run this while the Slurm is there
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The scenario to serve: its clusters, and what happens in it at its time. With --slurm-only its
    /// Slurm cluster alone
    #[arg(conflicts_with = "conf")]
    pub(crate) scenario: Option<PathBuf>,
    /// Serve Kubernetes alone, without Slurm and without a bridge
    #[arg(long, conflicts_with = "slurm_only")]
    pub(crate) kube_only: bool,
    /// Serve slurmrestd alone, over the Slurm model
    #[arg(long)]
    pub(crate) slurm_only: bool,
    /// Leave out the bridge, and its webhooks: somebody else's can be tried
    #[arg(long)]
    pub(crate) no_bridge: bool,
    /// Print what happens while it happens, as `run --output story` does
    #[arg(long, conflicts_with_all = ["kube_only", "slurm_only"])]
    pub(crate) story: bool,
    /// Keep what comes from outside in this folder, and go on with what is kept there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["slurm_only", "record"])]
    pub(crate) state_dir: Option<PathBuf>,
    /// Write what comes from outside to this file; `drawbridge run FILE` repeats it, to the same hash
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kube_only", "slurm_only"])]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) slurm: SlurmArgs,
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
    /// Leave out the controllers of these kinds, so that somebody else's can do their work:
    /// JobSet,LeaderWorkerSet
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = controller)]
    pub(crate) no_controllers: Vec<String>,
    /// Where the Service of an admission webhook really is; may be given several times
    #[arg(long = "service", value_name = "NAMESPACE/NAME=HOST:PORT", value_parser = service)]
    pub(crate) services: Vec<(String, Located)>,
}

/// What slurmrestd is served with.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "slurmrestd")]
pub(crate) struct SlurmArgs {
    /// The cluster: a slurm.conf, and gres.conf beside it [default: 4 nodes of 16 CPUs]
    #[arg(long, value_name = "FILE")]
    pub(crate) conf: Option<PathBuf>,
    /// Which Slurm: 24.11 (API v0.0.40 to v0.0.42) or 26.05 (v0.0.42 to v0.0.45) [default: 24.11, or
    /// the scenario's]
    #[arg(long, value_name = "RELEASE", value_parser = release)]
    pub(crate) release: Option<Release>,
    /// Where slurmrestd listens; port 0 takes any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6820")]
    pub(crate) slurm_addr: SocketAddr,
    /// A Unix socket on which it listens, too
    #[arg(long, value_name = "FILE")]
    pub(crate) slurm_socket: Option<PathBuf>,
    /// The key that signs tokens; made if there is no such file
    #[arg(long, value_name = "FILE", default_value = "drawbridge.jwt.key")]
    pub(crate) jwt_key: PathBuf,
    /// Write root's token to this file
    #[arg(long, value_name = "FILE", default_value = "drawbridge.jwt")]
    pub(crate) token_out: PathBuf,
    /// How long a script runs that doesn't say: seconds, or 90s, 5m, 2h [default: it ends at once]
    #[arg(long, value_name = "TIME", value_parser = run_time)]
    pub(crate) default_runtime: Option<Span>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    /// For whom
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    /// The file with the key that signs tokens
    #[arg(long, value_name = "FILE", env = "SLURM_JWT_KEY", default_value = "drawbridge.jwt.key")]
    pub(crate) key: PathBuf,
    /// For how many seconds it is good
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    pub(crate) lifespan: u64,
}

/// Reads `90`, `90s`, `5m`, `2h`.
fn run_time(text: &str) -> Result<Span, String> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let number: u64 = number.parse().map_err(|_| "write seconds, or 90s, 5m, 2h".to_owned())?;
    Ok(match unit {
        "h" => Span::hours(number),
        "m" => Span::mins(number),
        _ => Span::secs(number),
    })
}

/// Reads `NAMESPACE/NAME=HOST:PORT`.
fn service(text: &str) -> Result<(String, Located), String> {
    let wrong = || "write it as NAMESPACE/NAME=HOST:PORT: bridge/webhook=127.0.0.1:9443".to_owned();
    let (name, place) = text.split_once('=').ok_or_else(wrong)?;
    let (host, port) = place.rsplit_once(':').ok_or_else(wrong)?;
    let parts = name.split('/').filter(|part| !part.is_empty()).count();
    let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
    let host = host.trim_matches(['[', ']']).to_owned();
    match parts == 2 && !host.is_empty() {
        true => Ok((name.to_owned(), Located { host, port })),
        false => Err(wrong()),
    }
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
    /// For a link to drawbridge of this name, such as `squeue`, instead of drawbridge itself
    #[arg(value_parser = slurm_command)]
    pub(crate) command: Option<String>,
}

fn slurm_command(name: &str) -> Result<String, String> {
    let names = || drawbridge_commands::COMMANDS.iter().map(|command| command.manual.name);
    if names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err(format!("no such command; there are {}", names().collect::<Vec<_>>().join(", ")))
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

pub(crate) fn release(text: &str) -> Result<Release, String> {
    Release::parse(text).ok_or_else(|| "write 24.11 or 26.05".to_owned())
}

fn controller(text: &str) -> Result<String, String> {
    let known: Vec<_> = drawbridge_fakes::Cluster::controllers().collect();
    match known.iter().find(|kind| kind.eq_ignore_ascii_case(text)) {
        Some(kind) => Ok((*kind).to_owned()),
        None => Err(format!("the kinds that have a controller are {}", known.join(", "))),
    }
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
