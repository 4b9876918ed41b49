//! I3: no core, GPU index or byte of memory is held twice, on either side.

use std::collections::BTreeMap;

use drawbridge_fakes::{Change, ChangeKind};
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
    /// What running pods hold on each Kubernetes node, by uid.
    pods: BTreeMap<String, BTreeMap<String, Amounts>>,
    /// What each Kubernetes node has.
    room: BTreeMap<String, Amounts>,
}

/// What pods may not hold more of than there is.
#[derive(Clone, Copy, Debug, Default)]
struct Amounts {
    cpu_milli: u64,
    memory_mib: u64,
    gpus: u64,
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
            | Fact::JobSplit { .. }
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
        let all = held.values().fold(Amounts::default(), |all, one| all.plus(*one));
        let room = self.room.get(node).copied().unwrap_or_default();
        (!all.fits(room)).then(|| format!("I3: pods on {node} hold {all:?} of {room:?}"))
    }

    /// Counts everything again, from the model and the pods that live.
    pub(super) fn recount(&self, slurm: &Slurmctld, live: &[Object<'_>]) -> Vec<String> {
        let [slots, memory] = self.recount_slurm(slurm);
        slots.into_iter().chain(memory).chain(self.recount_pods(live)).collect()
    }

    fn recount_slurm(&self, slurm: &Slurmctld) -> [Option<String>; 2] {
        let (mut counted, mut memory) = (BTreeMap::new(), BTreeMap::<String, u64>::new());
        for job in slurm.jobs().filter(|job| job.holds_nodes()) {
            let Some(allocation) = job.allocation.as_deref() else { continue };
            counted.extend(slots(allocation).into_iter().map(|slot| (slot, job.id)));
            for share in &allocation.nodes {
                *memory.entry(share.node.as_str().to_owned()).or_default() += share.memory_mib;
            }
        }
        let is_held = |(_, mib): &(&String, &u64)| 0 < **mib;
        let same_memory = memory.iter().filter(is_held).eq(self.memory.iter().filter(is_held));
        let (n, kept) = (counted.len(), self.slots.len());
        [
            (counted != self.slots)
                .then(|| format!("I3: {n} slots are held, the index says {kept}")),
            (!same_memory)
                .then(|| format!("I3: jobs hold {memory:?} MiB, the index says {:?}", self.memory)),
        ]
    }

    fn recount_pods(&self, live: &[Object<'_>]) -> Option<String> {
        let running = live.iter().filter(|pod| pod.phase() == "Running");
        let mut running: Vec<&str> = running.map(|pod| pod.uid()).collect();
        let mut kept: Vec<&str> =
            self.pods.values().flatten().map(|(uid, _)| uid.as_str()).collect();
        running.sort_unstable();
        kept.sort_unstable();
        let (n, index) = (running.len(), kept.len());
        (running != kept).then(|| format!("I3: {n} pods run, the index says {index}"))
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

impl Amounts {
    fn plus(self, other: Self) -> Self {
        // Destructured so that a new field can't be forgotten here.
        let Self { cpu_milli, memory_mib, gpus } = other;
        Self {
            cpu_milli: self.cpu_milli + cpu_milli,
            memory_mib: self.memory_mib + memory_mib,
            gpus: self.gpus + gpus,
        }
    }

    fn fits(self, room: Self) -> bool {
        let Self { cpu_milli, memory_mib, gpus } = room;
        self.cpu_milli <= cpu_milli && self.memory_mib <= memory_mib && self.gpus <= gpus
    }

    /// Reads a map of Kubernetes quantities.
    fn of(map: Option<&Value>) -> Self {
        let of = |name: &str| quantity(map.and_then(|map| map.get(name)));
        let gpus = map.and_then(Value::as_object).into_iter().flatten();
        let gpus = gpus.filter(|(name, _)| name.ends_with("/gpu"));
        Self {
            cpu_milli: of("cpu").map_or(0, Quantity::milli),
            memory_mib: of("memory").map_or(0, Quantity::ceil_mib),
            gpus: gpus.filter_map(|(_, it)| quantity(Some(it))).map(Quantity::ceil_units).sum(),
        }
    }
}

fn capacity(node: &Value) -> Amounts {
    let node = Object(node);
    Amounts::of(node.at(&["status", "allocatable"]).or_else(|| node.at(&["status", "capacity"])))
}

fn requests(pod: &Value) -> Amounts {
    let containers = Object(pod).at(&["spec", "containers"]).and_then(Value::as_array);
    containers.into_iter().flatten().fold(Amounts::default(), |all, container| {
        let part = |name: &str| Object(container).at(&["resources", name]);
        // A limit without a request is a request too; GPUs have only limits.
        let (asked, limits) = (Amounts::of(part("requests")), Amounts::of(part("limits")));
        all.plus(Amounts { gpus: asked.gpus.max(limits.gpus), ..asked })
    })
}

fn quantity(value: Option<&Value>) -> Option<Quantity> {
    match value? {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
