//! Steps and expectations as they are written.
//!
//! Each is one mapping with exactly one action (or check) in it; [`StepEntry::action`] and
//! [`ExpectEntry::check`] see to that.

use drawbridge_core::slurm::ApiVersion;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    expect::{
        Check, JobsExpect, MetricExpect, NodesExpect, OrderItem, PodsExpect, StoryExpect,
        TogetherExpect,
    },
    format::{duration::Lasting, file::Manifests, text_or::TextOr},
};

/// One step: a time and exactly one action.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 2))]
pub(crate) struct StepEntry {
    /// When, from the beginning: `0s`, `1h30m`. Steps at one time happen in the order of the file.
    pub(crate) at: Lasting,
    /// The mistake is what the scenario is about: manifests aren't looked through for names and
    /// fields that don't exist, and a step that is refused doesn't fail the run.
    #[serde(default)]
    pub(crate) unchecked: bool,
    /// Create objects; one that exists is changed by a merge patch with the manifest.
    pub(crate) apply: Option<Manifests>,
    /// Delete an object, as `kubectl delete`.
    pub(crate) delete: Option<ObjectEntry>,
    /// Set the number of replicas, as `kubectl scale`.
    pub(crate) scale: Option<ScaleEntry>,
    /// Change an object by a merge patch, as `kubectl patch --type=merge`.
    pub(crate) patch: Option<PatchEntry>,
    /// Cordon a Kubernetes node.
    pub(crate) cordon: Option<String>,
    /// Uncordon a Kubernetes node.
    pub(crate) uncordon: Option<String>,
    /// Submit a native Slurm job: the flags of sbatch, or a mapping with more to say.
    pub(crate) sbatch: Option<TextOr<SbatchEntry>>,
    /// Cancel Slurm jobs by name, or one by its number.
    pub(crate) scancel: Option<String>,
    /// slurmctld reads its configuration again, as `scontrol reconfigure`.
    pub(crate) reconfigure: Option<ReconfigureEntry>,
    /// Change a Slurm node, as `scontrol update`.
    pub(crate) slurm_node: Option<SlurmNodeEntry>,
    /// Something else that an administrator does: `suspend train`, `delete NodeName=ext1`.
    pub(crate) scontrol: Option<String>,
    /// Kill a component.
    pub(crate) crash: Option<CrashEntry>,
    /// Stop a component gracefully and start it again: `{bridge: 5s}`, after so long.
    pub(crate) restart: Option<RestartEntry>,
    /// Change the slurmrestd servers in front of slurmctld.
    pub(crate) slurmrestd: Option<SlurmrestdEntry>,
    /// The bridge's token expires, or is renewed.
    pub(crate) slurm_token: Option<TokenEntry>,
    /// Something goes wrong with a request.
    pub(crate) fault: Option<FaultEntry>,
}

/// One object in Kubernetes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ObjectEntry {
    /// Its kind: `Pod`.
    pub(crate) kind: String,
    /// Its namespace; `default` if it isn't given and the kind has namespaces.
    pub(crate) namespace: Option<String>,
    /// Its name, or a hostlist for several: `rank-[0-3]`.
    pub(crate) name: String,
}

/// A workload and its number of replicas.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ScaleEntry {
    /// Its kind: `Deployment`.
    pub(crate) kind: String,
    /// Its namespace; `default` if it isn't given.
    pub(crate) namespace: Option<String>,
    /// Its name.
    pub(crate) name: String,
    /// How many replicas it shall have.
    pub(crate) replicas: u32,
}

/// An object and a change to it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchEntry {
    /// Its kind: `Pod`.
    pub(crate) kind: String,
    /// Its namespace; `default` if it isn't given and the kind has namespaces.
    pub(crate) namespace: Option<String>,
    /// Its name.
    pub(crate) name: String,
    /// The part of it that is asked to change, with a path of its own; the object itself if unset.
    pub(crate) subresource: Option<SubresourceEntry>,
    /// The merge patch: keys to set; `null` takes a key away.
    pub(crate) merge: Value,
}

/// A part of an object with a path of its own.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SubresourceEntry {
    /// How it is.
    Status,
    /// What a pod may use.
    Resize,
}

