//! Kubernetes nodes as external nodes of Slurm: how they are described, and whose they are.
//!
//! ```text
//!   NodeName=k1 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 CPUs=8 RealMemory=31000 State=External
//!     Feature=drawbridge-<clusterId>,gpu Gres="gpu:2" GresConf="count=2,name=gpu" Topology=default:s1
//! ```
//!
//! A node is ours by its state (external, and made at run time) and by the feature that names our
//! cluster, which it has from the moment that it is made.
//!
//! Its size is what pods can have: allocatable CPUs and memory, rounded down. Capacity counts what
//! the kubelet keeps for itself; Slurm would give it away, and the kubelet refuse the pods. Devices
//! are counted by capacity: one that is ill for a while doesn't make another node.

use std::collections::BTreeMap;

use drawbridge_sim::Quantity;
use serde_json::Value;

use crate::{
    config::Config,
    names::{EXTERNAL_PARTITIONS, SLURM_NODE_LABEL, TOPOLOGY_SPEC},
    slurm::NodeInfo,
    view::{Amounts, NodeView},
};

/// Memory that differs by less than this part isn't another size: kernels don't always find the same.
const MEMORY_PART: u64 = 64;

/// Resources of device plugins that are GPUs to Slurm, with the type that tells several kinds apart.
const DEVICES: [(&str, &str); 4] = [
    ("amd.com/gpu", "amd"),
    ("gpu.intel.com/i915", "intel"),
    ("gpu.intel.com/xe", "intel"),
    ("nvidia.com/gpu", "nvidia"),
];
/// How the resources of MIG devices begin; their profile is the type.
const MIG: &str = "nvidia.com/mig-";

/// A node as Slurm shall have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) name: String,
    /// Slurm would ask a name server for the node's name otherwise, again and again.
    pub(super) address: Option<String>,
    pub(super) cpus: u32,
    pub(super) memory_mib: u64,
    /// `gpu:2`, or several with commas between.
    pub(super) gres: String,
    pub(super) features: Vec<String>,
    pub(super) topology: Option<String>,
}

impl Description {
    /// How Slurm shall have this node, or why it can't.
    pub(super) fn of(config: &Config, node: &NodeView) -> Result<Self, String> {
        let meta = &node.metadata;
        let cpus = amount(&node.status.allocatable, "cpu").map_or(0, Quantity::floor_units);
        let memory_mib = amount(&node.status.allocatable, "memory").map_or(0, Quantity::floor_mib);
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        if cpus == 0 || memory_mib == 0 {
            return Err("it doesn't say how many CPUs and how much memory pods can have".into());
        }
        let name = meta.labels.get(SLURM_NODE_LABEL).unwrap_or(&meta.name).clone();
        let listed = meta.annotations.get(EXTERNAL_PARTITIONS).map_or("", String::as_str);
        let listed = listed.split(',').map(str::trim).filter(|name| !name.is_empty());
        let features: Vec<String> =
            [mark(config)].into_iter().chain(listed.map(str::to_owned)).collect();
        let topology = meta.annotations.get(TOPOLOGY_SPEC).filter(|spec| !spec.is_empty()).cloned();
        let texts = || [&name].into_iter().chain(&features).chain(&topology);
        if let Some(bad) = texts().find(|text| text.contains([' ', '"', '\'', '\n'])) {
            return Err(format!("`{bad}` can't be written in a node's description"));
        }
        let gres = gres(&node.status.capacity);
        let internal = node.status.addresses.iter().find(|it| it.kind == "InternalIP");
        let address = internal.map(|it| it.address.clone());
        Ok(Self { name, address, cpus, memory_mib, gres, features, topology })
    }

    /// The words by which it is made.
    pub(super) fn words(&self) -> String {
        let Self { name, address, cpus, memory_mib, gres, features, topology } = self;
        let features = features.join(",");
        let mut words = format!(
            "NodeName={name} Sockets=1 CoresPerSocket={cpus} ThreadsPerCore=1 CPUs={cpus} \
             RealMemory={memory_mib} State=External Feature={features}"
        );
        if let Some(address) = address {
            words += &format!(" NodeAddr={address}");
        }
        if !gres.is_empty() {
            words += &format!(" Gres=\"{gres}\" GresConf=\"{}\"", gres_conf(gres));
        }
        if let Some(topology) = topology {
            words += &format!(" Topology={topology}");
        }
        words
    }

    /// `8 CPUs, 31000 MiB, gpu:2`
    pub(super) fn size(&self) -> String {
        let Self { cpus, memory_mib, gres, .. } = self;
        let gres = if gres.is_empty() { String::new() } else { format!(", {gres}") };
        format!("{cpus} CPU{}, {memory_mib} MiB{gres}", if *cpus == 1 { "" } else { "s" })
    }

    /// Whether Slurm has it with another size.
    pub(super) fn is_resized(&self, info: &NodeInfo) -> bool {
        let apart = self.memory_mib.abs_diff(info.memory_mib);
        self.cpus != info.cpus
            || self.memory_mib / MEMORY_PART < apart
            || kinds(&self.gres) != kinds(&info.gres)
    }
}

/// The feature by which nodes are ours.
pub(super) fn mark(config: &Config) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let cluster: String = config.cluster_id.chars().map(plain).collect();
    format!("drawbridge-{cluster}")
}

