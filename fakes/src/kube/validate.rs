//! Field errors in the server's words, and the checks that every object passes.

use std::fmt;

use serde_json::{Value, json};

use super::object::{at, items, text};

/// One thing that is wrong with a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    pub(crate) field: String,
    reason: &'static str,
    text: String,
}

impl FieldError {
    /// Nothing was given where something must be.
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let text = match detail {
            "" => "Required value".to_owned(),
            detail => format!("Required value: {detail}"),
        };
        Self::new(field, "FieldValueRequired", text)
    }

    /// The value isn't one that can be.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let text = format!("Invalid value: {value}: {detail}");
        Self::new(field, "FieldValueInvalid", text)
    }

    /// The value isn't of the type that it should be.
    pub(crate) fn mistyped(field: impl Into<String>, is: &str, detail: &str) -> Self {
        Self::new(field, "FieldValueTypeInvalid", format!("Invalid value: \"{is}\": {detail}"))
    }

    /// The value isn't one of a closed list.
    pub(crate) fn unsupported(field: impl Into<String>, value: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
        let text =
            format!("Unsupported value: \"{value}\": supported values: {}", known.join(", "));
        Self::new(field, "FieldValueNotSupported", text)
    }

    /// The field may not be set, or not be changed.
    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new(field, "FieldValueForbidden", format!("Forbidden: {detail}"))
    }

    /// What is named isn't there.
    pub(crate) fn not_found(field: impl Into<String>, value: &str) -> Self {
        Self::new(field, "FieldValueNotFound", format!("Not found: \"{value}\""))
    }

    /// The value was given before.
    pub(crate) fn duplicate(field: impl Into<String>, value: &str) -> Self {
        let text = format!("Duplicate value: \"{value}\"");
        Self::new(field, "FieldValueDuplicate", text)
    }

    /// The value, of whatever type, was given before.
    pub(crate) fn duplicate_value(field: impl Into<String>, value: &Value) -> Self {
        Self::new(field, "FieldValueDuplicate", format!("Duplicate value: {value}"))
    }

    /// The value isn't one that can be, and is too large to be shown.
    pub(crate) fn invalid_unshown(field: impl Into<String>, detail: &str) -> Self {
        Self::new(field, "FieldValueInvalid", format!("Invalid value: {detail}"))
    }

    /// The value, of whatever type, isn't one of a closed list.
    pub(crate) fn unsupported_value(
        field: impl Into<String>,
        value: &Value,
        known: &[Value],
    ) -> Self {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        let text = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        Self::new(field, "FieldValueNotSupported", text)
    }

    /// There are too many letters.
    pub(crate) fn too_long(field: impl Into<String>, most: u64) -> Self {
        let text = format!("Too long: may not be more than {most} bytes");
        Self::new(field, "FieldValueTooLong", text)
    }

    /// There are too many items.
    pub(crate) fn too_many(field: impl Into<String>, are: usize, most: u64) -> Self {
        let text = format!("Too many: {are}: must have at most {most} items");
        Self::new(field, "FieldValueTooMany", text)
    }

    /// Rules were not looked at, because there was more to say already.
    pub(crate) fn unchecked_rules() -> Self {
        let why = "some validation rules were not checked because the object was invalid; correct \
                   the existing errors to complete validation";
        Self::invalid("<nil>", &Value::Null, why)
    }

    /// The same about another field.
    pub(crate) fn moved_to(mut self, field: String) -> Self {
        self.field = field;
        self
    }

    fn new(field: impl Into<String>, reason: &'static str, text: String) -> Self {
        Self { field: field.into(), reason, text }
    }

    /// The error as a cause in a `Status`.
    pub(crate) fn cause(&self) -> Value {
        json!({"reason": self.reason, "message": self.text, "field": self.field})
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.text)
    }
}

/// How long a name may be, and whether dots divide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Dots allowed, 253 characters.
    Subdomain,
    /// No dots, 63 characters.
    Label,
    /// A label that begins with a letter: what Services are called.
    Dns1035,
    /// Whatever can be a part of a path: what roles are called.
    PathSegment,
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
     'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
     or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', \
     regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
     start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
     'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
     'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
     must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
     '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

impl NameRule {
    /// What is wrong with `name`, if anything.
    pub(crate) fn check(self, name: &str) -> Option<String> {
        let (parts, text, most): (Vec<&str>, _, _) = match self {
            Self::Subdomain => (name.split('.').collect(), SUBDOMAIN, 253),
            Self::Label => (vec![name], LABEL, 63),
            Self::Dns1035 => (vec![name], DNS_1035, 63),
            Self::PathSegment => return path_segment_error(name),
        };
        if name.len() > most {
            return Some(format!("must be no more than {most} bytes"));
        }
        let digit_first = name.starts_with(|it: char| it.is_ascii_digit());
        let good = parts.iter().all(|part| is_dns_label(part));
        let good = good && (self != Self::Dns1035 || !digit_first);
        (!good).then(|| text.to_owned())
    }
}

