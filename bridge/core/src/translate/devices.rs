//! The devices that a pod asks for, as Slurm names them.
//!
//! ```text
//!   a pod's limits ─┬─ a device plugin's resource ─▶ the table ─▶ GRES, chosen by the kubelet
//!                   ├─ deviceclass…/<class> ───────▶ the table ─▶ GRES, chosen by Slurm
//!                   ├─ what Kubernetes alone counts ─▶ nothing
//!                   └─ anything else ──────────────▶ refused, or a warning
//! ```
//!
//! Where the kubelet chooses, it may choose what Slurm has given to a native job: such a pod gets
//! whole nodes, or is refused, unless the configuration says that no native job uses these devices.

use std::collections::{BTreeMap, BTreeSet};

use super::{Refusal, resources::pieces};
use crate::{
    config::{Config, Devices, Gres, Plugins, Unmapped},
    view::PodView,
};

/// The prefix of resources that stand for a device class.
pub(crate) const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";
/// The device class of single CPUs. They are CPUs to Slurm as well.
pub(crate) const CPU_CLASS: &str = "dra.cpu";

/// What a pod asks for besides CPUs and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) devices: BTreeMap<Gres, u32>,
    /// CPUs that are devices.
    pub(crate) cpus: u32,
    /// Whether some of the devices are chosen by Slurm.
    pub(crate) classes: bool,
    /// A resource whose devices the kubelet chooses.
    pub(crate) plugin: Option<String>,
    /// What Slurm isn't told of.
    pub(crate) uncounted: Vec<String>,
}

impl Wanted {
    /// Adds what a device class stands for.
    pub(crate) fn add_class(
        &mut self,
        devices: &Devices,
        class: &str,
        count: u32,
    ) -> Result<(), Refusal> {
        if class == CPU_CLASS {
            self.cpus = self.cpus.saturating_add(count);
            return Ok(());
        }
        let known = devices.class(class);
        let known = known.ok_or_else(|| Refusal::UnknownClass { class: class.into() })?;
        self.add(known.as_gres(class), count);
        self.classes = true;
        Ok(())
    }

    fn add(&mut self, gres: Gres, count: u32) {
        let sum = self.devices.entry(gres).or_default();
        *sum = sum.saturating_add(count);
    }
}

/// Reads what a pod asks for by the names of resources.
pub(crate) fn wanted(config: &Config, pod: &PodView) -> Result<Wanted, Refusal> {
    let mut wanted = Wanted::default();
    for resource in resources(pod) {
        let count = pieces(pod, resource)?;
        if count == 0 {
            continue;
        }
        if let Some(class) = resource.strip_prefix(CLASS_PREFIX) {
            wanted.add_class(&config.devices, class, count)?;
        } else if let Some(gres) = config.devices.plugin(resource, |key| chosen(pod, key)) {
            wanted.add(gres, count);
            wanted.plugin.get_or_insert_with(|| resource.into());
        } else if !config.devices.is_kubernetes_only(resource) {
            match config.devices.unmapped {
                Unmapped::Refuse => {
                    return Err(Refusal::UnmappedResource { resource: resource.into() });
                }
                Unmapped::Warn => wanted.uncounted.push(resource.into()),
            }
        }
    }
    Ok(wanted)
}

/// Whether the pod gets whole nodes: as it says, as its devices need, as the configuration has it.
pub(crate) fn exclusive(
    config: &Config,
    plugin: Option<&str>,
    said: Option<bool>,
) -> Result<bool, Refusal> {
    let asked = said.unwrap_or(config.exclusive);
    let Some(resource) = plugin.filter(|_| !asked) else {
        return Ok(asked);
    };
    match config.devices.plugins {
        Plugins::Share => Ok(false),
        Plugins::Exclusive if said.is_none() => Ok(true),
        Plugins::Exclusive | Plugins::Refuse => {
            Err(Refusal::SharedPlugin { resource: resource.into() })
        }
    }
}

/// Every resource that is counted in whole pieces and isn't Kubernetes' own.
fn resources(pod: &PodView) -> BTreeSet<&str> {
    let spec = &pod.spec;
    let containers = spec.init_containers.iter().chain(&spec.containers);
    let all = containers.map(|container| &container.resources).chain([&spec.resources]);
    all.flat_map(|it| it.limits.keys().chain(it.requests.keys()))
        .map(String::as_str)
        .filter(|name| is_extended(name))
        .collect()
}

/// Extended resources have a domain that isn't Kubernetes' own.
fn is_extended(name: &str) -> bool {
    name.starts_with(CLASS_PREFIX)
        || name.split_once('/').is_some_and(|(domain, _)| {
            domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io")
        })
}

