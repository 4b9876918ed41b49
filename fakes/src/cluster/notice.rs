//! Who is concerned by a change.

use std::sync::Arc;

use drawbridge_sim::Time;
use serde_json::Value;

use super::{
    Cluster, LATENCY, job,
    node::Node,
    object::{Key, controller, text},
    pod::Pod,
    scheduler, taint,
    work::Work,
};
use crate::{Change, ChangeKind};

impl Cluster {
    /// Looks at all changes that weren't looked at yet.
    pub(super) fn notice(&mut self, now: Time) {
        let changes = self.api.changes();
        let first = changes.partition_point(|change| change.rv <= self.noticed);
        let new: Vec<Change> = changes[first..].to_vec();
        for change in &new {
            self.noticed = change.rv;
            match change.resource {
                "pods" => self.notice_pod(now, change),
                "nodes" => self.notice_node(now, change),
                "jobs.batch" => self.notice_job(now, change),
                "replicasets.apps" => self.notice_replica_set(now, change),
                "statefulsets.apps" => self.soon(now, Work::StatefulSet(key(change))),
                "deployments.apps" => self.soon(now, Work::Deployment(key(change))),
                _ => {}
            }
        }
        if self.api.has_garbage() {
            self.soon(now, Work::Garbage);
        }
    }

    fn soon(&mut self, now: Time, work: Work) {
        self.work.add(now + LATENCY, work);
    }

    fn notice_pod(&mut self, now: Time, change: &Change) {
        let key = key(change);
        let before = self.index.pod(&key).cloned();
        let after = alive(change).map(|object| {
            let pod = Pod::read(self.epoch, object, change.rv, before.as_deref());
            Arc::new(pod)
        });
        self.index.set_pod(&key, after.as_ref());
        self.notice_waiting(now, before.as_deref(), after.as_deref());
        if let Some(owner) = controller(&change.object) {
            self.notice_owner(now, &key, owner);
        }
        match after {
            None => {
                for (other, when) in self.kubelets.forget(now, &key) {
                    self.work.add(when, Work::Kubelet(other));
                }
                self.evictions.forget(&key);
            }
            Some(pod) => self.notice_bound(now, &pod, change),
        }
    }

    /// What the change of a pod means to the default scheduler.
    fn notice_waiting(&mut self, now: Time, before: Option<&Pod>, after: Option<&Pod>) {
        let waited = before.filter(|pod| scheduler::waits(pod));
        let waits = after.filter(|pod| scheduler::waits(pod));
        let same = waited.zip(waits).is_some_and(|(old, new)| {
            old.uid == new.uid && old.demand == new.demand && old.priority == new.priority
        });
        if !same {
            if let Some(pod) = waited {
                self.waiting.leave(pod);
            }
            if let Some(pod) = waits {
                self.waiting.join(pod);
                self.soon(now, Work::Schedule);
            }
        }
        let held = before.and_then(Pod::holds);
        if held.is_some() && held != after.and_then(Pod::holds) && self.waiting.stir() {
            self.soon(now, Work::Schedule);
        }
    }

    fn notice_owner(&mut self, now: Time, pod: &Key, owner: &Value) {
        let key = Key::new(&pod.namespace, text(&owner["name"]));
        match text(&owner["kind"]) {
            "ReplicaSet" => self.soon(now, Work::ReplicaSet(key)),
            "StatefulSet" => self.soon(now, Work::StatefulSet(key)),
            "Job" if self.api.by_uid(text(&owner["uid"])).is_some() => {
                self.work.add(now + job::BATCH, Work::Job(key));
            }
            "Job" => self.soon(now, Work::Orphans(text(&owner["uid"]).into())),
            _ => {}
        }
    }

    fn notice_bound(&mut self, now: Time, pod: &Pod, change: &Change) {
        let Some(node) = pod.node.as_ref().and_then(|name| self.index.node(name)) else {
            return;
        };
        let tainted = taint::evicts(node);
        // A kubelet knows what it wrote itself.
        let own = change.user.starts_with("system:node:");
        if !own {
            self.soon(now, Work::Kubelet(pod.key.clone()));
        }
        if tainted && pod.active() {
            self.soon(now, Work::Taint(pod.key.clone()));
        }
    }

    fn notice_node(&mut self, now: Time, change: &Change) {
        let name = change.name.clone();
        let after = alive(change).map(|object| Arc::new(Node::read(object)));
        let before = self.index.set_node(&name, after.clone());
        let Some(after) = after else { return };
        let same = before.as_ref().is_some_and(|before| before.same_to_scheduler(&after));
        if !same && self.waiting.stir() {
            self.soon(now, Work::Schedule);
        }
        let keys: Vec<Key> = self.index.on_node(&name).map(|it| it.key.clone()).collect();
        if before.is_none() {
            self.soon(now, Work::Node(name));
            for key in &keys {
                self.soon(now, Work::Kubelet(key.clone()));
            }
        }
        if before.map(|it| it.taints.clone()).unwrap_or_default() != after.taints {
            for key in keys {
                self.soon(now, Work::Taint(key));
            }
        }
    }

    fn notice_job(&mut self, now: Time, change: &Change) {
        let generation = |object: &Value| object["metadata"]["generation"].as_u64();
        let before = change.previous.as_deref().and_then(generation);
        match alive(change) {
            // Only its status changed, mostly because of its pods: these are looked at together.
            Some(object) if before == generation(object) => {
                self.work.add(now + job::BATCH, Work::Job(key(change)));
            }
            Some(_) => self.soon(now, Work::Job(key(change))),
            None => {
                let uid = text(&change.object["metadata"]["uid"]);
                self.soon(now, Work::Orphans(uid.into()));
            }
        }
    }

    fn notice_replica_set(&mut self, now: Time, change: &Change) {
        if alive(change).is_some() {
            self.soon(now, Work::ReplicaSet(key(change)));
        }
        if let Some(owner) = controller(&change.object) {
            let owner = Key::new(&change.namespace, text(&owner["name"]));
            self.soon(now, Work::Deployment(owner));
        }
    }
}

fn key(change: &Change) -> Key {
    Key { namespace: change.namespace.clone(), name: change.name.clone() }
}

fn alive(change: &Change) -> Option<&Arc<Value>> {
    (change.kind != ChangeKind::Deleted).then_some(&change.object)
}
