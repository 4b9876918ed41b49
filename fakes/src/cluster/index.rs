//! What the controllers look up: pods by owner and by node, nodes, and what is held on them.
//!
//! Kept up to date change by change, never rebuilt.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{amounts::Amounts, demand::Demand, node::Node, object::Key, pod::Pod};

type Groups = BTreeMap<Arc<str>, BTreeMap<Key, Arc<Pod>>>;

/// The lookups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pods: BTreeMap<Key, Arc<Pod>>,
    by_owner: Groups,
    by_node: Groups,
    /// The pods that nobody controls, by namespace.
    orphans: Groups,
    /// The pods that have ended, oldest first.
    ended: BTreeSet<(u64, Key)>,
    nodes: BTreeMap<Arc<str>, Arc<Node>>,
    /// What bound pods that haven't ended reserve, node by node.
    held: BTreeMap<Arc<str>, Held>,
    /// Bound pods that ask something of pods near them.
    social: BTreeMap<Key, Arc<Pod>>,
    /// Pods for which room is being made, by node.
    nominated: Groups,
    /// Pods that are to be bound to a node once their volumes are there.
    assumed: BTreeMap<Key, (Arc<str>, Arc<Pod>)>,
}

/// What is taken on a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    pub(crate) requests: Amounts,
    /// What counts when nodes are compared.
    pub(crate) weight: [u64; 2],
    /// Pods that have ports of the host.
    ports: BTreeMap<Key, Arc<Demand>>,
}

impl Held {
    /// Nothing.
    pub(crate) const NONE: Self =
        Self { requests: Amounts::NONE, weight: [0; 2], ports: BTreeMap::new() };

    pub(crate) fn add(&mut self, pod: &Pod) {
        self.requests.add(&pod.demand.requests);
        for (held, own) in self.weight.iter_mut().zip(pod.demand.weight) {
            *held = held.saturating_add(own);
        }
        if !pod.demand.ports.is_empty() {
            self.ports.insert(pod.key.clone(), pod.demand.clone());
        }
    }

    pub(crate) fn remove(&mut self, pod: &Pod) {
        self.requests.subtract(&pod.demand.requests);
        for (held, own) in self.weight.iter_mut().zip(pod.demand.weight) {
            *held = held.saturating_sub(own);
        }
        self.ports.remove(&pod.key);
    }

    /// Whether a port of the host that is asked for is taken.
    pub(crate) fn clashes(&self, demand: &Demand) -> bool {
        let taken = || self.ports.values().flat_map(|it| &it.ports);
        demand.ports.iter().any(|port| taken().any(|other| port.clashes(other)))
    }
}

