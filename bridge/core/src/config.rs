//! What an operator sets. The keys are the existing bridge's; those below the line are ours.

mod devices;
mod environment;
mod fit;
mod gang;
mod leader_election;
mod namespaces;
mod nodes;
mod priority_class;
mod slurm_rest;
mod suspended;

use std::collections::BTreeMap;

use drawbridge_sim::{Quantity, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{annotations, plants::Plant};

pub(crate) use devices::Gres;
pub use devices::{DeviceClass, Devices, PluginResource, Plugins, Unmapped};
pub use environment::{Environment, SlurmVariables};
pub use fit::OnUnsupported;
pub use gang::{GangConfig, Surplus, Uneven};
pub use leader_election::{Features, LeaderElection};
pub use namespaces::Namespace;
pub use nodes::NodeSettings;
pub use priority_class::ClassPriority;
pub use slurm_rest::{Addresses, SlurmRest, SlurmTls};
pub use suspended::SuspendedJobs;

/// The bridge's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default = "Config::as_shipped")]
pub struct Config {
    /// Pods with this `spec.schedulerName` are ours.
    pub scheduler_name: String,
    /// Where slurmrestd answers: one address, or several in order of preference.
    pub slurm_rest_api: Addresses,
    /// Namespaces whose pods are sent to Slurm.
    pub managed_namespaces: Vec<String>,
    /// Namespaces with these labels are sent to Slurm; if set, the list isn't looked at.
    pub managed_namespace_selector: Option<LabelSelector>,
    /// Multi-category security label of our jobs; Slurm refuses one unless it has an MCS plugin.
    pub mcs_label: Option<String>,
    /// Partition of our jobs unless an annotation names one; Slurm's default if unset.
    pub partition: Option<String>,
    /// What is switched on.
    pub features: Features,
    /// How slurmrestd is spoken to.
    pub slurm_rest: SlurmRest,
    /// How replicas find out who of them leads.
    pub leader_election: LeaderElection,
    /// Tells this Kubernetes cluster's jobs from those of others on the same Slurm.
    pub cluster_id: String,
    /// What stands for a workload in Slurm.
    pub placeholder: Placeholder,
    /// Memory of a pod that asks for none, as a Kubernetes quantity. Slurm would take all there is.
    pub default_memory: String,
    /// Whole nodes only, unless an annotation says otherwise.
    pub exclusive: bool,
    /// Keep pods that aren't ours off Slurm's nodes by a taint.
    pub taint_nodes: bool,
    /// How nodes are kept in step.
    pub nodes: NodeSettings,
    /// Slurm's `KillWait`: how long an ended job's nodes wait for its last processes.
    pub kill_wait_seconds: u32,
    /// What becomes of pods whose job Slurm suspends.
    pub suspended_jobs: SuspendedJobs,
    /// What a pod's PriorityClass means to Slurm, by the class's name.
    pub priority_classes: BTreeMap<String, ClassPriority>,
    /// Which workloads are gangs.
    pub gang: GangConfig,
    /// What devices of Kubernetes are in Slurm.
    pub devices: Devices,
    /// What the pods of a namespace get, and what they may ask for, by the namespace's name; `*` is
    /// every namespace without an entry.
    pub namespaces: BTreeMap<String, Namespace>,
    /// What containers find in their environment.
    pub environment: Environment,
    /// Whether pods of other schedulers count: nodes without room beside them are left out. To know
    /// them, all pods of the cluster are watched.
    pub count_other_pods: bool,
    /// What becomes of a pod that demands what Slurm can't be told.
    pub unsupported: OnUnsupported,
    /// How long a workload that has its nodes waits for its volumes, in seconds.
    pub volume_wait_seconds: u32,
    /// How often Slurm is asked.
    pub poll_seconds: PollSeconds,
    /// The defect that it has, for tests that must find it.
    #[serde(skip)]
    pub plant: Option<Plant>,
}

/// What stands for a workload in Slurm while its pods live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Placeholder {
    /// An external job where no node that it may use has a slurmd, a batch script elsewhere.
    Auto,
    /// A batch script.
    Script,
    /// An external job, which needs no slurmd: Slurm 25.05 and v0.0.43 of the API, or newer.
    External,
}

