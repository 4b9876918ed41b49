//! The `kubernetes:` part: namespaces, nodes and objects at the start.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_bridge::yaml::path;
use drawbridge_core::names::SLURM_NODE_LABEL;
use drawbridge_fakes::Provisioner;
use drawbridge_sim::{NodeSpec, Quantity, SlurmConfig, expand_hostlist};
use serde_json::{Value, json};

use crate::format::{
    ScenarioError,
    file::{KubernetesSide, NamespaceEntry, NodeEntry, ProvisionerEntry, Taint},
    source::Source,
    suggest,
    text_or::TextOr,
};

/// Pods that a node takes, unless it says otherwise: the kubelet's own limit.
const PODS: &str = "110";

/// The namespaces that the file asks for, beside those that every cluster has.
pub(crate) fn namespaces(side: &KubernetesSide, managed: &[String]) -> Vec<Value> {
    let mut all: BTreeMap<String, BTreeMap<String, String>> =
        managed.iter().map(|name| (name.clone(), BTreeMap::new())).collect();
    for entry in &side.namespaces {
        match entry {
            TextOr::Text(name) => {
                all.entry(name.clone()).or_default();
            }
            TextOr::Full(NamespaceEntry { name, labels }) => {
                all.entry(name.clone()).or_default().extend(labels.clone());
            }
        }
    }
    all.iter()
        .map(|(name, labels)| {
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": labels},
            })
        })
        .collect()
}

/// How the provisioners work that don't work as usual.
pub(crate) fn provisioners(
    side: &KubernetesSide,
    source: &Source,
) -> Result<BTreeMap<String, Provisioner>, ScenarioError> {
    let usual = Provisioner::default();
    let read = |(name, entry): (&String, &ProvisionerEntry)| {
        let ProvisionerEntry { delay, topology, fails, full_on } = entry.clone();
        let full = match &full_on {
            None => vec![],
            Some(nodes) => expand_hostlist(nodes).map_err(|error| {
                let at = path::key(&path::key("kubernetes.provisioners", name), "fullOn");
                source.at(&at, error.to_string()).hinted("write node names: `n1` or `n[1-3]`")
            })?,
        };
        let delay = delay.map_or(usual.delay, |delay| delay.0);
        Ok((name.clone(), Provisioner { delay, topology, fails, full }))
    };
    side.provisioners.iter().map(read).collect()
}

/// The nodes: those of the file, or else one for each of Slurm's.
pub(crate) fn nodes(
    side: &KubernetesSide,
    slurm: &SlurmConfig,
    source: &Source,
) -> Result<Vec<Value>, ScenarioError> {
    match &side.nodes {
        Some(entries) => {
            let nodes = entries.iter().enumerate().map(|(index, entry)| {
                let at = path::index("kubernetes.nodes", index);
                given(entry, &at, slurm, source)
            });
            let nodes = nodes.collect::<Result<Vec<_>, _>>()?.concat();
            each_once(&nodes, source)?;
            Ok(nodes)
        }
        None => {
            let derived = slurm.nodes().iter().map(|spec| {
                let name = spec.name.as_str();
                node(name, BTreeMap::new(), &[], &capacity_of(spec))
            });
            Ok(derived.collect())
        }
    }
}

fn each_once(nodes: &[Value], source: &Source) -> Result<(), ScenarioError> {
    let mut seen = BTreeSet::new();
    let names = nodes.iter().map(|node| node["metadata"]["name"].to_string());
    match names.into_iter().find(|name| !seen.insert(name.clone())) {
        None => Ok(()),
        Some(name) => Err(source
            .at_key("kubernetes.nodes", format!("node {name} is given twice"))
            .hinted("name each node once")),
    }
}

