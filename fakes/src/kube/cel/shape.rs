//! How JSON is read: freely, or as a schema says, which knows times, bytes and fractions.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use super::{
    time,
    types::Type,
    value::{Dict, List, Val},
};
use crate::kube::{base64, object::items};

/// What a piece of JSON is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape<'a> {
    /// Nobody knows: numbers are whole or not as they are written.
    Free,
    /// As a structural schema says.
    Schema(&'a Value),
    /// A whole object of a schema: with its type and the names in its metadata.
    Root(&'a Value),
    /// The part of metadata that rules may look at.
    Metadata,
}

/// Words of the language, which can't be names of fields as they are.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

impl<'a> Shape<'a> {
    /// Reads a value of this shape.
    pub(crate) fn read(self, value: &'a Value) -> Val<'a> {
        let format = match self {
            Self::Schema(schema) => schema["format"].as_str().unwrap_or(""),
            Self::Free | Self::Root(_) | Self::Metadata => "",
        };
        match value {
            Value::Null => Val::Null,
            Value::Bool(it) => Val::Bool(*it),
            Value::Number(it) => match (self.is_fraction(), it.as_i64(), it.as_u64()) {
                (true, ..) | (_, None, None) => Val::Double(it.as_f64().unwrap_or(f64::NAN)),
                (false, Some(it), _) => Val::Int(it),
                (false, None, Some(it)) => Val::Uint(it),
            },
            Value::String(it) => formatted(format, it).unwrap_or(Val::Text(it.as_str().into())),
            Value::Array(list) => Val::List(List::Json(list, self)),
            Value::Object(map) => Val::Map(Dict::Json(map, self)),
        }
    }

    fn is_fraction(self) -> bool {
        matches!(self, Self::Schema(schema) if schema["type"] == "number")
    }

    /// The shape of a field, if there may be such a field.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        match self {
            Self::Free => Some(Self::Free),
            Self::Metadata => ["name", "generateName"].contains(&name).then_some(Self::Free),
            Self::Root(_) if name == "metadata" => Some(Self::Metadata),
            Self::Root(_) if ["apiVersion", "kind"].contains(&name) => Some(Self::Free),
            Self::Root(schema) => Self::Schema(schema).field(name),
            Self::Schema(schema) if schema["x-kubernetes-embedded-resource"] == true => {
                match name {
                    "metadata" => Some(Self::Metadata),
                    "apiVersion" | "kind" => Some(Self::Free),
                    _ => property(schema, name),
                }
            }
            Self::Schema(schema) => property(schema, name),
        }
    }

    /// The shape of a list's items.
    pub(super) fn item(self) -> Self {
        match self {
            Self::Schema(schema) if schema["items"].is_object() => Self::Schema(&schema["items"]),
            Self::Free | Self::Schema(_) | Self::Root(_) | Self::Metadata => Self::Free,
        }
    }

    /// The keys by which items of a list are told apart, if the schema says so; none for a set.
    pub(super) fn keys(self) -> Option<Vec<&'a str>> {
        let Self::Schema(schema) = self else { return None };
        match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => Some(vec![]),
            Some("map") => {
                let keys = items(schema, &["x-kubernetes-list-map-keys"]).iter();
                Some(keys.filter_map(Value::as_str).collect())
            }
            _ => None,
        }
    }

    /// The name of a field as the schema has it: `foo__dash__bar` is `foo-bar`.
    pub(super) fn unescaped(self, name: &str) -> Cow<'_, str> {
        if self == Self::Free || !name.contains("__") {
            return name.into();
        }
        if let Some(word) = name.strip_prefix("__").and_then(|it| it.strip_suffix("__"))
            && RESERVED.contains(&word)
        {
            return Cow::Owned(word.to_owned());
        }
        let marks = [("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")];
        let plain =
            marks.iter().fold(name.to_owned(), |name, (mark, sign)| name.replace(mark, sign));
        Cow::Owned(plain.replace("__underscores__", "__"))
    }

    /// The type of what has this shape.
    pub(crate) fn kind(self) -> Type<'a> {
        let Self::Schema(schema) = self else {
            return match self {
                Self::Free | Self::Schema(_) => Type::Dyn,
                Self::Root(_) | Self::Metadata => Type::Object(self),
            };
        };
        if schema["x-kubernetes-int-or-string"] == true {
            return Type::Dyn;
        }
        let format = schema["format"].as_str().unwrap_or("");
        let plain = match (schema["type"].as_str(), format) {
            (Some("boolean"), _) => Type::Bool,
            (Some("integer"), _) => Type::Int,
            (Some("number"), _) => Type::Double,
            (Some("string"), "date-time" | "date") => Type::Time,
            (Some("string"), "duration") => Type::Span,
            (Some("string"), "byte") => Type::Bytes,
            (Some("string"), _) => Type::Text,
            (Some("array"), _) => Type::List(Box::new(self.item().kind())),
            (Some("object"), _) if schema["additionalProperties"].is_object() => {
                let inner = Self::Schema(&schema["additionalProperties"]).kind();
                Type::Map(Box::new(Type::Text), Box::new(inner))
            }
            (Some("object"), _) => Type::Object(self),
            _ => Type::Dyn,
        };
        // What may be null can be compared with null, which no plain type can.
        let nullable = schema["nullable"] == true && !matches!(plain, Type::Object(_));
        if nullable { Type::Dyn } else { plain }
    }
}

fn property<'a>(schema: &'a Value, name: &str) -> Option<Shape<'a>> {
    let known = schema["properties"].get(name);
    let more = Some(&schema["additionalProperties"]).filter(|it| it.is_object());
    known.or(more).map(Shape::Schema)
}

/// A text that stands for something else.
fn formatted<'a>(format: &str, text: &str) -> Option<Val<'a>> {
    match format {
        "date-time" => time::timestamp(text).map(Val::Time),
        "date" => time::timestamp(&format!("{text}T00:00:00Z")).map(Val::Time),
        "duration" => time::duration(text).map(Val::Span),
        "byte" => base64::decode(text).map(|bytes| Val::Bytes(Arc::from(bytes))),
        _ => None,
    }
}
