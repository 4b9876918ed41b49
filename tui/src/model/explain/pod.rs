//! A pod, or a gang of them.

use std::collections::BTreeMap;

use drawbridge_scenarios::{Frame, JobRow, NodeRow, PodRow, Subject};
use drawbridge_sim::Time;

use super::{
    Explanation, both_names, find_job,
    job::job_line,
    waiting::{job_why, some_of},
};
use crate::model::moment;

/// Explains a pod.
pub(super) fn pod(frame: &Frame, now: Time, pod: &PodRow) -> Explanation {
    let job = pod.job_id.and_then(|id| find_job(frame, id));
    let mut facts = vec![("phase", phase(pod).to_owned())];
    facts.extend(pod.reason.clone().map(|reason| ("reason", reason)));
    facts.extend(pod.message.clone().map(|message| ("message", message)));
    facts.extend(pod.node.as_ref().map(|node| ("node", both_names(node, pod.slurm_node.as_ref()))));
    facts.extend(pod.gang.clone().map(|gang| ("gang", gang)));
    facts.extend(pod.owner.clone().map(|owner| ("owner", owner)));
    facts.push(("scheduler", pod.scheduler.clone()));
    facts.extend(job.map(|job| ("job", job_line(now, job))));
    facts.push(("age", moment::kubectl(now - pod.created_ms)));
    Explanation {
        title: format!("pod {}/{}", pod.namespace, pod.name),
        why: pod_why(frame, pod, job),
        facts,
        subjects: pod_subjects(&[pod]),
        chain: Vec::new(),
    }
}

/// What the pod shows as its phase: as kubectl, a pod that is going says so.
pub(crate) fn phase(pod: &PodRow) -> &str {
    match pod.terminating && pod.phase != "Deleted" {
        true => "Terminating",
        false => &pod.phase,
    }
}

fn pod_why(frame: &Frame, pod: &PodRow, job: Option<&JobRow>) -> Vec<String> {
    if pod.phase != "Pending" {
        return vec![pod_is(pod)];
    }
    match (&pod.node, job) {
        (Some(node), _) => {
            vec![format!("It is bound to {node}; its containers have yet to start.")]
        }
        (None, Some(job)) => job_why(frame, job),
        (None, None) => without_job(frame, pod),
    }
}

fn pod_is(pod: &PodRow) -> String {
    match (phase(pod), &pod.node) {
        ("Terminating", _) => "It is being deleted and may still hold its node.".to_owned(),
        ("Running", Some(node)) => format!("It runs on {node}."),
        ("Succeeded", _) => "It ended well.".to_owned(),
        ("Failed", _) => "It failed.".to_owned(),
        ("Deleted", _) => "It is gone; this is the last that was seen of it.".to_owned(),
        (phase, _) => format!("It is {phase}."),
    }
}

fn without_job(frame: &Frame, pod: &PodRow) -> Vec<String> {
    let no_job = match pod.gang {
        Some(_) => "Slurm has no job for its gang yet.".to_owned(),
        None => format!("Its scheduler is `{}`; no Slurm job stands for it.", pod.scheduler),
    };
    let mut why = match pod.message.as_deref().map(|message| message.trim_end_matches('.')) {
        Some(message) => vec![format!("It waits: {message}."), no_job],
        None => vec![format!("It waits. {no_job}")],
    };
    // Slurm's own jobs are no answer where Slurm wasn't asked.
    if pod.gang.is_none() && pod.scheduler == "default-scheduler" {
        why.extend(bound(frame));
    }
    if frame.bridge_up == Some(false) {
        why.push("The bridge is down: nothing is submitted or bound until it is back.".to_owned());
    }
    why
}

/// Which pods are on which nodes.
fn bound(frame: &Frame) -> Option<String> {
    let on = |node: &NodeRow| {
        let name = node.name.clone();
        node.pods.clone().into_iter().map(move |pod| format!("{pod} on {name}"))
    };
    let pods = some_of(frame.nodes.iter().flat_map(on).collect());
    (!pods.is_empty()).then(|| format!("Bound now: {}.", pods.join(", ")))
}

/// Explains a gang, if it has pods now.
pub(super) fn gang(frame: &Frame, now: Time, namespace: &str, name: &str) -> Option<Explanation> {
    let is = |pod: &&PodRow| pod.namespace == namespace && pod.gang.as_deref() == Some(name);
    let members: Vec<&PodRow> = frame.pods.iter().filter(is).collect();
    let first = members.first()?;
    let job = members.iter().find_map(|pod| pod.job_id).and_then(|id| find_job(frame, id));
    let waits = members.iter().find(|pod| pod.phase == "Pending" && pod.node.is_none());
    let why = match waits {
        Some(pod) => pod_why(frame, pod, job),
        None => gang_is(&members),
    };
    let mut facts = vec![("pods", phases(&members))];
    facts.extend(waits.unwrap_or(first).message.clone().map(|message| ("message", message)));
    facts.extend(job.map(|job| ("job", job_line(now, job))));
    Some(Explanation {
        title: format!("gang {namespace}/{name}"),
        why,
        facts,
        subjects: pod_subjects(&members),
        chain: Vec::new(),
    })
}

/// Where its members stand: one sentence if it is the same for all.
fn gang_is(members: &[&PodRow]) -> Vec<String> {
    let mut each: Vec<String> = members.iter().map(|pod| pod_is(pod)).collect();
    each.dedup();
    match each.as_slice() {
        [same] if 1 < members.len() => vec![format!("All {}: {same}", members.len())],
        _ => members.iter().map(|pod| format!("{}: {}", pod.name, pod_is(pod))).collect(),
    }
}

/// `3 Pending, 1 Running`.
pub(crate) fn phases(pods: &[&PodRow]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        *counts.entry(phase(pod)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(phase, n)| format!("{n} {phase}")).collect();
    counts.join(", ")
}

/// The pods and their jobs.
pub(super) fn pod_subjects(pods: &[&PodRow]) -> Vec<Subject> {
    let mut subjects: Vec<Subject> =
        pods.iter().filter_map(|p| p.job_id).map(Subject::Job).collect();
    subjects.extend(
        pods.iter()
            .map(|pod| Subject::Pod { namespace: pod.namespace.clone(), name: pod.name.clone() }),
    );
    subjects.sort();
    subjects.dedup();
    subjects
}