/// A native Slurm job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SbatchEntry {
    /// The flags of sbatch: `-N2 --exclusive -t 30 -J train`.
    pub(crate) flags: String,
    /// Who submits it.
    pub(crate) user: Option<String>,
    /// How long it runs: a duration or `forever`. Without it: what the script says.
    pub(crate) runtime: Option<String>,
    /// How it exits.
    pub(crate) exit_code: Option<u8>,
}

/// What slurmctld reads.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReconfigureEntry {
    /// The text of slurm.conf from now on; the same as before if unset.
    pub(crate) conf: Option<String>,
}

/// A change to Slurm nodes by an administrator.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SlurmNodeEntry {
    /// Which, as a hostlist: `n[1-3]`.
    pub(crate) name: String,
    /// What to.
    pub(crate) state: NodeState,
    /// Why; `drain` and `down` need a reason.
    pub(crate) reason: Option<String>,
}

/// States that an administrator may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum NodeState {
    /// No new jobs.
    Drain,
    /// Gone, with what runs on it.
    Down,
    /// In service again.
    Resume,
}

/// A component that dies.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CrashEntry {
    /// The bridge dies: `now`, or `{before: submit}`, `{after: submit}`.
    pub(crate) bridge: CrashPointEntry,
    /// How long until it is started again. 10s by default.
    #[serde(default = "ten_seconds")]
    pub(crate) down_for: Lasting,
}

/// A component that is stopped and started again.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RestartEntry {
    /// The bridge: how long until it is started again.
    pub(crate) bridge: Lasting,
}

fn ten_seconds() -> Lasting {
    Lasting(drawbridge_sim::Span::secs(10))
}

/// Where in its work the bridge dies.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CrashPointEntry {
    /// At once.
    Now,
    /// When it next wants this done: it isn't sent any more.
    Before(EffectEntry),
    /// When it next has this done: it takes effect, and nobody hears the reply.
    After(EffectEntry),
}

/// Requests that name a crash point.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EffectEntry {
    /// Submitting a Slurm job.
    Submit,
    /// Patching a pod.
    PatchPod,
    /// Binding a pod.
    Bind,
    /// Cancelling or signalling a Slurm job.
    Cancel,
}

/// A change to slurmrestd servers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SlurmrestdEntry {
    /// Which, by its address in `bridge.slurmRestApi`; all of them if unset.
    pub(crate) server: Option<String>,
    /// Whether it answers from now on.
    pub(crate) state: Option<RestStateEntry>,
    /// Which versions of the API it serves from now on, of those that its release has.
    pub(crate) serves: Option<Vec<ApiVersion>>,
}

/// Whether a slurmrestd answers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RestStateEntry {
    /// It does.
    Up,
    /// It refuses connections.
    Down,
    /// It takes requests and is never heard of again.
    Silent,
}

/// Whether the bridge's token is good.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TokenEntry {
    /// slurmctld accepts it no more.
    Expired,
    /// There is a new one in its place.
    Renewed,
}

/// A fault: the request that it strikes, and what becomes of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FaultEntry {
    /// The kind of request: `slurm.submit`, `kube.bind`; `effect` for any that the bridge sends,
    /// `watch.event` for a line of a watch, `webhook` for a call of the API server.
    pub(crate) request: String,
    /// The how manieth of them since the beginning of the run, from 1.
    pub(crate) nth: u64,
    /// What becomes of it, or of the world around it: `loseReply`, `refuse 503`, `delay 5s`,
    /// `crashAfter 10s`, `slurmctldDown 30s`, `nodeDown 0 1m`; the scenarios' README has them all.
    pub(crate) verdict: String,
}

/// One expectation: a time and exactly one check.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExpectEntry {
    /// When to look: a time from the beginning, or `end` (the default).
    pub(crate) at: Option<String>,
    /// Pods as they are.
    pub(crate) pods: Option<PodsExpect>,
    /// Slurm jobs as they are.
    pub(crate) jobs: Option<JobsExpect>,
    /// Nodes as they are.
    pub(crate) nodes: Option<NodesExpect>,
    /// A counter.
    pub(crate) metric: Option<MetricExpect>,
    /// Pods that were bound at one moment.
    pub(crate) together: Option<TogetherExpect>,
    /// Pods or jobs of which all ended before the next ones began.
    pub(crate) order: Option<Vec<OrderItem>>,
    /// A sentence that the story has.
    pub(crate) story: Option<StoryExpect>,
    /// A sentence that the story doesn't have.
    pub(crate) never: Option<StoryExpect>,
}

