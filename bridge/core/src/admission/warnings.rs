//! What a pod asks for and won't get, told to whoever creates it. Nothing here is a reason to refuse.

use crate::{
    annotations,
    config::{Config, Plugins},
    explain,
    translate::Wanted,
    view::{PodSpec, PodView},
};

/// All warnings for a pod.
pub(super) fn of(config: &Config, pod: &PodView, wanted: &Wanted) -> Vec<String> {
    let mut all: Vec<String> = wanted.uncounted.iter().map(|it| explain::uncounted(it)).collect();
    all.extend(whole_nodes(config, pod, wanted));
    all.extend(wishes(&pod.spec).map(|what| {
        format!("{what} is a wish that Slurm can't be told: it chooses among all nodes that are permitted")
    }));
    all.extend(priority(config, &pod.spec));
    all.extend(throttle(pod));
    all
}

fn whole_nodes(config: &Config, pod: &PodView, wanted: &Wanted) -> Option<String> {
    let resource = wanted.plugin.as_deref()?;
    let said = annotations::find(&[&pod.metadata.annotations], "exclusive").is_some();
    let silent = said || config.exclusive || config.devices.plugins != Plugins::Exclusive;
    (!silent).then(|| {
        format!(
            "the pod gets whole nodes: the kubelet chooses the devices of {resource}, and might choose \
             some that Slurm gave to another job (devices.plugins)"
        )
    })
}

fn wishes(spec: &PodSpec) -> impl Iterator<Item = &'static str> {
    let affinity = &spec.affinity;
    let spread = &spec.topology_spread_constraints;
    [
        (affinity.node_affinity.is_wished(), "spec.affinity.nodeAffinity (preferred)"),
        (affinity.pod_affinity.is_wished(), "spec.affinity.podAffinity (preferred)"),
        (affinity.pod_anti_affinity.is_wished(), "spec.affinity.podAntiAffinity (preferred)"),
        (
            spread.iter().any(|it| it.when_unsatisfiable == "ScheduleAnyway"),
            "spec.topologySpreadConstraints (ScheduleAnyway)",
        ),
    ]
    .into_iter()
    .filter_map(|(wished, what)| wished.then_some(what))
}

fn priority(config: &Config, spec: &PodSpec) -> Option<String> {
    let class = spec.priority_class_name.as_deref().filter(|class| !class.is_empty())?;
    (!config.priority_classes.contains_key(class)).then(|| {
        format!("PriorityClass {class} means nothing to Slurm: it isn't in priorityClasses of the bridge's configuration")
    })
}

fn throttle(pod: &PodView) -> Option<String> {
    let (key, _) = annotations::find(&[&pod.metadata.annotations], "array-throttle")?;
    pod.metadata.controller().is_none().then(|| {
        format!("annotation {key} counts the jobs of a pod's controller, and this pod has none")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate;
    use serde_json::{Value, json};

    fn warned(annotations: &Value, spec: &Value) -> String {
        let metadata =
            json!({ "name": "p", "namespace": "a", "uid": "u", "annotations": annotations });
        let pod = serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap();
        let mut config = Config::as_shipped();
        config.devices.unmapped = crate::config::Unmapped::Warn;
        let wanted = translate::wanted(&config, &pod).unwrap();
        of(&config, &pod, &wanted).join("\n")
    }

    #[test]
    fn whoever_creates_a_pod_is_told_what_it_will_not_get() {
        let preferred =
            json!({ "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1 }] });
        let spec = json!({
            "affinity": { "nodeAffinity": preferred, "podAntiAffinity": preferred },
            "topologySpreadConstraints": [{ "whenUnsatisfiable": "ScheduleAnyway" }],
            "priorityClassName": "high",
            "containers": [{ "name": "c", "resources": { "limits": { "nvidia.com/gpu": 1, "rdma/hca": 1 } } }],
        });
        insta::assert_snapshot!(warned(&json!({ "slinky.slurm.net/array-throttle": "2" }), &spec), @"
        Slurm doesn't count rdma/hca: another job may be given a node where none is left
        the pod gets whole nodes: the kubelet chooses the devices of nvidia.com/gpu, and might choose some that Slurm gave to another job (devices.plugins)
        spec.affinity.nodeAffinity (preferred) is a wish that Slurm can't be told: it chooses among all nodes that are permitted
        spec.affinity.podAntiAffinity (preferred) is a wish that Slurm can't be told: it chooses among all nodes that are permitted
        spec.topologySpreadConstraints (ScheduleAnyway) is a wish that Slurm can't be told: it chooses among all nodes that are permitted
        PriorityClass high means nothing to Slurm: it isn't in priorityClasses of the bridge's configuration
        annotation slinky.slurm.net/array-throttle counts the jobs of a pod's controller, and this pod has none
        ");
    }

    #[test]
    fn a_plain_pod_gets_no_warning() {
        let limits = json!({ "nvidia.com/gpu": 1 });
        let spec = json!({ "containers": [{ "name": "c", "resources": { "limits": limits } }] });
        assert_eq!(warned(&json!({ "slinky.slurm.net/exclusive": "true" }), &spec), "");
        assert_eq!(warned(&json!({}), &json!({})), "");
    }
}
