//! One value: taken, converted with a word about it, or not to be had.

use serde_json::Value;

use crate::slurmrestd::{
    api::{Kind, Type, Version},
    number::Number,
    reply::Trouble,
};

use super::{Body, Field, Reader};

/// What a type comes to here.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Flag,
    Int(&'static str),
    Float,
    Number { float: bool },
    List,
    Flags(&'static [Box<str>]),
    Dict(&'static Type),
    Items(&'static Type),
}

impl Reader {
    fn form(self, of: &'static Type) -> Form {
        match &self.table.resolve(of).kind {
            Kind::Any | Kind::Named(_) | Kind::OneOf(_) => Form::Text,
            Kind::Plain { name, format, .. } => match &**name {
                "boolean" => Form::Flag,
                "integer" => Form::Int(format.as_deref().unwrap_or("int64")),
                "number" => Form::Float,
                "object" => Form::Dict(of),
                _string => Form::Text,
            },
            Kind::List(items) => match &self.table.resolve(items).kind {
                Kind::OneOf(words) => Form::Flags(words),
                Kind::Dict { .. } => Form::Items(items),
                Kind::Any | Kind::Named(_) | Kind::Plain { .. } | Kind::List(_) => Form::List,
            },
            Kind::Dict { fields, .. } => {
                let number = fields.iter().find(|field| &*field.name == "number");
                match number.filter(|_| fields.iter().any(|field| &*field.name == "infinite")) {
                    Some(number) => {
                        Form::Number { float: matches!(self.form(&number.of), Form::Float) }
                    }
                    None => Form::Dict(of),
                }
            }
        }
    }
}

impl Body {
    /// The value of a field, or nothing if it can't be had.
    pub(super) fn convert(
        &mut self,
        reader: Reader,
        path: &str,
        name: &str,
        of: &'static Type,
        value: &Value,
    ) -> Option<Field> {
        let form = reader.form(of);
        let (field, as_expected) = match form {
            Form::Text => (scalar_text(value).map(Field::Text), value.is_string()),
            Form::Flag => (truth(value).map(Field::Flag), value.is_boolean()),
            Form::Int(_) => (integer(value).map(Field::Int), value.is_i64() || value.is_u64()),
            Form::Float => (float(value).map(Field::Float), value.is_number()),
            Form::Number { .. } => return self.number(reader, path, name, form, value),
            Form::List => return self.list(reader, path, name, value),
            Form::Flags(words) => return self.flags(reader, path, name, words, value),
            Form::Dict(of) => return self.nested(reader, path, name, of, value),
            Form::Items(of) => return self.items(reader, path, name, of, value),
        };
        if !as_expected {
            self.warn(path, name, unexpected_type(reader, form, value));
        }
        field
    }

    /// A plain number, even as text, is taken.
    fn number(
        &mut self,
        reader: Reader,
        path: &str,
        name: &str,
        form: Form,
        value: &Value,
    ) -> Option<Field> {
        let number = match (form, value) {
            (_, Value::Object(_)) => Number::read(value),
            (Form::Number { float: true }, _) => float(value).and_then(Number::rounded),
            _ => integer(value).map(Number::from_int),
        };
        // The oldest version says a word about a plain one.
        if number.is_some() && !value.is_object() && reader.version == Version::V40 {
            self.warn(path, name, unexpected_type(reader, form, value));
        }
        if number.is_none() {
            let inner = value.get("number");
            let key = inner.map_or_else(|| name.to_owned(), |_| format!("{name}/number"));
            let found = inner.unwrap_or(value);
            self.warn(path, &key, unexpected_type(reader, Form::Int("int64"), found));
        }
        number.map(Field::Number)
    }

    fn list(&mut self, reader: Reader, path: &str, name: &str, value: &Value) -> Option<Field> {
        let Value::Array(items) = value else {
            self.warn(path, name, unexpected_type(reader, Form::List, value));
            return value.as_str().map(|text| Field::List(split_commas(text)));
        };
        for item in items.iter().filter(|item| !item.is_string()) {
            self.warn(path, name, unexpected_type(reader, Form::Text, item));
        }
        let texts: Option<Vec<String>> = items.iter().map(scalar_text).collect();
        texts.map(Field::List)
    }

    fn flags(
        &mut self,
        reader: Reader,
        path: &str,
        name: &str,
        words: &[Box<str>],
        value: &Value,
    ) -> Option<Field> {
        let given: Vec<String> = match value {
            Value::Array(items) => items.iter().filter_map(scalar_text).collect(),
            Value::String(text) => split_commas(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                self.troubles.push(not_a_list(path, name, value));
                return None;
            }
        };
        let mut known = vec![];
        let mut all_known = true;
        for (at, word) in given.into_iter().enumerate() {
            if words.is_empty() || words.iter().any(|known| known.eq_ignore_ascii_case(&word)) {
                known.push(word);
            } else {
                let what = format!("Unknown flag \"{word}\"");
                self.troubles.push(bad_flag(what, format!("{path}{name}[{at}]/")));
                all_known = false;
            }
        }
        // To the oldest version that is the end of it.
        if !all_known && reader.version == Version::V40 {
            self.refuse(bad_flag("Parsing flags failed".into(), format!("{path}{name}/")));
        }
        Some(Field::List(known))
    }

    fn nested(
        &mut self,
        reader: Reader,
        path: &str,
        name: &str,
        of: &'static Type,
        value: &Value,
    ) -> Option<Field> {
        let path = format!("{path}{name}/");
        if !value.is_object() {
            self.refuse(not_a_dictionary(&path, value));
            return Some(Field::Dict(super::Fields::default()));
        }
        Some(Field::Dict(self.dict(reader, of, &path, value)))
    }

    fn items(
        &mut self,
        reader: Reader,
        path: &str,
        name: &str,
        of: &'static Type,
        value: &Value,
    ) -> Option<Field> {
        let Value::Array(items) = value else {
            self.refuse(not_a_list(path, name, value));
            return Some(Field::Items(vec![]));
        };
        let mut all = vec![];
        for (at, item) in items.iter().enumerate() {
            let path = format!("{path}{name}[{at}]/");
            if item.is_object() {
                all.push(self.dict(reader, of, &path, item));
            } else {
                self.refuse(not_a_dictionary(&path, item));
            }
        }
        Some(Field::Items(all))
    }
}

/// The error about a body (or a part of it) that must be a dictionary.
pub(in crate::slurmrestd) fn not_a_dictionary(path: &str, value: &Value) -> Trouble {
    Trouble {
        number: 9209,
        text: "Data parser expected a dictionary or object".into(),
        description: format!("Rejecting {} when dictionary expected", type_names(value).1),
        source: path.into(),
    }
}

fn split_commas(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn not_a_list(path: &str, name: &str, value: &Value) -> Trouble {
    let (_, slurm) = type_names(value);
    Trouble {
        number: 9206,
        text: "Data parser expects flags to be a list".into(),
        description: format!("Expected a List but found a {slurm}"),
        source: format!("{path}{name}/"),
    }
}

fn bad_flag(description: String, source: String) -> Trouble {
    let text = "Data parser unable to parse invalid flag".into();
    Trouble { number: 9207, text, description, source }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => Some(number.as_i64() != Some(0)),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _other => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `2.0` is 2; what has a fraction or is out of bounds is no integer.
fn whole(float: f64) -> Option<i64> {
    let bound = 9_007_199_254_740_992.0; // beyond 2^53 a float is no exact integer
    let exact = float.fract() == 0.0 && float.abs() < bound;
    #[allow(clippy::cast_possible_truncation, reason = "whole and within bounds")]
    exact.then_some(float as i64)
}

/// The warning about a key that the parser doesn't know.
pub(in crate::slurmrestd) fn unknown_field(parser: &str, key: &str, value: &Value) -> String {
    let (_, slurm) = type_names(value);
    format!("Ignoring unknown field \"{key}\" of type {slurm} in {parser}")
}

fn unexpected_type(reader: Reader, form: Form, value: &Value) -> String {
    let (openapi, slurm) = type_names(value);
    let expected = match form {
        Form::Text => "type=string (Slurm type=string)".into(),
        Form::Flag => "type=boolean (Slurm type=boolean)".into(),
        Form::Int(format) => format!("type=integer format={format} (Slurm type=64 bit integer)"),
        Form::Float => "type=number (Slurm type=floating point number)".into(),
        Form::Number { .. } | Form::Dict(_) => "type=object (Slurm type=dictionary)".into(),
        Form::List | Form::Flags(_) | Form::Items(_) => "type=array (Slurm type=list)".into(),
    };
    let shown = if reader.version == Version::V40 { String::new() } else { format!(": {value}") };
    format!(
        "Expected OpenAPI {expected} but got OpenAPI type={openapi} (Slurm type={slurm}){shown}"
    )
}

/// A value's type as OpenAPI and as Slurm names it.
fn type_names(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", "null"),
        Value::Bool(_) => ("boolean", "boolean"),
        Value::Number(number) if number.is_f64() => ("number", "floating point number"),
        Value::Number(_) => ("integer", "64 bit integer"),
        Value::String(_) => ("string", "string"),
        Value::Array(_) => ("array", "list"),
        Value::Object(_) => ("object", "dictionary"),
    }
}
