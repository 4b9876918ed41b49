//! What devices of Kubernetes are in Slurm: GPUs and whatever else is counted in whole pieces.
//!
//! ```text
//!   nvidia.com/gpu: 2            ─▶ gres/gpu:2
//!   nvidia.com/mig-1g.10gb: 1    ─▶ gres/gpu:1g.10gb:1
//!   deviceclass…/gpu.nvidia.com  ─▶ gres/gpu:gpu.nvidia.com:1
//! ```
//!
//! The tables of a configuration are looked at first, then those that are shipped.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MIG profiles: what follows is the type of the GRES.
const MIG: &str = "nvidia.com/mig-";
/// Whole GPUs of device plugins, untyped.
const GPUS: [&str; 4] = ["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"];

/// What devices of Kubernetes are in Slurm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Devices {
    /// The GRES of a resource of a device plugin, by the resource's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, PluginResource>,
    /// The GRES of a device class of dynamic resource allocation, by the class's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, DeviceClass>,
    /// Resources that Slurm needn't know of, because Kubernetes alone counts them. `*` at the end
    /// stands for anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kubernetes_only: Vec<String>,
    /// What becomes of a pod that asks for a resource that is nowhere here.
    pub unmapped: Unmapped,
    /// What becomes of a pod whose devices the kubelet chooses, not Slurm.
    pub plugins: Plugins,
}

/// A resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginResource {
    /// The name in `GresTypes`: `gpu`, `shard`.
    pub gres: String,
    /// The type in gres.conf; any if unset.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A label of nodes that says which type they have. A pod that selects one gets that type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_label: Option<String>,
    /// The type for each value of that label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, String>,
}

/// A device class of dynamic resource allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceClass {
    /// The name in `GresTypes`: `gpu`.
    #[serde(default = "gpu")]
    pub gres: String,
    /// The type in gres.conf; the class's name if unset, any if empty.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The driver of its devices; the class's name if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The attribute that has a device's index in Slurm. Without it the number at the end of the
    /// device's name is the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_attribute: Option<String>,
}

/// What becomes of a pod that asks for a resource that nobody mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Unmapped {
    /// It is refused.
    #[default]
    Refuse,
    /// It is taken, and told that Slurm doesn't count the resource.
    Warn,
}

/// What becomes of a pod whose devices the kubelet chooses. Slurm and the kubelet could give one
/// device to a native job and to the pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Plugins {
    /// It gets whole nodes.
    #[default]
    Exclusive,
    /// It is refused unless it asks for whole nodes.
    Refuse,
    /// It shares nodes: right where no native job uses these devices.
    Share,
}

/// A generic resource as Slurm names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gres {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
}

impl Devices {
    /// The GRES of a device plugin's resource, for a pod whose nodes have these labels.
    pub(crate) fn plugin<'a>(
        &self,
        resource: &str,
        label: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Gres> {
        if let Some(found) = self.resources.get(resource) {
            let product = found.type_label.as_deref().and_then(label);
            let by_label = product.and_then(|product| found.types.get(product));
            let kind = by_label.or(found.kind.as_ref()).cloned();
            return Some(Gres { name: found.gres.clone(), kind });
        }
        let kind = resource.strip_prefix(MIG).map(Into::into);
        (kind.is_some() || GPUS.contains(&resource)).then(|| Gres { name: gpu(), kind })
    }

    /// A device class, if there is something that stands for it.
    pub(crate) fn class(&self, name: &str) -> Option<DeviceClass> {
        self.classes.get(name).cloned().or_else(|| DeviceClass::shipped(name))
    }

    /// Whether Slurm needn't know of a resource.
    pub(crate) fn is_kubernetes_only(&self, resource: &str) -> bool {
        self.kubernetes_only.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => resource.starts_with(start),
            None => resource == name,
        })
    }

    /// The first GRES without a name, by its key.
    pub(super) fn nameless(&self) -> Option<String> {
        let plugins = self.resources.iter().map(|(key, it)| ("resources", key, &it.gres));
        let classes = self.classes.iter().map(|(key, it)| ("classes", key, &it.gres));
        let mut all = plugins.chain(classes);
        all.find(|(_, _, gres)| gres.is_empty())
            .map(|(table, key, _)| format!("devices.{table}.{key}.gres"))
    }
}

