//! The kinds that are served, as data: one row each in `table`. A new kind is a new row and its
//! strategy; a CustomResourceDefinition adds a row while the server runs.

mod convert;
mod stored;
mod table;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    definition::{Definition, prune},
    object,
    strategy::Strategy,
    validate::FieldError,
};

use self::convert::STORED;
pub(crate) use self::table::{DEFINITIONS, MUTATING, VALIDATING};

/// One kind of object and how the server treats it.
pub(crate) struct Kind {
    /// `pods`, `jobs.batch`: what the store, changes and error texts call it.
    pub(crate) key: &'static str,
    /// `""` for core.
    pub(crate) group: &'static str,
    /// Served versions, the preferred one first.
    pub(crate) versions: &'static [&'static str],
    /// The version that objects are stored as, if it isn't the first.
    pub(crate) stored: &'static str,
    /// The plural in paths.
    pub(crate) resource: &'static str,
    /// The kind in bodies.
    pub(crate) kind: &'static str,
    /// What people may write for the resource: `po`.
    pub(crate) short: &'static [&'static str],
    /// Whether `kubectl get all` shows it, and the like.
    pub(crate) categories: &'static [&'static str],
    /// Whether objects live in namespaces.
    pub(crate) namespaced: bool,
    /// Whether it comes from a CustomResourceDefinition on a real server.
    pub(crate) custom: bool,
    /// What `…/status` may write, if there is such a path.
    pub(crate) status: StatusWrites,
    /// Whether `…/scale` exists.
    pub(crate) scale: bool,
    /// Whether `metadata.generation` counts changes of the desired state.
    pub(crate) generation: bool,
    /// Whether a delete answers with the object even if it is gone at once.
    pub(crate) returns_deleted: bool,
    /// Whether a PUT without a resourceVersion overwrites whatever is there.
    pub(crate) unconditional: bool,
    /// Field selectors beside `metadata.name` and `metadata.namespace`.
    pub(crate) fields: &'static [&'static str],
    /// Defaults and validation.
    pub(crate) strategy: Strategy,
    /// What its CustomResourceDefinition says, if it comes from one that is stored.
    pub(crate) definition: Option<&'static Definition>,
    /// The key of the kind whose objects these are, if they are seen under two names.
    pub(crate) alias: &'static str,
    /// Turns an object of one version into one of another, where more than the version differs.
    pub(crate) convert: fn(&mut Value, From, To),
    /// What can be done with it.
    pub(crate) verbs: &'static [&'static str],
    /// Why nobody can make one here: nothing would act on it.
    pub(crate) refuses: &'static str,
}

/// What a kind can be asked for, if nothing is said.
pub(crate) const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The version that an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct From<'a>(pub(crate) &'a str);

/// The version that an object should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct To<'a>(pub(crate) &'a str);

/// What a write to `…/status` takes from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusWrites {
    /// There is no status subresource.
    None,
    /// The status and the metadata.
    WithMetadata,
    /// The status and the metadata without labels.
    WithoutLabels,
    /// The status alone.
    Alone,
}

impl Kind {
    /// `apps/v1`, or `v1` for core.
    pub(crate) fn api_version(&self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    /// Where its objects are stored.
    pub(crate) fn table(&self) -> &'static str {
        if self.alias.is_empty() { self.key } else { self.alias }
    }

    /// The `apiVersion` that objects are stored under.
    pub(crate) fn stored_api_version(&self) -> String {
        match self.alias {
            "" => self.api_version(self.stored_version()),
            _ => self.stored_version().to_owned(),
        }
    }

