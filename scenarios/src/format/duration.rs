//! Durations as people write them: `90s`, `1h30m`, `500ms`, `1d`.

use std::{borrow::Cow, fmt};

use drawbridge_sim::{Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lasting(pub Span);

/// Largest first: the order in which they are written.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

const HINT: &str = "write a number with its unit: `500ms`, `90s`, `10m`, `1h30m` or `1d`";

impl Lasting {
    /// Reads `1h30m`. The error's second line is its hint.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).ok_or_else(|| format!("`{text}` is not a duration\n{HINT}"))
    }

    fn read(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self(Span::ZERO));
        }
        let (mut rest, mut total, mut next_unit) = (text, 0_u64, 0);
        while next_unit == 0 || !rest.is_empty() {
            let (digits, tail) = split_while(rest, |c| c.is_ascii_digit());
            let (letters, tail) = split_while(tail, char::is_alphabetic);
            let unit = UNITS.iter().position(|(name, _)| *name == letters)?;
            // A unit doesn't come again, or after a smaller one: `5m1h` is a slip of the pen.
            if unit < next_unit {
                return None;
            }
            let number: u64 = digits.parse().ok()?;
            total = total.checked_add(number.checked_mul(UNITS[unit].1)?)?;
            (rest, next_unit) = (tail, unit + 1);
        }
        Some(Self(Span::ms(total)))
    }

    /// The time that is so long after the beginning.
    pub fn from_start(self) -> Time {
        Time::ZERO + self.0
    }
}

fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// As it would be written: `1h30m`.
impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_ms();
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, ms) in UNITS {
            if rest >= ms {
                write!(f, "{}{unit}", rest / ms)?;
                rest %= ms;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Lasting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

impl JsonSchema for Lasting {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A length of time: `500ms`, `90s`, `10m`, `1h30m`, `1d`.",
            "anyOf": [
                {"type": "string", "pattern": "^([0-9]+(d|h|m|s|ms))+$"},
                {"enum": [0, "0"]},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, ms) in [
            ("0", 0),
            ("0s", 0),
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
            ("1m5ms", 60_005),
        ] {
            assert_eq!(Lasting::parse(text), Ok(Lasting(Span::ms(ms))), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for wrong in [
            "",
            "10",
            "m",
            "5 m",
            "5m1h",
            "1m1m",
            "-5m",
            "1.5h",
            "5min",
            "1h ",
            "5M",
            "99999999999999999999s",
            "300000000000000d",
        ] {
            assert!(Lasting::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_print_as_they_are_written() {
        for text in ["0s", "500ms", "1m30s", "1h30m", "1d", "1d2h3m4s5ms"] {
            assert_eq!(Lasting::parse(text).unwrap().to_string(), text);
        }
    }
}
