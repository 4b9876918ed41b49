//! Reading a dictionary the way slurmrestd's data parser does.
//!
//! ```text
//!  JSON object ──▶ for each key ──┬─ not in the table ──▶ warning, ignored
//!                                 ├─ right type ────────▶ value
//!                                 ├─ convertible ───────▶ value and warning
//!                                 ├─ unknown flag ──────▶ error, and the request goes on without it
//!                                 └─ no such value ─────▶ warning, and the request does nothing
//! ```
//!
//! The last two arrows are slurmrestd's own oddities: an error beside a job that was submitted, and
//! 200 without a job. All of it was tried on the real one (24.11).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    number::Number,
    reply::{Trouble, Warning},
};

/// What type the vendor's document gives a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// An integer of so many bits.
    Int(u8),
    /// A number that may be unset or endless.
    Number,
    /// A list of strings.
    List,
    /// A list of these words, in any case; any word if there are none here.
    Flags(&'static [&'static str]),
    /// A dictionary.
    Object,
}

/// What the model does with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is taken into account.
    Honoured,
    /// It changes nothing that the model knows: where output goes, who gets mail.
    Noted,
    /// It would change what happens, and the model can't: refused.
    NotModelled,
}

/// One row of a table of fields: name, type, use.
pub(super) type Row = (&'static str, Kind, Use);

/// A dictionary and how it is named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schema {
    /// The data parser's name, as warnings show it.
    pub(super) parser: &'static str,
    /// Every field that the vendor's document has.
    pub(super) rows: &'static [Row],
}

/// A value of a known field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Field {
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Int`].
    Int(i64),
    /// Of [`Kind::Number`].
    Number(Number),
    /// Of [`Kind::List`] or [`Kind::Flags`].
    List(Vec<String>),
    /// Of [`Kind::Object`]: nothing looks inside.
    Object,
}

/// A dictionary that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    values: BTreeMap<&'static str, Field>,
    /// The first field that the model can't honour.
    pub(super) not_modelled: Option<&'static str>,
    /// A field could not be converted: the request does nothing.
    pub(super) broken: bool,
    /// What was odd.
    pub(super) warnings: Vec<Warning>,
    /// What was wrong and yet stopped nothing.
    pub(super) troubles: Vec<Trouble>,
}

impl Fields {
    /// Reads `object`, which lies at `path` (`#/job/`) in the request.
    pub(super) fn read(schema: Schema, path: &str, object: &Value) -> Self {
        let mut fields = Self::default();
        for (key, value) in object.as_object().into_iter().flatten() {
            let row = schema.rows.iter().find(|(name, ..)| name == key);
            match row {
                None => fields.warn(path, key, unknown_field(schema.parser, key, value)),
                Some(row) => fields.take(path, *row, value),
            }
        }
        fields
    }

    /// Whether the field was given.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The fields that were given.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.values.keys().copied()
    }

    /// The text of a field; empty text counts as none, as in Slurm.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.raw_text(key).filter(|text| !text.is_empty())
    }

    /// The text of a field, even if empty: for updates, where empty text clears.
    pub(super) fn raw_text(&self, key: &str) -> Option<&str> {
        let Field::Text(text) = self.values.get(key)? else {
            return None;
        };
        Some(text)
    }

    /// A boolean field.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        let Field::Flag(flag) = self.values.get(key)? else {
            return None;
        };
        Some(*flag)
    }

    /// An integer field.
    pub(super) fn int(&self, key: &str) -> Option<i64> {
        let Field::Int(int) = self.values.get(key)? else {
            return None;
        };
        Some(*int)
    }

    /// A number that was said, endless or not.
    pub(super) fn number(&self, key: &str) -> Option<Number> {
        let Field::Number(number) = self.values.get(key)? else {
            return None;
        };
        Some(*number).filter(|number| *number != Number::Unset)
    }

    /// A list field; empty if it wasn't given.
    pub(super) fn list(&self, key: &str) -> &[String] {
        let Some(Field::List(list)) = self.values.get(key) else {
            return &[];
        };
        list
    }

    fn take(&mut self, path: &str, (name, kind, usage): Row, value: &Value) {
        // Null stands for "not given" in every field.
        if value.is_null() {
            return;
        }
        let Some(field) = self.convert(path, name, kind, value) else {
            self.broken = true;
            return;
        };
        if usage == Use::NotModelled && says_something(&field) {
            self.not_modelled.get_or_insert(name);
        }
        self.values.insert(name, field);
    }

    fn convert(&mut self, path: &str, name: &str, kind: Kind, value: &Value) -> Option<Field> {
        let (field, as_expected) = match kind {
            Kind::Text => (scalar_text(value).map(Field::Text), value.is_string()),
            Kind::Flag => (truth(value).map(Field::Flag), value.is_boolean()),
            Kind::Int(_) => (integer(value).map(Field::Int), value.is_i64()),
            Kind::Number => return self.convert_number(path, name, value),
            Kind::List => return self.convert_list(path, name, value),
            Kind::Flags(words) => return self.convert_flags(path, name, words, value),
            Kind::Object => {
                let dictionary = value.is_object();
                (dictionary.then_some(Field::Object), dictionary)
            }
        };
        if !as_expected {
            self.warn(path, name, unexpected_type(kind, value));
        }
        field
    }

    /// A plain number, even as text, is taken without a word.
    fn convert_number(&mut self, path: &str, name: &str, value: &Value) -> Option<Field> {
        let number = if value.is_object() {
            Number::read(value)
        } else {
            let plain = integer(value).and_then(|int| u64::try_from(int).ok());
            plain.map(Number::Is)
        };
        if number.is_none() {
            let inner = value.get("number");
            let key = inner.map_or_else(|| name.to_owned(), |_| format!("{name}/number"));
            self.warn(path, &key, unexpected_type(Kind::Int(64), inner.unwrap_or(value)));
        }
        number.map(Field::Number)
    }

    fn convert_list(&mut self, path: &str, name: &str, value: &Value) -> Option<Field> {
        let Value::Array(items) = value else {
            self.warn(path, name, unexpected_type(Kind::List, value));
            return value.as_str().map(|text| Field::List(split_commas(text)));
        };
        for item in items.iter().filter(|item| !item.is_string()) {
            self.warn(path, name, unexpected_type(Kind::Text, item));
        }
        let texts: Option<Vec<String>> = items.iter().map(scalar_text).collect();
        texts.map(Field::List)
    }

    fn convert_flags(
        &mut self,
        path: &str,
        name: &str,
        words: &[&str],
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
        for (at, word) in given.into_iter().enumerate() {
            if words.is_empty() || words.iter().any(|known| known.eq_ignore_ascii_case(&word)) {
                known.push(word);
            } else {
                self.troubles.push(unknown_flag(path, name, at, &word));
            }
        }
        Some(Field::List(known))
    }

    fn warn(&mut self, path: &str, key: &str, description: String) {
        let source = format!("{path}{key}/");
        self.warnings.push(Warning { description, source });
    }
}