impl Index {
    pub(crate) fn pod(&self, key: &Key) -> Option<&Arc<Pod>> {
        self.pods.get(key)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name)
    }

    /// The pods that an object controls, by name.
    pub(crate) fn owned(&self, uid: &str) -> Vec<Arc<Pod>> {
        members(&self.by_owner, uid).cloned().collect()
    }

    /// The pods of a namespace, by name.
    pub(crate) fn in_namespace<'a>(
        &'a self,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Pod>> + use<'a> {
        let first = Key::new(namespace, "");
        let home = first.namespace.clone();
        let from = self.pods.range(first..);
        from.take_while(move |(key, _)| key.namespace == home).map(|(_, pod)| pod)
    }

    /// The pods of a namespace that nobody controls, by name.
    pub(crate) fn orphans(&self, namespace: &str) -> impl Iterator<Item = &Arc<Pod>> {
        members(&self.orphans, namespace)
    }

    /// The pods bound to a node, by name.
    pub(crate) fn on_node(&self, name: &str) -> impl Iterator<Item = &Arc<Pod>> {
        members(&self.by_node, name)
    }

    /// The pods that have ended, oldest first.
    pub(crate) fn ended(&self) -> &BTreeSet<(u64, Key)> {
        &self.ended
    }

    /// All nodes by name, with what is held on each.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Node, &Held)> + Clone {
        static NOTHING: Held = Held::NONE;
        self.nodes.iter().map(|(name, node)| (&**node, self.held.get(name).unwrap_or(&NOTHING)))
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Bound pods that ask something of pods near them.
    pub(crate) fn social(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.social.values()
    }

    /// The pods for which room is being made on a node.
    pub(crate) fn nominated(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        members(&self.nominated, node)
    }

    /// The pods that are on a node, or will be once their volumes are there.
    pub(crate) fn taking(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        let assumed = self.assumed.values().filter(move |(it, _)| **it == *node);
        let bound = self.on_node(node).filter(|pod| pod.holds().is_some());
        bound.chain(assumed.map(|(_, pod)| pod))
    }

    /// All pods that wait for their volumes on a node that is kept for them.
    pub(crate) fn all_assumed(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.assumed.values().map(|(_, pod)| pod)
    }

    /// A pod will be bound to this node once its volumes are there.
    pub(crate) fn assume(&mut self, pod: &Arc<Pod>, node: &Arc<str>) {
        self.held.entry(node.clone()).or_default().add(pod);
        self.assumed.insert(pod.key.clone(), (node.clone(), pod.clone()));
    }

    /// It won't, or it was bound.
    pub(crate) fn unassume(&mut self, key: &Key) -> Option<Arc<str>> {
        let (node, pod) = self.assumed.remove(key)?;
        if let Some(held) = self.held.get_mut(&node) {
            held.remove(&pod);
        }
        Some(node)
    }

    /// Stores what a pod is now, or that it's gone; gives back what it was.
    pub(crate) fn set_pod(&mut self, key: &Key, now: Option<&Arc<Pod>>) -> Option<Arc<Pod>> {
        let before = match now {
            Some(pod) => self.pods.insert(key.clone(), pod.clone()),
            None => self.pods.remove(key),
        };
        if let Some(pod) = &before {
            leave(&mut self.by_owner, pod.owner.as_ref(), key);
            leave(&mut self.by_node, pod.node.as_ref(), key);
            leave(&mut self.orphans, orphaned(pod), key);
            if pod.terminal() {
                self.ended.remove(&(pod.created, key.clone()));
            }
            leave(&mut self.nominated, hoped_for(pod), key);
            if let Some(held) = pod.holds().and_then(|node| self.held.get_mut(node)) {
                held.remove(pod);
                self.social.remove(key);
            }
        }
        if let Some(pod) = now {
            join(&mut self.by_owner, pod.owner.as_ref(), pod);
            join(&mut self.by_node, pod.node.as_ref(), pod);
            join(&mut self.orphans, orphaned(pod), pod);
            if pod.terminal() {
                self.ended.insert((pod.created, key.clone()));
            }
            join(&mut self.nominated, hoped_for(pod), pod);
            if let Some(node) = pod.holds() {
                self.held.entry(node.clone()).or_default().add(pod);
                if pod.demand.peers.is_some() {
                    self.social.insert(key.clone(), pod.clone());
                }
            }
        }
        before
    }

    /// Stores what a node is now, or that it's gone; gives back what it was.
    pub(crate) fn set_node(&mut self, name: &str, now: Option<Arc<Node>>) -> Option<Arc<Node>> {
        match now {
            Some(node) => self.nodes.insert(name.into(), node),
            None => self.nodes.remove(name),
        }
    }
}

/// The namespace of a pod that nobody controls.
fn orphaned(pod: &Pod) -> Option<&Arc<str>> {
    pod.owner.is_none().then_some(&pod.key.namespace)
}

/// The node on which room is being made for a pod.
fn hoped_for(pod: &Pod) -> Option<&Arc<str>> {
    pod.nominated.as_ref().filter(|_| pod.node.is_none() && pod.active())
}

fn members<'a>(groups: &'a Groups, id: &str) -> impl Iterator<Item = &'a Arc<Pod>> + use<'a> {
    groups.get(id).into_iter().flat_map(BTreeMap::values)
}

fn join(groups: &mut Groups, id: Option<&Arc<str>>, pod: &Arc<Pod>) {
    if let Some(id) = id {
        let pods = groups.entry(id.clone()).or_default();
        pods.insert(pod.key.clone(), pod.clone());
    }
}

fn leave(groups: &mut Groups, id: Option<&Arc<str>>, key: &Key) {
    let Some(id) = id else { return };
    if let Some(pods) = groups.get_mut(id) {
        pods.remove(key);
        if pods.is_empty() {
            groups.remove(id);
        }
    }
}
