//! CustomResourceDefinitions: kinds that clients bring along.
//!
//! ```text
//!  CustomResourceDefinition ──stored──▶ Definition ─▶ a row in Kinds ─▶ paths, discovery, tables
//!                           ──deleted─▶ its objects go, then it goes, then the row
//! ```
//!
//! Each version has a schema of its own: `prune` and `values` use it on objects, `rules` evaluates what
//! is written in it; `check` and `structural` say what is wrong with a definition itself.

mod check;
mod columns;
mod formats;
pub(crate) mod prune;
mod rules;
mod structural;
mod values;

use std::sync::Arc;

use serde_json::{Value, json};

use self::rules::Rules;
pub(crate) use self::{
    check::{meta_description, validate, validate_update},
    columns::Printed,
};
use super::{
    Call, KubeApi,
    kinds::{DEFINITIONS, Kind, StatusWrites, VERBS},
    object::{self, items, text},
    status::Refusal,
    strategy::Strategy,
    validate::FieldError,
};

/// What every object has, whatever its schema says.
const OWN: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Keeps a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What a definition says beyond what a [`Kind`] holds.
pub(crate) struct Definition {
    /// `nodeset`.
    pub(crate) singular: String,
    /// Where the `Scale` of an object is found.
    pub(crate) scale: Scale,
    versions: Vec<Version>,
}

/// Paths in an object: what it should have, what it has, and which pods are meant.
#[derive(Default)]
pub(crate) struct Scale {
    pub(crate) wanted: Vec<String>,
    pub(crate) is: Vec<String>,
    pub(crate) selector: Vec<String>,
}

struct Version {
    name: String,
    schema: Value,
    rules: Rules,
    columns: Vec<Printed>,
    /// What whoever uses the version is told.
    warning: Option<String>,
}

impl Version {
    fn of(crd: &Value, version: &Value) -> Self {
        let schema = version["schema"]["openAPIV3Schema"].clone();
        let name = text(version, &["name"]).to_owned();
        let deprecated = version["deprecated"] == true;
        let told = match text(version, &["deprecationWarning"]) {
            "" => {
                let (group, kind) =
                    (text(crd, &["spec", "group"]), text(crd, &["spec", "names", "kind"]));
                format!("{group}/{name} {kind} is deprecated")
            }
            given => given.to_owned(),
        };
        Self {
            rules: Rules::compile(&schema, "").0,
            name,
            schema,
            columns: Printed::all(version),
            warning: deprecated.then_some(told),
        }
    }
}

impl Definition {
    fn of(crd: &Value) -> Self {
        let versions = items(crd, &["spec", "versions"]);
        let stored = versions.iter().find(|it| it["storage"] == true);
        let path = |key: &str| -> Vec<String> {
            let path = stored.map_or("", |it| text(it, &["subresources", "scale", key]));
            path.split('.').filter(|part| !part.is_empty()).map(Into::into).collect()
        };
        let singular = match text(crd, &["spec", "names", "singular"]) {
            "" => text(crd, &["spec", "names", "kind"]).to_lowercase(),
            given => given.to_owned(),
        };
        Self {
            singular,
            scale: Scale {
                wanted: path("specReplicasPath"),
                is: path("statusReplicasPath"),
                selector: path("labelSelectorPath"),
            },
            versions: versions.iter().map(|version| Version::of(crd, version)).collect(),
        }
    }

    fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|it| it.name == name)
    }

    /// The columns of an `apiVersion`, or of the first version for a list without one.
    pub(crate) fn columns(&self, api_version: &str) -> Option<&[Printed]> {
        let version = api_version.rsplit('/').next().unwrap_or("");
        let found = self.version(version).or(self.versions.first());
        found.map(|it| it.columns.as_slice())
    }

    /// A text that changes with the schema of a version.
    pub(crate) fn seal(&self, version: &str) -> String {
        self.schema(version).map(ToString::to_string).unwrap_or_default()
    }

    /// The schema of a version.
    pub(crate) fn schema(&self, version: &str) -> Option<&Value> {
        self.version(version).map(|it| &it.schema).filter(|schema| schema.is_object())
    }

    /// What whoever uses a version is told.
    pub(crate) fn warning(&self, version: &str) -> Option<&str> {
        self.version(version)?.warning.as_deref()
    }

    /// What is wrong with an object of a version.
    pub(crate) fn errors(
        &self,
        version: &str,
        object: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let Some(version) = self.version(version) else { return vec![] };
        let mut errors = values::validate(&version.schema, object, old);
        if version.rules.is_empty() {
            return errors;
        }
        match errors.is_empty() {
            true => errors = version.rules.errors(&version.schema, object, old),
            false => errors.push(FieldError::unchecked_rules()),
        }
        errors
    }
}

