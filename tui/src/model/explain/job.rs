//! A Slurm job.

use drawbridge_scenarios::{JobRow, PodRow, Subject};
use drawbridge_sim::Time;

use super::{
    Explanation,
    pod::{phases, pod_subjects},
    remedy,
    waiting::{asks, job_why},
};
use crate::model::{moment, scene::Scene};

/// Explains a job.
pub(super) fn job(scene: Scene<'_>, job: &JobRow) -> Explanation {
    let pods: Vec<&PodRow> = scene.pods_of(job.job_id).collect();
    Explanation {
        title: format!("job {} {}", job.job_id, job.name),
        why: why(scene, job),
        needs: remedy::needs(scene, job),
        facts: facts(scene, job, &pods),
        subjects: match pods.is_empty() {
            true => vec![Subject::Job(job.job_id)],
            false => pod_subjects(&pods),
        },
        ..Explanation::default()
    }
}

fn why(scene: Scene<'_>, job: &JobRow) -> Vec<String> {
    let ago = |at| moment::kubectl(scene.now - at);
    match (job.start_ms, job.end_ms) {
        (None, None) => job_why(scene, job),
        (_, Some(at)) => vec![format!("It ended {} ago as {}.", ago(at), job.state)],
        (Some(at), None) => {
            let mut why = vec![format!("It has held {} for {}.", job.nodes, ago(at))];
            let past = "Backfill started it past a job that waits: it may not delay that one.";
            why.extend(job.backfilled.then(|| past.to_owned()));
            why.extend(job.time_limit_ms.map(|limit| {
                format!("Its limit ends it at {} at the latest.", scene.stamp(at + limit))
            }));
            why
        }
    }
}

fn facts(scene: Scene<'_>, job: &JobRow, pods: &[&PodRow]) -> Vec<(&'static str, String)> {
    let mut facts = vec![("state", job.state.clone())];
    facts.extend(job.reason.clone().map(|reason| ("reason", reason)));
    facts.push(("name", job.name.clone()));
    facts.push(("user", job.user.clone()));
    facts.extend(job.account.clone().map(|account| ("account", account)));
    facts.extend(job.qos.clone().map(|qos| ("QOS", qos)));
    facts.push(("partition", job.partition.clone()));
    facts.push(("asks", format!("{}, {}", asks(job), limit(job))));
    facts.push(("priority", priority(job)));
    facts.extend((!job.nodes.is_empty()).then(|| ("nodes", job.nodes.clone())));
    facts.push(("submitted", scene.stamp(job.submit_ms)));
    facts.extend(job.expected_start_ms.map(|at| ("expected", scene.stamp(at))));
    facts.extend(job.start_ms.map(|at| ("started", scene.stamp(at))));
    facts.extend(job.end_ms.map(|at| ("ended", scene.stamp(at))));
    facts.extend(job.exit_code.clone().map(|code| ("exit code", code)));
    facts.push(("stands for", stands_for(job, pods)));
    facts
}

fn limit(job: &JobRow) -> String {
    match job.time_limit_ms {
        Some(limit) => format!("for {} at most", moment::squeue(limit)),
        None => "without a time limit".to_owned(),
    }
}

/// `1043 = age 43 + partition 1000`.
fn priority(job: &JobRow) -> String {
    let parts: Vec<String> =
        job.factors.iter().map(|(name, worth)| format!("{name} {worth}")).collect();
    match parts.is_empty() {
        true => job.priority.to_string(),
        false => format!("{} = {}", job.priority, parts.join(" + ")),
    }
}

fn stands_for(job: &JobRow, pods: &[&PodRow]) -> String {
    match (job.bridged, pods.len()) {
        (false, _) => "no pod: submitted to Slurm directly".to_owned(),
        (true, 0) => "pods that don't carry its number yet".to_owned(),
        (true, 1..=4) => {
            let names: Vec<String> =
                pods.iter().map(|p| format!("{}/{}", p.namespace, p.name)).collect();
            names.join(", ")
        }
        (true, n) => format!("{n} pods: {}", phases(pods)),
    }
}

/// A job in one line: state, reason, since when.
pub(super) fn job_line(now: Time, job: &JobRow) -> String {
    let since = match job.start_ms {
        Some(start) => format!("for {}", moment::squeue(job.end_ms.unwrap_or(now) - start)),
        None => format!("submitted {} ago", moment::kubectl(now - job.submit_ms)),
    };
    let reason = job.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{} {}{reason}, {since}", job.job_id, job.state)
}
