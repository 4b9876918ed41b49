//! Deleting: preconditions, grace, finalizers, propagation.
//!
//! ```text
//!  DELETE ─▶ preconditions ─▶ held by grace or finalizers? ── yes ─▶ deletionTimestamp is set
//!                                        └── no ──▶ gone
//! ```

use std::sync::Arc;

use drawbridge_sim::{Epoch, Time};
use serde_json::{Map, Value, json};

use super::{
    Call, KubeApi,
    admission::{Operation, Webhooks},
    kinds::{DEFINITIONS, Kind},
    object,
    path::Target,
    read::Selection,
    status::{self, Refusal},
    watch::shown,
};
use crate::{Request, Response};

/// What becomes of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// What a delete asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_secs: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) propagation: Option<Propagation>,
}

impl DeleteOptions {
    /// Reads a `DeleteOptions` body, then what the query says in its place.
    pub(crate) fn of(request: &Request, body: Option<&Value>) -> Result<Self, Refusal> {
        let empty = Value::Null;
        let body = body.unwrap_or(&empty);
        let given = |path: &[&str]| object::at(body, path).and_then(Value::as_str);
        let grace_text = request.query("gracePeriodSeconds");
        let grace_secs = match grace_text {
            Some(text) => Some(text.parse().map_err(|_| {
                Refusal::bad_request(format!("gracePeriodSeconds: `{text}` is not a number"))
            })?),
            None => object::at(body, &["gracePeriodSeconds"]).and_then(Value::as_i64),
        };
        let propagation =
            request.query("propagationPolicy").or_else(|| given(&["propagationPolicy"]));
        Ok(Self {
            grace_secs,
            uid: given(&["preconditions", "uid"]).map(Into::into),
            version: given(&["preconditions", "resourceVersion"]).map(Into::into),
            propagation: propagation.map(propagation_of).transpose()?,
        })
    }

    fn check(&self, kind: &Kind, object: &Value) -> Result<(), Refusal> {
        let name = object::name(object);
        let differs =
            |want: &Option<String>, is: &str| want.as_ref().filter(|want| *want != is).cloned();
        if let Some(want) = differs(&self.uid, object::uid(object)) {
            let is = object::uid(object);
            let why = format!(
                "the UID in the precondition ({want}) does not match the UID in record ({is}). \
                 The object might have been deleted and then recreated"
            );
            return Err(Refusal::conflict_on(kind.kind, name, &why));
        }
        if let Some(want) = differs(&self.version, object::version(object)) {
            let is = object::version(object);
            let why = format!(
                "the ResourceVersion in the precondition ({want}) does not match the \
                 ResourceVersion in record ({is}). The object might have been modified"
            );
            return Err(Refusal::conflict_on(kind.kind, name, &why));
        }
        Ok(())
    }
}

fn propagation_of(text: &str) -> Result<Propagation, Refusal> {
    match text {
        "Background" => Ok(Propagation::Background),
        "Foreground" => Ok(Propagation::Foreground),
        "Orphan" => Ok(Propagation::Orphan),
        other => Err(Refusal::bad_request(format!(
            "propagationPolicy: Unsupported value: \"{other}\": supported values: \"Foreground\", \
             \"Background\", \"Orphan\""
        ))),
    }
}

/// What became of an object that was to be deleted.
pub(crate) enum Deletion {
    /// It is gone; its last state.
    Gone(Arc<Value>),
    /// It waits for its grace period or for finalizers.
    Waiting(Arc<Value>),
}

impl KubeApi {
    pub(crate) fn delete_one(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        let options = DeleteOptions::of(call.request, call.request.body.as_ref())?;
        let object = self.existing(&call.target, name)?.clone();
        self.validate_by_hooks(call, hooks, Operation::Delete, None, Some(&object))?;
        let kind = call.target.kind;
        let show = |object: &Arc<Value>| Response {
            status: 200,
            body: shown(kind, call.target.version, object),
        };
        Ok(match self.delete(call, &object, &options)? {
            Deletion::Gone(last) if kind.returns_deleted => show(&last),
            Deletion::Gone(last) => status::deleted(kind, name, object::uid(&last)),
            Deletion::Waiting(object) => show(&object),
        })
    }

    pub(crate) fn delete_many(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
    ) -> Result<Response, Refusal> {
        let target = &call.target;
        if target.kind.namespaced && target.namespace.is_empty() || target.kind.key == "namespaces"
        {
            return Err(Refusal::method_not_allowed());
        }
        let options = DeleteOptions::of(call.request, call.request.body.as_ref())?;
        let list = self.read_many(target, call.request)?;
        let selection = Selection::of(target, call.request)?;
        let chosen: Vec<Arc<Value>> = self.select(target, &selection).cloned().collect();
        let outcome = self.all_may_go(call, hooks, &chosen);
        if outcome.as_ref().is_err_and(|(_, refusal)| refusal.is_wait()) {
            return Err(Refusal::wait());
        }
        let allowed = outcome.as_ref().err().map_or(chosen.len(), |(place, _)| *place);
        for object in &chosen[..allowed] {
            let target = Target { name: Some(object::name(object)), ..*target };
            self.delete(&Call { target, ..call.clone() }, object, &options)?;
        }
        outcome.map(|()| list).map_err(|(_, refusal)| refusal)
    }

