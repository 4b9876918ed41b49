//! A number that must be so: exactly, at least, at most.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

/// `3`, `{atLeast: 3}`, `{atMost: 3}` or both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    least: u64,
    most: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Bounds {
    at_least: Option<u64>,
    at_most: Option<u64>,
}

impl Amount {
    /// This number and no other.
    pub const fn exactly(n: u64) -> Self {
        Self { least: n, most: n }
    }

    /// Whether `n` is right.
    pub const fn contains(self, n: u64) -> bool {
        self.least <= n && n <= self.most
    }

    /// As [`Display`](fmt::Display), but `3` for `exactly 3`: for the middle of a sentence.
    pub(crate) fn short(self) -> String {
        let text = self.to_string();
        text.strip_prefix("exactly ").unwrap_or(&text).into()
    }

    /// Whether one and only one is right: sentences are about one thing then.
    pub(crate) fn is_one(self) -> bool {
        self == Self::exactly(1)
    }
}

/// `exactly 3`, `at least 3`, `3 to 5`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (0, 0) => f.write_str("no"),
            (least, most) if least == most => write!(f, "exactly {least}"),
            (least, u64::MAX) => write!(f, "at least {least}"),
            (0, most) => write!(f, "at most {most}"),
            (least, most) => write!(f, "{least} to {most}"),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl<'de> Visitor<'de> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or bounds such as {atLeast: 1, atMost: 3}")
    }

    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Amount, E> {
        Ok(Amount::exactly(n))
    }

    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Amount, E> {
        u64::try_from(n)
            .map(Amount::exactly)
            .map_err(|_| E::custom(format!("{n} is less than nothing")))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Amount, A::Error> {
        let bounds = Bounds::deserialize(MapAccessDeserializer::new(map))?;
        let (least, most) = (bounds.at_least.unwrap_or(0), bounds.at_most.unwrap_or(u64::MAX));
        if least > most {
            let text = format!(
                "no number is at least {least} and at most {most}\nthe smaller one is `atLeast`"
            );
            return Err(serde::de::Error::custom(text));
        }
        Ok(Amount { least, most })
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number that must be so: `3`, or bounds: `{atLeast: 1, atMost: 3}`.",
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {
                    "type": "object",
                    "properties": {
                        "atLeast": {
                            "type": "integer",
                            "minimum": 0,
                            "description": "Not less than this.",
                        },
                        "atMost": {
                            "type": "integer",
                            "minimum": 0,
                            "description": "Not more than this.",
                        },
                    },
                    "additionalProperties": false,
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_or_bounds() {
        let read = |text: &str| serde_json::from_str::<Amount>(text).map(|it| it.to_string());
        for (text, means) in [
            ("0", "no"),
            ("3", "exactly 3"),
            (r#"{"atLeast": 1}"#, "at least 1"),
            (r#"{"atMost": 4}"#, "at most 4"),
            (r#"{"atLeast": 1, "atMost": 4}"#, "1 to 4"),
        ] {
            assert_eq!(read(text).unwrap(), means, "{text}");
        }
        for wrong in ["-1", r#""3""#, r#"{"least": 1}"#, r#"{"atLeast": 2, "atMost": 1}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bounds_contain_their_ends() {
        let amount = Amount { least: 1, most: 3 };
        let inside: Vec<u64> = (0..5).filter(|n| amount.contains(*n)).collect();
        assert_eq!(inside, [1, 2, 3]);
    }
}
