//! Who lives where: every pod that has a place, ours and others', as far as it takes something up.
//!
//! ```text
//!  pods of other schedulers ── watch ──┐
//!  pods of ours that are bound ────────┼──▶ tenants of each node ──▶ load of ours · load of others
//!  pods of ours that have a seat ──────┘
//! ```
//!
//! A seat counts from the moment that it is given: two workloads that are placed at the same time
//! must not both take the last port, or sit beside each other where one forbids it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::AddAssign,
    sync::Arc,
};

use drawbridge_sim::Quantity;

use crate::{
    names::{KubeNode, ObjectKey, Uid},
    translate::{is_told, requests},
    view::{Amounts, Container, PodTerm, PodView, Port, quantity},
};

/// Amounts by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load(BTreeMap<String, Quantity>);

/// A port of a node that a pod takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    address: String,
    protocol: String,
    pub(crate) number: u32,
}

/// One pod with a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tenant {
    pub(crate) key: ObjectKey,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) is_ours: bool,
    /// It was told to go.
    pub(crate) is_leaving: bool,
    pub(crate) load: Load,
    pub(crate) ports: Vec<HostPort>,
    /// Whom it keeps away.
    pub(crate) keeps_off: Vec<PodTerm>,
    /// Claims that it uses.
    pub(crate) claims: Vec<ObjectKey>,
}

/// What lives on one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lodging {
    tenants: BTreeMap<Uid, Arc<Tenant>>,
    /// Of everybody else.
    others: Load,
    /// Of ours, as far as Slurm isn't told.
    untold: Load,
}

/// Everybody with a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tenants {
    nodes: BTreeMap<KubeNode, Lodging>,
    homes: BTreeMap<Uid, KubeNode>,
    /// Pods of ours that were given a place and aren't bound yet.
    seats: BTreeMap<Uid, KubeNode>,
    /// Those who keep others away.
    aloof: BTreeMap<Uid, KubeNode>,
}

impl Load {
    /// What a pod asks for; itself is one of the pods that a node can have.
    pub(crate) fn of(pod: &PodView) -> Self {
        let mut load = requests(pod);
        load.insert("pods".into(), Quantity::units(1));
        Self(load)
    }

    pub(crate) fn read(amounts: &Amounts) -> Self {
        let read = |(name, value): (&String, _)| Some((name.clone(), quantity(value)?));
        Self(amounts.iter().filter_map(read).collect())
    }

    pub(crate) fn get(&self, resource: &str) -> Quantity {
        self.0.get(resource).copied().unwrap_or_default()
    }

    pub(crate) fn has(&self, resource: &str) -> bool {
        self.0.contains_key(resource)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }
}

impl AddAssign<&Self> for Load {
    fn add_assign(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            match self.0.get_mut(name) {
                Some(sum) => *sum = *sum + *amount,
                None => drop(self.0.insert(name.clone(), *amount)),
            }
        }
    }
}

impl HostPort {
    /// The ports of the node that a pod takes. On the host's network all of its ports are.
    pub(crate) fn of(pod: &PodView) -> Vec<Self> {
        let sidecar = |init: &&Container| init.restart_policy.as_deref() == Some("Always");
        let sidecars = pod.spec.init_containers.iter().filter(sidecar);
        let ports = pod.spec.containers.iter().chain(sidecars).flat_map(|one| &one.ports);
        ports.filter_map(|port| Self::read(port, pod.spec.host_network)).collect()
    }

    fn read(port: &Port, is_on_host: bool) -> Option<Self> {
        let own = if is_on_host { port.container_port } else { 0 };
        let number = if port.host_port > 0 { port.host_port } else { own };
        let or = |text: &Option<String>, usual: &str| text.clone().unwrap_or_else(|| usual.into());
        (number > 0).then(|| Self {
            address: or(&port.host_ip, "0.0.0.0"),
            protocol: or(&port.protocol, "TCP"),
            number,
        })
    }

    /// Whether two pods can't have both on one node.
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        let any = |it: &Self| matches!(it.address.as_str(), "" | "0.0.0.0" | "::");
        self.number == other.number
            && self.protocol == other.protocol
            && (self.address == other.address || any(self) || any(other))
    }
}

impl Tenant {
    pub(crate) fn of(pod: &PodView, is_ours: bool) -> Self {
        Self {
            key: pod.key(),
            labels: pod.metadata.labels.clone(),
            is_ours,
            is_leaving: pod.is_leaving(),
            load: Load::of(pod),
            ports: HostPort::of(pod),
            keeps_off: pod.spec.affinity.pod_anti_affinity.required.clone(),
            claims: pod.claims().collect(),
        }
    }
}

