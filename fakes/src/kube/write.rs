//! Creating and replacing: what every write passes through on its way into the store.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Call, KubeApi,
    admission::{Operation, Webhooks},
    definition,
    kinds::{self, DEFINITIONS, Kind, StatusWrites},
    object,
    status::Refusal,
    validate::{self, FieldError},
    watch::shown,
};
use crate::Response;

/// Which part of an object a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status, where the status is a part of its own.
    Main,
    /// `…/status`.
    Status,
}

/// How the new state of an object came about; it decides how another uid is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The client sent the whole object.
    Put,
    /// The client sent a patch.
    Patch,
}

/// Metadata that only the server writes.
const SYSTEM: [&str; 7] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "name",
    "namespace",
    "uid",
];

impl KubeApi {
    pub(crate) fn create(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
    ) -> Result<Response, Refusal> {
        let kind = call.target.kind;
        let body = call.request.body.clone().unwrap_or(Value::Null);
        let mut object = self.read_object(call, body)?;
        if !kind.refuses.is_empty() {
            return Err(Refusal::not_made(kind));
        }
        self.check_namespace(call)?;
        if !object::version(&object).is_empty() {
            return Err(Refusal::storage(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        kind.fill_in(call.target.version, &mut object);
        let managed = self.managed_when_created(call, &object);
        self.resolve_priority(call, &mut object)?;
        self.complete_pod(call, &mut object, true)?;
        self.choose_class(call, &mut object);
        let mut object = self.mutate(call, hooks, Operation::Create, object, None)?;
        kind.fill_in(call.target.version, &mut object);
        self.fill(call, &mut object);
        (kind.strategy.prepare)(&mut object);
        self.check_rights(call, &object)?;
        check(kind, &object, kind.errors(call.target.version, &object, None))?;
        let name = object::name(&object);
        if self.store.get(kind, call.target.namespace, name).is_some() {
            return Err(Refusal::already_exists(kind, name));
        }
        self.assign_addresses(call, &mut object, None)?;
        self.validate_by_hooks(call, hooks, Operation::Create, Some(&object), None)?;
        if let Some(managed) = managed {
            object::metadata_mut(&mut object).insert("managedFields".into(), managed);
        }
        let stored = self.commit(kind, object, &call.user);
        Ok(Response { status: 201, body: shown(kind, call.target.version, &stored) })
    }

    /// An object can only be made in a namespace that is there and not on its way out.
    fn check_namespace(&self, call: &Call<'_>) -> Result<(), Refusal> {
        let name = call.target.namespace;
        if name.is_empty() {
            return Ok(());
        }
        let namespaces = kinds::namespaces();
        let Some(namespace) = self.store.get(namespaces, "", name) else {
            return Err(Refusal::not_found(namespaces, name));
        };
        match object::is_deleting(namespace) {
            false => Ok(()),
            true => Err(Refusal::forbidden(
                call.target.kind,
                object::name(call.request.body.as_ref().unwrap_or(&Value::Null)),
                &format!(
                    "unable to create new content in namespace {name} because it is being terminated"
                ),
            )),
        }
    }

    /// Writes what only the server knows into a new object.
    fn fill(&mut self, call: &Call<'_>, object: &mut Value) {
        let kind = call.target.kind;
        let base = object::text(object, &["metadata", "generateName"]).to_owned();
        let unnamed = object::name(object).is_empty() && !base.is_empty();
        if kind.custom
            && kind.status != StatusWrites::None
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
        let metadata = object::metadata_mut(object);
        if unnamed {
            metadata.insert("name".into(), self.identities.name(&base).into());
        }
        for key in
            ["deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields"]
        {
            metadata.remove(key);
        }
        metadata.insert("uid".into(), self.identities.uid().into());
        let created = self.epoch.rfc3339(call.now);
        metadata.insert("creationTimestamp".into(), created.into());
        if kind.generation {
            metadata.insert("generation".into(), 1.into());
        }
    }

    pub(crate) fn update(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
    ) -> Result<Response, Refusal> {
        let stored = self.put_part(call, hooks, name, Part::Main)?;
        let body = shown(call.target.kind, call.target.version, &stored);
        Ok(Response { status: 200, body })
    }

    /// PUT of an object or of its status.
    pub(crate) fn put_part(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        name: &str,
        part: Part,
    ) -> Result<Arc<Value>, Refusal> {
        let body = call.request.body.clone().unwrap_or(Value::Null);
        let new = self.read_object(call, body)?;
        let given = object::name(&new);
        if given != name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        let old = self.existing(&call.target, name)?.clone();
        self.replace(call, hooks, &old, new, part, By::Put)
    }

    /// Makes `new` the state of the object that is `old`; the heart of every update.
    pub(crate) fn replace(
        &mut self,
        call: &Call<'_>,
        hooks: &mut dyn Webhooks,
        old: &Arc<Value>,
        mut new: Value,
        part: Part,
        by: By,
    ) -> Result<Arc<Value>, Refusal> {
        let kind = call.target.kind;
        let managed = object::metadata_mut(&mut new).remove("managedFields");
        check_uid(call, old, &new, by)?;
        check_version(kind, old, &new)?;
        let mut new = merge_parts(kind, old, new, part);
        kind.fill_in(call.target.version, &mut new);
        self.complete_pod(call, &mut new, false)?;
        self.assign_addresses(call, &mut new, Some(old))?;
        if !self.hooks.is_empty() {
            let mutated = self.mutate(call, hooks, Operation::Update, new, Some(old))?;
            new = merge_parts(kind, old, mutated, part);
            kind.fill_in(call.target.version, &mut new);
        }
        if kind.key == DEFINITIONS {
            definition::note_stored(&mut new);
        }
        count_generation(kind, old, &mut new);
        self.keep_managers(old, &mut new, managed);
        if new == **old {
            return Ok(old.clone());
        }
        self.attribute(call, old, &mut new, part);
        self.check_rights(call, &new)?;
        if part == Part::Main || kind.definition.is_some() {
            let mut errors = kind.errors(call.target.version, &new, Some(old));
            errors.extend((kind.strategy.validate_update)(&new, old));
            check(kind, &new, errors)?;
        }
        check(kind, &new, late_finalizers(&new, old))?;
        self.validate_by_hooks(call, hooks, Operation::Update, Some(&new), Some(old))?;
        if kind.key != "namespaces" && is_released(&new) {
            return Ok(self.discard(kind, &Arc::new(new), &call.user));
        }
        Ok(self.commit(kind, new, &call.user))
    }

    /// Stores an object and tells those inside the server who must know.
    pub(crate) fn commit(
        &mut self,
        kind: &'static Kind,
        object: Value,
        user: &Arc<str>,
    ) -> Arc<Value> {
        if self.dry {
            return Arc::new(object);
        }
        let stored = self.store.put(kind, object, user);
        self.garbage.stored(&self.store, &stored);
        self.define(kind, &stored);
        self.refresh_hooks(kind);
        self.furnish_namespace(kind, &stored);
        self.aggregate(kind);
        stored
    }

    /// Takes an object out and tells those inside the server who must know.
    pub(crate) fn discard(
        &mut self,
        kind: &'static Kind,
        object: &Arc<Value>,
        user: &Arc<str>,
    ) -> Arc<Value> {
        if self.dry {
            return object.clone();
        }
        let last = self.store.remove(kind, object, user);
        self.garbage.removed(&self.store, &last);
        self.undefine(kind, &last);
        self.release_definition(kind, user);
        self.refresh_hooks(kind);
        self.refurnish(kind, &last);
        self.aggregate(kind);
        last
    }
}

/// Nothing holds the object any more: it was to be deleted and waits for nobody.
fn is_released(object: &Value) -> bool {
    let grace = object::at(object, &["metadata", "deletionGracePeriodSeconds"]);
    object::is_deleting(object)
        && object::finalizers(object).next().is_none()
        && grace.and_then(Value::as_i64).unwrap_or(0) == 0
}

fn check(kind: &Kind, object: &Value, mut errors: Vec<FieldError>) -> Result<(), Refusal> {
    let builtin = !kind.custom && kind.key != DEFINITIONS;
    let mut all = validate::metadata(object, kind.strategy.names, builtin);
    all.append(&mut errors);
    match all.is_empty() {
        true => Ok(()),
        false => Err(Refusal::invalid(kind, object::name(object), &all)),
    }
}

fn check_uid(call: &Call<'_>, old: &Value, new: &Value, by: By) -> Result<(), Refusal> {
    let (given, is) = (object::uid(new), object::uid(old));
    if given.is_empty() || given == is {
        return Ok(());
    }
    let (kind, name) = (call.target.kind, object::name(old));
    Err(match by {
        By::Put => Refusal::other_uid(kind, old, given),
        By::Patch => {
            let error = FieldError::invalid("metadata.uid", &given.into(), "field is immutable");
            Refusal::invalid(kind, name, &[error])
        }
    })
}

fn check_version(kind: &Kind, old: &Value, new: &Value) -> Result<(), Refusal> {
    let given = object::version(new);
    let name = object::name(old);
    if given.is_empty() && !kind.unconditional {
        let why = "must be specified for an update";
        let error = FieldError::invalid("metadata.resourceVersion", &0.into(), why);
        return Err(Refusal::invalid(kind, name, &[error]));
    }
    match given.is_empty() || given == object::version(old) {
        true => Ok(()),
        false => Err(Refusal::modified(kind, name)),
    }
}

/// Takes from `new` what the write may change and everything else from `old`.
fn merge_parts(kind: &Kind, old: &Value, mut new: Value, part: Part) -> Value {
    match (part, kind.status) {
        (Part::Main, StatusWrites::None) => {}
        (Part::Main, _) => restore(&mut new, old, |key| key == "status"),
        (Part::Status, StatusWrites::Alone | StatusWrites::None) => {
            restore(&mut new, old, |key| key != "status");
        }
        (Part::Status, StatusWrites::WithMetadata | StatusWrites::WithoutLabels) => {
            restore(&mut new, old, |key| !["metadata", "status"].contains(&key));
            let mut kept = vec!["ownerReferences"];
            if kind.status == StatusWrites::WithoutLabels {
                kept.push("labels");
            }
            keep(object::metadata_mut(&mut new), old, &kept);
        }
    }
    let metadata = object::metadata_mut(&mut new);
    keep(metadata, old, &SYSTEM);
    keep(metadata, old, &["resourceVersion"]);
    new
}

/// Makes the chosen fields what they were; copies only what differs.
fn restore(new: &mut Value, old: &Value, chosen: fn(&str) -> bool) {
    let (Some(new), Some(old)) = (new.as_object_mut(), old.as_object()) else {
        return;
    };
    new.retain(|key, _| !chosen(key) || old.contains_key(key));
    for (key, value) in old.iter().filter(|(key, _)| chosen(key)) {
        if new.get(key) != Some(value) {
            new.insert(key.clone(), value.clone());
        }
    }
}

fn keep(metadata: &mut Map<String, Value>, old: &Value, keys: &[&str]) {
    for key in keys {
        object::copy_field(metadata, old.get("metadata"), key);
    }
}

/// The generation counts changes of everything but metadata and status.
fn count_generation(kind: &Kind, old: &Value, new: &mut Value) {
    if !kind.generation || desired(old).eq(desired(new)) {
        return;
    }
    let generation = old["metadata"]["generation"].as_u64().unwrap_or(0) + 1;
    object::metadata_mut(new).insert("generation".into(), generation.into());
}

/// What the generation counts: the fields beside metadata and status.
fn desired(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(key, _)| !["metadata", "status"].contains(&key.as_str()))
}

/// An object on its way out takes no more finalizers.
fn late_finalizers(new: &Value, old: &Value) -> Vec<FieldError> {
    let had: Vec<&str> = object::finalizers(old).collect();
    let added: Vec<String> = object::finalizers(new)
        .filter(|name| !had.contains(name))
        .map(|name| format!("\"{name}\""))
        .collect();
    match object::is_deleting(old) && !added.is_empty() {
        false => vec![],
        true => vec![FieldError::forbidden(
            "metadata.finalizers",
            &format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                added.join(", ")
            ),
        )],
    }
}
