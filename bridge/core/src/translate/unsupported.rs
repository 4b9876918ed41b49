//! What a pod may demand of a scheduler and Slurm can't be told: refused, never left out in silence.
//!
//! Wishes that needn't be met (`preferred…`, `ScheduleAnyway`) are no reason to refuse a pod.

use crate::view::{Container, PodAffinity, PodSpec, PodView, SpreadConstraint};

/// A demand that would go unheard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not supported by the bridge yet: {why}")]
pub(crate) struct Unsupported {
    what: String,
    /// Why it isn't, and what to do instead.
    why: &'static str,
}

const NEIGHBOURS: &str =
    "Slurm chooses the nodes; use preferredDuringSchedulingIgnoredDuringExecution";
const SPREAD: &str = "Slurm chooses the nodes; use whenUnsatisfiable: ScheduleAnyway";
const VOLUME: &str = "Slurm chooses the nodes and doesn't know where the volume can be used; \
     use a volume that every node has, such as nfs or hostPath";
const PORT: &str =
    "Slurm chooses the nodes and doesn't know whose port is taken; use a Service instead";

/// Refuses the pod if it demands what can't be promised.
pub(super) fn check(pod: &PodView) -> Result<(), Unsupported> {
    let spec = &pod.spec;
    neighbours("podAffinity", &spec.affinity.pod_affinity)?;
    neighbours("podAntiAffinity", &spec.affinity.pod_anti_affinity)?;
    let must = |it: &SpreadConstraint| it.when_unsatisfiable != "ScheduleAnyway";
    if spec.topology_spread_constraints.iter().any(must) {
        return refuse("spec.topologySpreadConstraints (DoNotSchedule)".into(), SPREAD);
    }
    volumes(spec)?;
    let taken = |container: &&Container| container.ports.iter().any(|port| port.host_port > 0);
    let mut containers = spec.init_containers.iter().chain(&spec.containers);
    if let Some(container) = containers.find(taken) {
        return refuse(format!("hostPort of container {}", container.name), PORT);
    }
    Ok(())
}

fn neighbours(kind: &str, rules: &PodAffinity) -> Result<(), Unsupported> {
    if rules.required_during_scheduling_ignored_during_execution.is_empty() {
        return Ok(());
    }
    refuse(format!("spec.affinity.{kind} (required)"), NEIGHBOURS)
}

fn volumes(spec: &PodSpec) -> Result<(), Unsupported> {
    for volume in &spec.volumes {
        let kind = match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(_), _) => "persistentVolumeClaim",
            (None, Some(_)) => "ephemeral",
            (None, None) => continue,
        };
        return refuse(format!("volume {} ({kind})", volume.name), VOLUME);
    }
    Ok(())
}

fn refuse(what: String, why: &'static str) -> Result<(), Unsupported> {
    Err(Unsupported { what, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn judged(spec: &Value) -> String {
        let metadata = json!({ "name": "p", "namespace": "a", "uid": "u" });
        let pod: PodView =
            serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap();
        check(&pod).map_or_else(|fault| fault.to_string(), |()| "taken".into())
    }

    #[test]
    fn demands_that_slurm_can_not_be_told_are_refused_and_wishes_are_not() {
        let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": [{ "topologyKey": "zone" }] });
        let preferred =
            json!({ "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1 }] });
        #[rustfmt::skip]
        let rows = [
            (json!({}), "taken"),
            (json!({ "affinity": { "podAffinity": required } }), "spec.affinity.podAffinity (required) is not supported by the bridge yet: Slurm chooses the nodes; use preferredDuringSchedulingIgnoredDuringExecution"),
            (json!({ "affinity": { "podAntiAffinity": required } }), "spec.affinity.podAntiAffinity (required) is not supported by the bridge yet: Slurm chooses the nodes; use preferredDuringSchedulingIgnoredDuringExecution"),
            (json!({ "affinity": { "podAffinity": preferred, "podAntiAffinity": preferred } }), "taken"),
            (json!({ "topologySpreadConstraints": [{ "whenUnsatisfiable": "DoNotSchedule" }] }), "spec.topologySpreadConstraints (DoNotSchedule) is not supported by the bridge yet: Slurm chooses the nodes; use whenUnsatisfiable: ScheduleAnyway"),
            (json!({ "topologySpreadConstraints": [{ "whenUnsatisfiable": "ScheduleAnyway" }] }), "taken"),
            (json!({ "volumes": [{ "name": "d", "persistentVolumeClaim": { "claimName": "c" } }] }), "volume d (persistentVolumeClaim) is not supported by the bridge yet: Slurm chooses the nodes and doesn't know where the volume can be used; use a volume that every node has, such as nfs or hostPath"),
            (json!({ "volumes": [{ "name": "d", "ephemeral": { "volumeClaimTemplate": {} } }] }), "volume d (ephemeral) is not supported by the bridge yet: Slurm chooses the nodes and doesn't know where the volume can be used; use a volume that every node has, such as nfs or hostPath"),
            (json!({ "volumes": [{ "name": "d", "emptyDir": {} }, { "name": "e", "nfs": {} }] }), "taken"),
            (json!({ "containers": [{ "name": "c", "ports": [{ "containerPort": 80, "hostPort": 80 }] }] }), "hostPort of container c is not supported by the bridge yet: Slurm chooses the nodes and doesn't know whose port is taken; use a Service instead"),
            (json!({ "initContainers": [{ "name": "i", "ports": [{ "hostPort": 80 }] }] }), "hostPort of container i is not supported by the bridge yet: Slurm chooses the nodes and doesn't know whose port is taken; use a Service instead"),
            (json!({ "containers": [{ "name": "c", "ports": [{ "containerPort": 80 }] }] }), "taken"),
        ];
        for (spec, expected) in rows {
            assert_eq!(judged(&spec), expected, "{spec}");
        }
    }
}
