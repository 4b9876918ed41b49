//! The garbage collector: what is left without owners, or in a namespace that goes, goes too.
//!
//! Writes put the uids that need a look into a queue; [`KubeApi::collect_garbage`] looks at them.
//! Deletes and patches go through the API like everybody else's, under the collector's own user.

mod waits;

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_sim::Time;
use serde_json::{Value, json};

pub(super) use self::waits::Cause;
use self::waits::Waits;
use super::{
    KubeApi, ObjectKey,
    admission::Webhooks,
    delete::{FOREGROUND, ORPHAN},
    kinds::{Kind, Kinds},
    object,
    store::Store,
};
use crate::{Method, Request};

const USER: &str = "system:serviceaccount:kube-system:generic-garbage-collector";

/// What needs a look.
#[derive(Clone, Default)]
pub(crate) struct Garbage {
    /// Owners, there or gone, for their dependents.
    owners: BTreeSet<Arc<str>>,
    /// Namespaces that are to be emptied.
    namespaces: BTreeSet<Arc<str>>,
    /// Requests of the collector that wait for webhooks.
    waits: Waits,
}

impl Garbage {
    /// An object was stored: are its owners there, does it wait for its dependents?
    pub(crate) fn stored(&mut self, store: &Store, object: &Value) {
        let missing = object::owners(object).filter(|uid| store.by_uid(uid).is_none());
        self.owners.extend(missing.map(Arc::from));
        if waits_for_dependents(object) {
            self.owners.insert(object::uid(object).into());
        }
        if object["kind"] == "Namespace" && object::is_deleting(object) {
            self.namespaces.insert(object::name(object).into());
        }
    }

    /// An object is gone: its dependents, and owners that waited for it, need a look.
    pub(crate) fn removed(&mut self, store: &Store, object: &Value) {
        let uid = object::uid(object);
        if store.dependents(uid).next().is_some() {
            self.owners.insert(uid.into());
        }
        for owner in object::owners(object) {
            let found = store.by_uid(owner).and_then(|key| store.at(key));
            if found.is_some_and(|owner| waits_for_dependents(owner)) {
                self.owners.insert(owner.into());
            }
        }
        let namespaces = store.table_of("namespaces");
        let namespace = namespaces.and_then(|all| all.get("", object::namespace(object)));
        if namespace.is_some_and(|namespace| object::is_deleting(namespace)) {
            self.namespaces.insert(object::namespace(object).into());
        }
    }
}

fn waits_for_dependents(object: &Value) -> bool {
    object::is_deleting(object)
        && object::finalizers(object).any(|name| [ORPHAN, FOREGROUND].contains(&name))
}

