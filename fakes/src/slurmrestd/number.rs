//! Numbers as slurmrestd writes and reads them: `{"set": true, "infinite": false, "number": 60}`.

use serde_json::Value;

/// A number that may be unset or endless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Nothing was said.
    Unset,
    /// No bound.
    Infinite,
    /// So much.
    Is(u64),
}

impl Number {
    /// Reads the dictionary form; `infinite` wins over `set`, as in Slurm.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let flag = |key| value.get(key).and_then(Value::as_bool).unwrap_or(false);
        if flag("infinite") {
            return Some(Self::Infinite);
        }
        if !flag("set") {
            return Some(Self::Unset);
        }
        value.get("number").and_then(Value::as_u64).map(Self::Is)
    }

    /// A plain number; Slurm takes what is below zero for its largest numbers.
    pub(super) fn from_int(int: i64) -> Self {
        u64::try_from(int).map_or(Self::Infinite, Self::Is)
    }

    /// The nearest whole number.
    pub(super) fn rounded(float: f64) -> Option<Self> {
        let fits = (0.0..9_007_199_254_740_992.0).contains(&float);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within bounds")]
        fits.then(|| Self::Is(float.round() as u64))
    }

    /// The number, if it is one.
    pub(super) const fn is(self) -> Option<u64> {
        match self {
            Self::Unset | Self::Infinite => None,
            Self::Is(number) => Some(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_read_as_slurm_reads_them() {
        #[rustfmt::skip]
        let rows = [
            (json!({"set": true, "infinite": false, "number": 60}), Some(Number::Is(60))),
            (json!({"set": true, "number": 60}),                    Some(Number::Is(60))),
            (json!({"set": false, "number": 60}),                   Some(Number::Unset)),
            (json!({"number": 60}),                                 Some(Number::Unset)),
            (json!({"set": true, "infinite": true, "number": 60}),  Some(Number::Infinite)),
            (json!({"set": true, "number": "x"}),                   None),
            (json!({"set": true}),                                  None),
        ];
        for (value, number) in rows {
            assert_eq!(Number::read(&value), number, "{value}");
        }
    }
}
