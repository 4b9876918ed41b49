//! How long the bridge takes, and what it costs: figures for BENCHMARKS.md.
//!
//! Times are read from the leader's journal: when the core was told of something, when it wanted
//! something done, when it heard what came of it.

mod crowd;

use std::{collections::BTreeMap, time::Duration};

use drawbridge_bridge::journal::{self, Entry, What};
use drawbridge_core::{
    CallId, Effect, Input, SlurmReply, SlurmRequest, WatchEvent, slurm::ObservedState,
};
use drawbridge_sim::Time;
use serde_json::Value;

use crate::{Trouble, manifests::PodPlan, say, scenes::leader, stage::Stage};

pub(crate) use crowd::crowd;

/// How many pods are measured, one after the other.
const PODS: usize = 100;

/// Single pods on an idle cluster.
pub(crate) async fn latency(stage: &mut Stage) -> Result<(), Trouble> {
    let leader = leader(stage).await?;
    for index in 0..PODS {
        let name = format!("pod-{index}");
        stage.create_pod(&PodPlan::new(&name, 1, Some(0))).await?;
        stage.phase(&name, "Succeeded", 60).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let name = ["one", "two"][leader];
    let bytes = std::fs::read(stage.folder.join(format!("{name}.journal")));
    let lines = journal::read(&bytes.map_err(|error| error.to_string())?);
    let entries = lines.map_err(|error| error.to_string())?.entries;
    let times = Times::of(&entries);
    say(&format!("{} pods, one after the other; milliseconds", times.submitted.len()));
    row("pod seen to job submitted", &times.submitted);
    row("  of which slurmrestd took", &times.slurm_took);
    row("allocation seen to pod bound", &times.bound);
    row("  of which the API server took", &times.kube_took);
    row("submitted to allocation seen (Slurm, and the poll)", &times.waited);
    Ok(())
}

fn row(what: &str, values: &[u64]) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at =
        |share: usize| sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1)));
    let text = |value: Option<&u64>| value.map_or_else(|| "-".to_owned(), u64::to_string);
    say(&format!(
        "{what:52} p50 {:>5}  p99 {:>5}  most {:>5}",
        text(at(50)),
        text(at(99)),
        text(sorted.last())
    ));
}

/// What a journal tells.
#[derive(Default)]
struct Times {
    submitted: Vec<u64>,
    slurm_took: Vec<u64>,
    bound: Vec<u64>,
    kube_took: Vec<u64>,
    waited: Vec<u64>,
}

/// What is on its way.
#[derive(Default)]
struct Open {
    /// When a pod was first seen, by `namespace/name`.
    seen: BTreeMap<String, Time>,
    /// The pod of a submission, by its call.
    submits: BTreeMap<CallId, (String, Time)>,
    /// The pod of a binding, by its call.
    binds: BTreeMap<CallId, (String, Time)>,
    /// The pod of a job, and when the job was submitted.
    jobs: BTreeMap<u32, (String, Time)>,
    /// When a pod's allocation was seen.
    allocated: BTreeMap<String, Time>,
}

impl Times {
    fn of(entries: &[Entry]) -> Self {
        let (mut times, mut open) = (Self::default(), Open::default());
        for Entry { at, what } in entries {
            match what {
                What::Input(Input::Watched { event: WatchEvent::Added(pod), .. }) => {
                    open.seen.entry(key(pod)).or_insert(*at);
                }
                What::Effect(effect) => open.wanted(*at, effect),
                What::Input(input) => times.heard(&mut open, *at, input),
                What::Began(_) => {}
            }
        }
        times
    }

    fn heard(&mut self, open: &mut Open, at: Time, input: &Input) {
        match input {
            Input::SlurmReplied { call, outcome: Ok(SlurmReply::Submitted { job }) } => {
                let Some((pod, sent)) = open.submits.remove(call) else { return };
                if let Some(seen) = open.seen.get(&pod) {
                    self.submitted.push(at.since(*seen).as_ms());
                    self.slurm_took.push(at.since(sent).as_ms());
                }
                open.jobs.insert(job.0, (pod, at));
            }
            Input::SlurmReplied { outcome: Ok(SlurmReply::Job(Some(job))), .. } => {
                if job.state != ObservedState::RUNNING {
                    return;
                }
                let Some((pod, submitted)) = open.jobs.remove(&job.id.0) else { return };
                self.waited.push(at.since(submitted).as_ms());
                open.allocated.insert(pod, at);
            }
            Input::KubeReplied { call, outcome: Ok(_) } => {
                let Some((pod, sent)) = open.binds.remove(call) else { return };
                let Some(allocated) = open.allocated.remove(&pod) else { return };
                self.bound.push(at.since(allocated).as_ms());
                self.kube_took.push(at.since(sent).as_ms());
            }
            Input::Started
            | Input::Stopping
            | Input::Woke
            | Input::KubeReplied { .. }
            | Input::Watched { .. }
            | Input::SlurmReplied { .. } => {}
        }
    }
}

impl Open {
    fn wanted(&mut self, at: Time, effect: &Effect) {
        match effect {
            Effect::Slurm { call, request: SlurmRequest::Submit(job), .. } => {
                let mark: Value = serde_json::from_str(&job.admin_comment).unwrap_or_default();
                let pod = mark["pods"][0].as_str().unwrap_or_default().to_owned();
                self.submits.insert(*call, (pod, at));
            }
            Effect::Kube { call, request, .. } if request.path.ends_with("/binding") => {
                let mut parts = request.path.rsplit('/').skip(1);
                let name = parts.next().unwrap_or_default();
                let namespace = parts.nth(1).unwrap_or_default();
                self.binds.insert(*call, (format!("{namespace}/{name}"), at));
            }
            Effect::Kube { .. }
            | Effect::KubeWatch { .. }
            | Effect::Unwatch { .. }
            | Effect::Slurm { .. }
            | Effect::WakeAt(_)
            | Effect::StepDown
            | Effect::Exit => {}
        }
    }
}

fn key(pod: &Value) -> String {
    let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}
