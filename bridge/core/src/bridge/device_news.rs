//! What the API server says of claims, devices and device classes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Bridge;
use crate::{
    dra::{self, ClaimView, ClassView, Listing, SliceView},
    informer::{Informer, Resource},
    names::{ObjectKey, Uid},
    view::PodView,
};

const RESOURCES: [Resource; 3] = [Resource::Claims, Resource::Slices, Resource::Classes];

impl Bridge {
    /// Begins to look at devices as soon as a pod needs some.
    pub(super) fn look_at_devices_for(&mut self, pod: &PodView) {
        if !self.duties.workloads || !dra::needs_devices(pod) {
            return;
        }
        for resource in RESOURCES {
            if !self.informers.contains_key(&resource) {
                let mut informer = Informer::new(resource, &self.config);
                informer.list(&mut self.out);
                self.informers.insert(resource, informer);
            }
        }
    }

    /// Notes whether a list came, or can't come.
    pub(super) fn note_device_list(&mut self, resource: Resource) {
        let Some(kind) = RESOURCES.iter().position(|it| *it == resource) else {
            return;
        };
        let Some(informer) = self.informers.get(&resource) else { return };
        let listing = match (informer.is_absent(), informer.is_synced()) {
            (true, _) => Listing::Absent,
            (false, true) => Listing::Known,
            (false, false) => Listing::Unknown,
        };
        self.shelf.note(kind, listing);
    }

    /// All objects of a kind, and no others, exist.
    pub(super) fn devices_replaced(&mut self, resource: Resource, items: &[Value]) {
        let text = |item: &Value, key: &str| item["metadata"][key].as_str().map(str::to_owned);
        if resource == Resource::Claims {
            let keys: BTreeSet<_> = items.iter().filter_map(key).collect();
            self.shelf.keep_claims(&keys);
        } else if resource == Resource::Slices {
            let uids = items.iter().filter_map(|item| text(item, "uid")).map(Uid::from);
            self.shelf.keep_slices(&uids.collect());
        } else {
            let names = items.iter().filter_map(|item| text(item, "name"));
            self.shelf.keep_classes(&names.collect());
        }
    }

    /// An object appeared or changed.
    pub(super) fn device_changed(&mut self, resource: Resource, object: &Value) {
        if resource == Resource::Claims {
            let claim = self.parse::<ClaimView>(object);
            claim.into_iter().for_each(|claim| self.put_claim(claim));
        } else if resource == Resource::Slices {
            let slice = self.parse::<SliceView>(object);
            slice.into_iter().for_each(|slice| self.shelf.put_slice(slice));
        } else {
            let class = self.parse::<ClassView>(object);
            class.into_iter().for_each(|class| self.shelf.put_class(class));
        }
    }

    /// A claim is as it says now. Its pods are looked at; whoever waits for what it held looks by
    /// himself, every now and then.
    pub(super) fn put_claim(&mut self, claim: ClaimView) {
        let pods: Vec<Uid> = claim.pods().cloned().collect();
        self.shelf.put_claim(claim);
        pods.iter().for_each(|pod| self.touch_home_of(pod));
    }

    /// An object is gone.
    pub(super) fn device_lost(&mut self, resource: Resource, object: &Value) {
        let text = |key: &str| object["metadata"][key].as_str();
        if resource == Resource::Claims {
            key(object).iter().for_each(|key| self.shelf.drop_claim(key));
        } else if resource == Resource::Slices {
            text("uid").into_iter().for_each(|uid| self.shelf.drop_slice(&uid.into()));
        } else {
            text("name").into_iter().for_each(|name| self.shelf.drop_class(name));
        }
    }
}

fn key(object: &Value) -> Option<ObjectKey> {
    let meta = &object["metadata"];
    Some(ObjectKey::new(meta["namespace"].as_str()?, meta["name"].as_str()?))
}
