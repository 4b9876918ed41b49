//! What a pod asks for, as Slurm counts it: whole CPUs, whole MiB, GPUs.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::Quantity;
use serde_json::Value;

use super::Refusal;
use crate::view::{Amounts, Container, PodView, Resources};

const GPU_NAMES: [&str; 2] = ["nvidia.com/gpu", "amd.com/gpu"];

/// What one pod asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) cpus: u32,
    /// Nothing if the pod doesn't say.
    pub(crate) memory_mib: Option<u64>,
    pub(crate) gpus: u32,
}

impl Ask {
    /// The larger of both in each respect: one task shape has to fit every pod of a gang.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            cpus: self.cpus.max(other.cpus),
            memory_mib: self.memory_mib.max(other.memory_mib),
            gpus: self.gpus.max(other.gpus),
        }
    }
}

/// Adds up what the pod's containers ask for.
pub(crate) fn ask(pod: &PodView) -> Result<Ask, Refusal> {
    let cpus = total(pod, "cpu", From::Requests)?.ceil_units().max(1);
    let memory = total(pod, "memory", From::Requests)?.ceil_mib();
    let mut gpus = 0;
    for name in GPU_NAMES {
        gpus += total(pod, name, From::Limits)?.ceil_units();
    }
    Ok(Ask {
        cpus: small(cpus, "cpu")?,
        memory_mib: (memory > 0).then_some(memory),
        gpus: small(gpus, "gpu")?,
    })
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

/// Whether Slurm is told how much of this a pod asks for, and counts it.
pub(crate) fn is_told(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || GPU_NAMES.contains(&resource)
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
    let (first, second) = match from {
        From::Requests => (&resources.requests, &resources.limits),
        From::Limits => (&resources.limits, &resources.requests),
    };
    let found = amount(first, place, name)?;
    let found = if found.is_some() { found } else { amount(second, place, name)? };
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
            Ok(Ask { cpus, memory_mib, gpus }) => {
                let memory = memory_mib.map_or("-".into(), |mib| mib.to_string());
                format!("{cpus} {memory} {gpus}")
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
        let limit =
            container(&json!({}), &json!({ "cpu": 2, "memory": "1Gi", "nvidia.com/gpu": "1" }));
        let init = container(&json!({ "cpu": "6" }), &json!({}));
        let mut sidecar = container(&json!({ "cpu": "1" }), &json!({}));
        sidecar["restartPolicy"] = json!("Always");
        #[rustfmt::skip]
        let rows = [
            ("nothing asked",            json!({ "containers": [{ "name": "c" }] }),                               "1 - 0"),
            ("half a CPU is one",        json!({ "containers": [half] }),                                          "1 2 0"),
            ("two halves are one",       json!({ "containers": [half, half] }),                                    "1 3 0"),
            ("limits where no request",  json!({ "containers": [limit] }),                                         "2 1024 1"),
            ("init is a peak",           json!({ "containers": [limit], "initContainers": [init] }),               "6 1024 1"),
            ("sidecars are added",       json!({ "containers": [limit], "initContainers": [sidecar, init] }),      "7 1024 1"),
            ("overhead is added",        json!({ "containers": [limit], "overhead": { "cpu": "250m" } }),          "3 1024 1"),
            ("the pod's own amount wins",json!({ "containers": [limit], "resources": { "requests": { "cpu": "4" } } }), "4 1024 1"),
            ("nonsense is refused",      json!({ "containers": [container(&json!({ "cpu": "lots" }), &json!({}))] }), "c asks for `lots` of cpu, which is no quantity"),
        ];
        for (what, spec, expected) in rows {
            assert_eq!(asked(&spec), expected, "{what}");
        }
    }
}