/// The value of a node's label that the pod insists on.
fn chosen<'a>(pod: &'a PodView, key: &str) -> Option<&'a str> {
    if let Some(value) = pod.spec.node_selector.get(key) {
        return Some(value);
    }
    let affinity = &pod.spec.affinity.node_affinity;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    // With several terms the pod may land on other nodes as well.
    let [term] = &required.node_selector_terms[..] else { return None };
    let wanted = term.match_expressions.iter().find(|it| it.key == key && it.operator == "In")?;
    match &wanted.values[..] {
        [value] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(spec: &Value) -> PodView {
        let metadata = json!({ "name": "p", "namespace": "a", "uid": "u" });
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap()
    }

    fn limits(limits: &Value) -> Value {
        json!({ "containers": [{ "name": "c", "resources": { "limits": limits } }] })
    }

    fn config(devices: &Value) -> Config {
        let devices = serde_json::from_value(devices.clone()).unwrap();
        Config { devices, ..Config::as_shipped() }
    }

    fn read(devices: &Value, spec: &Value) -> String {
        match wanted(&config(devices), &pod(spec)) {
            Err(refusal) => refusal.to_string(),
            Ok(Wanted { devices, cpus, uncounted, .. }) => {
                let mut texts: Vec<_> =
                    devices.iter().map(|(gres, count)| format!("{gres}={count}")).collect();
                texts.extend((0 < cpus).then(|| format!("cpus={cpus}")));
                texts.extend(uncounted.iter().map(|name| format!("uncounted {name}")));
                texts.join(" ")
            }
        }
    }

    #[test]
    fn every_kind_of_device_becomes_an_entry_of_its_own() {
        let plain = json!({});
        let warn = json!({ "unmapped": "warn" });
        let only = json!({ "kubernetesOnly": ["rdma/*"] });
        let typed = json!({ "resources": { "nvidia.com/gpu": {
            "gres": "gpu", "typeLabel": "nvidia.com/gpu.product", "types": { "A100": "a100" },
        } } });
        let mut selecting = limits(&json!({ "nvidia.com/gpu": 1 }));
        selecting["nodeSelector"] = json!({ "nvidia.com/gpu.product": "A100" });
        let mut insisting = limits(&json!({ "nvidia.com/gpu": 1 }));
        insisting["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!({ "nodeSelectorTerms": [{ "matchExpressions": [
                { "key": "nvidia.com/gpu.product", "operator": "In", "values": ["A100"] },
            ] }] });
        #[rustfmt::skip]
        let rows = [
            (&plain, limits(&json!({ "cpu": 1, "hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi" })), ""),
            (&plain, limits(&json!({ "nvidia.com/gpu": "2" })),                                  "gpu=2"),
            (&plain, limits(&json!({ "nvidia.com/gpu": 0 })),                                    ""),
            (&plain, limits(&json!({ "nvidia.com/mig-1g.10gb": 2, "nvidia.com/gpu": 1 })),       "gpu=1 gpu:1g.10gb=2"),
            (&plain, limits(&json!({ "amd.com/gpu": 1, "gpu.intel.com/xe": 2 })),                "gpu=3"),
            (&plain, limits(&json!({ format!("{CLASS_PREFIX}gpu.nvidia.com"): 2 })),             "gpu:gpu.nvidia.com=2"),
            (&plain, limits(&json!({ format!("{CLASS_PREFIX}dra.cpu"): 4 })),                    "cpus=4"),
            (&plain, limits(&json!({ format!("{CLASS_PREFIX}tpu.example.com"): 1 })),            "device class tpu.example.com stands for nothing in Slurm; add it to devices.classes of the bridge's configuration"),
            (&plain, limits(&json!({ "rdma/hca": 1 })),                                          "Slurm doesn't know the resource rdma/hca; add it to devices.resources of the bridge's configuration, or to devices.kubernetesOnly if Slurm needn't count it"),
            (&warn,  limits(&json!({ "rdma/hca": 1 })),                                          "uncounted rdma/hca"),
            (&only,  limits(&json!({ "rdma/hca": 1 })),                                          ""),
            (&typed, selecting,                                                                  "gpu:a100=1"),
            (&typed, insisting,                                                                  "gpu:a100=1"),
        ];
        for (devices, spec, expected) in rows {
            assert_eq!(read(devices, &spec), expected, "{devices} {spec}");
        }
    }

    #[test]
    fn what_the_kubelet_chooses_shares_no_node_unless_the_configuration_says_so() {
        let why = "the kubelet chooses the devices of nvidia.com/gpu, and may choose some that Slurm gave to another job on the node";
        #[rustfmt::skip]
        let rows = [
            ("exclusive", None,        Ok(true)),
            ("exclusive", Some(true),  Ok(true)),
            ("exclusive", Some(false), Err(why)),
            ("refuse",    None,        Err(why)),
            ("refuse",    Some(true),  Ok(true)),
            ("share",     None,        Ok(false)),
            ("share",     Some(false), Ok(false)),
            ("share",     Some(true),  Ok(true)),
        ];
        for (plugins, said, expected) in rows {
            let config = config(&json!({ "plugins": plugins }));
            let found = exclusive(&config, Some("nvidia.com/gpu"), said);
            match expected {
                Ok(whole) => assert_eq!(found, Ok(whole), "{plugins} {said:?}"),
                Err(why) => {
                    let text = found.unwrap_err().to_string();
                    assert!(text.starts_with(why), "{plugins} {said:?}: {text}");
                }
            }
            assert_eq!(exclusive(&config, None, None), Ok(false), "a pod without devices shares");
        }
    }
}