/// Whether this is an external node that we made.
pub(super) fn is_ours(config: &Config, info: &NodeInfo) -> bool {
    is_made(info) && info.features.contains(&mark(config))
}

/// Whether it is an external node that somebody made at run time.
pub(super) fn is_made(info: &NodeInfo) -> bool {
    info.is_external() && info.has("DYNAMIC_NORM")
}

/// The cluster that has it, by the feature that says so.
pub(super) fn marked_by_another<'a>(config: &Config, info: &'a NodeInfo) -> Option<&'a str> {
    let ours = mark(config);
    let mut others = info.features.iter().filter(|feature| **feature != ours);
    others.find_map(|feature| feature.strip_prefix("drawbridge-"))
}

fn amount(amounts: &Amounts, name: &str) -> Option<Quantity> {
    let text = match amounts.get(name)? {
        Value::String(text) => text.clone(),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => other.to_string(),
    };
    Quantity::parse(&text).ok()
}

/// What device plugins offer, as Slurm writes it. One kind needs no type; of several each has its own.
fn gres(capacity: &Amounts) -> String {
    let count = |name: &str| amount(capacity, name).map_or(0, Quantity::floor_units);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for (name, kind) in DEVICES {
        *found.entry(kind.to_owned()).or_default() += count(name);
    }
    for name in capacity.keys() {
        if let Some(profile) = name.strip_prefix(MIG) {
            *found.entry(profile.to_owned()).or_default() += count(name);
        }
    }
    found.retain(|_, count| *count > 0);
    let plain = found.len() == 1 && found.keys().all(|kind| DEVICES.iter().any(|it| it.1 == kind));
    let typed = |(kind, count): (&String, &u64)| match plain {
        true => format!("gpu:{count}"),
        false => format!("gpu:{kind}:{count}"),
    };
    found.iter().map(typed).collect::<Vec<_>>().join(",")
}

/// The same for gres.conf: a node without slurmd has nobody else to count its devices.
fn gres_conf(gres: &str) -> String {
    let line = |one: &str| match one.split(':').collect::<Vec<_>>()[..] {
        [name, kind, count] => format!("count={count},name={name},type={kind}"),
        [name, count] => format!("count={count},name={name}"),
        _ => one.to_owned(),
    };
    gres.split(',').map(line).collect::<Vec<_>>().join("+")
}

/// Kinds and counts, whatever Slurm says besides: `gpu:2(S:0)`.
fn kinds(gres: &str) -> Vec<&str> {
    let mut kinds: Vec<&str> = gres
        .split(',')
        .map(|one| one.split('(').next().unwrap_or(one))
        .filter(|one| !one.is_empty())
        .collect();
    kinds.sort_unstable();
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn devices_are_gpus_to_slurm_typed_where_there_are_several_kinds() {
        let rows = [
            (json!({ "cpu": "4" }), "", ""),
            (json!({ "nvidia.com/gpu": "4" }), "gpu:4", "count=4,name=gpu"),
            (json!({ "amd.com/gpu": 2, "nvidia.com/gpu": "0" }), "gpu:2", "count=2,name=gpu"),
            (
                json!({ "nvidia.com/mig-1g.5gb": "7" }),
                "gpu:1g.5gb:7",
                "count=7,name=gpu,type=1g.5gb",
            ),
            (
                json!({ "nvidia.com/gpu": "1", "nvidia.com/mig-3g.20gb": "2" }),
                "gpu:3g.20gb:2,gpu:nvidia:1",
                "count=2,name=gpu,type=3g.20gb+count=1,name=gpu,type=nvidia",
            ),
        ];
        for (capacity, expected, conf) in rows {
            let found = gres(&serde_json::from_value(capacity.clone()).unwrap());
            assert_eq!(found, expected, "{capacity}");
            assert_eq!(if found.is_empty() { String::new() } else { gres_conf(&found) }, conf);
        }
    }

    #[test]
    fn only_a_real_change_is_another_size() {
        let description = Description {
            name: "e1".into(),
            address: None,
            cpus: 8,
            memory_mib: 64_000,
            gres: "gpu:a:1,gpu:b:1".into(),
            features: vec![],
            topology: None,
        };
        let info = |cpus, memory_mib, gres: &str| NodeInfo {
            name: "e1".into(),
            state: vec![],
            reason: String::new(),
            comment: String::new(),
            partitions: vec![],
            cpus,
            memory_mib,
            gres: gres.into(),
            features: vec![],
            topology: String::new(),
        };
        let gres = "gpu:b:1(S:0),gpu:a:1(S:1)";
        #[rustfmt::skip]
        let rows = [
            (info(8, 64_000, gres),            false),
            (info(8, 64_900, gres),            false),
            (info(8, 63_100, gres),            false),
            (info(8, 66_000, gres),            true),
            (info(7, 64_000, gres),            true),
            (info(8, 64_000, "gpu:a:1"),       true),
            (info(8, 64_000, ""),              true),
        ];
        for (info, expected) in rows {
            assert_eq!(description.is_resized(&info), expected, "{info:?}");
        }
    }

    #[test]
    fn a_cluster_with_a_strange_name_still_has_a_feature() {
        let config = Config { cluster_id: "prod eu,1".into(), ..Config::as_shipped() };
        assert_eq!(mark(&config), "drawbridge-prod_eu_1");
    }
}
