//! What the Kubernetes API server says: lists, watches, replies.

use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

use super::Bridge;
use crate::{
    desk::Verdict,
    explain,
    gang::{Bond, Gang},
    informer::{Informer, News, Resource},
    input::{CallId, KubeReply, Lost, StreamId, WatchEvent},
    names::{KubeNode, ObjectKey, Uid},
    outbox::Purpose,
    store::Put,
    view::{NodeView, PodGroupView, PodView},
};

impl Bridge {
    pub(super) fn kube_replied(&mut self, call: CallId, outcome: Result<KubeReply, Lost>) {
        let Some((purpose, _)) = self.out.answered(call) else {
            return;
        };
        match purpose {
            Purpose::List(resource) => {
                let informer = self.informers.get_mut(&resource);
                let news = informer.and_then(|informer| informer.listed(&mut self.out, outcome));
                self.hear(resource, news);
                self.note_device_list(resource);
            }
            Purpose::Owner(owner) => {
                let waiters = self.owners.replied(self.out.now(), &owner, outcome);
                self.touched.extend(waiters);
            }
            Purpose::Pod(pod) => self.pod_replied(&pod, outcome),
            Purpose::Node(node) => {
                if let Some(view) = self.keeper.tended(&mut self.out, &node, outcome)
                    && self.store.node(&node).is_some()
                {
                    self.put_node(view);
                }
                self.touched_nodes.insert(node);
            }
            Purpose::Claim(claim) => {
                self.porter.replied(&mut self.out, &mut self.storage, &claim, outcome);
                self.touch_users_of(&claim);
            }
            Purpose::Lease => self.lease_replied(&outcome),
            Purpose::Note
            | Purpose::Submit(_)
            | Purpose::Revise(_)
            | Purpose::States
            | Purpose::AllJobs
            | Purpose::Job(_)
            | Purpose::SlurmNodes
            | Purpose::Reservations
            | Purpose::Ending(_)
            | Purpose::UpdateNode(_)
            | Purpose::Probe => {}
        }
    }

    fn pod_replied(&mut self, pod: &Uid, outcome: Result<KubeReply, Lost>) {
        let (done, verdict) = self.desks.replied(&mut self.out, pod, outcome);
        if let Some(errand) = done
            && let Some(view) = self.store.pod(pod)
            && let Some(fact) = explain::done(&errand, view)
        {
            self.out.record(fact);
        }
        match verdict {
            // The watch may have said that it is gone before the reply came.
            Verdict::Is(view) if self.store.pod(pod).is_some() => self.put_pod(*view),
            Verdict::Is(_) => {}
            Verdict::Claim(claim) => self.put_claim(*claim),
            Verdict::ClaimGone(key) => self.shelf.drop_claim(&key),
            Verdict::Gone => self.drop_pod(pod, None),
            Verdict::Unsure => {}
        }
        self.touch_home_of(pod);
    }

    pub(super) fn watched(&mut self, stream: StreamId, event: WatchEvent) {
        let listener = self.informers.iter_mut().find(|(_, one)| one.listens_to(stream));
        let Some((resource, informer)) = listener else {
            return;
        };
        let (resource, news) = (*resource, informer.watched(&mut self.out, event));
        self.hear(resource, news);
    }

    fn hear(&mut self, resource: Resource, news: Option<News>) {
        match news {
            None => {}
            Some(News::Replaced(list)) => self.replace(resource, &list),
            Some(News::Changed(object)) => self.change(resource, &object),
            Some(News::Gone(object)) => self.lose(resource, &object),
        }
    }

    fn replace(&mut self, resource: Resource, list: &Arc<Value>) {
        let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
        match resource {
            Resource::Pods => {
                let listed = uids(items);
                let known = self.store.pods().map(|pod| pod.uid());
                let gone: Vec<_> = known.filter(|uid| !listed.contains(*uid)).cloned().collect();
                gone.iter().for_each(|uid| self.drop_pod(uid, None));
            }
            Resource::Workers => {
                let listed = uids(items);
                let known = self.store.worker_uids();
                for uid in known.iter().filter(|uid| !listed.contains(*uid)) {
                    self.mapping_is_stale |= self.store.drop_worker(uid);
                }
            }
            Resource::Nodes => {
                let listed = uids(items);
                let gone = self.store.nodes().filter(|node| !listed.contains(&node.metadata.uid));
                let gone: Vec<_> = gone.map(|node| node.name()).collect();
                gone.iter().for_each(|name| self.drop_node(name));
            }
            Resource::Others => self.replace_others(&uids(items)),
            Resource::VolumeClaims | Resource::Volumes | Resource::StorageClasses => {
                self.keep_storage(resource, &uids(items));
            }
            Resource::PodGroups | Resource::SchedulingGroups => {
                let listed: BTreeSet<_> =
                    items.iter().filter_map(|item| gang(resource, item)).collect();
                let known = self.store.groups().filter(|known| Some(known.bond) == bond(resource));
                let gone: Vec<_> =
                    known.filter(|known| !listed.contains(*known)).cloned().collect();
                gone.iter().for_each(|group| self.store.drop_group(group));
            }
            Resource::Claims | Resource::Slices | Resource::Classes => {
                self.devices_replaced(resource, items);
            }
        }
        items.iter().for_each(|item| self.change(resource, item));
    }