fn path_segment_error(name: &str) -> Option<String> {
    if [".", ".."].contains(&name) {
        return Some(format!("may not be '{name}'"));
    }
    let odd = ["/", "%"].into_iter().find(|sign| name.contains(sign))?;
    Some(format!("may not contain '{odd}'"))
}

fn is_dns_label(part: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
}

/// Checks `metadata` against what every object must have. Finalizers of built-in kinds are Kubernetes'
/// own, or say whose they are.
pub(crate) fn metadata(object: &Value, rule: NameRule, builtin: bool) -> Vec<FieldError> {
    let mut errors = vec![];
    let name = text(object, &["metadata", "name"]);
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else if let Some(why) = rule.check(name) {
        errors.push(FieldError::invalid("metadata.name", &name.into(), &why));
    }
    errors.extend(labels(at(object, &["metadata", "labels"]), "metadata.labels"));
    for key in keys(at(object, &["metadata", "annotations"])) {
        errors.extend(qualified("metadata.annotations", &key.to_lowercase()));
    }
    for finalizer in items(object, &["metadata", "finalizers"]) {
        let word = finalizer.as_str().unwrap_or("");
        let known = matches!(word, "orphan" | "foregroundDeletion" | "kubernetes");
        if let Some(why) = qualified_error(word) {
            errors.push(FieldError::invalid("metadata.finalizers", finalizer, &why));
        } else if builtin && !known && !word.contains('/') {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid("metadata.finalizers", finalizer, why));
        }
    }
    errors.extend(owner_references(object));
    errors
}

fn owner_references(object: &Value) -> Vec<FieldError> {
    let mut errors = vec![];
    let mut controllers = 0;
    for owner in items(object, &["metadata", "ownerReferences"]) {
        for key in ["apiVersion", "kind", "name", "uid"] {
            if text(owner, &[key]).is_empty() {
                let field = format!("metadata.ownerReferences.{key}");
                let why = format!("{key} must not be empty");
                errors.push(FieldError::invalid(field, &"".into(), &why));
            }
        }
        controllers += u32::from(owner.get("controller") == Some(&Value::Bool(true)));
    }
    if controllers > 1 {
        let refs = at(object, &["metadata", "ownerReferences"]).unwrap_or(&Value::Null);
        let why = "Only one reference can have Controller set to true";
        errors.push(FieldError::invalid("metadata.ownerReferences", refs, why));
    }
    errors
}

fn keys(map: Option<&Value>) -> impl Iterator<Item = &str> {
    map.and_then(Value::as_object).into_iter().flat_map(|map| map.keys().map(String::as_str))
}

/// Checks a map of labels.
pub(crate) fn labels(map: Option<&Value>, field: &str) -> Vec<FieldError> {
    let mut errors = vec![];
    for (key, value) in map.and_then(Value::as_object).into_iter().flatten() {
        errors.extend(qualified(field, key));
        let why = label_value_error(value.as_str().unwrap_or(""));
        errors.extend(why.map(|why| FieldError::invalid(field, value, &why)));
    }
    errors
}

fn qualified(field: &str, key: &str) -> Option<FieldError> {
    qualified_error(key).map(|why| FieldError::invalid(field, &key.into(), &why))
}

/// What is wrong with a key of labels or annotations: `example.com/name`.
pub(crate) fn qualified_error(key: &str) -> Option<String> {
    let (prefix, part) = match key.split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            return Some(format!(
                "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')",
                QUALIFIED.strip_prefix("name part ").unwrap_or(QUALIFIED)
            ));
        }
        Some((prefix, part)) => (Some(prefix), part),
        None => (None, key),
    };
    match prefix.map(|prefix| (prefix, NameRule::Subdomain.check(prefix))) {
        Some(("", _)) => return Some("prefix part must be non-empty".to_owned()),
        Some((_, Some(why))) => return Some(format!("prefix part {why}")),
        Some((_, None)) | None => {}
    }
    if part.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if part.len() > 63 {
        return Some("name part must be no more than 63 bytes".to_owned());
    }
    (!is_name_part(part)).then(|| QUALIFIED.to_owned())
}

/// What is wrong with the value of a label.
pub(crate) fn label_value_error(word: &str) -> Option<String> {
    if word.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!word.is_empty() && !is_name_part(word)).then(|| LABEL_VALUE.to_owned())
}

fn is_name_part(part: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = part.as_bytes();
    bytes.iter().all(|byte| inner(*byte)) && edge(bytes.first()) && edge(bytes.last())
}
