//! What is said about claims, volumes and classes: whoever waits for one is looked at again.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Bridge;
use crate::{
    informer::Resource,
    names::{ObjectKey, Uid},
    view::{ClaimView, VolumeView},
};

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is neither claim nor volume is a class here"
)]
impl Bridge {
    /// These exist, and no others.
    pub(super) fn keep_storage(&mut self, resource: Resource, listed: &BTreeSet<Uid>) {
        match resource {
            Resource::VolumeClaims => self.storage.keep_claims(listed),
            Resource::Volumes => self.storage.keep_volumes(listed),
            _ => self.storage.keep_classes(listed),
        }
    }

    pub(super) fn change_storage(&mut self, resource: Resource, object: &Value) {
        match resource {
            Resource::VolumeClaims => {
                if let Some(claim) = self.parse::<ClaimView>(object) {
                    let key = claim.metadata.key();
                    self.storage.put_claim(claim);
                    self.touch_users_of(&key);
                }
            }
            Resource::Volumes => {
                if let Some(volume) = self.parse::<VolumeView>(object) {
                    let claim = volume.spec.claim_ref.clone();
                    self.storage.put_volume(volume);
                    if let Some(claim) = claim {
                        self.touch_users_of(&ObjectKey::new(&claim.namespace, &claim.name));
                    }
                }
            }
            _ => {
                if let Some(class) = self.parse(object) {
                    self.storage.put_class(class);
                }
            }
        }
    }

    pub(super) fn lose_storage(&mut self, resource: Resource, object: &Value) {
        let meta = &object["metadata"];
        let name = meta["name"].as_str().unwrap_or_default();
        match resource {
            Resource::VolumeClaims => {
                let key = ObjectKey::new(meta["namespace"].as_str().unwrap_or_default(), name);
                self.storage.drop_claim(&key);
                self.porter.forget(&mut self.out, &key);
                self.touch_users_of(&key);
            }
            Resource::Volumes => self.storage.drop_volume(name),
            _ => self.storage.drop_class(name),
        }
    }

    /// Those who use the claim are looked at again.
    pub(super) fn touch_users_of(&mut self, claim: &ObjectKey) {
        let users: Vec<Uid> = self.storage.users(claim).cloned().collect();
        users.iter().for_each(|pod| self.touch_home_of(pod));
    }
}
