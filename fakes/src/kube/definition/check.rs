//! What is wrong with a definition, and with changing it.

use std::sync::OnceLock;

use serde_json::Value;

use super::{columns, rules::Rules, structural};
use crate::kube::{
    object::{self, at, items, text},
    validate::{FieldError, NameRule},
};

/// What is wrong with a definition.
pub(crate) fn validate(crd: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let (plural, group) = (text(crd, &["spec", "names", "plural"]), text(crd, &["spec", "group"]));
    let wanted = format!("{plural}.{group}");
    if object::name(crd) != wanted {
        let why = format!("must be spec.names.plural+\".\"+spec.group, in form `{wanted}`");
        errors.push(FieldError::invalid("metadata.name", &object::name(crd).into(), &why));
    }
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if let Some(why) = NameRule::Subdomain.check(group) {
        errors.push(FieldError::invalid("spec.group", &group.into(), &why));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", &group.into(), why));
    }
    let (scope, scopes) = (text(crd, &["spec", "scope"]), ["Cluster", "Namespaced"]);
    match scope {
        "" => errors.push(FieldError::required("spec.scope", "")),
        scope if !scopes.contains(&scope) => {
            errors.push(FieldError::unsupported("spec.scope", scope, &scopes));
        }
        _ => {}
    }
    errors.extend(version_errors(crd));
    errors.extend(name_errors(&crd["spec"]["names"]));
    errors.extend(conversion_errors(&crd["spec"]["conversion"]));
    if crd["spec"]["preserveUnknownFields"] == true {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                   spec.versions[*].schema instead";
        let field = "spec.preserveUnknownFields";
        errors.push(FieldError::invalid(field, &true.into(), why));
    }
    errors
}

fn version_errors(crd: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let versions = items(crd, &["spec", "versions"]);
    let mut names = vec![];
    for (index, version) in versions.iter().enumerate() {
        let field = format!("spec.versions[{index}]");
        let name = text(version, &["name"]);
        if let Some(why) = NameRule::Dns1035.check(name) {
            errors.push(FieldError::invalid(format!("{field}.name"), &name.into(), &why));
        }
        errors.extend(one_version_errors(version, &field));
        if names.contains(&name) {
            let why = "must contain unique version names";
            errors.push(FieldError::invalid("spec.versions", &crd["spec"]["versions"], why));
        }
        names.push(name);
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", &crd["spec"]["versions"], why));
    }
    errors
}

fn one_version_errors(version: &Value, field: &str) -> Vec<FieldError> {
    let at_schema = format!("{field}.schema.openAPIV3Schema");
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut errors = match schema.is_object() {
        true => structural::errors(schema, &at_schema),
        false => vec![FieldError::required(&*at_schema, "schemas are required")],
    };
    if errors.is_empty() {
        errors = Rules::compile(schema, &at_schema).1;
    }
    for (index, column) in items(version, &["additionalPrinterColumns"]).iter().enumerate() {
        errors.extend(column_errors(column, &format!("{field}.additionalPrinterColumns[{index}]")));
    }
    errors.extend(scale_errors(&version["subresources"]["scale"], field));
    for (index, selectable) in items(version, &["selectableFields"]).iter().enumerate() {
        let field = format!("{field}.selectableFields[{index}].jsonPath");
        let path = text(selectable, &["jsonPath"]);
        let parts = path.strip_prefix('.').unwrap_or("").split('.');
        let found = parts.into_iter().try_fold(schema, |schema, key| schema["properties"].get(key));
        let why = match found.and_then(|it| it["type"].as_str()) {
            _ if path.starts_with(".metadata") => "must not point to fields in metadata",
            Some("string" | "boolean" | "integer") => continue,
            Some(_) => {
                "must point to a field of type string, boolean or integer. Enum string fields and \
                 strings with formats are allowed."
            }
            None => "is an invalid path: does not refer to a valid field",
        };
        errors.push(FieldError::invalid(field, &path.into(), why));
    }
    errors
}