    fn change(&mut self, resource: Resource, object: &Value) {
        match resource {
            Resource::Pods => {
                if let Some(pod) = self.parse(object) {
                    self.put_pod(pod);
                }
            }
            Resource::Workers => {
                if let Some(pod) = self.parse::<PodView>(object) {
                    self.mapping_is_stale |= self.store.put_worker(&pod);
                }
            }
            Resource::Nodes => {
                if let Some(node) = self.parse(object) {
                    self.put_node(node);
                }
            }
            Resource::VolumeClaims | Resource::Volumes | Resource::StorageClasses => {
                self.change_storage(resource, object);
            }
            Resource::Others => {
                if let Some(pod) = self.parse(object) {
                    self.tenants.put_other(&pod);
                }
            }
            Resource::PodGroups | Resource::SchedulingGroups => {
                if let (Some(group), Some(gang)) =
                    (self.parse::<PodGroupView>(object), gang(resource, object))
                {
                    let uid = group.metadata.uid.clone();
                    let path = self.informers.get(&resource).map_or("", Informer::path);
                    self.store.put_group(gang.clone(), group.found_at(path));
                    self.touched.insert(uid);
                    if self.synced {
                        self.rehouse(&gang);
                    }
                }
            }
            Resource::Claims | Resource::Slices | Resource::Classes => {
                self.device_changed(resource, object);
            }
        }
    }

    fn lose(&mut self, resource: Resource, object: &Value) {
        let Some(uid) = object["metadata"]["uid"].as_str().map(Uid::from) else {
            return;
        };
        match resource {
            Resource::Pods => {
                let last = self.parse::<PodView>(object);
                self.drop_pod(&uid, last);
            }
            Resource::Workers => self.mapping_is_stale |= self.store.drop_worker(&uid),
            Resource::Others => self.tenants.drop_pod(&uid),
            Resource::VolumeClaims | Resource::Volumes | Resource::StorageClasses => {
                self.lose_storage(resource, object);
            }
            Resource::Nodes => {
                if let Some(name) = object["metadata"]["name"].as_str() {
                    self.drop_node(&name.into());
                }
            }
            Resource::PodGroups | Resource::SchedulingGroups => {
                if let Some(gang) = gang(resource, object) {
                    self.store.drop_group(&gang);
                    self.touched.insert(uid);
                }
            }
            Resource::Claims | Resource::Slices | Resource::Classes => {
                self.device_lost(resource, object);
            }
        }
    }

    fn put_pod(&mut self, pod: PodView) {
        let uid = pod.uid().clone();
        if !self.store.put_pod(pod) {
            return;
        }
        if let Some(pod) = self.store.pod(&uid).cloned() {
            self.desks.saw(&mut self.out, &pod);
            self.look_at_devices_for(&pod);
            self.lodge(&pod);
        }
        if self.synced {
            self.house(&uid);
        }
    }

    fn drop_pod(&mut self, uid: &Uid, last: Option<PodView>) {
        let known = self.store.drop_pod(uid);
        self.move_out(uid, known.as_deref());
        match (last, known) {
            (Some(last), Some(_)) => self.bury(&last),
            (None, Some(known)) => self.bury(&known),
            (Some(_) | None, None) => {}
        }
    }

    fn put_node(&mut self, node: NodeView) {
        let (name, labels) = (node.name(), node.metadata.labels.clone());
        let (spec, room) = (node.spec.clone(), node.status.allocatable.clone());
        let Put::Taken(before) = self.store.put_node(node) else {
            return;
        };
        let same_labels = before.as_ref().is_some_and(|before| before.metadata.labels == labels);
        self.mapping_is_stale |= !same_labels;
        let same = |before: &NodeView| before.spec == spec && before.status.allocatable == room;
        if !same_labels || !before.as_ref().is_some_and(|before| same(before)) {
            self.nodes_changed();
        }
        self.touched_nodes.insert(name);
    }

    fn drop_node(&mut self, name: &KubeNode) {
        self.store.drop_node(name);
        self.mapping_is_stale = true;
        let slurm = self.mapping.slurm(name).cloned();
        self.keeper.departs(&mut self.out, name, slurm.as_ref());
        if slurm.is_some() {
            self.poller.want_nodes(self.out.now());
        }
    }

    pub(super) fn parse<'a, T: Deserialize<'a>>(&mut self, object: &'a Value) -> Option<T> {
        let parsed = T::deserialize(object).ok();
        if parsed.is_none() {
            self.out.count("kube.unreadable");
        }
        parsed
    }
}

fn uids(items: &[Value]) -> BTreeSet<Uid> {
    items.iter().filter_map(|item| item["metadata"]["uid"].as_str()).map(Uid::from).collect()
}

/// What groups of this resource are to their pods.
fn bond(resource: Resource) -> Option<Bond> {
    match resource {
        Resource::PodGroups => Some(Bond::PodGroup),
        Resource::SchedulingGroups => Some(Bond::SchedulingGroup),
        Resource::Pods | Resource::Workers | Resource::Nodes | Resource::Others => None,
        Resource::VolumeClaims | Resource::Volumes | Resource::StorageClasses => None,
        Resource::Claims | Resource::Slices | Resource::Classes => None,
    }
}

/// The gang that a group makes.
fn gang(resource: Resource, object: &Value) -> Option<Gang> {
    let meta = &object["metadata"];
    let key = ObjectKey::new(meta["namespace"].as_str()?, meta["name"].as_str()?);
    Some(Gang { bond: bond(resource)?, key })
}
