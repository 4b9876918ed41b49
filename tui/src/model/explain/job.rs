//! A Slurm job.

use drawbridge_scenarios::{Frame, JobRow, PodRow, Subject};
use drawbridge_sim::Time;

use super::{
    Explanation,
    pod::{phases, pod_subjects},
    waiting::{count, job_why},
};
use crate::model::moment;

/// Explains a job.
pub(super) fn job(frame: &Frame, now: Time, job: &JobRow) -> Explanation {
    let is_its = |pod: &&PodRow| pod.job_id == Some(job.job_id);
    let pods: Vec<&PodRow> = frame.pods.iter().filter(is_its).collect();
    Explanation {
        title: format!("job {} {}", job.job_id, job.name),
        why: why(frame, now, job),
        facts: facts(job, &pods),
        subjects: match pods.is_empty() {
            true => vec![Subject::Job(job.job_id)],
            false => pod_subjects(&pods),
        },
        chain: Vec::new(),
    }
}

fn why(frame: &Frame, now: Time, job: &JobRow) -> Vec<String> {
    let ago = |at| moment::kubectl(now - at);
    match (job.start_ms, job.end_ms) {
        (None, None) => job_why(frame, job),
        (_, Some(at)) => vec![format!("It ended {} ago as {}.", ago(at), job.state)],
        (Some(at), None) => vec![format!("It has held {} for {}.", job.nodes, ago(at))],
    }
}

fn facts(job: &JobRow, pods: &[&PodRow]) -> Vec<(&'static str, String)> {
    let cpus = count(usize::try_from(job.cpus).unwrap_or(usize::MAX), "CPU");
    let mut facts = vec![("state", job.state.clone())];
    facts.extend(job.reason.clone().map(|reason| ("reason", reason)));
    facts.push(("name", job.name.clone()));
    facts.push(("user", job.user.clone()));
    facts.extend(job.account.clone().map(|account| ("account", account)));
    facts.push(("partition", job.partition.clone()));
    facts.push(("asks", format!("{cpus}, priority {}", job.priority)));
    facts.extend((!job.nodes.is_empty()).then(|| ("nodes", job.nodes.clone())));
    facts.push(("submitted", job.submit_ms.to_string()));
    facts.extend(job.start_ms.map(|at| ("started", at.to_string())));
    facts.extend(job.end_ms.map(|at| ("ended", at.to_string())));
    facts.extend(job.exit_code.clone().map(|code| ("exit code", code)));
    facts.push(("stands for", stands_for(job, pods)));
    facts
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