/// How often Slurm is asked, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default = "PollSeconds::as_shipped")]
pub struct PollSeconds {
    /// Job states, while something waits or ends.
    pub waiting: u32,
    /// Job states, while everything runs.
    pub running: u32,
    /// Job states, while there is nothing.
    pub idle: u32,
    /// Nodes.
    pub nodes: u32,
    /// All jobs in full, as a safety net.
    pub all_jobs: u32,
}

/// Chooses objects by their labels, as Kubernetes does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LabelSelector {
    /// Labels with exactly these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelExpression>,
}

/// One condition on a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelExpression {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// What it is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Why a configuration can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The memory isn't a quantity.
    #[error("defaultMemory `{text}` is not a quantity")]
    DefaultMemory {
        /// What was written.
        text: String,
    },
    /// A name that must not be empty is.
    #[error("{key} is empty")]
    Empty {
        /// Which.
        key: &'static str,
    },
    /// An interval of zero would ask without a pause.
    #[error("pollSeconds.{key} is 0")]
    ZeroPoll {
        /// Which.
        key: &'static str,
    },
    /// A class is either a priority or a nice value.
    #[error("priorityClasses.{class} needs exactly one of priority and nice")]
    ClassPriority {
        /// Which.
        class: String,
    },
    /// A GRES without a name.
    #[error("{key} is empty")]
    NamelessGres {
        /// Which.
        key: String,
    },
    /// An annotation that doesn't exist can't be allowed.
    #[error("namespaces.{namespace}.allowedOverrides names `{name}`, which is no annotation")]
    UnknownOverride {
        /// Whose.
        namespace: String,
        /// What was written.
        name: String,
    },
    /// No volume is made in no time.
    #[error("volumeWaitSeconds is 0")]
    ZeroVolumeWait,
    /// Nobody could answer in no time.
    #[error("slurmRest.timeoutSeconds is 0")]
    ZeroTimeout,
    /// A lease whose leader gives up later than others may take it.
    #[error(
        "leaderElection needs retryPeriodSeconds < renewDeadlineSeconds < leaseDurationSeconds"
    )]
    LeaseTimes,
    /// There is nobody to ask.
    #[error("slurmRestApi is empty")]
    NoAddress,
    /// Two places for one token.
    #[error("the token comes from a file or is signed with a key, not both")]
    TwoTokens,
    /// A token is somebody's.
    #[error("slurmRest.keyFile signs tokens, but nobody is named to sign them for")]
    NobodyToSignFor,
    /// A certificate is of no use without its key, nor a key without its certificate.
    #[error("slurmRest.tls has only one of certFile and keyFile")]
    HalfACertificate,
}

impl ConfigError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::DefaultMemory { .. } => "write a Kubernetes quantity such as `100Mi`",
            Self::Empty { .. } => "give it a name, or leave the key out",
            Self::ZeroPoll { .. } | Self::ZeroTimeout | Self::ZeroVolumeWait => {
                "use a whole number of seconds, at least 1"
            }
            Self::ClassPriority { .. } => "for example `{priority: 1000}` or `{nice: 100}`",
            Self::NamelessGres { .. } => "write a name of GresTypes, such as `gpu`",
            Self::UnknownOverride { .. } => {
                "the annotations are listed in docs/annotations.md; write them without their prefix"
            }
            Self::LeaseTimes => "for example 2, 10 and 15, each at least 1",
            Self::NoAddress => "name at least one address, such as `http://host:6820`",
            Self::TwoTokens => "leave one of tokenFile and keyFile out",
            Self::NobodyToSignFor => "add userName, for example `userName: slurm`",
            Self::HalfACertificate => "give both, or neither",
        }
    }
}

impl Config {
    /// The values in force where nothing is set.
    pub fn as_shipped() -> Self {
        Self {
            scheduler_name: "slurm-bridge-scheduler".into(),
            slurm_rest_api: Addresses(vec!["http://slurm-restapi.slurm:6820".into()]),
            features: Features::default(),
            slurm_rest: SlurmRest::as_shipped(),
            leader_election: LeaderElection::as_shipped(),
            managed_namespaces: vec!["slurm-bridge".into()],
            managed_namespace_selector: None,
            mcs_label: None,
            partition: None,
            cluster_id: "drawbridge".into(),
            placeholder: Placeholder::Auto,
            default_memory: "100Mi".into(),
            exclusive: false,
            taint_nodes: true,
            nodes: NodeSettings::as_shipped(),
            kill_wait_seconds: 30,
            suspended_jobs: SuspendedJobs::Keep,
            priority_classes: BTreeMap::new(),
            gang: GangConfig::default(),
            devices: Devices::default(),
            namespaces: BTreeMap::new(),
            environment: Environment::default(),
            count_other_pods: true,
            unsupported: OnUnsupported::Refuse,
            volume_wait_seconds: 600,
            poll_seconds: PollSeconds::as_shipped(),
            plant: None,
        }
    }

