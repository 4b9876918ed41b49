//! CustomResourceDefinitions: kinds that clients bring along.
//!
//! ```text
//!  CustomResourceDefinition ──stored──▶ Definition ─▶ a row in Kinds ─▶ paths, discovery, tables
//!                           ──deleted─▶ its objects go, the row goes
//! ```

pub(crate) mod schema;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    KubeApi,
    kinds::{DEFINITIONS, Kind, StatusWrites},
    object::{self, items, text},
    strategy::Strategy,
    validate::FieldError,
};

/// What a definition says beyond what a [`Kind`] holds.
pub(crate) struct Definition {
    /// `nodeset`.
    pub(crate) singular: String,
    versions: Vec<Version>,
}

struct Version {
    name: String,
    schema: Value,
    columns: Vec<Printed>,
}

/// A column that is printed.
pub(crate) struct Printed {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    path: Vec<String>,
}

impl Printed {
    fn of(column: &Value) -> Self {
        let word = |key: &str| text(column, &[key]).to_owned();
        let path = text(column, &["jsonPath"]).split('.').filter(|part| !part.is_empty());
        Self {
            name: word("name"),
            kind: word("type"),
            format: word("format"),
            description: word("description"),
            priority: column["priority"].as_i64().unwrap_or(0),
            path: path.map(Into::into).collect(),
        }
    }

    /// What an object has in this column. Only plain paths are followed, no filters.
    pub(crate) fn value<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        object::at(object, &path)
    }

    fn named(name: &str, kind: &str, path: &[&str]) -> Self {
        Self {
            name: name.into(),
            kind: kind.into(),
            format: if name == "Name" { "name".into() } else { String::new() },
            description: String::new(),
            priority: 0,
            path: path.iter().map(|part| (*part).to_owned()).collect(),
        }
    }
}

impl Definition {
    fn of(crd: &Value) -> Self {
        let versions = items(crd, &["spec", "versions"]).iter().map(|version| {
            let given = items(version, &["additionalPrinterColumns"]);
            let mut columns = vec![Printed::named("Name", "string", &["metadata", "name"])];
            columns.extend(given.iter().map(Printed::of));
            if given.is_empty() {
                columns.push(Printed::named("Age", "date", &["metadata", "creationTimestamp"]));
            }
            let name = text(version, &["name"]).to_owned();
            Version { name, schema: version["schema"]["openAPIV3Schema"].clone(), columns }
        });
        let singular = match text(crd, &["spec", "names", "singular"]) {
            "" => text(crd, &["spec", "names", "kind"]).to_lowercase(),
            given => given.to_owned(),
        };
        Self { singular, versions: versions.collect() }
    }

    /// The columns of an `apiVersion`, or of the first version for a list without one.
    pub(crate) fn columns(&self, api_version: &str) -> Option<&[Printed]> {
        let version = api_version.rsplit('/').next().unwrap_or("");
        let found = self.versions.iter().find(|it| it.name == version);
        found.or(self.versions.first()).map(|it| it.columns.as_slice())
    }

    /// A text that changes with the schema of a version.
    pub(crate) fn seal(&self, version: &str) -> String {
        self.schema(version).map(ToString::to_string).unwrap_or_default()
    }

    /// The schema of a version.
    pub(crate) fn schema(&self, version: &str) -> Option<&Value> {
        let found = self.versions.iter().find(|it| it.name == version);
        found.map(|it| &it.schema).filter(|schema| schema.is_object())
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
    let mut served: Vec<&Value> = given.iter().filter(|it| it["served"] != false).collect();
    served.sort_by_key(|version| version["storage"] != true);
    let first = *served.first()?;
    let names = served.iter().map(|it| &*String::leak(text(it, &["name"]).to_owned()));
    let versions: Vec<&'static str> = names.collect();
    let (resource, group) = (word(&["spec", "names", "plural"]), word(&["spec", "group"]));
    let has = |part: &str| object::at(first, &["subresources", part]).is_some();
    Some(Box::leak(Box::new(Kind {
        key: String::leak(format!("{resource}.{group}")),
        group,
        versions: Vec::leak(versions),
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
        fields: &[],
        strategy: Strategy::PLAIN,
        definition: Some(Box::leak(Box::new(Definition::of(crd)))),
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
        }
    }

    /// Whether the last write of a definition changed nothing but metadata and status.
    fn is_defined_by(&self, crd: &Value) -> bool {
        let last = self.changes().last();
        last.and_then(|change| change.previous.as_ref()).is_some_and(|it| it["spec"] == crd["spec"])
    }

    /// Serves what a definition defined no more.
    pub(crate) fn undefine(&mut self, kind: &Kind, crd: &Value, user: &Arc<str>) {
        if kind.key != DEFINITIONS {
            return;
        }
        let Some(gone) = self.kinds.by_key(object::name(crd)) else {
            return;
        };
        let objects: Vec<Arc<Value>> = self.store.table(gone).list("").cloned().collect();
        for object in objects {
            self.discard(gone, &object, user);
        }
        self.kinds.remove(gone.key);
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
    crd["status"] = json!({
        "acceptedNames": crd["spec"]["names"],
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "storedVersions": stored,
    });
}

/// What is wrong with a definition.
pub(crate) fn validate(crd: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let (plural, group) = (text(crd, &["spec", "names", "plural"]), text(crd, &["spec", "group"]));
    for (field, value) in [
        ("spec.group", group),
        ("spec.names.plural", plural),
        ("spec.names.kind", text(crd, &["spec", "names", "kind"])),
    ] {
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
    }
    let wanted = format!("{plural}.{group}");
    if errors.is_empty() && object::name(crd) != wanted {
        let why = format!("must be spec.names.plural+\".\"+spec.group, in form `{wanted}`");
        errors.push(FieldError::invalid("metadata.name", &object::name(crd).into(), &why));
    }
    let scope = text(crd, &["spec", "scope"]);
    if !["Cluster", "Namespaced"].contains(&scope) {
        errors.push(FieldError::unsupported("spec.scope", scope, &["Cluster", "Namespaced"]));
    }
    let versions = items(crd, &["spec", "versions"]);
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", &crd["spec"]["versions"], why));
    }
    for (index, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::required(field, "schemas are required"));
        }
    }
    errors
}
