//! The way of a workload, from its creation to its end, and how far it has come.
//!
//! ```text
//!   created ▸ admitted ▸ submitted ▸ allocated ▸ bound ▸ running ▸ ended
//! ```

use drawbridge_scenarios::{JobRow, PodRow};
use drawbridge_sim::Time;

use super::{gang::gang, list::Key, scene::Scene};

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    /// What it is called.
    pub(crate) name: &'static str,
    /// When it was reached; `None` if it is still to come.
    pub(crate) at: Option<Time>,
}

/// The stages of a pod, a gang or a job; none for other things.
pub(crate) fn stages(scene: Scene<'_>, key: &Key) -> Vec<Stage> {
    match key {
        Key::Pod(uid) => scene.pod(uid).map(|pod| of_pods(scene, &[pod])).unwrap_or_default(),
        Key::Gang(namespace, name) => {
            gang(scene, namespace, name).map(|it| of_pods(scene, &it.ranks)).unwrap_or_default()
        }
        Key::Job(id) => {
            let pods: Vec<&PodRow> = scene.pods_of(*id).collect();
            match (pods.is_empty(), scene.job(*id)) {
                (false, _) => of_pods(scene, &pods),
                (true, Some((_, job))) => of_job(job),
                (true, None) => vec![],
            }
        }
        Key::Node(_) | Key::Record(_) | Key::Pair(_) => vec![],
    }
}

fn of_job(job: &JobRow) -> Vec<Stage> {
    let started = job.start_ms.filter(|at| *at <= job.end_ms.unwrap_or(Time::MAX));
    let stage = |name, at| Stage { name, at };
    vec![
        stage("submitted", Some(job.submit_ms)),
        stage("running", started),
        stage("ended", job.end_ms),
    ]
}

/// A stage of several is reached when the last of them has reached it.
fn of_pods(scene: Scene<'_>, pods: &[&PodRow]) -> Vec<Stage> {
    let all = |of: fn(&PodRow) -> Option<Time>| {
        pods.iter().map(|pod| of(pod)).collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    let job = pods.iter().find_map(|pod| pod.job_id).and_then(|id| scene.job(id));
    let job = job.map(|(_, job)| job);
    let by_slurm = job.is_some() || pods.iter().any(|pod| pod.scheduler != "default-scheduler");
    let stage = |name, at| Stage { name, at };
    let mut stages = vec![stage("created", all(|pod| Some(pod.created_ms)))];
    if by_slurm {
        // What exists has been let in: admission answers before an object is stored.
        stages.push(stage("admitted", all(|pod| Some(pod.created_ms))));
        stages.push(stage("submitted", job.map(|job| job.submit_ms)));
        stages.push(stage("allocated", job.and_then(|job| job.start_ms)));
    }
    stages.push(stage("bound", all(|pod| pod.bound_ms)));
    stages.push(stage("running", all(|pod| pod.started_ms)));
    stages.push(stage("ended", all(|pod| pod.finished_ms)));
    stages
}
