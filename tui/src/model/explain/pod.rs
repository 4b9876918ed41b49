//! A pod.

use std::collections::BTreeMap;

use drawbridge_scenarios::{JobRow, NodeRow, PodRow, Subject};

use super::{
    Explanation, both_names,
    job::job_line,
    remedy,
    waiting::{job_why, some_of},
};
use crate::model::{
    gang::{gang, gang_of, waits_at_barrier},
    moment,
    scene::{Scene, phase},
};

/// Explains a pod.
pub(super) fn pod(scene: Scene<'_>, pod: &PodRow) -> Explanation {
    let job = pod.job_id.and_then(|id| scene.job(id)).map(|(_, job)| job);
    let mut facts = vec![("phase", phase(pod).to_owned())];
    facts.extend(pod.reason.clone().map(|reason| ("reason", reason)));
    facts.extend(pod.message.clone().map(|message| ("message", message)));
    facts.extend(pod.node.as_ref().map(|node| ("node", both_names(node, pod.slurm_node.as_ref()))));
    facts.extend(gang_of(pod).map(|gang| ("gang", gang)));
    facts.extend(pod.mpi.as_ref().and_then(|mpi| mpi.barrier.clone()).map(|it| ("barrier", it)));
    facts.extend(pod.owner.clone().map(|owner| ("owner", owner)));
    facts.push(("scheduler", pod.scheduler.clone()));
    facts.extend(job.map(|job| ("job", job_line(scene.now, job))));
    facts.push(("age", moment::kubectl(scene.now - pod.created_ms)));
    Explanation {
        title: format!("pod {}/{}", pod.namespace, pod.name),
        why: pod_why(scene, pod, job),
        needs: job.map(|job| remedy::needs(scene, job)).unwrap_or_default(),
        facts,
        subjects: pod_subjects(&[pod]),
        ..Explanation::default()
    }
}

/// Why a pod is as it is.
pub(super) fn pod_why(scene: Scene<'_>, pod: &PodRow, job: Option<&JobRow>) -> Vec<String> {
    if pod.phase != "Pending" {
        return pod_is(scene, pod);
    }
    match (&pod.node, job) {
        (Some(node), _) => {
            vec![format!("It is bound to {node}; its containers have yet to start.")]
        }
        (None, Some(job)) => job_why(scene, job),
        (None, None) => without_job(scene, pod),
    }
}

fn pod_is(scene: Scene<'_>, pod: &PodRow) -> Vec<String> {
    let mut is = vec![place(pod)];
    if waits_at_barrier(pod)
        && let Some(name) = gang_of(pod)
        && let Some(gang) = gang(scene, &pod.namespace, &name)
    {
        let missing = some_of(gang.waits_for(pod).into_iter().map(str::to_owned));
        is.push(match missing.is_empty() {
            true => "It waits at its first barrier for ranks that don't exist yet.".to_owned(),
            false => format!("It waits at its first barrier for {}.", missing.join(", ")),
        });
    }
    is
}

/// Where a pod is, in one sentence.
pub(super) fn place(pod: &PodRow) -> String {
    match (phase(pod), &pod.node) {
        ("Terminating", _) => "It is being deleted and may still hold its node.".to_owned(),
        ("Running", Some(node)) => format!("It runs on {node}."),
        ("Succeeded", _) => "It ended well.".to_owned(),
        ("Failed", _) => "It failed.".to_owned(),
        ("Deleted", _) => "It is gone; this is the last that was seen of it.".to_owned(),
        (phase, _) => format!("It is {phase}."),
    }
}

fn without_job(scene: Scene<'_>, pod: &PodRow) -> Vec<String> {
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
        why.extend(bound(scene));
    }
    if scene.bridge_up() == Some(false) {
        why.push("The bridge is down: nothing is submitted or bound until it is back.".to_owned());
    }
    why
}

/// Which pods are on which nodes.
fn bound(scene: Scene<'_>) -> Option<String> {
    let on = |node: &'_ NodeRow| -> Vec<String> {
        node.pods.iter().map(|pod| format!("{pod} on {}", node.name)).collect()
    };
    let pods = some_of(scene.nodes().flat_map(|(_, node)| on(node)));
    (!pods.is_empty()).then(|| format!("Bound now: {}.", pods.join(", ")))
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
