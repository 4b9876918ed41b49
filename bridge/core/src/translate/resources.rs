//! What a pod asks for, as Slurm counts it: whole CPUs, whole MiB, devices.
//!
//! CPUs and memory are what the pod may use: its requests or its limits, whichever is more, as in
//! the existing bridge. Slurm keeps native jobs off them, so what the kubelet permits must be ours.
//! Ephemeral storage and huge pages stay between Kubernetes and the kubelet: Slurm doesn't know them.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::Quantity;
use serde_json::Value;

use super::{Refusal, devices::CLASS_PREFIX};
use crate::{
    config::{Devices, Gres},
    view::{Amounts, Container, PodView, Resources},
};

/// What one pod asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) cpus: u32,
    /// Nothing if the pod doesn't say.
    pub(crate) memory_mib: Option<u64>,
    /// How many of each.
    pub(crate) devices: BTreeMap<Gres, u32>,
}

impl Ask {
    /// The larger of both in each respect: one task shape has to fit every pod of a gang.
    pub(crate) fn max(mut self, other: Self) -> Self {
        for (gres, count) in other.devices {
            let most = self.devices.entry(gres).or_default();
            *most = count.max(*most);
        }
        Self {
            cpus: self.cpus.max(other.cpus),
            memory_mib: self.memory_mib.max(other.memory_mib),
            devices: self.devices,
        }
    }

    /// The devices as `tres_per_task` wants them: `gres/gpu:a100:1,gres/shard:2`.
    pub(crate) fn tres_per_task(&self) -> Option<String> {
        let texts = self.devices.iter().filter(|(_, count)| 0 < **count);
        let texts: Vec<_> = texts.map(|(gres, count)| format!("gres/{gres}:{count}")).collect();
        (!texts.is_empty()).then(|| texts.join(","))
    }
}

/// Adds up what the pod's containers ask for in CPUs and memory.
pub(crate) fn ask(pod: &PodView) -> Result<Ask, Refusal> {
    let cpus = may_use(pod, "cpu")?.ceil_units().max(1);
    let memory = may_use(pod, "memory")?.ceil_mib();
    Ok(Ask {
        cpus: small(cpus, "cpu")?,
        memory_mib: (memory > 0).then_some(memory),
        devices: BTreeMap::new(),
    })
}

/// How many pieces of a resource that is counted in whole ones.
pub(super) fn pieces(pod: &PodView, resource: &str) -> Result<u32, Refusal> {
    small(total(pod, resource, From::Limits)?.ceil_units(), resource)
}

fn may_use(pod: &PodView, resource: &str) -> Result<Quantity, Refusal> {
    Ok(total(pod, resource, From::Requests)?.max(total(pod, resource, From::LimitsAlone)?))
}

/// Everything that the pod asks for, by name, as a kubelet adds it up.
pub(crate) fn requests(pod: &PodView) -> BTreeMap<String, Quantity> {
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let resources = containers.map(|one| &one.resources).chain([&pod.spec.resources]);
    let named = resources.flat_map(|it| it.requests.keys().chain(it.limits.keys()));
    let names: BTreeSet<_> = named.chain(pod.spec.overhead.keys()).collect();
    let amount = |name: &String| total(pod, name, From::Requests).unwrap_or_default();
    let amounts = names.into_iter().map(|name| (name.clone(), amount(name)));
    amounts.filter(|(_, amount)| !amount.is_zero()).collect()
}

/// Whether Slurm is told how much of this a pod asks for, and counts it: whatever the configuration
/// says beside, so that a node's room for what an administrator mapped counts as well.
pub(crate) fn is_told(resource: &str) -> bool {
    let is_device = || Devices::default().plugin(resource, |_| None).is_some();
    matches!(resource, "cpu" | "memory") || resource.starts_with(CLASS_PREFIX) || is_device()
}

fn small(amount: u64, resource: &str) -> Result<u32, Refusal> {
    u32::try_from(amount).map_err(|_| Refusal::Quantity {
        place: "the whole pod".into(),
        resource: resource.into(),
        value: amount.to_string(),
    })
}

#[derive(Clone, Copy)]
enum From {
    /// Requests; limits where there is no request.
    Requests,
    /// Limits; requests where there is no limit.
    Limits,
    /// Limits, and nothing where there is none.
    LimitsAlone,
}

