//! The kinds that are served, as data: one row each in `table`. A new kind is a new row and its
//! strategy; a CustomResourceDefinition adds a row while the server runs.

mod table;

use std::sync::Arc;

use serde_json::Value;

use super::{
    definition::{Definition, schema},
    strategy::Strategy,
    validate::FieldError,
};

pub(crate) use self::table::{DEFINITIONS, MUTATING, VALIDATING};

/// One kind of object and how the server treats it.
pub(crate) struct Kind {
    /// `pods`, `jobs.batch`: what the store, changes and error texts call it.
    pub(crate) key: &'static str,
    /// `""` for core.
    pub(crate) group: &'static str,
    /// Served versions; objects are stored as the first.
    pub(crate) versions: &'static [&'static str],
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
}

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

    /// The version that objects are stored as.
    pub(crate) fn stored_version(&self) -> &'static str {
        self.versions[0]
    }

    /// Fills in what the client left open.
    pub(crate) fn fill_in(&self, object: &mut Value) {
        (self.strategy.defaults)(object);
        if let Some(schema) = self.schema() {
            schema::defaults(schema, object);
        }
    }

    /// What is wrong with an object.
    pub(crate) fn errors(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = (self.strategy.validate)(object);
        if let Some(schema) = self.schema() {
            errors.extend(schema::validate(schema, object, ""));
            let replicas = &object["spec"]["replicas"];
            if self.scale && replicas.as_i64().is_some_and(|count| count < 0) {
                let why = "should be a non-negative integer";
                errors.push(FieldError::invalid(".spec.replicas", replicas, why));
            }
        }
        errors
    }

    /// The schema of the stored version, if a definition brought one.
    pub(crate) fn schema(&self) -> Option<&'static Value> {
        self.definition?.schema(self.stored_version())
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
pub(crate) struct Kinds(Arc<Vec<&'static Kind>>);

impl Kinds {
    /// The kinds that every server has.
    pub(crate) fn builtin() -> Self {
        Self(Arc::new(table::KINDS.iter().collect()))
    }

    /// The kind served under this path part.
    pub(crate) fn find(&self, group: &str, version: &str, resource: &str) -> Option<&'static Kind> {
        self.iter().find(|kind| {
            kind.resource == resource && kind.group == group && kind.versions.contains(&version)
        })
    }

    /// The kind with this key.
    pub(crate) fn by_key(&self, key: &str) -> Option<&'static Kind> {
        self.iter().find(|kind| kind.key == key)
    }

    /// Whether anything is served under this group and version.
    pub(crate) fn serves(&self, group: &str, version: &str) -> bool {
        self.iter().any(|kind| kind.group == group && kind.versions.contains(&version))
    }

    /// All of them, in the order of the table.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &'static Kind> {
        self.0.iter().copied()
    }

    /// Without the kinds that a real server only has by definitions.
    pub(crate) fn without_custom(&self) -> Self {
        Self(Arc::new(self.iter().filter(|kind| !kind.custom).collect()))
    }

    /// Serves a kind, in place of the one with its key.
    pub(crate) fn put(&mut self, kind: &'static Kind) {
        let all = Arc::make_mut(&mut self.0);
        all.retain(|known| known.key != kind.key);
        all.push(kind);
    }

    /// Serves a kind no more.
    pub(crate) fn remove(&mut self, key: &str) {
        Arc::make_mut(&mut self.0).retain(|known| known.key != key);
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
        for kind in table::KINDS {
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
