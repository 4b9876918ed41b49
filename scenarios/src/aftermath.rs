//! What a world leaves behind once it is quiet: nothing that leaks, both sides agree, and whoever
//! still waits has a true reason.
//!
//! ```text
//!   pod ended?          ──▶ our finalizer is off, unless its gang goes on
//!   pod bound?          ──▶ its job lives
//!   pod waits?          ──▶ its job waits too, and says why; or why there is none
//!   node cordoned?      ──▶ drained; not cordoned? ──▶ not drained by us
//!   node of Slurm's?    ──▶ has our taint, where taints are wanted
//! ```
//!
//! Judged without knowing what happened before, so it holds after any faults. What a run without
//! faults leaves behind in the same way is no finding: see [`Aftermath::beyond`].

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_core::names::{FINALIZER, MANAGED_TAINT, REASON_PREFIX};
use drawbridge_sim::{JobId, JobState, Span, Time};

use crate::{laws::mark, names::Names, object::Object, world::World};

/// What is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Nobody had anything left to do.
    pub is_quiet: bool,
    /// What is wrong, by workload or node, as sentences.
    pub findings: BTreeSet<Finding>,
    /// How many pods of each workload have failed, and how many are well.
    pub outcomes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Pods of ours that ended by themselves, over the whole run.
    pub finished: u64,
    /// When the last of them did.
    pub last_finish: Time,
    /// How long they ran, all together.
    pub work: Span,
    /// How long somebody of ours waited, from his creation to his binding, at most.
    pub longest_wait: Span,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// What is wrong, without names that faults may change.
    pub what: &'static str,
    /// With what: a workload, a node.
    pub with: String,
    /// More about it.
    pub detail: String,
}

impl Aftermath {
    /// What is wrong here and was fine in `other`, as sentences.
    pub fn beyond(&self, other: &Self) -> Vec<String> {
        if !self.is_quiet {
            // In the midst of things nobody can say what is left over.
            let stirs = other.is_quiet.then(|| "end: it never became quiet".to_owned());
            return stirs.into_iter().collect();
        }
        let known: BTreeSet<_> = other.findings.iter().map(|it| (it.what, &it.with)).collect();
        let new = self.findings.iter().filter(|it| !known.contains(&(it.what, &it.with)));
        new.map(|it| format!("end: {} {} ({})", it.with, it.what, it.detail)).collect()
    }

    /// Workloads that came to something else than in `other`.
    pub fn differs_from(&self, other: &Self) -> Vec<String> {
        let keys: BTreeSet<&String> = self.outcomes.keys().chain(other.outcomes.keys()).collect();
        let differ =
            keys.into_iter().filter(|key| self.outcomes.get(*key) != other.outcomes.get(*key));
        let tell = |outcome: Option<&BTreeMap<String, u64>>| match outcome {
            None => "nothing".to_owned(),
            Some(phases) => {
                let parts: Vec<_> =
                    phases.iter().map(|(phase, n)| format!("{n} {phase}")).collect();
                parts.join(", ")
            }
        };
        differ
            .map(|key| {
                let (now, then) = (tell(self.outcomes.get(key)), tell(other.outcomes.get(key)));
                format!("end: {key} came to {now}; without faults to {then}")
            })
            .collect()
    }
}

/// Whether this can be why a pod has no job. That Slurm can't be reached isn't true at the end, and a job
/// that it names would be there.
fn is_told(said: &str) -> bool {
    !["nothing", "Slurm job ", "Slurm can't take", "Slurm no longer knows", "Slurm put job"]
        .iter()
        .any(|words| said.starts_with(words))
}

