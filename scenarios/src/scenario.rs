//! A scenario, read and checked: what the world needs to play it.
//!
//! [`format`](crate::format) turns YAML into this; nothing here can be wrong any more.

use std::collections::BTreeMap;

use drawbridge_core::slurm::ApiVersion;
use drawbridge_fakes::{Behaviour, Provisioner};
use drawbridge_sim::{Epoch, Seed, SlurmConfig, Span, Submission, Time};
use serde_json::Value;

use crate::{
    expect::{Expectation, When},
    fault::Fault,
    format::kinds,
};

/// A whole scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's name without folder and extension.
    pub name: String,
    /// One sentence: what it shows.
    pub why: String,
    /// Where its randomness comes from, unless the command line says otherwise.
    pub seed: Seed,
    /// Which moment time zero is.
    pub epoch: Epoch,
    /// When to stop at the latest.
    pub until: Time,
    /// The Slurm side: `slurm.conf`, `gres.conf`, release.
    pub slurm: SlurmConfig,
    /// Objects that Kubernetes holds at the start, in order: namespaces, nodes, the rest.
    pub objects: Vec<Value>,
    /// Provisioners that don't work as usual, by name.
    pub provisioners: BTreeMap<String, Provisioner>,
    /// The bridge's configuration; `None` plays without a bridge.
    pub bridge: Option<drawbridge_core::Config>,
    /// How many replicas of the bridge there are.
    pub bridge_replicas: usize,
    /// How pods behave; the first that matches counts.
    pub behaviours: Vec<Behaviour>,
    /// What happens, by time.
    pub steps: Vec<Step>,
    /// What must come of it.
    pub expect: Vec<Expectation>,
    /// Settings that the Slurm model knows but doesn't honour yet, each with its place.
    pub notes: Vec<String>,
}

impl Scenario {
    /// The last time at which something is expected; the run may not end before.
    pub fn last_check(&self) -> Time {
        let times = self.expect.iter().map(|it| match it.at {
            When::At(at) => at,
            When::End => Time::ZERO,
        });
        times.max().unwrap_or(Time::ZERO)
    }
}

/// One step of the timeline.
#[derive(Clone, Debug)]
pub struct Step {
    /// When.
    pub at: Time,
    /// The line of the scenario's file on which it begins, from 1.
    pub line: usize,
    /// Whether it may be refused: its key `unchecked`. Without it a refusal fails the run.
    pub unchecked: bool,
    /// What.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Create these objects; one that exists gets a merge patch with its manifest.
    Apply(Vec<Value>),
    /// Delete one object, as `kubectl delete` would.
    Delete(ObjectRef),
    /// Set the number of replicas.
    Scale(ObjectRef, u32),
    /// Apply a merge patch.
    Patch(ObjectRef, &'static str, Value),
    /// `kubectl cordon` (true) or `uncordon` (false).
    Cordon(String, bool),
    /// Submit a native Slurm job.
    Sbatch(Box<Submission>),
    /// Cancel the Slurm job with this number, or all those with this name.
    Scancel(String),
    /// slurmctld reads its configuration again: this one, or the same as before.
    Reconfigure(Option<Box<SlurmConfig>>),
    /// Change a Slurm node, as an administrator with `scontrol`.
    SlurmNode(String, NodeChange),
    /// Something else that an administrator does with `scontrol`.
    Scontrol(Scontrol),
    /// Kill the bridge process and start it again later.
    Crash(Crash),
    /// Tell the bridge process to end, and start it again so much later.
    Restart(Span),
    /// Change the slurmrestd servers.
    Slurmrestd(RestChange),
    /// The bridge's token expires or is renewed.
    SlurmToken(TokenState),
    /// Something goes wrong with a request that is yet to come.
    Fault(Fault),
}

/// What an administrator does with `scontrol`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scontrol {
    /// To the job of this number, or to all live ones of this name.
    Job(JobVerb, String),
    /// Makes nodes, in slurm.conf's words.
    CreateNodes(String),
    /// Deletes a node.
    DeleteNode(String),
}

/// What `scontrol` does to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the commands are")]
pub enum JobVerb {
    Suspend,
    Resume,
    Hold,
    Release,
    Requeue,
    RequeueHold,
    Priority(u32),
}

/// What happens to slurmrestd servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestChange {
    /// Which, by its address; all of them if `None`.
    pub server: Option<String>,
    /// Whether it answers from now on.
    pub state: Option<RestState>,
    /// Which versions of the API it serves from now on.
    pub serves: Option<Vec<ApiVersion>>,
}

/// Whether a slurmrestd answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestState {
    /// It does.
    Up,
    /// It refuses connections.
    Down,
    /// It takes requests and is never heard of again.
    Silent,
}

/// Whether the bridge's token is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It isn't.
    Expired,
    /// It is, again.
    Renewed,
}

/// An object in Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// As `apiVersion` writes it.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-wide kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectRef {
    /// The object that a manifest describes; `None` for a kind that the twin doesn't have.
    pub fn of(manifest: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let object = Self {
            api_version: text(&manifest["apiVersion"])?,
            kind: text(&manifest["kind"])?,
            namespace: text(&manifest["metadata"]["namespace"]).unwrap_or_default(),
            name: text(&manifest["metadata"]["name"]).unwrap_or_default(),
        };
        kinds::find(&object.api_version, &object.kind).map(|_| object)
    }

    /// Where objects of its kind are created: `/api/v1/namespaces/a/pods`.
    pub fn collection(&self) -> String {
        kinds::find(&self.api_version, &self.kind)
            .map(|kind| kind.collection(&self.namespace))
            .unwrap_or_default()
    }

    /// Where it, or this part of it, is read and changed: `/api/v1/namespaces/a/pods/b`, and with
    /// `/status` that path with `/status` after it.
    pub fn path(&self, part: &str) -> String {
        format!("{}/{}{part}", self.collection(), self.name)
    }

    /// `namespace/name`, or the name alone.
    pub fn key(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

/// What an administrator does to a Slurm node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// `scontrol update state=drain reason=…`.
    Drain(String),
    /// `scontrol update state=down reason=…`.
    Down(String),
    /// `scontrol update state=resume`.
    Resume,
}

/// A crash of the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// When exactly.
    pub point: CrashPoint,
    /// How long it stays down.
    pub down_for: Span,
}

/// Where in the bridge's work a crash strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// At once.
    Now,
    /// When it next wants this done, before it is sent.
    Before(EffectKind),
    /// When it next has this done: it takes effect, the reply is lost.
    After(EffectKind),
}

/// The requests by which a scenario names a crash point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// Submitting a job.
    Submit,
    /// Patching a pod's labels, annotations or finalizers.
    PatchPod,
    /// Binding a pod.
    Bind,
    /// Cancelling or signalling a job.
    Cancel,
}
