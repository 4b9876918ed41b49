//! What Kubernetes last said, kept by uid or name.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    gang::Gang,
    names::{KubeNode, ObjectKey, Uid, WORKER_LABEL},
    view::{NodeView, PodGroupView, PodView},
};

/// A NodeSet's worker pod, as evidence of where a Slurm node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) pod: ObjectKey,
    /// The names under which Slurm may know it: its label, then its own name.
    pub(crate) names: Vec<String>,
    pub(crate) node: KubeNode,
}

/// Copies of Kubernetes objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pods: BTreeMap<Uid, Arc<PodView>>,
    uids: BTreeMap<ObjectKey, Uid>,
    nodes: BTreeMap<KubeNode, Arc<NodeView>>,
    workers: BTreeMap<Uid, Worker>,
    groups: BTreeMap<Gang, Arc<PodGroupView>>,
}

impl Store {
    pub(crate) fn pod(&self, uid: &Uid) -> Option<&Arc<PodView>> {
        self.pods.get(uid)
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &Arc<PodView>> {
        self.pods.values()
    }

    /// Takes a pod's state. Returns `false` if a newer one is known.
    pub(crate) fn put_pod(&mut self, pod: PodView) -> bool {
        let uid = pod.uid().clone();
        if let Some(known) = self.pods.get(&uid)
            && pod.metadata.is_older_than(&known.metadata)
        {
            return false;
        }
        self.uids.insert(pod.key(), uid.clone());
        self.pods.insert(uid, Arc::new(pod));
        true
    }

    pub(crate) fn drop_pod(&mut self, uid: &Uid) -> Option<Arc<PodView>> {
        let pod = self.pods.remove(uid)?;
        if self.uids.get(&pod.key()) == Some(uid) {
            self.uids.remove(&pod.key());
        }
        Some(pod)
    }

    /// The pod that has this name now.
    pub(crate) fn uid_of(&self, key: &ObjectKey) -> Option<&Uid> {
        self.uids.get(key)
    }

    pub(crate) fn node(&self, name: &KubeNode) -> Option<&Arc<NodeView>> {
        self.nodes.get(name)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<NodeView>> {
        self.nodes.values()
    }

    /// Takes a node's state. Returns what was known before, if this is newer.
    pub(crate) fn put_node(&mut self, node: NodeView) -> Put<NodeView> {
        let name = node.name();
        if let Some(known) = self.nodes.get(&name)
            && node.metadata.is_older_than(&known.metadata)
        {
            return Put::Stale;
        }
        Put::Taken(self.nodes.insert(name, Arc::new(node)))
    }

    pub(crate) fn drop_node(&mut self, name: &KubeNode) {
        self.nodes.remove(name);
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.workers.values()
    }

    pub(crate) fn worker_uids(&self) -> Vec<Uid> {
        self.workers.keys().cloned().collect()
    }

    /// Takes a worker pod's state. Returns whether it says anything new about where it is.
    pub(crate) fn put_worker(&mut self, pod: &PodView) -> bool {
        let Some(worker) = worker_of(pod) else {
            return self.drop_worker(pod.uid());
        };
        let before = self.workers.insert(pod.uid().clone(), worker.clone());
        before.as_ref() != Some(&worker)
    }

    pub(crate) fn drop_worker(&mut self, uid: &Uid) -> bool {
        self.workers.remove(uid).is_some()
    }

    pub(crate) fn group(&self, gang: &Gang) -> Option<&Arc<PodGroupView>> {
        self.groups.get(gang)
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &Gang> {
        self.groups.keys()
    }

    pub(crate) fn put_group(&mut self, gang: Gang, group: PodGroupView) {
        self.groups.insert(gang, Arc::new(group));
    }

    pub(crate) fn drop_group(&mut self, gang: &Gang) {
        self.groups.remove(gang);
    }
}

/// What became of an object that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Put<T> {
    /// A newer state was already there.
    Stale,
    /// It is in, in place of this one.
    Taken(Option<Arc<T>>),
}

/// A worker that is somewhere and not over.
fn worker_of(pod: &PodView) -> Option<Worker> {
    if pod.is_terminal() {
        return None;
    }
    let label = pod.metadata.labels.get(WORKER_LABEL)?;
    let mut names = vec![label.clone(), pod.metadata.name.clone()];
    names.dedup();
    Some(Worker { pod: pod.key(), names, node: pod.node()? })
}
