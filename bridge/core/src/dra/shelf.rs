//! What Kubernetes last said of claims, devices and classes, and who holds which device.
//!
//! It is asked for only once some pod needs devices: clusters without them pay nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::view::{ClaimView, ClassView, Device, DeviceId, SliceView};
use crate::names::{KubeNode, ObjectKey, Uid};

/// What is known of one kind of object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Listing {
    /// It hasn't been listed yet.
    #[default]
    Unknown,
    /// It has.
    Known,
    /// The cluster doesn't have it, or we may not see it.
    Absent,
}

/// Copies of the objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    claims: BTreeMap<ObjectKey, Arc<ClaimView>>,
    slices: BTreeMap<Uid, Arc<SliceView>>,
    classes: BTreeMap<String, Arc<ClassView>>,
    holders: BTreeMap<DeviceId, BTreeSet<ObjectKey>>,
    /// Of claims, slices and classes.
    listings: [Listing; 3],
}

impl Shelf {
    /// What is known altogether: the least that is known of any kind.
    pub(crate) fn listing(&self) -> Listing {
        let is = |listing| self.listings.contains(&listing);
        match () {
            () if is(Listing::Absent) => Listing::Absent,
            () if is(Listing::Unknown) => Listing::Unknown,
            () => Listing::Known,
        }
    }

    /// A kind was listed, or can't be: 0 are claims, 1 slices, 2 classes.
    pub(crate) fn note(&mut self, kind: usize, listing: Listing) {
        self.listings[kind] = listing;
    }

    pub(crate) fn claim(&self, key: &ObjectKey) -> Option<&Arc<ClaimView>> {
        self.claims.get(key)
    }

    pub(crate) fn class(&self, name: &str) -> Option<&Arc<ClassView>> {
        self.classes.get(name)
    }

    /// Takes a claim's state, unless a newer one is known.
    pub(crate) fn put_claim(&mut self, claim: ClaimView) {
        let key = claim.metadata.key();
        if let Some(known) = self.claims.get(&key)
            && claim.metadata.is_older_than(&known.metadata)
        {
            return;
        }
        self.drop_claim(&key);
        for device in claim.held() {
            self.holders.entry(device.clone()).or_default().insert(key.clone());
        }
        self.claims.insert(key, Arc::new(claim));
    }

    pub(crate) fn drop_claim(&mut self, key: &ObjectKey) {
        let Some(claim) = self.claims.remove(key) else { return };
        for device in claim.held() {
            if let Some(holders) = self.holders.get_mut(device) {
                holders.remove(key);
                if holders.is_empty() {
                    self.holders.remove(device);
                }
            }
        }
    }

    /// Forgets every claim that isn't among these.
    pub(crate) fn keep_claims(&mut self, listed: &BTreeSet<ObjectKey>) {
        let gone: Vec<_> =
            self.claims.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        gone.iter().for_each(|key| self.drop_claim(key));
    }

    pub(crate) fn put_slice(&mut self, slice: SliceView) {
        self.slices.insert(slice.metadata.uid.clone(), Arc::new(slice));
    }

    pub(crate) fn drop_slice(&mut self, uid: &Uid) {
        self.slices.remove(uid);
    }

    pub(crate) fn keep_slices(&mut self, listed: &BTreeSet<Uid>) {
        self.slices.retain(|uid, _| listed.contains(uid));
    }

    pub(crate) fn put_class(&mut self, class: ClassView) {
        self.classes.insert(class.metadata.name.clone(), Arc::new(class));
    }

    pub(crate) fn drop_class(&mut self, name: &str) {
        self.classes.remove(name);
    }

    pub(crate) fn keep_classes(&mut self, listed: &BTreeSet<String>) {
        self.classes.retain(|name, _| listed.contains(name));
    }

    /// The devices of a driver on a node, of each pool's newest generation.
    pub(super) fn devices<'a>(
        &'a self,
        node: &'a KubeNode,
        driver: &'a str,
    ) -> impl Iterator<Item = (DeviceId, &'a Device)> {
        let of_driver = move |it: &&Arc<SliceView>| it.spec.driver == driver;
        let newest = move |pool: &str| {
            let slices = self.slices.values().filter(of_driver);
            let of_pool = slices.filter(|it| it.spec.pool.name == pool);
            of_pool.map(|it| it.spec.pool.generation).max()
        };
        let here = move |it: &&Arc<SliceView>| it.spec.node_name == node.as_str();
        let slices = self.slices.values().filter(of_driver).filter(here);
        let current =
            slices.filter(move |it| newest(&it.spec.pool.name) == Some(it.spec.pool.generation));
        current.flat_map(move |slice| {
            slice.spec.devices.iter().map(move |device| {
                let (pool, name) = (slice.spec.pool.name.clone(), device.name.clone());
                (DeviceId { driver: driver.to_owned(), pool, device: name }, device)
            })
        })
    }

    /// Another claim that holds a device.
    pub(super) fn holder(&self, device: &DeviceId, besides: &ObjectKey) -> Option<&ObjectKey> {
        self.holders.get(device)?.iter().find(|key| *key != besides)
    }
}