    /// Asks webhooks about the deletion of all these objects; who may not go, and why not.
    fn all_may_go(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        objects: &[Arc<Value>],
    ) -> Result<(), (usize, Refusal)> {
        let mut outcome = Ok(());
        for (place, object) in objects.iter().enumerate() {
            let target = Target { name: Some(object::name(object)), ..call.target };
            let one = Call { target, ..call.clone() };
            match self.validate_by_hooks(&one, hooks, Operation::Delete, None, Some(object)) {
                Err(refusal) if refusal.is_wait() => outcome = Err((place, refusal)),
                Err(refusal) if outcome.is_ok() => return Err((place, refusal)),
                Ok(()) | Err(_) => {}
            }
        }
        outcome
    }

    /// Deletes an object as far as it lets itself be deleted.
    pub(crate) fn delete(
        &mut self,
        call: &Call<'_>,
        object: &Arc<Value>,
        options: &DeleteOptions,
    ) -> Result<Deletion, Refusal> {
        let kind = call.target.kind;
        options.check(kind, object)?;
        let marked = mark(self.epoch, call.now, kind, object, options);
        if kind.key == "namespaces" {
            return self.terminate(call, object, marked);
        }
        if kind.key == DEFINITIONS && self.empty_definition(call, object)? {
            return Ok(Deletion::Gone(self.discard(kind, object, &call.user)));
        }
        let held = object::finalizers(&marked).next().is_some() || grace_of(&marked) > 0;
        if !held {
            // Only a pod's last state says that it was deleted: the others had no time to know.
            let last = match kind.key {
                "pods" => Arc::new(marked),
                _ => object.clone(),
            };
            return Ok(Deletion::Gone(self.discard(kind, &last, &call.user)));
        }
        if marked == **object {
            return Ok(Deletion::Waiting(object.clone()));
        }
        Ok(Deletion::Waiting(self.commit(kind, marked, &call.user)))
    }
}

fn grace_of(object: &Value) -> i64 {
    let grace = object::at(object, &["metadata", "deletionGracePeriodSeconds"]);
    grace.and_then(Value::as_i64).unwrap_or(0)
}

/// The object as a delete leaves it: on its way out, with its grace and its finalizers.
fn mark(epoch: Epoch, now: Time, kind: &Kind, object: &Value, options: &DeleteOptions) -> Value {
    let mut marked = object.clone();
    let first = !object::is_deleting(object);
    let asked = grace_asked(kind, object, options);
    let grace = match first {
        true => asked.unwrap_or(0),
        // A second delete can only make it quicker.
        false => asked.unwrap_or(i64::MAX).min(grace_of(object)),
    };
    let began = match first {
        true => epoch.unix(now),
        false => deletion_time(object).saturating_sub(grace_of(object).unsigned_abs()),
    };
    let ends = Epoch::from_unix(began + grace.unsigned_abs()).rfc3339(Time::ZERO);
    let generation = object["metadata"]["generation"].as_u64();
    let metadata = object::metadata_mut(&mut marked);
    metadata.insert("deletionTimestamp".into(), ends.into());
    metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
    if let (true, Some(generation)) = (first, generation) {
        metadata.insert("generation".into(), (generation + 1).into());
    }
    set_propagation(metadata, options.propagation);
    marked
}

/// The seconds that an object may take. Only pods take any, and only on a node.
fn grace_asked(kind: &Kind, object: &Value, options: &DeleteOptions) -> Option<i64> {
    if kind.key != "pods" {
        return Some(0);
    }
    let phase = object::text(object, &["status", "phase"]);
    let unbound = object::text(object, &["spec", "nodeName"]).is_empty();
    if unbound || matches!(phase, "Succeeded" | "Failed") {
        return Some(0);
    }
    let own = || object["spec"]["terminationGracePeriodSeconds"].as_i64();
    let asked = match object::is_deleting(object) {
        true => options.grace_secs,
        false => options.grace_secs.or_else(own),
    };
    asked.map(|secs| if secs < 0 { 1 } else { secs })
}

/// When the grace of an object ends, in seconds since 1970.
fn deletion_time(object: &Value) -> u64 {
    let text = object::text(object, &["metadata", "deletionTimestamp"]);
    Epoch::parse(text).map_or(0, |epoch| epoch.unix(Time::ZERO))
}

/// The garbage collector's finalizers say what it has to do before the object may go.
fn set_propagation(metadata: &mut Map<String, Value>, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else {
        return;
    };
    let kept = metadata.get("finalizers").and_then(Value::as_array);
    let mut names: Vec<Value> = kept.cloned().unwrap_or_default();
    names.retain(|name| name != ORPHAN && name != FOREGROUND);
    match propagation {
        Propagation::Background => {}
        Propagation::Foreground => names.push(FOREGROUND.into()),
        Propagation::Orphan => names.push(ORPHAN.into()),
    }
    match names.is_empty() {
        true => metadata.remove("finalizers"),
        false => metadata.insert("finalizers".into(), json!(names)),
    };
}

/// Holds an object until its dependents forgot it.
pub(crate) const ORPHAN: &str = "orphan";
/// Holds an object until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
