//! Types, as far as they are known before anything is evaluated.

use std::fmt;

use super::shape::Shape;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type<'a> {
    /// Known only when it is there.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Time,
    Span,
    Kind,
    List(Box<Type<'a>>),
    Map(Box<Type<'a>>, Box<Type<'a>>),
    /// With the fields that a schema gives it.
    Object(Shape<'a>),
    Optional(Box<Type<'a>>),
    /// `quantity`, `url`.
    Foreign(&'static str),
    /// Any type in a signature, the same wherever the letter is the same.
    Any(char),
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Time => f.write_str("timestamp"),
            Self::Span => f.write_str("duration"),
            Self::Kind => f.write_str("type"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(_) => f.write_str("object"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Foreign(name) => f.write_str(name),
            Self::Any(letter) => write!(f, "{letter}"),
        }
    }
}

/// What the letters of a signature stand for.
pub(super) type Letters<'a> = Vec<(char, Type<'a>)>;

impl<'a> Type<'a> {
    /// A type with letters as it is written in a signature.
    pub(super) fn written(text: &str) -> Self {
        let inner = |open: &str| text.strip_prefix(open).and_then(|it| it.strip_suffix(')'));
        if let Some(item) = inner("list(") {
            return Self::List(Box::new(Self::written(item)));
        }
        if let Some(item) = inner("optional(") {
            return Self::Optional(Box::new(Self::written(item)));
        }
        if let Some((key, value)) = inner("map(").and_then(|it| it.split_once(',')) {
            let (key, value) = (Self::written(key), Self::written(value.trim()));
            return Self::Map(Box::new(key), Box::new(value));
        }
        match text {
            "null" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "double" => Self::Double,
            "string" => Self::Text,
            "bytes" => Self::Bytes,
            "timestamp" => Self::Time,
            "duration" => Self::Span,
            "type" => Self::Kind,
            "quantity" => Self::Foreign("quantity"),
            "url" => Self::Foreign("url"),
            "ip" => Self::Foreign("ip"),
            "cidr" => Self::Foreign("cidr"),
            "format" => Self::Foreign("format"),
            "semver" => Self::Foreign("semver"),
            _ => match text.chars().next().filter(|it| it.is_ascii_uppercase()) {
                Some(letter) => Self::Any(letter),
                None => Self::Dyn,
            },
        }
    }

    /// Whether a value of this type will do where `wanted` is; notes what letters stand for.
    pub(super) fn fits(&self, wanted: &Self, letters: &mut Letters<'a>) -> bool {
        match (self, wanted) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (_, Self::Any(letter)) => {
                let known = letters.iter().find(|(it, _)| it == letter).map(|it| it.1.clone());
                match known {
                    Some(known) => self.agrees(&known),
                    None => {
                        letters.push((*letter, self.clone()));
                        true
                    }
                }
            }
            (Self::List(one), Self::List(two)) | (Self::Optional(one), Self::Optional(two)) => {
                one.fits(two, letters)
            }
            (Self::Map(k1, v1), Self::Map(k2, v2)) => k1.fits(k2, letters) && v1.fits(v2, letters),
            (one, two) => one == two,
        }
    }

    /// Whether two types can be of the same value.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn | Self::Any(_), _) | (_, Self::Dyn | Self::Any(_)) => true,
            (Self::List(one), Self::List(two)) | (Self::Optional(one), Self::Optional(two)) => {
                one.agrees(two)
            }
            (Self::Map(k1, v1), Self::Map(k2, v2)) => k1.agrees(k2) && v1.agrees(v2),
            (Self::Object(_), Self::Object(_)) => true,
            (one, two) => one == two,
        }
    }

    /// A type of a signature with its letters replaced.
    pub(super) fn filled(&self, letters: &Letters<'a>) -> Self {
        let boxed = |it: &Self| Box::new(it.filled(letters));
        match self {
            Self::Any(letter) => {
                let known = letters.iter().find(|(it, _)| it == letter);
                known.map_or(Self::Dyn, |(_, kind)| kind.clone())
            }
            Self::List(item) => Self::List(boxed(item)),
            Self::Optional(inner) => Self::Optional(boxed(inner)),
            Self::Map(key, value) => Self::Map(boxed(key), boxed(value)),
            plain => plain.clone(),
        }
    }

    /// Either of two types; `dyn` if they differ.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::List(one), Self::List(two)) => Self::List(Box::new(one.or(*two))),
            (Self::Optional(one), Self::Optional(two)) => Self::Optional(Box::new(one.or(*two))),
            (Self::Any(_), other) | (other, Self::Any(_)) => other,
            _ => Self::Dyn,
        }
    }

    /// Whether it is a number.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }
}
