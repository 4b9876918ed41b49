//! Numbers as Slurm likes to have them: plain, or with flags that say "none" and "no limit".

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
    ser::SerializeStruct,
};

/// A whole number.
pub type Number = Amount<u64>;
/// A number with a fraction.
pub type Real = Amount<f64>;

/// A number, or none, or no limit. On the wire `{"set": true, "infinite": false, "number": 5}`; some
/// versions write a plain `5` where others have flags, so both are read everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount<T> {
    /// No number.
    #[default]
    Unset,
    /// No limit.
    Infinite,
    /// This number.
    Is(T),
}

impl<T: Copy> Amount<T> {
    /// The number, if there is one.
    pub fn get(self) -> Option<T> {
        match self {
            Self::Is(number) => Some(number),
            Self::Unset | Self::Infinite => None,
        }
    }

    /// Whether there is no limit.
    pub fn is_infinite(self) -> bool {
        matches!(self, Self::Infinite)
    }
}

impl Number {
    /// Seconds since the epoch; Slurm writes 0 for a moment that isn't known.
    pub fn moment(self) -> Option<u64> {
        self.get().filter(|&seconds| seconds != 0)
    }

    /// The number, or 0.
    pub fn or_zero(self) -> u64 {
        self.get().unwrap_or(0)
    }
}

impl<T> From<T> for Amount<T> {
    fn from(number: T) -> Self {
        Self::Is(number)
    }
}

/// What a number can be made of. `None` where it doesn't fit.
pub trait Numeric: Copy + Default + Serialize {
    /// Of a whole number.
    fn of_whole(number: i128) -> Option<Self>;
    /// Of a fraction.
    fn of_real(number: f64) -> Option<Self>;
}

impl Numeric for u64 {
    fn of_whole(number: i128) -> Option<Self> {
        Self::try_from(number).ok()
    }

    fn of_real(number: f64) -> Option<Self> {
        // Fractions of what should be whole are nobody's intention: cut them off.
        (0.0..=9e15).contains(&number).then_some(number as Self)
    }
}

impl Numeric for f64 {
    fn of_whole(number: i128) -> Option<Self> {
        Some(number as Self)
    }

    fn of_real(number: f64) -> Option<Self> {
        number.is_finite().then_some(number)
    }
}

impl<T: Numeric> Serialize for Amount<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut flagged = serializer.serialize_struct("Amount", 3)?;
        flagged.serialize_field("set", &!matches!(self, Self::Unset))?;
        flagged.serialize_field("infinite", &self.is_infinite())?;
        flagged.serialize_field("number", &self.get().unwrap_or_default())?;
        flagged.end()
    }
}

impl<'de, T: Numeric> Deserialize<'de> for Amount<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor(PhantomData))
    }
}

struct AmountVisitor<T>(PhantomData<T>);

impl<'de, T: Numeric> Visitor<'de> for AmountVisitor<T> {
    type Value = Amount<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, plain or with flags")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Amount<T>, E> {
        Ok(T::of_whole(number.into()).map_or(Amount::Unset, Amount::Is))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Amount<T>, E> {
        Ok(T::of_whole(number.into()).map_or(Amount::Unset, Amount::Is))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Amount<T>, E> {
        Ok(T::of_real(number).map_or(Amount::Unset, Amount::Is))
    }

    fn visit_unit<E>(self) -> Result<Amount<T>, E> {
        Ok(Amount::Unset)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Amount<T>, A::Error> {
        let (mut set, mut infinite, mut number) = (true, false, Amount::Unset);
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Set => set = map.next_value()?,
                Key::Infinite => infinite = map.next_value()?,
                Key::Number => number = map.next_value()?,
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        // "No limit" often comes with `set: false`.
        Ok(match (infinite, set) {
            (true, _) => Amount::Infinite,
            (false, true) => number,
            (false, false) => Amount::Unset,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _list: A) -> Result<Amount<T>, A::Error> {
        Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &self))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Key {
    Set,
    Infinite,
    Number,
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_may_have_flags() {
        let table = [
            (json!(5), Number::Is(5)),
            (json!(5.0), Number::Is(5)),
            (json!({"set": true, "infinite": false, "number": 5}), Number::Is(5)),
            (json!({"number": 5}), Number::Is(5)),
            (json!({"set": false, "infinite": false, "number": 5}), Number::Unset),
            (json!({"set": true, "infinite": true, "number": 5}), Number::Infinite),
            (json!({"set": false, "infinite": true, "number": 0}), Number::Infinite),
            (json!({"set": true, "number": -5}), Number::Unset),
            (json!({}), Number::Unset),
            (json!(null), Number::Unset),
        ];
        for (value, expected) in table {
            assert_eq!(Number::deserialize(&value).unwrap(), expected, "{value}");
            assert_eq!(serde_json::from_str::<Number>(&value.to_string()).unwrap(), expected);
        }
        for wrong in [json!("5"), json!([5]), json!(true), json!({"set": 1})] {
            assert!(Number::deserialize(&wrong).is_err(), "{wrong}");
        }
        assert_eq!(serde_json::to_value(Real::Infinite).unwrap()["infinite"], true);
    }
}