impl DeviceClass {
    /// The drivers whose devices the existing bridge knows how to count.
    fn shipped(name: &str) -> Option<Self> {
        let index_attribute = match name {
            "gpu.nvidia.com" => None,
            "gpu.example.com" => Some("index".into()),
            _ => return None,
        };
        Some(Self { gres: gpu(), kind: None, driver: None, index_attribute })
    }

    /// What it is in Slurm.
    pub(crate) fn as_gres(&self, class: &str) -> Gres {
        let kind = self.kind.clone().unwrap_or_else(|| class.to_owned());
        Gres { name: self.gres.clone(), kind: Some(kind).filter(|kind| !kind.is_empty()) }
    }
}

impl std::fmt::Display for Gres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        self.kind.as_ref().map_or(Ok(()), |kind| write!(f, ":{kind}"))
    }
}

fn gpu() -> String {
    "gpu".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_resource_becomes_what_the_table_says_or_what_everybody_calls_it() {
        let devices: Devices = serde_json::from_value(json!({
            "resources": {
                "nvidia.com/gpu": {
                    "gres": "gpu", "typeLabel": "nvidia.com/gpu.product",
                    "types": { "NVIDIA-A100-SXM4-40GB": "a100" },
                },
                "nvidia.com/gpu.shared": { "gres": "shard" },
                "example.com/npu": { "gres": "npu", "type": "x1" },
            },
        }))
        .unwrap();
        let shipped = Devices::default();
        #[rustfmt::skip]
        let rows = [
            (&shipped, "nvidia.com/gpu",         None,                          "gpu"),
            (&shipped, "amd.com/gpu",            None,                          "gpu"),
            (&shipped, "gpu.intel.com/i915",     None,                          "gpu"),
            (&shipped, "gpu.intel.com/xe",       None,                          "gpu"),
            (&shipped, "nvidia.com/mig-1g.10gb", None,                          "gpu:1g.10gb"),
            (&shipped, "nvidia.com/gpu.shared",  None,                          "none"),
            (&shipped, "rdma/hca",               None,                          "none"),
            (&devices, "nvidia.com/gpu",         None,                          "gpu"),
            (&devices, "nvidia.com/gpu",         Some("NVIDIA-A100-SXM4-40GB"), "gpu:a100"),
            (&devices, "nvidia.com/gpu",         Some("NVIDIA-L4"),             "gpu"),
            (&devices, "nvidia.com/gpu.shared",  None,                          "shard"),
            (&devices, "example.com/npu",        None,                          "npu:x1"),
            (&devices, "nvidia.com/mig-3g.40gb", None,                          "gpu:3g.40gb"),
        ];
        for (devices, resource, product, expected) in rows {
            let found =
                devices.plugin(resource, |key| product.filter(|_| key.ends_with("product")));
            let found = found.map_or("none".into(), |gres| gres.to_string());
            assert_eq!(found, expected, "{resource} {product:?}");
        }
    }

    #[test]
    fn a_device_class_is_a_type_of_gpu_unless_the_table_says_otherwise() {
        let devices: Devices = serde_json::from_value(json!({
            "classes": { "nic.example.com": { "gres": "nic", "type": "ib" } },
        }))
        .unwrap();
        let gres = |class: &str| devices.class(class).map(|it| it.as_gres(class).to_string());
        assert_eq!(gres("gpu.nvidia.com").as_deref(), Some("gpu:gpu.nvidia.com"));
        assert_eq!(gres("nic.example.com").as_deref(), Some("nic:ib"));
        assert_eq!(gres("tpu.example.com"), None);
    }

    #[test]
    fn what_kubernetes_alone_counts_is_named_whole_or_by_its_beginning() {
        let kubernetes_only = vec!["rdma/*".into(), "example.com/fuse".into()];
        let devices = Devices { kubernetes_only, ..Devices::default() };
        let rows = [("rdma/hca", true), ("example.com/fuse", true), ("example.com/fuse2", false)];
        for (resource, expected) in rows {
            assert_eq!(devices.is_kubernetes_only(resource), expected, "{resource}");
        }
    }
}
