//! What the controllers look up: pods by owner and by node, nodes, and what is held on them.
//!
//! Kept up to date change by change, never rebuilt.

use std::{collections::BTreeMap, sync::Arc};

use super::{amounts::Amounts, node::Node, object::Key, pod::Pod};

type Groups = BTreeMap<Arc<str>, BTreeMap<Key, Arc<Pod>>>;

/// The lookups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pods: BTreeMap<Key, Arc<Pod>>,
    by_owner: Groups,
    by_node: Groups,
    nodes: BTreeMap<Arc<str>, Arc<Node>>,
    /// What bound pods that haven't ended reserve, node by node.
    held: BTreeMap<Arc<str>, Amounts>,
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

    /// The pods bound to a node, by name.
    pub(crate) fn on_node(&self, name: &str) -> impl Iterator<Item = &Arc<Pod>> {
        members(&self.by_node, name)
    }

    /// All nodes by name, with what is held on each.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Node, &Amounts)> {
        static NOTHING: Amounts = Amounts::NONE;
        self.nodes.iter().map(|(name, node)| (&**node, self.held.get(name).unwrap_or(&NOTHING)))
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
            if let Some(held) = pod.holds().and_then(|node| self.held.get_mut(node)) {
                held.subtract(&pod.demand.requests);
            }
        }
        if let Some(pod) = now {
            join(&mut self.by_owner, pod.owner.as_ref(), pod);
            join(&mut self.by_node, pod.node.as_ref(), pod);
            if let Some(node) = pod.holds() {
                let held = self.held.entry(node.clone()).or_default();
                held.add(&pod.demand.requests);
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
