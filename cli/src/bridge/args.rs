//! The flags of `drawbridge bridge`, spelt as the existing bridge spells them.

use std::path::PathBuf;

use clap::{ArgAction, ValueEnum};
use drawbridge_bridge::settings::{Component, Flags, Listen};

/// Exit code 0: it was told to stop, and has let go. 1: it could not let go in time. 2: settings are
/// wrong. 3: an address can't be listened on, or (with --dry-run) a side could not be reached.
#[derive(Debug, clap::Args)]
pub(crate) struct BridgeArgs {
    /// The configuration [default: /etc/slurm-bridge/config.yaml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How to reach Kubernetes [default: KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Run only these parts: scheduler, controllers, admission; may be given several times
    #[arg(long = "component", value_name = "PART", value_enum, value_delimiter = ',')]
    components: Vec<Part>,
    /// Read and check all settings, print those in force, and end
    #[arg(long)]
    pub(crate) check_config: bool,
    /// Print the webhook configurations that go with these settings, for `kubectl apply -f -`, and end
    #[arg(long, conflicts_with = "check_config")]
    pub(crate) print_webhooks: bool,
    /// Look at both sides, print what would be done, and end; nothing is changed
    #[arg(long, conflicts_with_all = ["check_config", "print_webhooks"])]
    pub(crate) dry_run: bool,
    /// Write every input and effect to this file; `drawbridge replay` steps through it
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Of several replicas one leads and the others wait
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Replicas")]
    leader_elect: Option<bool>,
    /// The name of the Lease that says who leads
    #[arg(long, value_name = "NAME", help_heading = "Replicas")]
    leader_election_id: Option<String>,

    /// Where /metrics is served; 0 serves none
    #[arg(long, value_name = "ADDR", default_value = ":8080", value_parser = place, help_heading = "Pages")]
    pub(crate) metrics_bind_address: Place,
    /// Serve metrics by TLS, to those whom the API server lets read them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Pages")]
    metrics_secure: Option<bool>,
    /// Where /healthz, /livez and /readyz are served; 0 serves none
    #[arg(long, value_name = "ADDR", default_value = ":8081", value_parser = place, help_heading = "Pages")]
    pub(crate) health_probe_bind_address: Place,

    /// Where the admission webhooks are served
    #[arg(long, value_name = "ADDR", default_value = ":9443", help_heading = "Admission")]
    pub(crate) webhook_bind_address: Listen,
    /// Take the webhooks' certificate from tls.crt and tls.key in this folder
    #[arg(long, value_name = "DIR", help_heading = "Admission")]
    webhook_cert_dir: Option<PathBuf>,
    /// Take it from this Secret of the bridge's namespace [default: one that the bridge makes itself]
    #[arg(long, value_name = "NAME", help_heading = "Admission")]
    webhook_secret: Option<String>,
    /// Serve webhooks and secure metrics by HTTP/2, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Admission")]
    enable_http2: Option<bool>,

    /// Log more: -v what objects show as well, -vv requests that change something, -vvv all requests
    #[arg(short = 'v', action = ArgAction::Count, help_heading = "Logs")]
    verbose: u8,
    /// The same by its number
    #[arg(long = "v", value_name = "N", default_value_t = 0, help_heading = "Logs")]
    level: u8,
    /// How log lines are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text, help_heading = "Logs")]
    pub(crate) log_format: LogFormat,
}

/// A place to listen at, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(pub(crate) Option<Listen>);

fn place(text: &str) -> Result<Place, String> {
    Listen::parse(text).map(Place)
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Everything
    All,
    /// Pods become jobs, and are bound where Slurm says
    Scheduler,
    /// Nodes are kept in step
    Controllers,
    /// The webhooks that pods pass when they are written
    Admission,
}

impl BridgeArgs {
    /// What concerns the settings.
    pub(super) fn flags(&self) -> Flags {
        let part = |part: &Part| match part {
            Part::All => Component::ALL.to_vec(),
            Part::Scheduler => vec![Component::Scheduler],
            Part::Controllers => vec![Component::Controllers],
            Part::Admission => vec![Component::Admission],
        };
        let mut components: Vec<Component> = self.components.iter().flat_map(part).collect();
        components.sort_unstable();
        components.dedup();
        Flags {
            leader_elect: self.leader_elect,
            leader_election_id: self.leader_election_id.clone(),
            metrics_secure: self.metrics_secure,
            enable_http2: self.enable_http2,
            components,
            webhook_cert_dir: self.webhook_cert_dir.clone(),
            webhook_secret: self.webhook_secret.clone(),
            dry_run: self.dry_run,
        }
    }

    /// How much is logged.
    pub(super) fn verbosity(&self) -> u8 {
        self.verbose.max(self.level)
    }
}