fn column_errors(column: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    let word = |key| text(column, &[key]);
    if word("name").is_empty() {
        errors.push(FieldError::required(format!("{field}.name"), ""));
    }
    let types = ["boolean", "date", "integer", "number", "string"];
    let why = format!("must be one of {}", types.join(","));
    match word("type") {
        "" => errors.push(FieldError::required(format!("{field}.type"), &why)),
        given if !types.contains(&given) => {
            errors.push(FieldError::invalid(format!("{field}.type"), &given.into(), &why));
        }
        _ => {}
    }
    let at_path = format!("{field}.JSONPath");
    match word("jsonPath") {
        "" => errors.push(FieldError::required(at_path, "")),
        path if !path.starts_with('.') => {
            let why = "must be a simple json path starting with .";
            errors.push(FieldError::invalid(at_path, &path.into(), why));
        }
        path => {
            let why = columns::check_path(path).err();
            errors.extend(why.map(|why| FieldError::invalid(at_path, &path.into(), &why)));
        }
    }
    errors
}

fn scale_errors(scale: &Value, field: &str) -> Vec<FieldError> {
    if scale.is_null() {
        return vec![];
    }
    let mut errors = vec![];
    let rows: [(&str, &[&str], bool); 3] = [
        ("specReplicasPath", &[".spec."], true),
        ("statusReplicasPath", &[".status."], true),
        ("labelSelectorPath", &[".spec.", ".status."], false),
    ];
    for (key, roots, required) in rows {
        let field = format!("{field}.subresources.scale.{key}");
        let path = text(scale, &[key]);
        if path.is_empty() {
            if required {
                errors.push(FieldError::required(field, ""));
            }
        } else if !roots.iter().any(|root| path.starts_with(root)) {
            let place = if roots.len() == 1 {
                roots[0].trim_end_matches('.')
            } else {
                "either .spec or .status"
            };
            let why = format!("should be a json path under {place}");
            errors.push(FieldError::invalid(field, &path.into(), &why));
        }
    }
    errors
}

fn name_errors(names: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    for key in ["plural", "singular", "kind", "listKind"] {
        let (field, name) = (format!("spec.names.{key}"), text(names, &[key]));
        let mixed = ["kind", "listKind"].contains(&key);
        let lower = if mixed { name.to_lowercase() } else { name.to_owned() };
        if name.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if let Some(why) = NameRule::Dns1035.check(&lower) {
            let hint = if mixed { "may have mixed case, but should otherwise match: " } else { "" };
            errors.push(FieldError::invalid(field, &name.into(), &format!("{hint}{why}")));
        }
    }
    for key in ["shortNames", "categories"] {
        for (index, name) in items(names, &[key]).iter().enumerate() {
            let why = NameRule::Dns1035.check(name.as_str().unwrap_or(""));
            let field = format!("spec.names.{key}[{index}]");
            errors.extend(why.map(|why| FieldError::invalid(field, name, &why)));
        }
    }
    let kind = text(names, &["kind"]);
    if !kind.is_empty() && kind == text(names, &["listKind"]) {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", &kind.into(), why));
    }
    errors
}

fn conversion_errors(conversion: &Value) -> Vec<FieldError> {
    let field = "spec.conversion.strategy";
    match text(conversion, &["strategy"]) {
        "" | "None" => vec![],
        "Webhook" => {
            let why = "conversion by webhook is not modelled; None is";
            vec![FieldError::forbidden(field, why)]
        }
        other => vec![FieldError::unsupported(field, other, &["None", "Webhook"])],
    }
}

/// What may not change in a definition.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    for path in [&["scope"][..], &["names", "kind"], &["group"], &["names", "plural"]] {
        let look = |crd: &Value| at(&crd["spec"], path).cloned().unwrap_or_default();
        let (is, was) = (look(new), look(old));
        if is != was {
            let field = format!("spec.{}", path.join("."));
            errors.push(FieldError::invalid(field, &is, "field is immutable"));
        }
    }
    let versions = items(new, &["spec", "versions"]);
    for (index, stored) in items(new, &["status", "storedVersions"]).iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *stored) {
            let field = format!("status.storedVersions[{index}]");
            errors.push(FieldError::invalid(field, stored, "must appear in spec.versions"));
        }
    }
    errors
}

/// What every field of metadata is for, as Kubernetes' own schemas say.
pub(crate) fn meta_description(field: &str) -> &'static str {
    static NOTHING: OnceLock<Value> = OnceLock::new();
    let meta = crate::kube::schemas::all().get("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    let meta = meta.unwrap_or_else(|| NOTHING.get_or_init(Value::default));
    meta["properties"][field]["description"].as_str().unwrap_or("")
}
