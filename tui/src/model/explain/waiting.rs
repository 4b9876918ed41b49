//! Why a job waits: Slurm's reason in plain words, who is before it, who holds the nodes.

use std::{cmp::Reverse, collections::BTreeMap};

use drawbridge_scenarios::{JobRow, NodeRow};
use drawbridge_sim::JobId;

use crate::model::{
    moment::kubectl,
    scene::{Scene, is_usable, is_waiting},
};

/// Why a job waits, who is before it, and who holds what it could run on.
pub(crate) fn job_why(scene: Scene<'_>, job: &JobRow) -> Vec<String> {
    let reason = job.reason.as_deref().unwrap_or("None");
    let id = job.job_id;
    if job.end_ms.is_some() {
        return vec![format!("Job {id} ended as {}; nothing will be placed for it.", job.state)];
    }
    if job.start_ms.is_some() {
        return vec![format!("Job {id} has its nodes ({}); the pods follow.", job.nodes)];
    }
    let mut why = vec![
        format!("Job {id} waits: {reason}. {}", reason_means(reason)).trim_end().to_owned(),
        format!("It asks for {} in {}, with priority {}.", asks(job), job.partition, job.priority),
    ];
    why.extend(job.dependency.as_ref().map(|on| format!("It depends on {on}.")));
    let before = queued_before(scene, job);
    if !before.is_empty() {
        why.push(format!("Before it in {}: {}.", job.partition, before.join(", ")));
    }
    let nodes: Vec<&NodeRow> = nodes_of(scene, job).collect();
    why.extend(holders(scene, &nodes));
    why.extend(unusable(&nodes));
    why.push(free(&nodes));
    why.extend(job.expected_start_ms.map(|at| {
        let away = at.since(scene.now);
        format!("Slurm expects to start it at {}, in {}.", scene.stamp(at), kubectl(away))
    }));
    if scene.bridge_up() == Some(false) && job.bridged {
        why.push("The bridge is down: it won't bind pods until it is back.".to_owned());
    }
    why
}

/// What a job asks for: `16 CPUs on 4 nodes`.
pub(crate) fn asks(job: &JobRow) -> String {
    let cpus = count(job.cpus as usize, "CPU");
    match job.min_nodes {
        0 | 1 => cpus,
        nodes => format!("{cpus} on {}", count(nodes as usize, "node")),
    }
}

/// The nodes of a job's partitions; all of Slurm's where nobody says which those are.
pub(crate) fn nodes_of<'a>(scene: Scene<'a>, job: &JobRow) -> impl Iterator<Item = &'a NodeRow> {
    let mut names = job.partition.split(',').map(str::to_owned).collect::<Vec<_>>();
    names.sort();
    let is_its = move |node: &&NodeRow| {
        let its = |name: &String| names.binary_search(name).is_ok();
        node.slurm_name.is_some() && (node.partitions.is_empty() || node.partitions.iter().any(its))
    };
    scene.nodes().map(|(_, node)| node).filter(is_its)
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
        "Reservation" => "Its reservation hasn't begun, or has no room.",
        "Licenses" => "The licences that it needs are in use.",
        "JobArrayTaskLimit" => "As many tasks of its array run as may.",
        "None" => "Slurm hasn't looked at it yet.",
        down if down.starts_with("ReqNodeNotAvail") => {
            "A node that it needs is down, drained or reserved."
        }
        limit if limit.starts_with("QOS") || limit.starts_with("Assoc") => {
            "A limit of its account or QOS is reached."
        }
        _ => "",
    }
}

fn queued_before(scene: Scene<'_>, job: &JobRow) -> Vec<String> {
    let earlier = |other: &&JobRow| {
        is_waiting(other)
            && other.partition == job.partition
            && (job.priority, other.job_id) < (other.priority, job.job_id)
    };
    let names = scene.jobs().map(|(_, job)| job).filter(earlier);
    some_of(names.map(|other| format!("job {} {}", other.job_id, other.name)))
}

/// One sentence per job that holds something of these nodes, the largest first.
pub(crate) fn holders(scene: Scene<'_>, nodes: &[&NodeRow]) -> Vec<String> {
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
        let name = scene.job(id).map(|(_, job)| format!(" {}", job.name)).unwrap_or_default();
        let gpus = match gpus {
            0 => String::new(),
            n => format!(" and {}", count(n, "GPU")),
        };
        let nodes = some_of(nodes.into_iter().map(str::to_owned)).join(", ");
        format!("Job {id}{name} holds {}{gpus} on {nodes}.", count(cpus, "CPU"))
    });
    some_of(sentences)
}

/// One sentence per node of Slurm's that takes no new work.
pub(crate) fn unusable(nodes: &[&NodeRow]) -> Vec<String> {
    let off = nodes.iter().filter(|node| node.slurm_name.is_some() && !is_usable(node));
    let sentences = off.map(|node| {
        let reason = node.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let cordoned = if node.cordoned { ", cordoned" } else { "" };
        format!("Node {} takes no new work ({}{cordoned}{reason}).", node.name, node.state)
    });
    some_of(sentences)
}

fn free(nodes: &[&NodeRow]) -> String {
    let nodes = nodes.iter().filter(|node| is_usable(node));
    let (mut idle, mut cpus, mut gpus) = (0, 0, 0);
    for node in nodes {
        idle += usize::from(node.cpus_alloc == 0);
        cpus += node.cpus.saturating_sub(node.cpus_alloc) as usize;
        gpus += node.gpu_holders.iter().filter(|holder| holder.is_none()).count();
    }
    let (idle, cpus) = (count(idle, "whole node"), count(cpus, "CPU"));
    format!("Free now: {idle}; {cpus} and {} in all.", count(gpus, "GPU"))
}

/// `1 GPU`, `2 GPUs`.
pub(crate) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// The first few, and how many more there are.
pub(crate) fn some_of(these: impl Iterator<Item = String>) -> Vec<String> {
    const FEW: usize = 5;
    let mut these = these.fuse();
    let mut few: Vec<String> = these.by_ref().take(FEW).collect();
    let more = these.count();
    if 0 < more {
        few.push(format!("and {more} more"));
    }
    few
}