/// Who waits for room waits rightly: who came first may depend on the faults.
fn standing(pod: Object<'_>) -> &'static str {
    if pod.phase() == "Failed" { "failed" } else { "well" }
}

impl World {
    /// What is left at the end.
    pub fn aftermath(&self) -> Aftermath {
        let Some(config) = self.config() else { return Aftermath::default() };
        let rows = self.frame().pods;
        let owners: BTreeMap<&str, String> = rows
            .iter()
            .map(|row| {
                let own = || format!("Pod/{}", row.name);
                let name = row.owner.clone().unwrap_or_else(own);
                (row.uid.as_str(), format!("{}/{name}", row.namespace))
            })
            .collect();
        let mut aftermath = Aftermath { is_quiet: self.ended_quietly(), ..Aftermath::default() };
        for pod in self.cluster().api().list("pods").map(|pod| Object(pod)) {
            if pod.scheduler() == config.scheduler_name {
                let of = owners.get(pod.uid()).cloned().unwrap_or_else(|| pod.key());
                aftermath.findings.extend(self.judge_pod(pod, &of));
                let phases = aftermath.outcomes.entry(of).or_default();
                *phases.entry(standing(pod).to_owned()).or_default() += 1;
            }
        }
        aftermath.findings.extend(self.judge_nodes());
        let ours = rows.iter().filter(|row| row.scheduler == config.scheduler_name);
        for row in ours {
            if let Some(bound) = row.bound_ms {
                aftermath.longest_wait = aftermath.longest_wait.max(bound - row.created_ms);
            }
            if let (Some(started), Some(finished)) = (row.started_ms, row.finished_ms) {
                aftermath.finished += 1;
                aftermath.work = aftermath.work + (finished - started);
                aftermath.last_finish = aftermath.last_finish.max(finished);
            }
        }
        aftermath
    }

    fn judge_pod(&self, pod: Object<'_>, of: &str) -> Option<Finding> {
        let found = |what, detail: String| {
            let detail = format!("pod {}{detail}", pod.key());
            Some(Finding { what, with: of.to_owned(), detail })
        };
        let is_gated = pod.at(&["spec", "schedulingGates"]).is_some();
        let job = self.live_job_of(pod);
        let said = || pod.waits_because().unwrap_or("nothing");
        match (pod.is_terminal(), pod.node()) {
            // The job of a gang holds its nodes until the last pod has ended.
            (true, _) if pod.has_finalizer(FINALIZER) && job.is_none() => {
                found("has ended with our finalizer on it", String::new())
            }
            (true, _) => None,
            (false, _) if pod.is_terminating() && pod.has_finalizer(FINALIZER) => {
                found("can't go because of our finalizer", String::new())
            }
            (false, Some(_)) if job.is_none() => found("runs without a job", String::new()),
            (false, Some(_)) => None,
            (false, None) if is_gated || pod.is_terminating() => None,
            (false, None) => match job {
                None if self.lacks_members(pod) => None,
                // It was refused, or waits for somebody: whether rightly, the reference model knows.
                None if is_told(said()) => None,
                None => found("waits without a job", format!(", which says {}", said())),
                Some((job, JobState::Running)) => {
                    found("waits although its job runs", format!(", job {job}"))
                }
                Some((job, _)) if !self.is_explained(pod, job) => {
                    found("doesn't say why it waits", format!(", job {job}: {}", said()))
                }
                Some(_) => None,
            },
        }
    }

    /// Whether a pod's gang can't start: its group doesn't exist, or too few of its pods do.
    fn lacks_members(&self, pod: Object<'_>) -> bool {
        let Some(gang) = pod.pod_group() else { return says_members_lack(pod) };
        let api = self.cluster().api();
        let group = ["podgroups.scheduling.x-k8s.io", "podgroups.scheduling.k8s.io"];
        let mut group = group.iter().filter_map(|kind| api.get(kind, pod.namespace(), gang));
        let Some(group) = group.next().map(|group| Object(group)) else { return true };
        let pods = api.list("pods").map(|pod| Object(pod));
        let members =
            pods.filter(|it| it.namespace() == pod.namespace() && it.pod_group() == Some(gang));
        let waiting = members.filter(|it| !it.is_terminal() && !it.is_terminating()).count() as u64;
        waiting < group.least_members()
    }

    /// The job that lives for a pod.
    fn live_job_of(&self, pod: Object<'_>) -> Option<(JobId, JobState)> {
        let key = pod.key();
        let live = self.slurm().ctld().jobs().filter(|job| !job.state.is_end());
        let mut ours = live.filter(|job| {
            mark(&job.submission.admin_comment).is_some_and(|mark| mark.pods.contains(&key))
        });
        ours.next().map(|job| (job.id, job.state))
    }

    fn is_explained(&self, pod: Object<'_>, job: JobId) -> bool {
        let Some(job) = self.slurm().ctld().job(job) else { return false };
        let word = job.reason.word();
        word == "None" || pod.waits_because().is_some_and(|said| said.contains(word))
    }

    /// Slurm's names of nodes to Kubernetes' names, by the evidence that is there now.
    fn names_now(&self) -> BTreeMap<String, String> {
        let (api, mut names) = (self.cluster().api(), Names::default());
        api.list("nodes").for_each(|node| names.learn_node(Object(node)));
        let pods = api.list("pods").map(|pod| Object(pod));
        for pod in pods.filter(|pod| !pod.is_terminal()) {
            names.learn_worker(pod);
        }
        names.by_slurm().clone()
    }

    /// Whether a node of Slurm's is kept for the bridge's pods, or needn't be.
    fn is_tainted(&self, node: Object<'_>) -> bool {
        let is_wanted = self.config().is_some_and(|config| config.taint_nodes);
        let taints = node.at(&["spec", "taints"]).and_then(serde_json::Value::as_array);
        let ours = |taint: &serde_json::Value| taint["key"] == MANAGED_TAINT;
        !is_wanted || taints.is_some_and(|taints| taints.iter().any(ours))
    }

    fn judge_nodes(&self) -> Vec<Finding> {
        let names = self.names_now();
        let mut findings = vec![];
        for node in self.slurm().ctld().nodes() {
            let kube = names.get(node.name().as_str());
            let kube = kube.and_then(|name| self.cluster().api().get("nodes", "", name));
            let Some(kube) = kube.map(|node| Object(node)) else { continue };
            let reason = node.reason.as_ref().map_or("", |reason| reason.text.as_str());
            let is_ours = reason.starts_with(REASON_PREFIX);
            let what = match (kube.is_cordoned(), node.is_drained()) {
                (false, true) if is_ours => Some("is drained by us and not cordoned"),
                (true, false) if !node.is_down() => Some("is cordoned and not drained"),
                _ if !self.is_tainted(kube) => Some("has no taint of ours"),
                (true | false, true | false) => None,
            };
            let with = format!("node {}", node.name());
            let detail = reason.to_owned();
            findings.extend(what.map(|what| Finding { what, with, detail }));
        }
        findings
    }
}

/// Whether the pod says that others of its gang, which only its owners can count, aren't here.
fn says_members_lack(pod: Object<'_>) -> bool {
    let said = pod.waits_because().unwrap_or_default();
    let Some((_, counts)) =
        said.strip_prefix("waiting for pods of ").and_then(|it| it.split_once(": "))
    else {
        return false;
    };
    let mut words = counts.split(' ').filter_map(|word| word.parse::<u64>().ok());
    matches!((words.next(), words.next()), (Some(here), Some(needed)) if here < needed)
}