    /// The version that objects are stored as.
    pub(crate) fn stored_version(&self) -> &'static str {
        if self.stored.is_empty() { self.versions[0] } else { self.stored }
    }

    /// An object that is stored, as a version shows it.
    pub(crate) fn in_version(&self, version: &str, object: &Value) -> Value {
        let mut other = object.clone();
        if self.is_stored_as(version) {
            return other;
        }
        let stored = if self.alias.is_empty() { From(self.stored_version()) } else { STORED };
        (self.convert)(&mut other, stored, To(version));
        other["apiVersion"] = self.api_version(version).into();
        if let Some(schema) = self.schema(version) {
            prune::object(schema, &mut other);
            prune::defaults(schema, &mut other);
        }
        other
    }

    /// Whether a version shows objects as they are stored.
    pub(crate) fn is_stored_as(&self, version: &str) -> bool {
        self.alias.is_empty() && version == self.stored_version()
    }

    /// Fills in what the client left open in an object of a version.
    pub(crate) fn fill_in(&self, version: &str, object: &mut Value) {
        (self.strategy.defaults)(object);
        if let Some(schema) = self.schema(version) {
            prune::defaults(schema, object);
        }
    }

    /// What is wrong with an object of a version.
    pub(crate) fn errors(
        &self,
        version: &str,
        object: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let mut errors = (self.strategy.validate)(object);
        let Some(definition) = self.definition else { return errors };
        errors.extend(definition.errors(version, object, old));
        let path: Vec<&str> = definition.scale.wanted.iter().map(String::as_str).collect();
        let wanted = object::at(object, &path).filter(|_| self.scale);
        if let Some(wanted) = wanted.filter(|it| it.as_i64().is_some_and(|count| count < 0)) {
            let why = "should be a non-negative integer";
            let field = format!(".{}", path.join("."));
            errors.push(FieldError::invalid(field, wanted, why));
        }
        errors
    }

    /// The schema of a version, if a definition brought one.
    pub(crate) fn schema(&self, version: &str) -> Option<&'static Value> {
        self.definition?.schema(version)
    }

    /// `Deployment.apps`, or `Pod` for core: how texts about invalid objects call it.
    pub(crate) fn qualified(&self) -> String {
        match self.group {
            "" => self.kind.to_owned(),
            group => format!("{}.{group}", self.kind),
        }
    }
}

/// All kinds that a server knows now.
#[derive(Clone)]
pub(crate) struct Kinds(Arc<Known>);

#[derive(Clone)]
struct Known {
    all: Vec<&'static Kind>,
    by_path: BTreeMap<(&'static str, &'static str, &'static str), &'static Kind>,
    by_key: BTreeMap<&'static str, &'static Kind>,
}

impl Kinds {
    /// The kinds that every server has.
    pub(crate) fn builtin() -> Self {
        Self::of(table::KINDS.iter().chain(stored::KINDS).collect())
    }

    fn of(all: Vec<&'static Kind>) -> Self {
        let paths = all.iter().flat_map(|kind| {
            kind.versions.iter().map(move |version| ((kind.group, *version, kind.resource), *kind))
        });
        let (by_path, by_key) = (paths.collect(), all.iter().map(|it| (it.key, *it)).collect());
        Self(Arc::new(Known { all, by_path, by_key }))
    }

    /// The kind served under this path part.
    pub(crate) fn find<'a>(
        &'a self,
        group: &'a str,
        version: &'a str,
        resource: &'a str,
    ) -> Option<&'static Kind> {
        let by_path: &'a BTreeMap<(&'a str, &'a str, &'a str), _> = &self.0.by_path;
        by_path.get(&(group, version, resource)).copied()
    }

    /// The kind with this key.
    pub(crate) fn by_key(&self, key: &str) -> Option<&'static Kind> {
        self.0.by_key.get(key).copied()
    }

    /// Whether anything is served under this group and version.
    pub(crate) fn serves<'a>(&'a self, group: &'a str, version: &'a str) -> bool {
        let by_path: &'a BTreeMap<(&'a str, &'a str, &'a str), _> = &self.0.by_path;
        let next = by_path.range((group, version, "")..).next();
        next.is_some_and(|((own, its, _), _)| *own == group && *its == version)
    }

    /// All of them, in the order of the table.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &'static Kind> {
        self.0.all.iter().copied()
    }

    /// Without the kinds that a real server only has by definitions.
    pub(crate) fn without_custom(&self) -> Self {
        Self::of(self.iter().filter(|kind| !kind.custom).collect())
    }

    /// Serves a kind, in place of the one with its key.
    pub(crate) fn put(&mut self, kind: &'static Kind) {
        let others = self.iter().filter(|known| known.key != kind.key);
        *self = Self::of(others.chain([kind]).collect());
    }

    /// Serves a kind no more.
    pub(crate) fn remove(&mut self, key: &str) {
        *self = Self::of(self.iter().filter(|known| known.key != key).collect());
    }
}

/// The namespaces' own kind, which the server itself reads.
pub(crate) fn namespaces() -> &'static Kind {
    &table::KINDS[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_resource_qualified_by_its_group() {
        for kind in Kinds::builtin().iter() {
            let expected = match kind.group {
                "" => kind.resource.to_owned(),
                group => format!("{}.{group}", kind.resource),
            };
            assert_eq!(kind.key, expected);
            assert!(!kind.versions.is_empty(), "{} has no version", kind.key);
        }
        assert_eq!(namespaces().key, "namespaces");
    }
}
