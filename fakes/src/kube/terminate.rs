//! Namespaces on their way out: everything in them goes, then they do.
//!
//! ```text
//!  DELETE ─▶ Terminating ─▶ every collection in it is deleted ─▶ empty? ─▶ gone
//!                                     ▲                            │ no: grace, finalizers
//!                                     └── something in it went ◀───┘
//! ```

use std::sync::Arc;

use drawbridge_sim::Time;
use serde_json::Value;

use super::{
    Call, KubeApi,
    admission::Webhooks,
    delete::Deletion,
    garbage,
    kinds::{self, Kind},
    object,
    status::Refusal,
};
use crate::{Method, Request};

const USER: &str = "system:serviceaccount:kube-system:namespace-controller";

/// Namespaces that a cluster can't be without.
const KEPT: [&str; 3] = ["default", "kube-public", "kube-system"];

impl KubeApi {
    /// Begins to delete a namespace: `marked` is it with its time of deletion.
    pub(crate) fn terminate(
        &mut self,
        call: &Call<'_>,
        object: &Arc<Value>,
        mut marked: Value,
    ) -> Result<Deletion, Refusal> {
        let name = object::name(object);
        if KEPT.contains(&name) {
            let why = "this namespace may not be deleted";
            return Err(Refusal::forbidden(call.target.kind, name, why));
        }
        object::map_mut(&mut marked, "status").insert("phase".into(), "Terminating".into());
        if marked == **object {
            return Ok(Deletion::Waiting(object.clone()));
        }
        Ok(Deletion::Waiting(self.commit(call.target.kind, marked, &call.user)))
    }

    /// Empties a terminating namespace and takes it out once it is empty; counts its requests.
    pub(super) fn empty_namespace(
        &mut self,
        now: Time,
        name: &str,
        hooks: &mut dyn Webhooks,
    ) -> usize {
        let full = |api: &Self, kind: &&Kind| {
            kind.namespaced
                && kind.alias.is_empty()
                && api.store.table(kind).list(name).next().is_some()
        };
        let full_of: Vec<&Kind> = self.kinds.iter().filter(|kind| full(self, kind)).collect();
        for kind in &full_of {
            let request = Request::new(USER, Method::Delete, garbage::collection(kind, name));
            self.collect_by(now, &request, garbage::Cause::Namespace(name.into()), hooks);
        }
        let empty = !self.kinds.iter().any(|kind| full(self, &kind));
        let namespaces = kinds::namespaces();
        let namespace = self.store.get(namespaces, "", name).cloned();
        let held = |namespace: &Arc<Value>| object::finalizers(namespace).next().is_some();
        match namespace.filter(|namespace| empty && !held(namespace)) {
            Some(namespace) => {
                self.discard(namespaces, &namespace, &USER.into());
                full_of.len() + 1
            }
            None => full_of.len(),
        }
    }
}