/// The pod's total of one resource: what runs together, or the init step that needs most.
fn total(pod: &PodView, resource: &str, from: From) -> Result<Quantity, Refusal> {
    let mut sidecars = Quantity::ZERO;
    let mut peak = Quantity::ZERO;
    for init in &pod.spec.init_containers {
        let needs = of(&init.resources, &init.name, resource, from)?;
        if is_sidecar(init) {
            sidecars = sidecars + needs;
        }
        peak = peak.max(if is_sidecar(init) { sidecars } else { sidecars + needs });
    }
    let mut sum = sidecars;
    for container in &pod.spec.containers {
        sum = sum + of(&container.resources, &container.name, resource, from)?;
    }
    let containers = sum.max(peak);
    let whole_pod = of(&pod.spec.resources, "the whole pod", resource, from)?;
    let base = if whole_pod.is_zero() { containers } else { whole_pod };
    Ok(base + amount(&pod.spec.overhead, "overhead", resource)?.unwrap_or_default())
}

fn is_sidecar(init: &Container) -> bool {
    init.restart_policy.as_deref() == Some("Always")
}

fn of(resources: &Resources, place: &str, name: &str, from: From) -> Result<Quantity, Refusal> {
    let Resources { requests, limits, .. } = resources;
    let (first, second) = match from {
        From::Requests => (requests, Some(limits)),
        From::Limits => (limits, Some(requests)),
        From::LimitsAlone => (limits, None),
    };
    let mut found = amount(first, place, name)?;
    if let (None, Some(second)) = (found, second) {
        found = amount(second, place, name)?;
    }
    Ok(found.unwrap_or_default())
}

fn amount(amounts: &Amounts, place: &str, resource: &str) -> Result<Option<Quantity>, Refusal> {
    let Some(value) = amounts.get(resource) else {
        return Ok(None);
    };
    let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
    let wrong = || Refusal::Quantity {
        place: place.into(),
        resource: resource.into(),
        value: text.clone(),
    };
    match value {
        Value::String(_) | Value::Number(_) => {
            Quantity::parse(&text).map(Some).map_err(|_| wrong())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(spec: &Value) -> String {
        let pod = json!({ "metadata": { "name": "p", "uid": "u" }, "spec": spec });
        match ask(&serde_json::from_value(pod).unwrap()) {
            Ok(Ask { cpus, memory_mib, .. }) => {
                let memory = memory_mib.map_or("-".into(), |mib| mib.to_string());
                format!("{cpus} {memory}")
            }
            Err(refusal) => refusal.to_string(),
        }
    }

    fn container(requests: &Value, limits: &Value) -> Value {
        json!({ "name": "c", "resources": { "requests": requests, "limits": limits } })
    }

    #[test]
    fn amounts_are_added_up_and_rounded_up() {
        let half = container(&json!({ "cpu": "500m", "memory": "1500Ki" }), &json!({}));
        let limit = container(&json!({}), &json!({ "cpu": 2, "memory": "1Gi" }));
        let burst = container(&json!({ "cpu": 1, "memory": "1Gi" }), &json!({ "cpu": 3 }));
        let tiny = container(&json!({ "memory": 1 }), &json!({}));
        let init = container(&json!({ "cpu": "6" }), &json!({}));
        let mut sidecar = container(&json!({ "cpu": "1" }), &json!({}));
        sidecar["restartPolicy"] = json!("Always");
        #[rustfmt::skip]
        let rows = [
            ("nothing asked",            json!({ "containers": [{ "name": "c" }] }),                               "1 -"),
            ("half a CPU is one",        json!({ "containers": [half] }),                                          "1 2"),
            ("two halves are one",       json!({ "containers": [half, half] }),                                    "1 3"),
            ("a byte is a MiB, never 0", json!({ "containers": [tiny] }),                                          "1 1"),
            ("limits where no request",  json!({ "containers": [limit] }),                                         "2 1024"),
            ("limits that are more",     json!({ "containers": [burst] }),                                         "3 1024"),
            ("init is a peak",           json!({ "containers": [limit], "initContainers": [init] }),               "6 1024"),
            ("sidecars are added",       json!({ "containers": [limit], "initContainers": [sidecar, init] }),      "7 1024"),
            ("overhead is added",        json!({ "containers": [limit], "overhead": { "cpu": "250m" } }),          "3 1024"),
            ("the pod's own amount wins",json!({ "containers": [limit], "resources": { "requests": { "cpu": "4" } } }), "4 1024"),
            ("nonsense is refused",      json!({ "containers": [container(&json!({ "cpu": "lots" }), &json!({}))] }), "c asks for `lots` of cpu, which is no quantity"),
        ];
        for (what, spec, expected) in rows {
            assert_eq!(asked(&spec), expected, "{what}");
        }
    }
}