/// The item of an old list that is the same as one of a new list, if items can be told apart.
fn list_item<'a>(schema: &Value, old: &'a Value, item: &Value) -> Option<&'a Value> {
    if schema["x-kubernetes-list-type"] != "map" {
        return None;
    }
    let keys = items(schema, &["x-kubernetes-list-map-keys"]);
    let same = |other: &&Value| {
        keys.iter().filter_map(Value::as_str).all(|key| other.get(key) == item.get(key))
    };
    old.as_array()?.iter().find(same)
}

/// How versions are ordered: stable ones first, then beta, then alpha; the newest first.
fn rank(version: &str) -> (u8, std::cmp::Reverse<(u64, u64)>, String) {
    let digits = |text: &str| text.parse::<u64>().ok();
    let read = || -> Option<(u8, u64, u64)> {
        let rest = version.strip_prefix('v')?;
        for (word, class) in [("beta", 1), ("alpha", 2)] {
            if let Some((major, minor)) = rest.split_once(word) {
                return Some((class, digits(major)?, digits(minor)?));
            }
        }
        Some((0, digits(rest)?, 0))
    };
    match read() {
        Some((class, major, minor)) => (class, std::cmp::Reverse((major, minor)), String::new()),
        None => (3, std::cmp::Reverse((0, 0)), version.to_owned()),
    }
}

/// The kind that a definition brings. It lives as long as the process: definitions are few, and
/// whoever holds a kind need not ask whether it is still there.
fn kind_of(crd: &Value) -> Option<&'static Kind> {
    let word = |path: &[&str]| -> &'static str { String::leak(text(crd, path).to_owned()) };
    let words = |path: &[&str]| -> &'static [&'static str] {
        let all = items(crd, path).iter().filter_map(Value::as_str);
        let all: Vec<&'static str> = all.map(|it| &*String::leak(it.to_owned())).collect();
        Vec::leak(all)
    };
    let given = items(crd, &["spec", "versions"]);
    let mut served: Vec<&Value> = given.iter().filter(|it| it["served"] == true).collect();
    served.sort_by_key(|version| rank(text(version, &["name"])));
    let first = given.iter().find(|it| it["storage"] == true)?;
    served.first()?;
    let fields = items(first, &["selectableFields"]).iter();
    let fields: Vec<&'static str> = fields
        .map(|it| &*String::leak(text(it, &["jsonPath"]).trim_start_matches('.').to_owned()))
        .collect();
    let names = served.iter().map(|it| &*String::leak(text(it, &["name"]).to_owned()));
    let versions: Vec<&'static str> = names.collect();
    let (resource, group) = (word(&["spec", "names", "plural"]), word(&["spec", "group"]));
    let has = |part: &str| object::at(first, &["subresources", part]).is_some();
    Some(Box::leak(Box::new(Kind {
        key: String::leak(format!("{resource}.{group}")),
        group,
        versions: Vec::leak(versions),
        stored: String::leak(text(first, &["name"]).to_owned()),
        resource,
        kind: word(&["spec", "names", "kind"]),
        short: words(&["spec", "names", "shortNames"]),
        categories: words(&["spec", "names", "categories"]),
        namespaced: text(crd, &["spec", "scope"]) == "Namespaced",
        custom: true,
        status: if has("status") { StatusWrites::Alone } else { StatusWrites::None },
        scale: has("scale"),
        generation: true,
        returns_deleted: false,
        unconditional: false,
        fields: Vec::leak(fields),
        strategy: Strategy::CUSTOM,
        definition: Some(Box::leak(Box::new(Definition::of(crd)))),
        alias: "",
        convert: |_, _, _| {},
        verbs: VERBS,
        refuses: "",
    })))
}

