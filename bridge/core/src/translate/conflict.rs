//! One thing said twice: by a device class and by a resource or an annotation of another kind.

use super::{
    Refusal,
    devices::{CLASS_PREFIX, CPU_CLASS, Wanted},
};
use crate::{
    annotations::Annotations,
    view::{PodView, Resources},
};

/// Refuses a pod whose CPUs or devices are named in two ways that could differ.
pub(crate) fn conflict(pod: &PodView, wanted: &Wanted, said: &Annotations) -> Result<(), Refusal> {
    let cpus = format!("CPU DRA resource \"{CLASS_PREFIX}{CPU_CLASS}\"");
    if 0 < wanted.cpus && asks_for_cpu(pod) {
        return refuse(format!("can't specify both native \"cpu\" and {cpus}"));
    }
    if 0 < wanted.cpus && said.cpus_per_task.is_some() {
        return refuse(annotated("cpu-per-task", &cpus));
    }
    if wanted.classes && said.gres.is_some() {
        return refuse(annotated("gres", "DRA device requests"));
    }
    Ok(())
}

fn annotated(key: &str, with: &str) -> String {
    format!(
        "annotation \"slurmjob.slinky.slurm.net/{key}\" conflicts with {with}: explicit DRA requests \
         are authoritative"
    )
}

fn refuse(words: String) -> Result<(), Refusal> {
    Err(Refusal::Conflict(words))
}

fn asks_for_cpu(pod: &PodView) -> bool {
    let names = |it: &Resources| it.requests.contains_key("cpu") || it.limits.contains_key("cpu");
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    containers.map(|container| &container.resources).chain([&pod.spec.resources]).any(names)
}