/// One thing that the collector does.
enum Step {
    /// Delete this one, before what it owns itself or, in the foreground, after.
    Delete(ObjectKey, String, &'static str),
    /// Drop this owner's uid from the object's references.
    Forget(ObjectKey, String),
    /// Take this finalizer off the owner.
    Release(ObjectKey, &'static str),
}

impl KubeApi {
    /// Whether [`KubeApi::collect_garbage`] has anything to look at.
    pub fn has_garbage(&self) -> bool {
        !self.garbage.owners.is_empty() || !self.garbage.namespaces.is_empty()
    }

    /// Deletes what owners and namespaces left behind; gives back how many requests that took.
    pub fn collect_garbage(&mut self, now: Time, hooks: &mut dyn Webhooks) -> usize {
        let mut done = 0;
        for namespace in std::mem::take(&mut self.garbage.namespaces) {
            done += self.empty_namespace(now, &namespace, hooks);
        }
        while let Some(uid) = self.garbage.owners.pop_first() {
            let steps = self.steps_for(&uid);
            done += steps.len();
            for step in steps {
                if let Some(request) = self.request_for(step) {
                    self.collect_by(now, &request, Cause::Owner(uid.clone()), hooks);
                }
            }
        }
        done
    }

    fn steps_for(&self, uid: &str) -> Vec<Step> {
        match self.store.by_uid(uid).and_then(|key| Some((key, self.store.at(key)?))) {
            None => self.after_owner(uid),
            Some((key, owner)) if object::finalizers(owner).any(|name| name == ORPHAN) => {
                self.orphan_all(uid, key)
            }
            Some((key, owner)) if waits_for_dependents(owner) => self.foreground(uid, key),
            Some(_) => vec![],
        }
    }

    /// The owner is gone: dependents without another owner go too.
    fn after_owner(&self, uid: &str) -> Vec<Step> {
        let mut steps = vec![];
        for (key, object) in self.dependents(uid) {
            let kept = object::owners(object).any(|owner| self.is_owner(owner, object));
            if kept {
                steps.push(Step::Forget(key.clone(), uid.to_owned()));
            } else if !object::is_deleting(object) && is_known(&self.kinds, uid, object) {
                steps.push(Step::Delete(key.clone(), object::uid(object).to_owned(), "Background"));
            }
        }
        steps
    }

    /// Whether this uid is there and can own the object: cluster-wide, or in its namespace.
    fn is_owner(&self, uid: &str, object: &Value) -> bool {
        self.store.by_uid(uid).is_some_and(|key| {
            key.namespace.is_empty() || *key.namespace == *object::namespace(object)
        })
    }

    fn orphan_all(&self, uid: &str, owner: &ObjectKey) -> Vec<Step> {
        let forget = self.dependents(uid).map(|(key, _)| Step::Forget(key.clone(), uid.to_owned()));
        forget.chain([Step::Release(owner.clone(), ORPHAN)]).collect()
    }

    /// The owner waits for what blocks it. A dependent that others own too is left to them; one that
    /// owns something itself waits in turn.
    fn foreground(&self, uid: &str, owner: &ObjectKey) -> Vec<Step> {
        let (mut steps, mut waits) = (vec![], false);
        for (key, object) in self.dependents(uid).filter(|(_, object)| blocks(uid, object)) {
            let own = object::uid(object);
            if object::owners(object).any(|other| self.is_solid(other, object)) {
                steps.push(Step::Forget(key.clone(), uid.to_owned()));
                continue;
            }
            waits = true;
            if !object::is_deleting(object) {
                let owns = self.dependents(own).next().is_some();
                let how = if owns { "Foreground" } else { "Background" };
                steps.push(Step::Delete(key.clone(), own.to_owned(), how));
            }
        }
        if !waits {
            steps.push(Step::Release(owner.clone(), FOREGROUND));
        }
        steps
    }

    /// Whether this owner of an object is there to stay.
    fn is_solid(&self, uid: &str, object: &Value) -> bool {
        let found = self.store.by_uid(uid).and_then(|key| self.store.at(key));
        self.is_owner(uid, object) && found.is_some_and(|owner| !waits_for_dependents(owner))
    }

    fn request_for(&self, step: Step) -> Option<Request> {
        match step {
            Step::Delete(key, uid, how) => {
                let body = json!({"preconditions": {"uid": uid}, "propagationPolicy": how});
                Some(Request::new(USER, Method::Delete, path(&self.kinds, &key)?).with_body(body))
            }
            Step::Forget(key, uid) => {
                let refs = object::items(self.store.at(&key)?, &["metadata", "ownerReferences"]);
                let kept: Vec<&Value> =
                    refs.iter().filter(|owner| object::text(owner, &["uid"]) != uid).collect();
                self.patch_of(&key, "ownerReferences", &json!(kept))
            }
            Step::Release(key, finalizer) => {
                let names = object::finalizers(self.store.at(&key)?);
                let kept: Vec<&str> = names.filter(|name| *name != finalizer).collect();
                self.patch_of(&key, "finalizers", &json!(kept))
            }
        }
    }

    fn patch_of(&self, key: &ObjectKey, field: &str, value: &Value) -> Option<Request> {
        let uid = object::uid(self.store.at(key)?).to_owned();
        let body = json!({"metadata": {"uid": uid, field: value}});
        Some(Request::new(USER, Method::MergePatch, path(&self.kinds, key)?).with_body(body))
    }
}

/// Whether the reference to this owner is of a kind that we serve: others may live elsewhere.
fn is_known(kinds: &Kinds, uid: &str, object: &Value) -> bool {
    let refs = object::items(object, &["metadata", "ownerReferences"]);
    refs.iter().filter(|owner| object::text(owner, &["uid"]) == uid).all(|owner| {
        let group = object::text(owner, &["apiVersion"]).rsplit_once('/').map_or("", |it| it.0);
        let kind = object::text(owner, &["kind"]);
        kinds.iter().any(|known| known.group == group && known.kind == kind)
    })
}

/// Whether the owner may not go before this dependent.
fn blocks(uid: &str, object: &Value) -> bool {
    let refs = object::items(object, &["metadata", "ownerReferences"]);
    refs.iter().any(|owner| {
        object::text(owner, &["uid"]) == uid
            && owner.get("blockOwnerDeletion") == Some(&Value::Bool(true))
    })
}

/// The path of an object.
fn path(kinds: &Kinds, key: &ObjectKey) -> Option<String> {
    let kind = kinds.by_key(key.resource)?;
    Some(format!("{}/{}", collection(kind, &key.namespace), key.name))
}

/// The path of a collection; of a cluster-wide one if the namespace is empty.
pub(super) fn collection(kind: &Kind, namespace: &str) -> String {
    let root = match kind.group {
        "" => format!("/api/{}", kind.stored_version()),
        group => format!("/apis/{group}/{}", kind.stored_version()),
    };
    let scope = match namespace {
        "" => String::new(),
        namespace => format!("/namespaces/{namespace}"),
    };
    format!("{root}{scope}/{}", kind.resource)
}