/// The nodes that one entry stands for.
fn given(
    entry: &NodeEntry,
    at: &str,
    slurm: &SlurmConfig,
    source: &Source,
) -> Result<Vec<Value>, ScenarioError> {
    let names = hostlist(&entry.name, &path::key(at, "name"), source)?;
    let slurm_at = path::key(at, "slurmName");
    let slurm_names = match &entry.slurm_name {
        Some(text) => Some(hostlist(text, &slurm_at, source)?),
        None => None,
    };
    if let Some(others) = &slurm_names
        && others.len() != names.len()
    {
        let what = format!("{} names for {} nodes", others.len(), names.len());
        return Err(source
            .at(&slurm_at, what)
            .hinted("`name` and `slurmName` stand for equally many"));
    }
    let one = |(index, name): (usize, &String)| {
        let slurm_name = slurm_names.as_ref().map(|names| &names[index]);
        if let Some(slurm_name) = slurm_name {
            known(slurm_name, slurm).map_err(|hint| {
                let what = format!("there is no Slurm node `{slurm_name}`");
                source.at(&slurm_at, what).hinted(hint)
            })?;
        }
        let mut labels = entry.labels.clone();
        labels.extend(slurm_name.map(|it| (SLURM_NODE_LABEL.to_owned(), it.clone())));
        let capacity = capacity(entry, slurm_name.unwrap_or(name), at, slurm, source)?;
        Ok(node(name, labels, &entry.taints, &capacity))
    };
    names.iter().enumerate().map(one).collect()
}

fn hostlist(text: &str, at: &str, source: &Source) -> Result<Vec<String>, ScenarioError> {
    expand_hostlist(text).map_err(|error| {
        source.at(at, error.to_string()).hinted("write a name, or several as `worker-[0-2]`")
    })
}

fn known(name: &str, slurm: &SlurmConfig) -> Result<(), String> {
    let names: Vec<&str> = slurm.node_names().map(|it| it.as_str()).collect();
    match names.contains(&name) {
        true => Ok(()),
        false => Err(suggest::one_of(name, names)),
    }
}

fn capacity(
    entry: &NodeEntry,
    slurm_name: &str,
    at: &str,
    slurm: &SlurmConfig,
    source: &Source,
) -> Result<BTreeMap<String, String>, ScenarioError> {
    let at = path::key(at, "capacity");
    let spec = slurm.nodes().iter().find(|it| it.name.as_str() == slurm_name);
    match (&entry.capacity, spec) {
        (Some(given), _) => {
            for (resource, amount) in given {
                if Quantity::parse(amount).is_err() {
                    return Err(source
                        .at(&path::key(&at, resource), format!("`{amount}` is not a quantity"))
                        .hinted("write `4`, `500m`, `8Gi` or `100M`"));
                }
            }
            let mut capacity = given.clone();
            capacity.entry("pods".into()).or_insert_with(|| PODS.into());
            Ok(capacity)
        }
        (None, Some(spec)) => Ok(capacity_of(spec)),
        (None, None) => {
            Err(source.at(&at, format!("node `{}` has no capacity", entry.name)).hinted(
                "no Slurm node has its name, so say what it has: \
                 `capacity: {cpu: 8, memory: 16Gi}`",
            ))
        }
    }
}

/// What a Slurm node has, in Kubernetes' terms.
fn capacity_of(spec: &NodeSpec) -> BTreeMap<String, String> {
    let mut capacity = BTreeMap::from([
        ("cpu".to_owned(), spec.cpus.to_string()),
        ("memory".to_owned(), format!("{}Mi", spec.memory_mib)),
        ("pods".to_owned(), PODS.to_owned()),
    ]);
    let gpus: usize =
        spec.gres.iter().filter(|gres| gres.name == "gpu").map(|gres| gres.count).sum();
    if gpus > 0 {
        capacity.insert("nvidia.com/gpu".into(), gpus.to_string());
    }
    capacity
}

fn node(
    name: &str,
    mut labels: BTreeMap<String, String>,
    taints: &[Taint],
    capacity: &BTreeMap<String, String>,
) -> Value {
    for (key, value) in [("kubernetes.io/hostname", name), ("kubernetes.io/os", "linux")] {
        labels.entry(key.into()).or_insert_with(|| value.into());
    }
    let taints: Vec<Value> = taints.iter().map(taint).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            }],
        },
    })
}

fn taint(taint: &Taint) -> Value {
    let effect = format!("{:?}", taint.effect);
    json!({"key": taint.key, "value": taint.value, "effect": effect})
}
