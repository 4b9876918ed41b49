//! Why a job waits: Slurm's reason in plain words, who is before it, who holds the nodes.

use std::{cmp::Reverse, collections::BTreeMap};

use drawbridge_scenarios::{Frame, JobRow, NodeRow};
use drawbridge_sim::JobId;

use super::find_job;

/// Why a job waits, who is before it, and who holds what it could run on.
pub(crate) fn job_why(frame: &Frame, job: &JobRow) -> Vec<String> {
    let reason = job.reason.as_deref().unwrap_or("None");
    let id = job.job_id;
    if job.end_ms.is_some() {
        return vec![format!("Job {id} ended as {}; nothing will be placed for it.", job.state)];
    }
    if job.start_ms.is_some() {
        return vec![format!("Job {id} has its nodes ({}); the pods follow.", job.nodes)];
    }
    let asks = count(usize::try_from(job.cpus).unwrap_or(usize::MAX), "CPU");
    let mut why = vec![
        format!("Job {id} waits: {reason}. {}", reason_means(reason)),
        format!("It asks for {asks} in {}, with priority {}.", job.partition, job.priority),
    ];
    let before = queued_before(frame, job);
    if !before.is_empty() {
        why.push(format!("Before it in {}: {}.", job.partition, before.join(", ")));
    }
    why.extend(holders(frame, &frame.nodes));
    why.extend(unusable(&frame.nodes));
    why.push(free(frame));
    if frame.bridge_up == Some(false) && job.bridged {
        why.push("The bridge is down: it won't bind pods until it is back.".to_owned());
    }
    why
}

/// Slurm's reason in plain words.
fn reason_means(reason: &str) -> &'static str {
    match reason {
        "Resources" => "It is next; what it asks for isn't free.",
        "Priority" => "Jobs with a higher priority wait as well and go first.",
        "Dependency" => "Another job has to end first.",
        "DependencyNeverSatisfied" => "The job that it depends on can't end as asked any more.",
        "JobHeldUser" => "Its user holds it.",
        "JobHeldAdmin" => "An administrator holds it.",
        "BeginTime" => "It isn't to start before a given time.",
        "PartitionDown" | "PartitionInactive" => "Its partition takes no jobs now.",
        "PartitionNodeLimit" => "It asks for more nodes than its partition has or allows.",
        "PartitionTimeLimit" => "It asks for more time than its partition allows.",
        "ReqNodeNotAvail" => "A node that it needs is down, drained or reserved.",
        "Licenses" => "The licences that it needs are in use.",
        "None" => "Slurm hasn't looked at it yet.",
        limit if limit.starts_with("QOS") || limit.starts_with("Assoc") => {
            "A limit of its account or QOS is reached."
        }
        _ => "",
    }
}

fn queued_before(frame: &Frame, job: &JobRow) -> Vec<String> {
    let waits = |other: &&JobRow| other.start_ms.is_none() && other.end_ms.is_none();
    let earlier = |other: &&JobRow| {
        other.partition == job.partition
            && (job.priority, other.job_id) < (other.priority, job.job_id)
    };
    let names = frame.jobs.iter().filter(waits).filter(earlier);
    some_of(names.map(|other| format!("job {} {}", other.job_id, other.name)).collect())
}

/// One sentence per job that holds CPUs, the largest first.
pub(crate) fn holders(frame: &Frame, nodes: &[NodeRow]) -> Vec<String> {
    let mut held: BTreeMap<JobId, (usize, usize, Vec<&str>)> = BTreeMap::new();
    for node in nodes {
        let cpus = node.cpu_holders.iter().flatten().map(|id| (*id, 1, 0));
        let gpus = node.gpu_holders.iter().flatten().map(|id| (*id, 0, 1));
        for (id, cpus, gpus) in cpus.chain(gpus) {
            let sum = held.entry(id).or_default();
            (sum.0, sum.1) = (sum.0 + cpus, sum.1 + gpus);
            if sum.2.last() != Some(&node.name.as_str()) {
                sum.2.push(&node.name);
            }
        }
    }
    let mut held: Vec<_> = held.into_iter().collect();
    held.sort_by_key(|(id, (cpus, ..))| (Reverse(*cpus), *id));
    let sentences = held.into_iter().map(|(id, (cpus, gpus, nodes))| {
        let name = find_job(frame, id).map(|job| format!(" {}", job.name)).unwrap_or_default();
        let gpus = match gpus {
            0 => String::new(),
            n => format!(" and {}", count(n, "GPU")),
        };
        let nodes = some_of(nodes.into_iter().map(str::to_owned).collect());
        format!("Job {id}{name} holds {}{gpus} on {}.", count(cpus, "CPU"), nodes.join(", "))
    });
    some_of(sentences.collect())
}

/// One sentence per node of Slurm's that takes no new work.
pub(crate) fn unusable(nodes: &[NodeRow]) -> Vec<String> {
    let off = nodes.iter().filter(|node| node.slurm_name.is_some() && !usable(node));
    let sentences = off.map(|node| {
        let reason = node.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let cordoned = if node.cordoned { ", cordoned" } else { "" };
        format!("Node {} takes no new work ({}{cordoned}{reason}).", node.name, node.state)
    });
    some_of(sentences.collect())
}

/// Whether Slurm would put a job there.
pub(crate) fn usable(node: &NodeRow) -> bool {
    let off = ["drain", "drng", "down", "fail", "maint", "boot", "unk", "comp*"];
    node.slurm_name.is_some()
        && !node.cordoned
        && !off.iter().any(|state| node.state.starts_with(state))
}

fn free(frame: &Frame) -> String {
    let nodes: Vec<&NodeRow> = frame.nodes.iter().filter(|node| usable(node)).collect();
    let cpus: u32 = nodes.iter().map(|n| n.cpus.saturating_sub(n.cpus_alloc)).sum();
    let cpus = usize::try_from(cpus).unwrap_or(usize::MAX);
    let gpus: usize = nodes.iter().flat_map(|n| &n.gpu_holders).filter(|h| h.is_none()).count();
    let idle = nodes.iter().filter(|n| n.cpus_alloc == 0).count();
    format!(
        "Free now: {}; {} and {} in all.",
        count(idle, "whole node"),
        count(cpus, "CPU"),
        count(gpus, "GPU")
    )
}

/// `1 GPU`, `2 GPUs`.
pub(crate) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// The first few, and how many more there are.
pub(crate) fn some_of(mut these: Vec<String>) -> Vec<String> {
    const FEW: usize = 5;
    let more = these.len().saturating_sub(FEW);
    these.truncate(FEW);
    if 0 < more {
        these.push(format!("and {more} more"));
    }
    these
}
