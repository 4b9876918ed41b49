//! The cluster as the scheduler sees it while it thinks about one pod: as it is, or as it would be
//! without some others.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::super::{
    index::{Held, Index},
    node::Node,
    object::Key,
    pod::Pod,
};
use crate::KubeApi;

/// What the scheduler sees.
#[derive(Clone)]
pub(crate) struct View<'a> {
    pub(crate) api: &'a KubeApi,
    pub(crate) index: &'a Index,
    /// Pods that are thought away.
    without: BTreeSet<Key>,
}

impl<'a> View<'a> {
    pub(crate) fn new(api: &'a KubeApi, index: &'a Index) -> Self {
        Self { api, index, without: BTreeSet::new() }
    }

    /// The same without these pods.
    pub(super) fn without<'b>(&self, pods: impl Iterator<Item = &'b Arc<Pod>>) -> Self {
        Self { without: pods.map(|pod| pod.key.clone()).collect(), ..self.clone() }
    }

    /// The pods on a node.
    pub(super) fn pods_on<'b>(
        &'b self,
        node: &'b str,
    ) -> impl Iterator<Item = &'a Arc<Pod>> + use<'a, 'b> {
        self.index.taking(node).filter(|pod| !self.without.contains(&pod.key))
    }

    /// Pods that ask something of pods near them, with their nodes.
    pub(super) fn social(&self) -> impl Iterator<Item = (&'a Arc<Pod>, &'a Arc<Node>)> + '_ {
        let seen = self.index.social().filter(|pod| !self.without.contains(&pod.key));
        seen.filter_map(|pod| Some((pod, self.index.node(pod.node.as_ref()?)?)))
    }

    /// What is taken on a node, as far as this pod has to mind: also by pods at least as important
    /// for which room is being made there.
    pub(super) fn held(&self, pod: &Pod, node: &Node, held: &'a Held) -> Cow<'a, Held> {
        let mut held = Cow::Borrowed(held);
        for other in self.index.nominated(&node.name) {
            if other.key != pod.key && pod.priority <= other.priority {
                held.to_mut().add(other);
            }
        }
        if !self.without.is_empty() {
            for gone in self.index.taking(&node.name) {
                if self.without.contains(&gone.key) {
                    held.to_mut().remove(gone);
                }
            }
        }
        held
    }

    /// The labels of a namespace.
    pub(super) fn namespace(&self, name: &str) -> &'a Value {
        static NONE: Value = Value::Null;
        let found = self.api.get("namespaces", "", name);
        found.map_or(&NONE, |it| &it["metadata"]["labels"])
    }
}