impl Lodging {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Uid, &Arc<Tenant>)> {
        self.tenants.iter()
    }

    /// What is held of a resource while a job waits in the queue: of what Slurm counts for itself,
    /// ours is Slurm's business.
    pub(crate) fn held_beside_slurm(&self, resource: &str) -> Quantity {
        self.others.get(resource) + self.untold.get(resource)
    }

    fn count(&mut self) {
        (self.others, self.untold) = (Load::default(), Load::default());
        for tenant in self.tenants.values() {
            if !tenant.is_ours {
                self.others += &tenant.load;
                continue;
            }
            let untold = tenant.load.0.iter().filter(|(name, _)| !is_told(name));
            self.untold += &Load(untold.map(|(name, amount)| (name.clone(), *amount)).collect());
        }
    }
}

impl Tenants {
    pub(crate) fn on(&self, node: &KubeNode) -> Option<&Lodging> {
        self.nodes.get(node)
    }

    /// Everybody, with their nodes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&KubeNode, &Uid, &Arc<Tenant>)> {
        self.nodes.iter().flat_map(|(node, lodging)| {
            lodging.tenants.iter().map(move |(uid, tenant)| (node, uid, tenant))
        })
    }

    /// Those who keep others away, with their nodes.
    pub(crate) fn aloof(&self) -> impl Iterator<Item = (&KubeNode, &Uid, &Arc<Tenant>)> {
        self.aloof.iter().filter_map(|(uid, node)| {
            let (uid, tenant) = self.nodes.get(node)?.tenants.get_key_value(uid)?;
            Some((node, uid, tenant))
        })
    }

    /// Takes the state of somebody else's pod.
    pub(crate) fn put_other(&mut self, pod: &PodView) {
        let node = pod.node().filter(|_| !pod.is_terminal());
        self.put(pod, node, false);
    }

    /// Takes the state of a pod of ours.
    pub(crate) fn put_ours(&mut self, pod: &PodView) {
        let seat = self.seats.get(pod.uid()).filter(|_| !pod.is_leaving()).cloned();
        let node = pod.node().or(seat).filter(|_| !pod.is_terminal());
        self.put(pod, node, true);
    }

    /// Gives a pod of ours a place, before it is bound there.
    pub(crate) fn seat(&mut self, pod: &PodView, node: &KubeNode) {
        if self.seats.insert(pod.uid().clone(), node.clone()).as_ref() != Some(node) {
            self.put_ours(pod);
        }
    }

    /// Takes the place back; if the pod is bound it stays where it is.
    pub(crate) fn unseat(&mut self, uid: &Uid, pod: Option<&PodView>) {
        if self.seats.remove(uid).is_some() {
            match pod {
                Some(pod) => self.put_ours(pod),
                None => self.drop_pod(uid),
            }
        }
    }

    /// The pod is gone.
    pub(crate) fn drop_pod(&mut self, uid: &Uid) {
        self.seats.remove(uid);
        self.aloof.remove(uid);
        if let Some(node) = self.homes.remove(uid)
            && let Some(lodging) = self.nodes.get_mut(&node)
        {
            lodging.tenants.remove(uid);
            lodging.count();
            if lodging.tenants.is_empty() {
                self.nodes.remove(&node);
            }
        }
    }

    /// Somebody else's pods, by uid.
    pub(crate) fn others(&self) -> BTreeSet<Uid> {
        let others = self.iter().filter(|(_, _, tenant)| !tenant.is_ours);
        others.map(|(_, uid, _)| uid.clone()).collect()
    }

    fn put(&mut self, pod: &PodView, node: Option<KubeNode>, is_ours: bool) {
        let uid = pod.uid();
        if self.homes.get(uid) != node.as_ref() {
            let seat = self.seats.remove(uid);
            self.drop_pod(uid);
            self.seats.extend(seat.map(|seat| (uid.clone(), seat)));
        }
        let Some(node) = node else {
            return;
        };
        let tenant = Tenant::of(pod, is_ours);
        let lodging = self.nodes.entry(node.clone()).or_default();
        if lodging.tenants.get(uid).is_some_and(|known| **known == tenant) {
            return;
        }
        if tenant.keeps_off.is_empty() {
            self.aloof.remove(uid);
        } else {
            self.aloof.insert(uid.clone(), node.clone());
        }
        lodging.tenants.insert(uid.clone(), Arc::new(tenant));
        lodging.count();
        self.homes.insert(uid.clone(), node);
    }
}
