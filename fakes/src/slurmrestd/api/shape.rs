//! What an answer looks like: every field that a version prints, with what it prints for lack of a
//! value.
//!
//! An endpoint gives what it knows; [`Shape::fill`] adds what is missing and leaves out what the
//! version doesn't have. Numbers that may be unset or endless are given as plain numbers, `null` and
//! [`infinite`], and printed as the version prints them.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::{Kind, Table, Type};

/// The shape of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A text.
    Text,
    /// A boolean.
    Flag,
    /// An integer.
    Int,
    /// A number with a fraction.
    Float,
    /// A number that may be unset or endless; with a fraction or without.
    Number {
        /// With a fraction.
        float: bool,
    },
    /// A list.
    List(Arc<Shape>),
    /// A dictionary.
    Dict(Box<Dict>),
    /// Anything.
    Open,
}

/// A dictionary's fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dict {
    fields: BTreeMap<Box<str>, Arc<Shape>>,
    blank: Map<String, Value>,
}

/// A number without bound.
pub(crate) fn infinite() -> Value {
    Value::String("infinite".into())
}

impl Shape {
    /// The shape of a type.
    pub(crate) fn of(table: &Table, of: &Type) -> Self {
        match &table.resolve(of).kind {
            Kind::Any | Kind::Named(_) => Self::Open,
            Kind::OneOf(_) => Self::Text,
            Kind::List(of) => Self::List(Arc::new(Self::of(table, of))),
            Kind::Plain { name, .. } => match &**name {
                "string" => Self::Text,
                "boolean" => Self::Flag,
                "integer" => Self::Int,
                "number" => Self::Float,
                _object => Self::Dict(Box::default()),
            },
            Kind::Dict { fields, .. } => {
                let field = |name: &str| fields.iter().find(|field| &*field.name == name);
                if let (3, Some(_), Some(number)) =
                    (fields.len(), field("infinite"), field("number"))
                {
                    return Self::Number { float: Self::of(table, &number.of) == Self::Float };
                }
                let fields = fields.iter();
                Self::dict(fields.map(|field| (field.name.clone(), Self::of(table, &field.of))))
            }
        }
    }

    fn dict(fields: impl Iterator<Item = (Box<str>, Self)>) -> Self {
        let fields: BTreeMap<_, _> = fields.map(|(name, shape)| (name, Arc::new(shape))).collect();
        let blank = fields.iter().map(|(name, shape)| (name.to_string(), shape.blank())).collect();
        Self::Dict(Box::new(Dict { fields, blank }))
    }

    /// The shape of a field, or of the items of a list.
    pub(crate) fn field(&self, name: &str) -> Option<&Arc<Self>> {
        match self {
            Self::Dict(dict) => dict.fields.get(name),
            Self::List(of) => of.field(name),
            Self::Text
            | Self::Flag
            | Self::Int
            | Self::Float
            | Self::Number { .. }
            | Self::Open => None,
        }
    }

    /// The shape of a list's items.
    pub(crate) fn items(&self) -> Option<&Arc<Self>> {
        match self {
            Self::List(of) => Some(of),
            Self::Text
            | Self::Flag
            | Self::Int
            | Self::Float
            | Self::Number { .. }
            | Self::Open
            | Self::Dict(_) => None,
        }
    }

    /// What is printed for lack of a value.
    pub(crate) fn blank(&self) -> Value {
        match self {
            Self::Text => Value::String(String::new()),
            Self::Flag => Value::Bool(false),
            Self::Int => 0.into(),
            Self::Float => 0.0.into(),
            Self::Number { .. } => self.fill(Value::Null),
            Self::List(_) => Value::Array(vec![]),
            Self::Dict(dict) => Value::Object(dict.blank.clone()),
            Self::Open => Value::Null,
        }
    }

    /// What is printed of limits that nobody has set: every number is without bound.
    pub(crate) fn endless(&self) -> Value {
        match self {
            Self::Number { .. } => infinite(),
            Self::Dict(dict) => {
                let fields = dict.fields.iter();
                let fields = fields.map(|(name, shape)| (name.to_string(), shape.endless()));
                Value::Object(fields.collect())
            }
            Self::Text | Self::Flag | Self::Int | Self::Float | Self::List(_) | Self::Open => {
                self.blank()
            }
        }
    }

    /// A value as this shape prints it.
    pub(crate) fn fill(&self, value: Value) -> Value {
        match (self, value) {
            (Self::Dict(dict), Value::Object(map)) => dict.fill(map),
            (Self::List(of), Value::Array(items)) => {
                items.into_iter().map(|item| of.fill(item)).collect()
            }
            (Self::Number { float }, value) => number(*float, value),
            (Self::Text | Self::Flag | Self::Int | Self::Float, Value::Null) => self.blank(),
            (Self::Float, Value::Number(number)) => number.as_f64().into(),
            (_, value) => value,
        }
    }
}

impl Dict {
    fn fill(&self, given: Map<String, Value>) -> Value {
        // A dictionary that is given without anything in it is printed so.
        if given.is_empty() {
            return Value::Object(given);
        }
        let mut map = self.blank.clone();
        for (name, value) in given {
            if let (Some(shape), Some(place)) = (self.fields.get(&*name), map.get_mut(&name)) {
                *place = shape.fill(value);
            }
        }
        Value::Object(map)
    }
}

fn number(float: bool, value: Value) -> Value {
    let zero = || if float { Value::from(0.0) } else { Value::from(0) };
    match value {
        Value::Null => json!({ "set": false, "infinite": false, "number": zero() }),
        Value::String(_) => json!({ "set": false, "infinite": true, "number": zero() }),
        Value::Number(number) => {
            let number = if float { number.as_f64().into() } else { Value::Number(number) };
            json!({ "set": true, "infinite": false, "number": number })
        }
        given @ (Value::Bool(_) | Value::Array(_) | Value::Object(_)) => given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drawbridge_sim::Release;

    fn filled(of: &str, value: Value) -> Value {
        let of = Type::parse(of).unwrap();
        Shape::of(Table::of(Release::V24_11), &of).fill(value)
    }

    #[test]
    fn what_is_missing_is_blank_and_what_is_unknown_is_left_out() {
        let of = "{a:string,b:integer,c:{d:boolean},e:[string]}";
        let found = filled(of, json!({ "b": 7, "x": 1, "e": ["y"] }));
        assert_eq!(found, json!({ "a": "", "b": 7, "c": { "d": false }, "e": ["y"] }));
    }

    #[test]
    fn numbers_are_printed_as_the_version_prints_them() {
        let wrapped = "{set:boolean,infinite:boolean,number:number:double}";
        assert_eq!(
            filled(wrapped, 2.into()),
            json!({ "set": true, "infinite": false, "number": 2.0 })
        );
        assert_eq!(
            filled(wrapped, infinite()),
            json!({ "set": false, "infinite": true, "number": 0.0 })
        );
        assert_eq!(
            filled(wrapped, Value::Null),
            json!({ "set": false, "infinite": false, "number": 0.0 })
        );
        assert_eq!(filled("number:double", 2.into()), json!(2.0));
        assert_eq!(filled("integer", Value::Null), json!(0));
    }
}