/// Clients send defaults (`false`, `0`, `""`); those ask for nothing.
fn says_something(field: &Field) -> bool {
    match field {
        Field::Text(text) => !text.is_empty(),
        Field::Flag(flag) => *flag,
        Field::Int(int) => *int != 0,
        Field::Number(number) => *number != Number::Unset && *number != Number::Is(0),
        Field::List(list) => !list.is_empty(),
        Field::Object => true,
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

fn unknown_flag(path: &str, name: &str, at: usize, word: &str) -> Trouble {
    Trouble {
        number: 9207,
        text: "Data parser unable to parse invalid flag".into(),
        description: format!("Unknown flag \"{word}\""),
        source: format!("{path}{name}[{at}]/"),
    }
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

/// `2.0` is 2; what has a fraction or is out of bounds is no integer.
fn whole(float: f64) -> Option<i64> {
    let bound = 9_007_199_254_740_992.0; // beyond 2^53 a float is no exact integer
    let exact = float.fract() == 0.0 && float.abs() < bound;
    #[allow(clippy::cast_possible_truncation, reason = "whole and within bounds")]
    exact.then_some(float as i64)
}

/// The warning about a key that the parser doesn't know.
pub(super) fn unknown_field(parser: &str, key: &str, value: &Value) -> String {
    let (_, slurm) = type_names(value);
    format!("Ignoring unknown field \"{key}\" of type {slurm} in {parser}")
}

fn unexpected_type(kind: Kind, value: &Value) -> String {
    let (openapi, slurm) = type_names(value);
    let expected = match kind {
        Kind::Text => "type=string (Slurm type=string)".into(),
        Kind::Flag => "type=boolean (Slurm type=boolean)".into(),
        Kind::Int(bits) => format!("type=integer format=int{bits} (Slurm type=64 bit integer)"),
        Kind::Number | Kind::Object => "type=object (Slurm type=dictionary)".into(),
        Kind::List | Kind::Flags(_) => "type=array (Slurm type=list)".into(),
    };
    format!(
        "Expected OpenAPI {expected} but got OpenAPI type={openapi} (Slurm type={slurm}): {value}"
    )
}

/// A value's type as Slurm names it.
pub(super) fn slurm_type(value: &Value) -> &'static str {
    type_names(value).1
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SCHEMA: Schema = Schema {
        parser: "DATA_PARSER_JOB_DESC_MSG",
        rows: &[
            ("array", Kind::Text, Use::NotModelled),
            ("excluded_nodes", Kind::List, Use::Honoured),
            ("hold", Kind::Flag, Use::Honoured),
            ("name", Kind::Text, Use::Honoured),
            ("shared", Kind::Flags(&["none", "user"]), Use::Honoured),
            ("tasks", Kind::Int(32), Use::Honoured),
            ("time_limit", Kind::Number, Use::Honoured),
        ],
    };

    fn talk(object: &Value) -> String {
        let fields = Fields::read(SCHEMA, "#/job/", object);
        let mut said = format!("{:?}", fields.values);
        for Warning { description, source } in &fields.warnings {
            said.push_str(&format!("\n{source} {description}"));
        }
        for trouble in &fields.troubles {
            said.push_str(&format!("\n{} {}", trouble.number, trouble.description));
        }
        if fields.broken {
            said.push_str("\nbroken");
        }
        if let Some(name) = fields.not_modelled {
            said.push_str(&format!("\nnot modelled: {name}"));
        }
        said
    }

    #[test]
    fn the_right_types_are_taken_without_a_word() {
        insta::assert_snapshot!(talk(&json!({
            "name": "a", "tasks": 2, "hold": true, "excluded_nodes": ["n1", "n2"],
            "time_limit": {"set": true, "number": 60},
        })), @r#"{"excluded_nodes": List(["n1", "n2"]), "hold": Flag(true), "name": Text("a"), "tasks": Int(2), "time_limit": Number(Is(60))}"#);
    }

    #[test]
    fn a_plain_number_or_flag_needs_no_wrapping() {
        let same = r#"{"shared": List(["none"]), "time_limit": Number(Is(60))}"#;
        assert_eq!(talk(&json!({"time_limit": 60, "shared": "none"})), same);
        assert_eq!(talk(&json!({"time_limit": "60", "shared": ["none"]})), same);
    }

    #[test]
    fn an_unknown_flag_is_an_error_that_stops_nothing() {
        insta::assert_snapshot!(talk(&json!({"shared": ["bogus", "user"]})), @r#"
        {"shared": List(["user"])}
        9207 Unknown flag "bogus"
        "#);
    }

    #[test]
    fn a_number_inside_a_number_is_looked_at_too() {
        insta::assert_snapshot!(talk(&json!({"time_limit": {"set": true, "number": "x"}})), @r#"
        {}
        #/job/time_limit/number/ Expected OpenAPI type=integer format=int64 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): "x"
        broken
        "#);
    }

    #[test]
    fn what_can_be_converted_is_taken_with_a_warning() {
        insta::assert_snapshot!(talk(&json!({"tasks": "4", "name": 7, "excluded_nodes": "n1,n2"})), @r#"
        {"excluded_nodes": List(["n1", "n2"]), "name": Text("7"), "tasks": Int(4)}
        #/job/excluded_nodes/ Expected OpenAPI type=array (Slurm type=list) but got OpenAPI type=string (Slurm type=string): "n1,n2"
        #/job/name/ Expected OpenAPI type=string (Slurm type=string) but got OpenAPI type=integer (Slurm type=64 bit integer): 7
        #/job/tasks/ Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): "4"
        "#);
    }

    #[test]
    fn what_cannot_be_converted_breaks_the_request_without_an_error() {
        insta::assert_snapshot!(talk(&json!({"tasks": "abc"})), @r#"
        {}
        #/job/tasks/ Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): "abc"
        broken
        "#);
    }

    #[test]
    fn unknown_fields_are_ignored_with_a_warning() {
        insta::assert_snapshot!(talk(&json!({"exclusive": ["true"]})), @r#"
        {}
        #/job/exclusive/ Ignoring unknown field "exclusive" of type list in DATA_PARSER_JOB_DESC_MSG
        "#);
    }

    #[test]
    fn what_is_not_modelled_is_named_unless_it_asks_for_nothing() {
        insta::assert_snapshot!(talk(&json!({"array": "0-3"})), @r#"
        {"array": Text("0-3")}
        not modelled: array
        "#);
        insta::assert_snapshot!(talk(&json!({"array": ""})), @r#"{"array": Text("")}"#);
    }
}
