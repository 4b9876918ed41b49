//! The arguments of `drawbridge tui`.

use std::path::PathBuf;

use drawbridge_sim::{Seed, Time};
use drawbridge_tui::ThemeName;

use crate::args::seed;

#[derive(Debug, clap::Args)]
pub(crate) struct TuiArgs {
    /// Scenarios to play, or runs that --record wrote. The second is compared with the first; with
    /// more, R goes from one to the next
    #[arg(required_unless_present_any = ["demo", "live", "keys_table"], value_name = "SCENARIO")]
    pub(crate) paths: Vec<PathBuf>,
    /// A story that needs nothing: two schedulers' worth of trouble on eight nodes
    #[arg(long, conflicts_with = "paths")]
    pub(crate) demo: bool,
    /// Look at real clusters, or at `drawbridge serve`: Kubernetes by its kubeconfig, Slurm by
    /// SLURM_REST_API and SLURM_JWT. Read only, unless --write is given
    #[arg(long, conflicts_with_all = ["paths", "demo", "press"])]
    pub(crate) live: bool,
    /// With --live: the kubeconfig [default: KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE", requires = "live")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// With --live: where slurmrestd is [default: SLURM_REST_API]
    #[arg(long, value_name = "ADDRESS", requires = "live")]
    pub(crate) slurm: Option<String>,
    /// With --live: seconds between two questions to slurmrestd
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) poll: u64,
    /// With --live: cancel, drain, scale and delete are done to the real clusters
    #[arg(long, requires = "live")]
    pub(crate) write: bool,
    /// Play with this seed instead of the scenario's own
    #[arg(long, value_parser = seed)]
    pub(crate) seed: Option<Seed>,
    /// Compare with the same scenario played with this seed
    #[arg(long, value_name = "SEED", value_parser = seed)]
    pub(crate) against_seed: Option<Seed>,
    /// Compare with the same scenario on a cluster with this slurm.conf
    #[arg(long, value_name = "FILE", conflicts_with = "against_seed")]
    pub(crate) against_conf: Option<PathBuf>,
    /// Compare with the same scenario after this change to its slurm.conf: SchedulerType=sched/builtin
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["against_seed", "against_conf"])]
    pub(crate) against_set: Vec<String>,
    /// Record the run to this file while it is played; `drawbridge tui FILE` opens it
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The view to begin with: overview, pods, jobs, nodes, timeline, gangs, events, why, diff
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Option<String>,
    /// The moment to begin with: 5m, 1h30m, 00:10:00
    #[arg(long, value_name = "TIME", value_parser = drawbridge_tui::moment)]
    pub(crate) at: Option<Time>,
    /// How the screens are painted [default: terminal, or mono where NO_COLOR is set]
    #[arg(long, value_name = "NAME", value_parser = theme)]
    pub(crate) theme: Option<ThemeName>,
    /// Record the session to this file, as asciicast
    #[arg(long, value_name = "FILE")]
    pub(crate) cast: Option<PathBuf>,
    /// Press these keys without a terminal and print the screen: "3 j Enter", ":goto Space 5m Enter"
    #[arg(long, value_name = "KEYS", allow_hyphen_values = true)]
    pub(crate) press: Option<String>,
    /// With --press: write the screen to this file instead: .txt, .svg, or the session as .cast
    #[arg(long, value_name = "FILE", requires = "press")]
    pub(crate) save: Option<PathBuf>,
    /// With --press: the size of the screen
    #[arg(long, value_name = "WxH", default_value = "100x30", value_parser = size)]
    pub(crate) size: (u16, u16),
    /// Print every key and command as Markdown
    #[arg(long, hide = true)]
    pub(crate) keys_table: bool,
}

fn theme(text: &str) -> Result<ThemeName, String> {
    let names = || ThemeName::ALL.map(ThemeName::name).join(", ");
    ThemeName::named(text).ok_or_else(|| format!("there are {}", names()))
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let pair = text.split_once('x').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    pair.filter(|(width, height)| (80..=500).contains(width) && (24..=200).contains(height))
        .ok_or_else(|| "write columns and lines, from 80x24 to 500x200: `120x40`".to_owned())
}
