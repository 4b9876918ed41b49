//! I3: no core, GPU index or byte of memory is held twice, on either side.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_fakes::{Change, ChangeKind, KubeApi};
use drawbridge_sim::{Allocation, Fact, JobId, Quantity, Slurmctld};
use serde_json::Value;

use crate::object::Object;

/// Who holds what, kept apart from the model's own books.
#[derive(Clone, Default)]
pub(super) struct Holdings {
    /// `node cpu 3`, `node gpu 0` to its holder.
    slots: BTreeMap<String, JobId>,
    /// Memory in MiB held on each Slurm node.
    memory: BTreeMap<String, u64>,
    /// What each job was given.
    given: BTreeMap<JobId, std::sync::Arc<Allocation>>,
    /// What running pods hold on each Kubernetes node: milli-CPUs, MiB.
    pods: BTreeMap<String, BTreeMap<String, (u64, u64)>>,
    /// What each Kubernetes node has: milli-CPUs, MiB.
    room: BTreeMap<String, (u64, u64)>,
}

impl Holdings {
    pub(super) fn slurm_fact(&mut self, fact: &Fact, slurm: &Slurmctld) -> Vec<String> {
        match fact {
            Fact::JobStarted { job, allocation, .. } => {
                self.given.insert(*job, allocation.clone());
                self.take(*job, allocation, slurm)
            }
            Fact::JobReleased { job } => {
                self.give_back(*job);
                vec![]
            }
            Fact::JobSubmitted { .. }
            | Fact::JobReasonChanged { .. }
            | Fact::JobPlanned { .. }
            | Fact::JobEnded { .. }
            | Fact::JobRequeued { .. }
            | Fact::JobChanged { .. }
            | Fact::JobPurged { .. }
            | Fact::NodeChanged { .. } => vec![],
        }
    }

    fn take(&mut self, job: JobId, allocation: &Allocation, slurm: &Slurmctld) -> Vec<String> {
        let mut findings = vec![];
        for slot in slots(allocation) {
            if let Some(other) = self.slots.insert(slot.clone(), job) {
                findings.push(format!("I3: {slot} is held by job {other} and by job {job}"));
            }
        }
        for share in &allocation.nodes {
            let held = self.memory.entry(share.node.as_str().to_owned()).or_default();
            *held += share.memory_mib;
            let has = slurm.node(&share.node).map_or(0, |node| node.spec.memory_mib);
            if has < *held {
                findings.push(format!("I3: jobs hold {held} MiB of {}'s {has} MiB", share.node));
            }
        }
        findings
    }

    fn give_back(&mut self, job: JobId) {
        let Some(allocation) = self.given.remove(&job) else { return };
        for slot in slots(&allocation) {
            self.slots.remove(&slot);
        }
        for share in &allocation.nodes {
            if let Some(held) = self.memory.get_mut(share.node.as_str()) {
                *held = held.saturating_sub(share.memory_mib);
            }
        }
    }

    pub(super) fn kube_change(&mut self, change: &Change) -> Option<String> {
        let object = Object(&change.object);
        match change.resource {
            "nodes" => {
                self.room.insert(object.name().to_owned(), capacity(object.0));
                None
            }
            "pods" => self.pod(object, change.kind),
            _ => None,
        }
    }

    fn pod(&mut self, pod: Object<'_>, kind: ChangeKind) -> Option<String> {
        let node = pod.node()?;
        let held = self.pods.entry(node.to_owned()).or_default();
        if kind == ChangeKind::Deleted || pod.phase() != "Running" {
            held.remove(pod.uid());
            return None;
        }
        if held.insert(pod.uid().to_owned(), requests(pod.0)).is_some() {
            return None;
        }
        let (cpu, memory) = held.values().fold((0, 0), |(a, b), (x, y)| (a + x, b + y));
        let (cpu_room, memory_room) = self.room.get(node).copied().unwrap_or_default();
        let is_over = cpu_room < cpu || memory_room < memory;
        is_over.then(|| {
            format!("I3: pods on {node} hold {cpu}m CPU of {cpu_room}m and {memory} MiB of {memory_room} MiB")
        })
    }

    /// Counts everything again, from the model and the store.
    pub(super) fn recount(&self, slurm: &Slurmctld, api: &KubeApi) -> Vec<String> {
        let mut counted = BTreeMap::new();
        for job in slurm.jobs().filter(|job| job.holds_nodes()) {
            let allocation = job.allocation.as_deref();
            counted.extend(allocation.into_iter().flat_map(slots).map(|slot| (slot, job.id)));
        }
        let running =
            api.list("pods").map(|pod| Object(pod)).filter(|pod| pod.phase() == "Running");
        let running: BTreeSet<&str> = running.map(Object::uid).collect();
        let kept: BTreeSet<&str> =
            self.pods.values().flatten().map(|(uid, _)| uid.as_str()).collect();
        let slots = (counted != self.slots).then(|| {
            format!("I3: {} slots are held, the index says {}", counted.len(), self.slots.len())
        });
        let pods = (running != kept)
            .then(|| format!("I3: {} pods run, the index says {}", running.len(), kept.len()));
        slots.into_iter().chain(pods).collect()
    }
}

/// Every CPU and device of an allocation by its full name.
fn slots(allocation: &Allocation) -> Vec<String> {
    let mut all = vec![];
    for share in &allocation.nodes {
        all.extend(share.cpu_ids.iter().map(|cpu| format!("{} cpu {cpu}", share.node)));
        for (name, devices) in &share.gres {
            all.extend(devices.iter().map(|device| format!("{} {name} {device}", share.node)));
        }
    }
    all
}

fn capacity(node: &Value) -> (u64, u64) {
    let of = |name: &str| {
        let allocatable = Object(node).at(&["status", "allocatable"]).and_then(|it| it.get(name));
        allocatable.or_else(|| Object(node).at(&["status", "capacity"]).and_then(|it| it.get(name)))
    };
    (
        quantity(of("cpu")).map_or(0, Quantity::milli),
        quantity(of("memory")).map_or(0, Quantity::ceil_mib),
    )
}

fn requests(pod: &Value) -> (u64, u64) {
    let containers = Object(pod).at(&["spec", "containers"]).and_then(Value::as_array);
    containers.into_iter().flatten().fold((0, 0), |(cpu, memory), container| {
        let of = |name: &str| {
            quantity(Object(container).at(&["resources", "requests"]).and_then(|it| it.get(name)))
        };
        (
            cpu + of("cpu").map_or(0, Quantity::milli),
            memory + of("memory").map_or(0, Quantity::ceil_mib),
        )
    })
}

fn quantity(value: Option<&Value>) -> Option<Quantity> {
    match value? {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
