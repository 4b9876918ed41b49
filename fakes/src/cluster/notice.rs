//! Who is concerned by a change.

use std::sync::Arc;

use drawbridge_sim::Time;
use serde_json::Value;

use super::{
    Cluster, LATENCY, adopt, autoscaler, claim,
    controllers::Controller,
    device_claim, ephemeral, health, job, leader_worker_set,
    node::Node,
    object::{Key, controller, text},
    pod::Pod,
    pod_gc::{OUT_OF_SERVICE, PodGc},
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
                "events" => {}
                "pods" => self.notice_pod(now, change),
                "nodes" => self.notice_node(now, change),
                "jobs.batch" => self.notice_job(now, change),
                _ => self.notice_object(now, change),
            }
        }
        if self.api.has_garbage() {
            self.soon(now, Work::Garbage);
        }
    }

    pub(super) fn soon(&mut self, now: Time, work: Work) {
        self.work.add(now + LATENCY, work);
    }

    /// What was remembered of an object doesn't hold for the next one of its name.
    fn forget(&mut self, work: &Work) {
        self.memos.remove(work);
        self.work.succeeded(work);
    }

    /// An object concerns its own controller and that of its owner.
    fn notice_object(&mut self, now: Time, change: &Change) {
        if let Some(it) = Controller::of_resource(change.resource) {
            let work = Work::Of(it, key(change));
            match alive(change) {
                Some(object) if it == Controller::Autoscaler => {
                    self.work.add(autoscaler::next_look(self.epoch, object, now), work);
                }
                Some(_) => self.soon(now, work),
                None => self.forget(&work),
            }
        }
        self.notice_owner(now, change);
        self.notice_group(now, change);
        match change.resource {
            "persistentvolumeclaims" | "persistentvolumes" | "storageclasses.storage.k8s.io" => {
                self.notice_storage(now, change);
            }
            device_claim::RESOURCE => self.notice_device_claim(now, change),
            "deployments.apps" | "replicasets.apps" | "statefulsets.apps" => {
                self.notice_budgets(now, &change.namespace);
                self.notice_autoscalers(now, &change.namespace);
            }
            _ => {}
        }
    }

    /// Pods and StatefulSets of a group concern its LeaderWorkerSet.
    fn notice_group(&mut self, now: Time, change: &Change) {
        if let Some(name) = change.object["metadata"]["labels"][leader_worker_set::NAME].as_str() {
            let key = Key::new(&change.namespace, name);
            self.soon(now, Work::Of(Controller::LeaderWorkerSet, key));
        }
    }

    fn notice_owner(&mut self, now: Time, change: &Change) {
        let Some(owner) = controller(&change.object) else { return };
        if let Some(it) = Controller::of_owner(owner) {
            let key = Key::new(&change.namespace, text(&owner["name"]));
            self.soon(now, Work::Of(it, key));
        }
    }

    fn notice_pod(&mut self, now: Time, change: &Change) {
        let key = key(change);
        let before = self.index.pod(&key).cloned();
        let after = alive(change).map(|object| {
            let mut pod = Pod::read(self.epoch, object, change.rv, before.as_deref());
            if !before.as_ref().is_some_and(|before| pod.belongs_as(before)) {
                self.notice_belonging(now, &mut pod);
            }
            Arc::new(pod)
        });
        self.index.set_pod(&key, after.as_ref());
        self.notice_waiting(now, before.as_deref(), after.as_deref());
        if let Some(owner) = controller(&change.object) {
            self.notice_pod_owner(now, &key, owner);
        }
        self.notice_group(now, change);
        self.notice_budgets(now, &key.namespace);
        self.notice_autoscalers(now, &key.namespace);
        if let Some(pod) = before.as_ref().filter(|_| after.as_ref().is_none_or(|it| it.terminal()))
        {
            for (namespace, name) in &pod.demand.claims {
                self.soon(now, Work::Of(Controller::Claim, Key::new(namespace, name)));
            }
        }
        self.notice_devices(now, &key, change);
        match after {
            None => {
                for (other, when) in self.kubelets.forget(now, &key) {
                    self.work.add(when, Work::Kubelet(other));
                }
                self.evictions.forget(&key);
            }
            Some(pod) => {
                if before.is_none() && ephemeral::concerns(&change.object) {
                    self.soon(now, Work::Of(Controller::Ephemeral, key.clone()));
                }
                self.notice_forlorn(now, &pod);
                self.notice_bound(now, &pod, change);
            }
        }
    }

    /// A pod with claims: some may have to be made, or let go of.
    fn notice_devices(&mut self, now: Time, pod: &Key, change: &Change) {
        if change.object["spec"]["resourceClaims"].is_array() {
            self.soon(now, Work::Of(Controller::PodClaims, pod.clone()));
        }
        for claim in device_claim::used_by(&change.object) {
            self.soon(now, Work::Of(Controller::DeviceClaim, claim));
        }
    }

    /// A claim concerns the kubelets of the pods that it is reserved for.
    fn notice_device_claim(&mut self, now: Time, change: &Change) {
        for user in change.object["status"]["reservedFor"].as_array().into_iter().flatten() {
            let pod = Key::new(&change.namespace, text(&user["name"]));
            self.soon(now, Work::Kubelet(pod));
        }
    }

    /// A pod that only the pod garbage collector may remove.
    fn notice_forlorn(&mut self, now: Time, pod: &Pod) {
        let node = pod.node.as_ref().map(|name| self.index.node(name));
        let forlorn = match node {
            None => pod.deleting.is_some() && !pod.terminal(),
            Some(None) => true,
            Some(Some(node)) => {
                pod.terminating() && node.taints.iter().any(|it| it.key == OUT_OF_SERVICE)
            }
        };
        if forlorn {
            self.suspect(now, &pod.key);
        }
        if pod.terminal() && PodGc::is_full(&self.index) {
            self.work.add(PodGc::next_look(now), Work::PodGc);
        }
    }

    fn suspect(&mut self, now: Time, pod: &Key) {
        let when = self.pod_gc.suspect(now, pod);
        self.work.add(when, Work::PodGc);
    }

    /// A pod is new, or has other labels or another owner: who wants it?
    fn notice_belonging(&mut self, now: Time, pod: &mut Pod) {
        if let Some(owner) = &pod.owner {
            let owner = self.api.by_uid(owner).filter(|it| it["spec"]["selector"].is_object());
            pod.stray = owner.is_some_and(|owner| !adopt::selects(owner, pod));
            return;
        }
        pod.stray = false;
        let sets = [
            Controller::ReplicaSet,
            Controller::StatefulSet,
            Controller::DaemonSet,
            Controller::Job,
        ];
        for it in sets {
            let all = self.api.list_in(it.resource(), &pod.key.namespace);
            let fits: Vec<Key> =
                all.filter(|set| adopt::selects(set, pod)).map(|set| Key::of(set)).collect();
            for key in fits {
                self.soon(now, Work::Of(it, key));
            }
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
        let (held, holds) = (before.and_then(Pod::holds), after.and_then(Pod::holds));
        let matters = held != holds && (held.is_some() || self.waiting.minds_pods());
        if matters && self.waiting.stir() {
            self.soon(now, Work::Schedule);
        }
        if after.is_none_or(|pod| pod.node.is_some() || !pod.active())
            && let Some(pod) = before.or(after)
            && self.index.unassume(&pod.key).is_some()
            && self.waiting.stir()
        {
            self.soon(now, Work::Schedule);
        }
    }

    /// Autoscalers that a pod, a metric or a controller of pods may be about look at their next time.
    pub(super) fn notice_autoscalers(&mut self, now: Time, namespace: &str) {
        let it = Controller::Autoscaler;
        let all = self.api.list_in(it.resource(), namespace);
        let looks: Vec<(Time, Key)> =
            all.map(|it| (autoscaler::next_look(self.epoch, it, now), Key::of(it))).collect();
        for (when, key) in looks {
            self.work.add(when, Work::Of(it, key));
        }
    }

    /// Budgets that a pod, or a controller of pods, may be about.
    fn notice_budgets(&mut self, now: Time, namespace: &str) {
        let it = Controller::Budget;
        let keys: Vec<Key> =
            self.api.list_in(it.resource(), namespace).map(|it| Key::of(it)).collect();
        for key in keys {
            self.soon(now, Work::Of(it, key));
        }
    }

    /// Volumes, claims and classes concern each other, and pods that wait for them.
    fn notice_storage(&mut self, now: Time, change: &Change) {
        let claim_of = |volume: &Value| {
            let to = &volume["spec"]["claimRef"];
            to.is_object().then(|| Key::new(text(&to["namespace"]), text(&to["name"])))
        };
        match change.resource {
            "persistentvolumeclaims" => {
                let volume = text(&change.object["spec"]["volumeName"]);
                if !volume.is_empty() {
                    self.soon(now, Work::Of(Controller::Volume, Key::new("", volume)));
                }
                let (claim, assumed) = (key(change), self.index.all_assumed());
                let uses = |pod: &&Arc<Pod>| {
                    let mut claims = pod.demand.claims.iter();
                    claims.any(|it| it.0 == *claim.namespace && it.1 == *claim.name)
                };
                let pods: Vec<Key> = assumed.filter(uses).map(|pod| pod.key.clone()).collect();
                for pod in pods {
                    self.soon(now, Work::Bind(pod));
                }
            }
            _ => {
                let named = claim_of(&change.object);
                let all = self.api.list(Controller::Claim.resource());
                let pending = all.filter(|it| !claim::is_bound(it)).map(|it| Key::of(it));
                for claim in pending.chain(named).collect::<Vec<_>>() {
                    self.soon(now, Work::Of(Controller::Claim, claim));
                }
            }
        }
        if self.waiting.minds_volumes() && self.waiting.stir() {
            self.soon(now, Work::Schedule);
        }
    }

    fn notice_pod_owner(&mut self, now: Time, pod: &Key, owner: &Value) {
        let Some(it) = Controller::of_owner(owner) else { return };
        let key = Key::new(&pod.namespace, text(&owner["name"]));
        if it != Controller::Job {
            self.soon(now, Work::Of(it, key));
        } else if self.api.by_uid(text(&owner["uid"])).is_some() {
            self.work.add(now + job::BATCH, Work::Of(it, key));
        } else {
            self.soon(now, Work::Orphans(text(&owner["uid"]).into()));
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
        // Taints come before whoever places pods by them.
        if after.as_ref().is_some_and(|node| health::mark(node).is_some()) {
            self.soon(now, Work::Conditions(name.clone()));
        }
        let same = match (&before, &after) {
            (Some(before), Some(after)) => before.same_to_scheduler(after),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !same {
            self.notice_placement(now);
        }
        let keys: Vec<Key> = self.index.on_node(&name).map(|it| it.key.clone()).collect();
        if before.as_ref().map(|it| it.ready) != after.as_ref().map(|it| it.ready) {
            self.notice_readiness(now);
        }
        let Some(after) = after else {
            self.health.forget(&name);
            keys.iter().for_each(|key| self.suspect(now, key));
            return;
        };
        if after.taints.iter().any(|it| it.key == OUT_OF_SERVICE) {
            keys.iter().for_each(|key| self.suspect(now, key));
        }
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

    /// A node came, went or looks different to whoever places pods.
    fn notice_placement(&mut self, now: Time) {
        if self.waiting.stir() {
            self.soon(now, Work::Schedule);
        }
        let it = Controller::DaemonSet;
        let sets: Vec<Key> = self.api.list(it.resource()).map(|set| Key::of(set)).collect();
        for key in sets {
            self.soon(now, Work::Of(it, key));
        }
    }

    fn notice_job(&mut self, now: Time, change: &Change) {
        let generation = |object: &Value| object["metadata"]["generation"].as_u64();
        let before = change.previous.as_deref().and_then(generation);
        let it = Controller::Job;
        match alive(change) {
            // Only its status changed, mostly because of its pods: these are looked at together.
            Some(object) if before == generation(object) => {
                self.work.add(now + job::BATCH, Work::Of(it, key(change)));
            }
            Some(_) => self.soon(now, Work::Of(it, key(change))),
            None => {
                let uid = text(&change.object["metadata"]["uid"]);
                self.forget(&Work::Of(it, key(change)));
                self.soon(now, Work::Orphans(uid.into()));
            }
        }
        self.notice_owner(now, change);
    }
}

fn key(change: &Change) -> Key {
    Key { namespace: change.namespace.clone(), name: change.name.clone() }
}

fn alive(change: &Change) -> Option<&Arc<Value>> {
    (change.kind != ChangeKind::Deleted).then_some(&change.object)
}