impl KubeApi {
    /// Serves what a definition that was stored defines.
    pub(crate) fn define(&mut self, kind: &Kind, crd: &Value) {
        if kind.key != DEFINITIONS || self.is_defined_by(crd) {
            return;
        }
        if let Some(new) = kind_of(crd) {
            self.store.admit(new);
            self.kinds.put(new);
            self.documents = Arc::default();
        }
    }

    /// Whether the last write of a definition changed nothing but metadata and status.
    fn is_defined_by(&self, crd: &Value) -> bool {
        let last = self.changes().last();
        last.and_then(|change| change.previous.as_ref()).is_some_and(|it| it["spec"] == crd["spec"])
    }

    /// Serves what a definition defined no more.
    pub(crate) fn undefine(&mut self, kind: &Kind, crd: &Value) {
        if kind.key == DEFINITIONS
            && let Some(gone) = self.kinds.by_key(object::name(crd))
        {
            self.kinds.remove(gone.key);
            self.documents = Arc::default();
        }
    }

    /// Deletes what a definition brought, as far as finalizers let it; whether nothing is left.
    pub(crate) fn empty_definition(
        &mut self,
        call: &Call<'_>,
        crd: &Value,
    ) -> Result<bool, Refusal> {
        let Some(kind) = self.kinds.by_key(object::name(crd)) else { return Ok(true) };
        let objects: Vec<Arc<Value>> = self.store.table(kind).list("").cloned().collect();
        for object in objects {
            let namespace = object::namespace(&object).to_owned();
            let target = super::path::Target {
                kind,
                version: kind.stored_version(),
                namespace: &namespace,
                name: Some(object::name(&object)),
                subresource: None,
            };
            let one = Call { target, ..call.clone() };
            self.delete(&one, &object, &super::delete::DeleteOptions::default())?;
        }
        Ok(self.dry || self.store.table(kind).list("").next().is_none())
    }

    /// Takes a definition out whose last object has gone.
    pub(crate) fn release_definition(&mut self, kind: &Kind, user: &Arc<str>) {
        if !kind.custom || self.store.table(kind).list("").next().is_some() {
            return;
        }
        let Some(definitions) = self.kinds.by_key(DEFINITIONS) else { return };
        let Some(crd) = self.store.get(definitions, "", kind.key).cloned() else { return };
        let waits = object::finalizers(&crd).eq([CLEANUP]);
        if object::is_deleting(&crd) && waits {
            self.discard(definitions, &crd, user);
        }
    }
}

/// Fills in what a definition left open.
pub(crate) fn defaults(crd: &mut Value) {
    let kind = text(crd, &["spec", "names", "kind"]).to_owned();
    let spec = object::map_mut(crd, "spec");
    object::default(spec, "conversion", json!({"strategy": "None"}));
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        object::default(names, "singular", kind.to_lowercase());
        object::default(names, "listKind", format!("{kind}List"));
    }
}

/// A new definition is accepted as it is and served from now on.
pub(crate) fn prepare(crd: &mut Value) {
    let now = crd["metadata"]["creationTimestamp"].clone();
    let versions = items(crd, &["spec", "versions"]);
    let stored = versions.iter().filter(|it| it["storage"] == true).map(|it| it["name"].clone());
    let stored: Vec<Value> = stored.collect();
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "lastTransitionTime": now, "reason": reason,
            "message": message,
        })
    };
    let finalizers = object::metadata_mut(crd).entry("finalizers").or_insert(json!([]));
    if let Some(list) = finalizers.as_array_mut()
        && !list.iter().any(|it| it == CLEANUP)
    {
        list.push(CLEANUP.into());
    }
    crd["status"] = json!({
        "acceptedNames": crd["spec"]["names"],
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "storedVersions": stored,
    });
}

/// Notes a version that objects are stored in from now on.
pub(crate) fn note_stored(crd: &mut Value) {
    let stored = items(crd, &["spec", "versions"]).iter().find(|it| it["storage"] == true);
    let Some(name) = stored.map(|it| it["name"].clone()) else { return };
    let status = object::map_mut(crd, "status");
    let list = status.entry("storedVersions").or_insert(json!([]));
    if let Some(list) = list.as_array_mut()
        && !list.contains(&name)
    {
        list.push(name);
    }
}