/// The one action of a step.
#[derive(Clone, Debug)]
pub(crate) enum ActionEntry<'a> {
    Apply(&'a Manifests),
    Delete(&'a ObjectEntry),
    Scale(&'a ScaleEntry),
    Patch(&'a PatchEntry),
    Cordon(&'a str),
    Uncordon(&'a str),
    Sbatch(&'a TextOr<SbatchEntry>),
    Scancel(&'a str),
    Reconfigure(&'a ReconfigureEntry),
    SlurmNode(&'a SlurmNodeEntry),
    Scontrol(&'a str),
    Crash(&'a CrashEntry),
    Restart(&'a RestartEntry),
    Slurmrestd(&'a SlurmrestdEntry),
    SlurmToken(TokenEntry),
    Fault(&'a FaultEntry),
}

impl StepEntry {
    /// All actions of a step, each under its key. There should be one.
    pub(crate) fn actions(&self) -> Vec<(&'static str, ActionEntry<'_>)> {
        // Destructured so that a new action can't be forgotten here.
        let Self {
            at: _,
            unchecked: _,
            apply,
            delete,
            scale,
            patch,
            cordon,
            uncordon,
            sbatch,
            scancel,
            reconfigure,
            slurm_node,
            scontrol,
            crash,
            restart,
            slurmrestd,
            slurm_token,
            fault,
        } = self;
        [
            apply.as_ref().map(|it| ("apply", ActionEntry::Apply(it))),
            delete.as_ref().map(|it| ("delete", ActionEntry::Delete(it))),
            scale.as_ref().map(|it| ("scale", ActionEntry::Scale(it))),
            patch.as_ref().map(|it| ("patch", ActionEntry::Patch(it))),
            cordon.as_ref().map(|it| ("cordon", ActionEntry::Cordon(it))),
            uncordon.as_ref().map(|it| ("uncordon", ActionEntry::Uncordon(it))),
            sbatch.as_ref().map(|it| ("sbatch", ActionEntry::Sbatch(it))),
            scancel.as_ref().map(|it| ("scancel", ActionEntry::Scancel(it))),
            reconfigure.as_ref().map(|it| ("reconfigure", ActionEntry::Reconfigure(it))),
            slurm_node.as_ref().map(|it| ("slurmNode", ActionEntry::SlurmNode(it))),
            scontrol.as_ref().map(|it| ("scontrol", ActionEntry::Scontrol(it))),
            crash.as_ref().map(|it| ("crash", ActionEntry::Crash(it))),
            restart.as_ref().map(|it| ("restart", ActionEntry::Restart(it))),
            slurmrestd.as_ref().map(|it| ("slurmrestd", ActionEntry::Slurmrestd(it))),
            slurm_token.map(|it| ("slurmToken", ActionEntry::SlurmToken(it))),
            fault.as_ref().map(|it| ("fault", ActionEntry::Fault(it))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl ExpectEntry {
    /// All checks of an expectation, each under its key. There should be one.
    pub(crate) fn checks(&self) -> Vec<(&'static str, Check)> {
        // Destructured so that a new check can't be forgotten here.
        let Self { at: _, pods, jobs, nodes, metric, together, order, story, never } = self.clone();
        [
            pods.map(|it| ("pods", Check::Pods(it))),
            jobs.map(|it| ("jobs", Check::Jobs(it))),
            nodes.map(|it| ("nodes", Check::Nodes(it))),
            metric.map(|it| ("metric", Check::Metric(it))),
            together.map(|it| ("together", Check::Together(it))),
            order.map(|it| ("order", Check::Order(it))),
            story.map(|it| ("story", Check::Story(it))),
            never.map(|it| ("never", Check::Never(it))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
