//! What would let a job start now.
//!
//! Two answers: what can be read off the rows, as sentences; and, where the run is a twin, things to
//! try on a copy of the world, each of which comes back with whether it helps.

use drawbridge_scenarios::JobRow;
use drawbridge_sim::{JobId, Span};

use super::waiting::{count, nodes_of};
use crate::model::scene::{Scene, is_usable};

/// How many things are tried at most.
const TRIES_MAX: usize = 8;

/// Something that might let a job start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remedy {
    /// What is done: `job 1 native ends`.
    pub(crate) text: String,
    /// The same as steps of a scenario.
    pub(crate) steps: Vec<String>,
}

/// What came of trying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What was tried.
    pub(crate) text: String,
    /// How long after it the job started; `None` if it didn't soon.
    pub(crate) starts_after: Option<Span>,
}

/// What it lacks, by counting what is free.
pub(super) fn needs(scene: Scene<'_>, job: &JobRow) -> Vec<String> {
    if job.start_ms.is_some() || job.end_ms.is_some() {
        return vec![];
    }
    let nodes: Vec<_> = nodes_of(scene, job).collect();
    let usable = nodes.iter().filter(|node| is_usable(node));
    let free: usize =
        usable.clone().map(|node| node.cpus.saturating_sub(node.cpus_alloc) as usize).sum();
    let idle = usable.clone().filter(|node| node.cpus_alloc == 0).count();
    let (asked, least) = (job.cpus as usize, job.min_nodes as usize);
    let off: usize = nodes.iter().filter(|node| !is_usable(node)).count();
    let all: usize = nodes.iter().map(|node| node.cpus as usize).sum();
    let mut needs = vec![];
    if all < asked {
        needs.push(format!(
            "Never, as things are: {} has {} in all.",
            job.partition,
            count(all, "CPU")
        ));
    } else if free < asked {
        needs.push(format!("{} more would have to be free.", count(asked - free, "CPU")));
    } else if idle < least && 1 < least {
        needs.push(format!("{} more may have to be free.", count(least - idle, "whole node")));
    }
    needs.extend((0 < off).then(|| format!("{} can't be used now.", count(off, "node"))));
    needs
}

/// Things to try, the likeliest first.
pub(crate) fn remedies(scene: Scene<'_>, id: JobId) -> Vec<Remedy> {
    let Some((_, job)) = scene.job(id).filter(|(_, job)| job.start_ms.is_none()) else {
        return vec![];
    };
    let mut running: Vec<&JobRow> = vec![];
    for node in nodes_of(scene, job) {
        for holder in node.cpu_holders.iter().flatten() {
            if running.last().is_none_or(|last| last.job_id != *holder) {
                running.extend(scene.job(*holder).map(|(_, job)| job));
            }
        }
    }
    running.sort_by_key(|job| (std::cmp::Reverse(job.cpus), job.job_id));
    running.dedup_by_key(|job| job.job_id);
    let mut all: Vec<Remedy> = running.iter().take(TRIES_MAX / 2).map(|job| ends(&[job])).collect();
    if 1 < running.len() {
        let few: Vec<&JobRow> = running.iter().copied().take(TRIES_MAX).collect();
        all.push(ends(&few));
    }
    let off = nodes_of(scene, job).filter(|node| !is_usable(node));
    all.extend(off.take(2).filter_map(|node| {
        let name = node.slurm_name.as_ref()?;
        let mut steps = vec![format!("slurmNode: {{name: {name}, state: resume}}")];
        steps.extend(node.cordoned.then(|| format!("uncordon: {}", node.name)));
        Some(Remedy { text: format!("node {} is back", node.name), steps })
    }));
    all.push(Remedy {
        text: "it has the highest priority".to_owned(),
        steps: vec![format!("scontrol: update JobId={id} Priority=4294967294")],
    });
    all
}

fn ends(jobs: &[&JobRow]) -> Remedy {
    let names: Vec<String> =
        jobs.iter().map(|job| format!("{} {}", job.job_id, job.name)).collect();
    let text = match jobs {
        [_] => format!("job {} ends", names.join("")),
        _ => format!("jobs {} end", names.join(", ")),
    };
    let steps = jobs.iter().map(|job| format!("scancel: \"{}\"", job.job_id)).collect();
    Remedy { text, steps }
}
