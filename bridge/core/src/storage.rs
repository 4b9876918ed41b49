//! Claims, volumes and classes, as Kubernetes last described them, and who uses which claim.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    names::{ObjectKey, Uid},
    view::{ClaimView, ClassView, PodView, VolumeView},
};

/// Copies of what storage there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storage {
    claims: BTreeMap<ObjectKey, Arc<ClaimView>>,
    volumes: BTreeMap<String, Arc<VolumeView>>,
    classes: BTreeMap<String, Arc<ClassView>>,
    /// Pods of ours by the claims that they name.
    users: BTreeMap<ObjectKey, BTreeSet<Uid>>,
    /// Claims could be listed at all.
    is_known: bool,
}

impl Storage {
    /// Whether claims can be read.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    pub(crate) fn claim(&self, key: &ObjectKey) -> Option<&Arc<ClaimView>> {
        self.claims.get(key)
    }

    pub(crate) fn volume(&self, name: &str) -> Option<&Arc<VolumeView>> {
        self.volumes.get(name)
    }

    pub(crate) fn volumes(&self) -> impl Iterator<Item = &Arc<VolumeView>> {
        self.volumes.values()
    }

    /// The class of a claim.
    pub(crate) fn class_of(&self, claim: &ClaimView) -> Option<&Arc<ClassView>> {
        self.classes.get(claim.spec.storage_class_name.as_deref()?)
    }

    /// Pods of ours that use a claim.
    pub(crate) fn users(&self, claim: &ObjectKey) -> impl Iterator<Item = &Uid> {
        self.users.get(claim).into_iter().flatten()
    }

    /// A pod of ours was seen.
    pub(crate) fn note_user(&mut self, pod: &PodView) {
        if pod.is_terminal() {
            return self.drop_user(pod);
        }
        for claim in pod.claims() {
            self.users.entry(claim).or_default().insert(pod.uid().clone());
        }
    }

    /// A pod of ours is gone.
    pub(crate) fn drop_user(&mut self, pod: &PodView) {
        for claim in pod.claims() {
            if let Some(users) = self.users.get_mut(&claim) {
                users.remove(pod.uid());
                if users.is_empty() {
                    self.users.remove(&claim);
                }
            }
        }
    }

    /// Takes a claim's state, unless a newer one is known.
    pub(crate) fn put_claim(&mut self, claim: ClaimView) {
        let key = claim.metadata.key();
        let known = self.claims.get(&key);
        if !known.is_some_and(|known| claim.metadata.is_older_than(&known.metadata)) {
            self.claims.insert(key, Arc::new(claim));
        }
    }

    /// Takes a volume's state, unless a newer one is known.
    pub(crate) fn put_volume(&mut self, volume: VolumeView) {
        let name = volume.metadata.name.clone();
        let known = self.volumes.get(&name);
        if !known.is_some_and(|known| volume.metadata.is_older_than(&known.metadata)) {
            self.volumes.insert(name, Arc::new(volume));
        }
    }

    pub(crate) fn put_class(&mut self, class: ClassView) {
        self.classes.insert(class.metadata.name.clone(), Arc::new(class));
    }

    pub(crate) fn drop_claim(&mut self, key: &ObjectKey) {
        self.claims.remove(key);
    }

    pub(crate) fn drop_volume(&mut self, name: &str) {
        self.volumes.remove(name);
    }

    pub(crate) fn drop_class(&mut self, name: &str) {
        self.classes.remove(name);
    }

    /// These claims exist, and no others.
    pub(crate) fn keep_claims(&mut self, listed: &BTreeSet<Uid>) {
        self.is_known = true;
        self.claims.retain(|_, claim| listed.contains(&claim.metadata.uid));
    }

    pub(crate) fn keep_volumes(&mut self, listed: &BTreeSet<Uid>) {
        self.volumes.retain(|_, volume| listed.contains(&volume.metadata.uid));
    }

    pub(crate) fn keep_classes(&mut self, listed: &BTreeSet<Uid>) {
        self.classes.retain(|_, class| listed.contains(&class.metadata.uid));
    }
}
