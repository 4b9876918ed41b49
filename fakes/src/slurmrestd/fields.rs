//! Reading a dictionary the way slurmrestd's data parser does.
//!
//! ```text
//!  JSON object ──▶ for each key ──┬─ not in the table ──▶ warning, ignored
//!                                 ├─ right type ────────▶ value
//!                                 ├─ convertible ───────▶ value and warning
//!                                 ├─ unknown flag ──────▶ error, and the request goes on without it
//!                                 ├─ no dictionary ─────▶ error, and the request ends
//!                                 └─ no such value ─────▶ warning, and the request does nothing
//! ```
//!
//! Two of these arrows are slurmrestd's own oddities: an error beside a job that was submitted, and
//! 200 without a job. All of it was tried on the real one. Which fields there are and of which type is
//! in the version's table ([`super::api`]).

mod convert;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    api::{Kind, Table, Type, Version},
    number::Number,
    reply::{Trouble, Warning},
};

pub(super) use convert::{not_a_dictionary, unknown_field};

/// A value of a known field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Field {
    /// A text.
    Text(String),
    /// A boolean.
    Flag(bool),
    /// An integer.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A number that may be unset or endless.
    Number(Number),
    /// A list of texts.
    List(Vec<String>),
    /// A dictionary.
    Dict(Fields),
    /// A list of dictionaries.
    Items(Vec<Fields>),
}

/// A dictionary that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields {
    values: BTreeMap<&'static str, Field>,
}

/// A body that was read, and what was odd about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    /// What it says.
    pub(super) fields: Fields,
    /// A field could not be converted: the request does nothing.
    pub(super) broken: bool,
    /// A part isn't of the form that it must have: the request ends here.
    pub(super) refused: bool,
    /// What was odd.
    pub(super) warnings: Vec<Warning>,
    /// What was wrong.
    pub(super) troubles: Vec<Trouble>,
}

/// What the model does with the fields of a dictionary; what isn't named is refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses {
    /// It is taken into account.
    pub(super) honoured: &'static [&'static str],
    /// It changes nothing that the model knows: where output goes, who gets mail.
    pub(super) noted: &'static [&'static str],
}

/// Reads bodies of one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// The version's types.
    pub(super) table: &'static Table,
    /// The version: the oldest shows no values in its warnings.
    pub(super) version: Version,
}

impl Body {
    /// Reads `value`, which should be of type `of`.
    pub(super) fn read(reader: Reader, of: &'static Type, value: &Value) -> Self {
        let mut body = Self::default();
        if value.is_object() {
            body.fields = body.dict(reader, of, "#/", value);
        } else {
            body.refuse(not_a_dictionary("#/", value));
        }
        body
    }

    fn refuse(&mut self, trouble: Trouble) {
        self.troubles.push(trouble);
        self.refused = true;
    }

    fn warn(&mut self, path: &str, key: &str, description: String) {
        let source = format!("{path}{key}/");
        self.warnings.push(Warning { description, source });
    }

    /// Reads a dictionary that lies at `path` (`#/job/`).
    fn dict(&mut self, reader: Reader, of: &'static Type, path: &str, value: &Value) -> Fields {
        let mut fields = Fields::default();
        let Kind::Dict { fields: known, .. } = &reader.table.resolve(of).kind else {
            return fields;
        };
        for (key, value) in value.as_object().into_iter().flatten() {
            match known.iter().find(|field| *field.name == **key) {
                None => self.warn(path, key, unknown_field(&parser(of), key, value)),
                // Null stands for "not given" in every field.
                Some(_) if value.is_null() => {}
                Some(field) => match self.convert(reader, path, &field.name, &field.of, value) {
                    Some(value) => drop(fields.values.insert(&field.name, value)),
                    None => self.broken = true,
                },
            }
        }
        let missing =
            known.iter().filter(|field| field.required && value.get(&*field.name).is_none());
        for field in missing {
            self.refuse(missing_field(path, &field.name));
        }
        fields
    }
}

fn missing_field(path: &str, name: &str) -> Trouble {
    Trouble {
        number: 9200,
        text: "Unable to resolve path".into(),
        description: format!("Missing required field '{name}' in dictionary"),
        source: format!("{path}{name}/"),
    }
}

/// `v0.0.42_job_desc_msg` as the data parser calls it.
fn parser(of: &Type) -> String {
    let Kind::Named(name) = &of.kind else {
        return "DATA_PARSER".into();
    };
    let name = name.split_once('_').map_or(&**name, |(_version, name)| name);
    format!("DATA_PARSER_{}", name.to_ascii_uppercase())
}

impl Fields {
    /// Whether the field was given.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The fields that were given.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.values.keys().copied()
    }

    /// The first field that asks for something that nobody honours.
    pub(super) fn beyond(&self, uses: Uses) -> Option<&'static str> {
        let used = |name: &str| uses.honoured.contains(&name) || uses.noted.contains(&name);
        let mut given = self.values.iter().filter(|(_, field)| says_something(field));
        given.find(|(name, _)| !used(name)).map(|(name, _)| *name)
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
        let number = match self.values.get(key)? {
            Field::Number(number) => *number,
            Field::Int(int) => u64::try_from(*int).map_or(Number::Unset, Number::Is),
            Field::Text(_) | Field::Flag(_) | Field::Float(_) => return None,
            Field::List(_) | Field::Dict(_) | Field::Items(_) => return None,
        };
        Some(number).filter(|number| *number != Number::Unset)
    }

    /// A list field; empty if it wasn't given.
    pub(super) fn list(&self, key: &str) -> &[String] {
        let Some(Field::List(list)) = self.values.get(key) else {
            return &[];
        };
        list
    }

    /// A dictionary in it.
    pub(super) fn dict(&self, key: &str) -> Option<&Self> {
        let Field::Dict(fields) = self.values.get(key)? else {
            return None;
        };
        Some(fields)
    }

    /// A dictionary in a dictionary in it …
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |fields, key| fields.dict(key))
    }

    /// A list of dictionaries; empty if it wasn't given.
    pub(super) fn items(&self, key: &str) -> &[Self] {
        let Some(Field::Items(items)) = self.values.get(key) else {
            return &[];
        };
        items
    }
}

/// Clients send defaults (`false`, `0`, `""`); those ask for nothing.
fn says_something(field: &Field) -> bool {
    match field {
        Field::Text(text) => !text.is_empty(),
        Field::Flag(flag) => *flag,
        Field::Int(int) => *int != 0,
        Field::Float(float) => *float != 0.0,
        Field::Number(number) => *number != Number::Unset && *number != Number::Is(0),
        Field::List(list) => !list.is_empty(),
        Field::Dict(fields) => fields.values.values().any(says_something),
        Field::Items(items) => !items.is_empty(),
    }
}

#[cfg(test)]
mod tests;
