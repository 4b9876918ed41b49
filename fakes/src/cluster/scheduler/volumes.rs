//! Volumes in the choice of a node: those that are there say where they can be, those that wait for
//! their first consumer are looked for, or provided, where the pod goes.

use std::sync::Arc;

use serde_json::Value;

use super::{
    super::{
        claim::{self, SELECTED},
        demand::Demand,
        node::Node,
        object::{deleting, text},
    },
    view::View,
};

/// The claims of a pod.
#[derive(Default)]
pub(super) struct Volumes {
    /// The volumes of claims that are bound; none for one whose volume is gone.
    bound: Vec<Option<Arc<Value>>>,
    /// Claims that are bound where their first consumer is.
    late: Vec<Arc<Value>>,
}

/// What must be done before a pod can be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Give this volume to this claim.
    Take { volume: String, claim: (String, String) },
    /// Have a volume for this claim provided on the node.
    Provide { claim: (String, String) },
}

impl Volumes {
    /// Why no node at all can take the pod, or its claims.
    pub(super) fn of(view: &View<'_>, demand: &Demand) -> Result<Self, String> {
        let mut volumes = Self::default();
        for (namespace, name) in &demand.claims {
            let found = view.api.get(claim::RESOURCE, namespace, name);
            let Some(it) = found else {
                return Err(format!("persistentvolumeclaim \"{name}\" not found"));
            };
            if deleting(it) {
                return Err(format!("persistentvolumeclaim \"{name}\" is being deleted"));
            }
            if claim::is_bound(it) {
                let volume = text(&it["spec"]["volumeName"]);
                volumes.bound.push(view.api.get("persistentvolumes", "", volume).cloned());
            } else if claim::waits_for_consumer(view.api, it) {
                volumes.late.push(it.clone());
            } else {
                return Err("pod has unbound immediate PersistentVolumeClaims".into());
            }
        }
        Ok(volumes)
    }

    /// Why the volumes keep the pod off a node.
    pub(super) fn objection(&self, view: &View<'_>, node: &Node) -> Option<String> {
        for volume in &self.bound {
            let Some(volume) = volume else {
                let why =
                    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
                return Some(why.into());
            };
            if !claim::can_be_on(volume, node) {
                return Some("node(s) didn't match PersistentVolume's node affinity".into());
            }
        }
        if !self.late.is_empty() && self.steps(view, node).is_none() {
            return Some("node(s) didn't find available persistent volumes to bind".into());
        }
        None
    }

    /// What must be done for the pod to be on this node, if it can be.
    pub(super) fn steps(&self, view: &View<'_>, node: &Node) -> Option<Vec<Step>> {
        let mut steps = vec![];
        let mut taken: Vec<String> = vec![];
        for it in &self.late {
            let metadata = &it["metadata"];
            let key = (text(&metadata["namespace"]).to_owned(), text(&metadata["name"]).to_owned());
            let selected = metadata["annotations"][SELECTED].as_str();
            if selected.is_some_and(|selected| *selected != *node.name) {
                return None;
            }
            let there = claim::smallest(view.api, it, |volume| {
                claim::can_be_on(volume, node)
                    && !taken.contains(&text(&volume["metadata"]["name"]).to_owned())
            });
            if let Some(volume) = there.filter(|_| selected.is_none()) {
                let volume = text(&volume["metadata"]["name"]).to_owned();
                taken.push(volume.clone());
                steps.push(Step::Take { volume, claim: key });
            } else if claim::can_be_provided(view.api, it, node) {
                steps.push(Step::Provide { claim: key });
            } else {
                return None;
            }
        }
        Some(steps)
    }
}