    /// Says what is wrong with it, if anything is.
    pub fn check(&self) -> Result<(), ConfigError> {
        if Quantity::parse(&self.default_memory).is_err() {
            let text = self.default_memory.clone();
            return Err(ConfigError::DefaultMemory { text });
        }
        if self.volume_wait_seconds == 0 {
            return Err(ConfigError::ZeroVolumeWait);
        }
        if !self.leader_election.is_safe() {
            return Err(ConfigError::LeaseTimes);
        }
        for (key, name) in [
            ("schedulerName", &self.scheduler_name),
            ("clusterId", &self.cluster_id),
            ("leaderElection.id", &self.leader_election.id),
        ] {
            if name.is_empty() {
                return Err(ConfigError::Empty { key });
            }
        }
        let vague = |class: &(&String, &ClassPriority)| !class.1.says_one_thing();
        if let Some((class, _)) = self.priority_classes.iter().find(vague) {
            return Err(ConfigError::ClassPriority { class: class.clone() });
        }
        if let Some(key) = self.devices.nameless() {
            return Err(ConfigError::NamelessGres { key });
        }
        self.check_overrides()?;
        self.check_slurm_rest()?;
        self.poll_seconds.check()
    }

    fn check_overrides(&self) -> Result<(), ConfigError> {
        for (namespace, entry) in &self.namespaces {
            let names = entry.allowed_overrides.iter().flatten();
            if let Some(name) = names.into_iter().find(|name| !annotations::exists(name)) {
                let (namespace, name) = (namespace.clone(), name.clone());
                return Err(ConfigError::UnknownOverride { namespace, name });
            }
        }
        Ok(())
    }

    fn check_slurm_rest(&self) -> Result<(), ConfigError> {
        let SlurmRest { timeout_seconds, user_name, token_file, key_file, tls, .. } =
            &self.slurm_rest;
        if let Some((key, _)) = self.slurm_rest.texts().into_iter().find(is_empty) {
            return Err(ConfigError::Empty { key });
        }
        match () {
            () if self.slurm_rest_api.0.is_empty() => Err(ConfigError::NoAddress),
            () if *timeout_seconds == 0 => Err(ConfigError::ZeroTimeout),
            () if token_file.is_some() && key_file.is_some() => Err(ConfigError::TwoTokens),
            () if key_file.is_some() && user_name.is_none() => Err(ConfigError::NobodyToSignFor),
            () if tls.cert_file.is_some() != tls.key_file.is_some() => {
                Err(ConfigError::HalfACertificate)
            }
            () => Ok(()),
        }
    }

    /// The default memory in MiB, at least 1: to Slurm, none means all.
    pub(crate) fn default_memory_mib(&self) -> u64 {
        Quantity::parse(&self.default_memory).map_or(1, Quantity::ceil_mib).max(1)
    }

    /// The namespace selector, unless it is unset or chooses nothing in particular.
    pub fn namespace_selector(&self) -> Option<&LabelSelector> {
        let empty = LabelSelector::default();
        self.managed_namespace_selector.as_ref().filter(|selector| **selector != empty)
    }
}

impl PollSeconds {
    /// The values in force where nothing is set.
    pub const fn as_shipped() -> Self {
        Self { waiting: 1, running: 5, idle: 30, nodes: 10, all_jobs: 300 }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { waiting, running, idle, nodes, all_jobs } = *self;
        [
            ("waiting", waiting),
            ("running", running),
            ("idle", idle),
            ("nodes", nodes),
            ("allJobs", all_jobs),
        ]
        .into_iter()
        .find(|(_, secs)| *secs == 0)
        .map_or(Ok(()), |(key, _)| Err(ConfigError::ZeroPoll { key }))
    }
}

fn is_empty((_, text): &(&'static str, Option<&String>)) -> bool {
    text.is_some_and(String::is_empty)
}

/// So many seconds, as a span.
pub(crate) fn secs(secs: u32) -> Span {
    Span::secs(u64::from(secs))
}
