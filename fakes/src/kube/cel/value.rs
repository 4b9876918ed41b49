//! Values while an expression is evaluated. JSON is looked into, not copied.

use std::{borrow::Cow, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::{foreign::Foreign, shape::Shape};

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Arc<[u8]>),
    List(List<'a>),
    Map(Dict<'a>),
    Time(Timestamp),
    Span(SignedDuration),
    /// What `type()` gives.
    Kind(String),
    Optional(Option<Box<Val<'a>>>),
    Foreign(Foreign),
}

/// A list.
#[derive(Clone, Debug)]
pub(crate) enum List<'a> {
    Json(&'a [Value], Shape<'a>),
    Made(Arc<Vec<Val<'a>>>),
}

/// A map or an object.
#[derive(Clone, Debug)]
pub(crate) enum Dict<'a> {
    Json(&'a Map<String, Value>, Shape<'a>),
    Made(Arc<Vec<(Val<'a>, Val<'a>)>>),
}

impl<'a> Val<'a> {
    /// A text of our own.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    /// A list of our own.
    pub(super) fn list(items: Vec<Val<'a>>) -> Self {
        Self::List(List::Made(Arc::new(items)))
    }

    /// Something that is there.
    pub(super) fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Box::new(value)))
    }

    /// The type, as `type()` and errors name it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Span(_) => "google.protobuf.Duration",
            Self::Kind(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Foreign(it) => it.kind(),
        }
    }

    /// Whether it is the zero of its type: what `optional.ofNonZeroValue` leaves out.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(it) => !it,
            Self::Int(it) => *it == 0,
            Self::Uint(it) => *it == 0,
            Self::Double(it) => *it == 0.0,
            Self::Text(it) => it.is_empty(),
            Self::Bytes(it) => it.is_empty(),
            Self::List(it) => it.len() == 0,
            Self::Map(it) => it.len() == 0,
            Self::Time(it) => *it == Timestamp::UNIX_EPOCH,
            Self::Span(it) => it.is_zero(),
            Self::Optional(it) => it.is_none(),
            Self::Kind(_) | Self::Foreign(_) => false,
        }
    }

    /// A number as it is compared with others.
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            Self::Int(it) => Some(Number::Whole(i128::from(*it))),
            Self::Uint(it) => Some(Number::Whole(i128::from(*it))),
            Self::Double(it) => Some(Number::Double(*it)),
            _ => None,
        }
    }
}

/// Numbers of all types on one line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Whole(i128),
    Double(f64),
}

impl Number {
    /// Which of two numbers is greater; nothing if one of them is none.
    pub(super) fn compare(self, other: Self) -> Option<std::cmp::Ordering> {
        #[allow(clippy::cast_precision_loss, reason = "both sides lose the same")]
        let double = |number: Self| match number {
            Self::Whole(it) => it as f64,
            Self::Double(it) => it,
        };
        match (self, other) {
            (Self::Whole(one), Self::Whole(two)) => Some(one.cmp(&two)),
            (one, two) => double(one).partial_cmp(&double(two)),
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(list, _) => list.len(),
            Self::Made(list) => list.len(),
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<Val<'a>> {
        match self {
            Self::Json(list, shape) => list.get(place).map(|it| shape.item().read(it)),
            Self::Made(list) => list.get(place).cloned(),
        }
    }

    pub(super) fn items(&self) -> Vec<Val<'a>> {
        (0..self.len()).filter_map(|place| self.get(place)).collect()
    }

    /// How the schema says that items are told apart.
    pub(super) fn shape(&self) -> Shape<'a> {
        match self {
            Self::Json(_, shape) => *shape,
            Self::Made(_) => Shape::Free,
        }
    }
}

impl<'a> Dict<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(map, _) => map.len(),
            Self::Made(pairs) => pairs.len(),
        }
    }

    /// What lies under a key.
    pub(super) fn get(&self, key: &Val<'a>) -> Option<Val<'a>> {
        match self {
            Self::Json(..) => match key {
                Val::Text(key) => self.field(key, false),
                _ => None,
            },
            Self::Made(pairs) => {
                let found = pairs.iter().find(|(known, _)| super::operators::equal(known, key));
                found.map(|(_, value)| value.clone())
            }
        }
    }

    /// What lies under a field; `escaped` if it is written as a name in the expression.
    pub(super) fn field(&self, name: &str, escaped: bool) -> Option<Val<'a>> {
        match self {
            Self::Json(map, shape) => {
                let name = if escaped { shape.unescaped(name) } else { name.into() };
                let inner = shape.field(&name)?;
                let found = map.get(&*name)?;
                Some(inner.read(found))
            }
            Self::Made(_) => self.get(&Val::text(name)),
        }
    }

    pub(super) fn pairs(&self) -> Vec<(Val<'a>, Val<'a>)> {
        match self {
            Self::Json(map, shape) => {
                let pair = |(key, value): (&'a String, &'a Value)| {
                    let inner = shape.field(key)?;
                    Some((Val::Text(key.as_str().into()), inner.read(value)))
                };
                map.iter().filter_map(pair).collect()
            }
            Self::Made(pairs) => (**pairs).clone(),
        }
    }
}
